// Whether programs take turns at the cache's disk, and why, in words from the daemon's status.
#pragma once
#include <fmt/core.h>

#include <string>

namespace zazen {

// "not ordered, a seek costs 0.1 ms"
template <class Json>
std::string read_order_words(const Json& order) {
  const std::string words =
      order.at("ordered").template get<bool>() ? "ordered" : "not ordered";
  if (!order.at("seek_ms").is_null()) {
    return words +
           fmt::format(", a seek costs {:.1f} ms", order.at("seek_ms").template get<double>());
  }
  return words +
         (order.at("measured").template get<bool>() ? ", a seek cannot be measured" : "");
}

}  // namespace zazen
