#include "bodhi/node/change_notice.h"

#include <cstring>

namespace zazen {
namespace {

struct NoticeHead {  // followed by the node's name, the dataset's path, and the frames
  std::uint64_t life;
  NoticeKind kind;
  std::uint16_t node_length;
  std::uint16_t dataset_length;
  std::uint16_t frames;
};
static_assert(sizeof(NoticeHead) == 16);

struct NoticeFrame {  // followed by the frame's name
  std::uint64_t size;
  std::int64_t mtime_ns;
  std::int64_t ctime_ns;
  std::uint16_t name_length;
  std::uint16_t gone;  // 0 or 1
  std::uint32_t age_ms;
};
static_assert(sizeof(NoticeFrame) == 32);

template <class T>
void append(std::string* out, const T& value) {
  out->append(reinterpret_cast<const char*>(&value), sizeof value);
}

template <class T>
bool take(std::string_view* body, T* out) {
  if (body->size() < sizeof *out) return false;
  std::memcpy(out, body->data(), sizeof *out);
  body->remove_prefix(sizeof *out);
  return true;
}

bool take(std::string_view* body, std::size_t length, std::string* out) {
  if (body->size() < length) return false;
  *out = body->substr(0, length);
  body->remove_prefix(length);
  return out->find('\0') == out->npos;
}

bool take(std::string_view* body, FrameNews* out) {
  NoticeFrame frame;
  if (!take(body, &frame) || frame.gone > 1) return false;
  out->version = {frame.gone == 1, frame.size, frame.mtime_ns, frame.ctime_ns};
  out->age_ms = frame.age_ms;
  bool is_blank = frame.size == 0 && frame.mtime_ns == 0 && frame.ctime_ns == 0;
  if (out->version.gone && !is_blank) return false;
  return frame.name_length > 0 && take(body, frame.name_length, &out->name);
}

bool belongs_together(const ChangeNotice& notice) {
  bool has_dataset = notice.dataset.starts_with('/') && notice.dataset.size() < kMaxPath;
  switch (notice.kind) {
    case NoticeKind::kHello:
      return notice.dataset.empty() && notice.frames.empty();
    case NoticeKind::kFrames:
      return has_dataset && !notice.frames.empty();
    case NoticeKind::kDistrust:
      return has_dataset && notice.frames.empty();
  }
  return false;
}

}  // namespace

std::size_t encoded_size(const FrameNews& frame) {
  return sizeof(NoticeFrame) + frame.name.size();
}

std::size_t encoded_size(const ChangeNotice& head) {
  return sizeof(NoticeHead) + head.node.size() + head.dataset.size();
}

std::string encode(const ChangeNotice& notice) {
  std::string out;
  append(&out,
         NoticeHead{notice.life, notice.kind, static_cast<std::uint16_t>(notice.node.size()),
                    static_cast<std::uint16_t>(notice.dataset.size()),
                    static_cast<std::uint16_t>(notice.frames.size())});
  out += notice.node + notice.dataset;
  for (const FrameNews& frame : notice.frames) {
    const FrameVersion& version = frame.version;
    append(&out, NoticeFrame{version.size, version.mtime_ns, version.ctime_ns,
                             static_cast<std::uint16_t>(frame.name.size()),
                             static_cast<std::uint16_t>(version.gone ? 1 : 0), frame.age_ms});
    out += frame.name;
  }
  return out;
}

bool decode(std::string_view body, ChangeNotice* out) {
  NoticeHead head;
  if (body.size() > kLongestNotice || !take(&body, &head)) return false;
  out->kind = head.kind;
  out->life = head.life;
  bool named = head.node_length > 0 && head.node_length < kMaxNodeName &&
               take(&body, head.node_length, &out->node) &&
               take(&body, head.dataset_length, &out->dataset);
  if (!named || std::size_t{head.frames} * sizeof(NoticeFrame) > body.size()) return false;
  out->frames.assign(head.frames, {});
  for (FrameNews& frame : out->frames) {
    if (!take(&body, &frame)) return false;
  }
  return body.empty() && belongs_together(*out);
}

}  // namespace zazen
