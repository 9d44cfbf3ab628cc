// The bytes of messages between zazend and its workers.
//
// A message is a struct whose fields() names its members: ZAZEN_LINK_FIELDS makes it. Integers,
// enumerations and the plain structs of the kernel are copied as they are: both sides are the
// same program on one machine. A length is checked against the bytes that are there before
// memory is taken for it, and a message must fill its packet exactly: zazend takes a worker for
// hostile.
#pragma once
#include <sys/stat.h>

#include <cstdint>
#include <cstring>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

#include "bodhi/lean/frames/identity.h"

namespace zazen {

#define ZAZEN_LINK_FIELDS(...) \
  template <class A>           \
  void fields(A& a) {          \
    a(__VA_ARGS__);            \
  }

template <class T>
inline constexpr bool kIsPlain =
    std::is_integral_v<T> || std::is_enum_v<T> || std::is_same_v<T, struct stat> ||
    std::is_same_v<T, OriginIdentity>;

class LinkEncoder {
 public:
  template <class... Values>
  void operator()(Values&... values) {
    (put(values), ...);
  }
  std::string take() { return std::move(bytes_); }

 private:
  template <class T>
  void put(T& value) {
    if constexpr (kIsPlain<T>) {
      bytes_.append(reinterpret_cast<const char*>(&value), sizeof value);
    } else {
      value.fields(*this);
    }
  }
  void put_length(std::size_t length) {
    auto count = static_cast<std::uint32_t>(length);
    put(count);
  }
  void put(std::string& text) {
    put_length(text.size());
    bytes_ += text;
  }
  template <class T>
  void put(std::vector<T>& list) {
    put_length(list.size());
    for (T& one : list) put(one);
  }
  template <class K, class V>
  void put(std::map<K, V>& map) {
    put_length(map.size());
    for (auto& [key, value] : map) {
      K copy = key;
      put(copy);
      put(value);
    }
  }
  template <class A, class B>
  void put(std::pair<A, B>& pair) {
    put(pair.first);
    put(pair.second);
  }
  template <class T>
  void put(std::optional<T>& value) {
    bool is_there = value.has_value();
    put(is_there);
    if (is_there) put(*value);
  }

  std::string bytes_;
};

class LinkDecoder {
 public:
  explicit LinkDecoder(std::string_view bytes) : rest_(bytes) {}

  template <class... Values>
  void operator()(Values&... values) {
    (get(values), ...);
  }
  // All of it was read, and nothing was missing or wrong.
  bool is_whole() const { return ok_ && rest_.empty(); }

 private:
  template <class T>
  void get(T& value) {
    if constexpr (kIsPlain<T>) {
      if (rest_.size() < sizeof value) return fail();
      std::memcpy(&value, rest_.data(), sizeof value);
      rest_.remove_prefix(sizeof value);
    } else {
      value.fields(*this);
    }
  }
  void get(bool& value) {
    std::uint8_t byte = 0;
    get(byte);
    if (byte > 1) fail();
    value = byte == 1;
  }
  // Each element takes at least a byte.
  std::size_t get_length() {
    std::uint32_t length = 0;
    get(length);
    if (length > rest_.size()) fail();
    return ok_ ? length : 0;
  }
  void get(std::string& text) {
    const std::size_t length = get_length();
    text.assign(rest_.substr(0, length));
    rest_.remove_prefix(text.size());
  }
  template <class T>
  void get(std::vector<T>& list) {
    list.clear();
    for (std::size_t left = get_length(); ok_ && left > 0; --left) get(list.emplace_back());
  }
  template <class K, class V>
  void get(std::map<K, V>& map) {
    map.clear();
    for (std::size_t left = get_length(); ok_ && left > 0; --left) {
      K key = {};
      get(key);
      if (!map.empty() && !(map.rbegin()->first < key)) return fail();  // each once, in order
      get(map[key]);
    }
  }
  template <class A, class B>
  void get(std::pair<A, B>& pair) {
    get(pair.first);
    get(pair.second);
  }
  template <class T>
  void get(std::optional<T>& value) {
    bool is_there = false;
    get(is_there);
    value.reset();
    if (ok_ && is_there) get(value.emplace());
  }
  void fail() {
    ok_ = false;
    rest_ = {};
  }

  std::string_view rest_;
  bool ok_ = true;
};

template <class Message>
std::string encode_link_body(Message& message) {
  LinkEncoder encoder;
  message.fields(encoder);
  return encoder.take();
}

// False: it is not such a message.
template <class Message>
bool decode_link_body(std::string_view bytes, Message* out) {
  LinkDecoder decoder(bytes);
  out->fields(decoder);
  return decoder.is_whole();
}

}  // namespace zazen
