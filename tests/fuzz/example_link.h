// Any message between zazend and a worker, with a value of its own in each field: made from
// what its fields() names.
#pragma once
#include <type_traits>

#include "daemon/link/link_messages.h"

namespace zazen {

class ExampleFields {
 public:
  explicit ExampleFields(std::uint8_t first = 0) : last_(first) {}

  template <class... Values>
  void operator()(Values&... values) {
    (set(values), ...);
  }

 private:
  std::uint8_t next() { return ++last_; }

  template <class T>
  void set(T& value) {
    if constexpr (std::is_enum_v<T>) {
      value = static_cast<T>(1 + next() % 2);
    } else if constexpr (std::is_integral_v<T>) {
      value = static_cast<T>(T{next()} << 8 * (sizeof value - 1) / 2);
    } else {
      value.fields(*this);
    }
  }
  void set(bool& value) { value = next() % 2 == 0; }
  void set(std::string& text) { text = "text " + std::to_string(next()); }
  void set(struct stat& st) {
    st.st_ino = next();
    st.st_mode = S_IFREG | 0644;
    st.st_nlink = 1;
    st.st_size = 4096 + next();
    st.st_blocks = 16;
    st.st_atim = {1'700'000'000, next()};
    st.st_mtim = {1'700'000'000, next()};
    st.st_ctim = {1'700'000'000, next()};
  }
  void set(OriginIdentity& identity) {
    identity.kind = FrameKind::kAlien;
    identity.size = identity.ino = identity.checksum = next();
    identity.blocks = next();
  }
  template <class T>
  void set(std::vector<T>& list) {
    list.clear();
    for (int i = 0; i < 2; ++i) set(list.emplace_back());
  }
  template <class K, class V>
  void set(std::map<K, V>& map) {
    map.clear();
    for (int i = 0; i < 2; ++i) set(map[next()]);
  }
  template <class A, class B>
  void set(std::pair<A, B>& pair) {
    set(pair.first);
    set(pair.second);
  }
  template <class T>
  void set(std::optional<T>& value) {
    set(value.emplace());
  }

  std::uint8_t last_;
};

template <class Message>
Message example_link_message(std::uint8_t first = 0) {
  Message message;
  ExampleFields fields(first);
  message.fields(fields);
  return message;
}

}  // namespace zazen
