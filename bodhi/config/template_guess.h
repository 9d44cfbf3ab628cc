// TemplateGuess: the frame name template that most of the given names match.
//
// A template has one number that varies. Names belong together if they differ in one run of
// digits only. The largest such set wins, with the padding of most of its members. Among equal
// sets a number outside of an extension ("x.h5") wins, then the number further to the right. A
// single name has no number that varies, so its template is only a guess.
#pragma once
#include <cstddef>
#include <span>
#include <string>

namespace zazen {

struct TemplateGuess {
  std::string frames;       // "": no name has a number that fits
  std::size_t matches = 0;  // how many of the names it matches
};

// The names are relative to the dataset's directory, each once.
TemplateGuess guess_template(std::span<const std::string> names);

}  // namespace zazen
