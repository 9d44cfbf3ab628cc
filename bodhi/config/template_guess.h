// TemplateGuess: the frame name template that most of some names follow.
//
// A template has one number that varies. So names belong together if they are the same but for
// one run of digits; the largest such set wins, with the padding that most of it has. Among
// equals a number outside of an extension ("x.h5") wins, then the number that is further to
// the right. A single name has no number that varies: its template is no more than a guess.
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
