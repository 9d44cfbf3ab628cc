// ChangeNotice: a message from one daemon to another about frames that have changed at the
// origin, as bytes. The same body goes over TCP (PushType::kNotice) and to a daemon of the same
// machine (MessageType::kPeerNotice). Pure: no input or output, no knowledge of files.
//
// A notice does not say "drop this": it says which version of the frame the origin has. The
// receiver compares that with its copy. So a late, repeated or needless notice drops no copy of
// the present version.
#pragma once
#include <string>
#include <string_view>
#include <vector>

#include "bodhi/lean/requests/wire.h"

namespace zazen {

// The version of a frame, as every node sees it. Inode numbers are left out, because on some
// file systems they differ between mounts.
struct FrameVersion {
  bool gone = false;  // the origin has no such file; the rest is 0
  std::uint64_t size = 0;
  std::int64_t mtime_ns = 0;
  std::int64_t ctime_ns = 0;
  bool operator==(const FrameVersion&) const = default;
};

struct FrameNews {
  std::string name;  // relative to the dataset
  FrameVersion version;
  std::uint32_t age_ms = 0;  // since the sender looked at the origin
  bool operator==(const FrameNews&) const = default;
};

enum class NoticeKind : std::uint16_t {
  kHello = 1,     // the sender lives; no dataset
  kFrames = 2,    // these frames of the dataset have these versions
  kDistrust = 3,  // any frame of the dataset may have changed
};

struct ChangeNotice {
  NoticeKind kind = NoticeKind::kHello;
  std::uint64_t life = 0;  // of the sending daemon: differs for each start
  std::string node;        // its name
  std::string dataset;
  std::vector<FrameNews> frames;
  bool operator==(const ChangeNotice&) const = default;
};

// The encoded size of a frame, and of the part before the first frame.
std::size_t encoded_size(const FrameNews& frame);
std::size_t encoded_size(const ChangeNotice& head);

std::string encode(const ChangeNotice& notice);
// False if it is longer than kLongestNotice, does not fill the body exactly, has a NUL in a
// name, or has parts that do not belong to its kind.
bool decode(std::string_view body, ChangeNotice* out);

}  // namespace zazen
