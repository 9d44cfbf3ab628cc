// The messages between a daemon and its local clients. One table states the form of each
// message and who may send it. Validation (messages.cc), the daemon's dispatch
// (daemon/worker/clients/client_service.cc), the fuzzer and the hostile tests use this table. A
// new message needs a MessageType, a row and a handler; the build or a test fails if one is
// missing.
//
// A flag that is not in a type's row makes a message malformed, as an unknown type does.
// Another socket may have a table of its own with the same kind of rows. Lean: rows hold no
// pointers, which a loader would have to relocate.
#pragma once
#include <iterator>
#include <span>

#include "bodhi/lean/system/base_types.h"

namespace zazen {

enum class MessageType : std::uint16_t {
  kFill = 1,          // cache the origin's fd as an alien
  kPush = 2,          // cache the origin's fd as a native; answered when durable
  kInvalidate = 3,    // the origin's frame is about to change; drop the copy
  kSample = 4,        // compare a sample of the dataset's copies (D10)
  kEvict = 5,         // answered with EvictReply
  kList = 6,          // answered with ListReply + fd
  kStatus = 7,        // answered with an fd that holds JSON text
  kKeepListing = 8,   // the fd of an encoded Listing (D20)
  kPin = 20,          // answered with EvictReply: what is held of the range
  kUnpin = 21,        // the same
  kReadIn = 22,       // answered when the copy's beginning is in memory (D17)
  kVerify = 23,       // answered with VerifyReply and its findings
  kPushContent = 24,  // an fd of the content (a memory file: sealed); the origin may not have
                      // the frame, and possibly never will
  kWritten = 25,      // a program of this node has opened the frame for writing, or changed it;
                      // it is pushed when no program writes to it
  kPeerNotice = 30,   // a ChangeNotice (change_notice.h) of another daemon of this machine
  kHistory = 31,      // answered with JSON text: why the frame's copy is gone
  kFetch = 32,        // cache the frame of this name as an alien; the worker opens it; answered
                      // when it is there
  kReload = 40,       // answered with an fd that holds JSON text: what the reload came to
  kAddDataset = 41,   // the owner of a directory makes it a dataset, or takes it away
  kReply = 100,
};

enum : std::uint32_t {  // header.flags
  kWaitForIt = 1,
  kFoundStale = 2,    // kInvalidate: the copy differs from its origin; no program reported this
  kNotYetOpened = 4,  // kFill: no program waits for it; evicts only copies of idle datasets
  kOpenForWriting = 8,  // kInvalidate: a program has opened the frame for writing, but has not
                        // changed it; the copy is suspended until all such programs close it
  kTakeAway = 16,       // kAddDataset: the dataset is no longer served
};

enum class BodyForm : std::uint8_t {
  kNone,
  kFrame,         // FrameBody with a name
  kDataset,       // FrameBody without a name
  kDatasetOrAll,  // FrameBody without a name; an empty dataset means all of them
  kRange,         // EvictBody without flags
  kSelection,     // EvictBody
  kVerify,        // VerifyBody
  kNotice,        // 1 to kLongestNotice bytes, which the receiver decodes
  kNewDataset,    // FrameBody: a path, and a template where a frame has its name
  kAny,
};
// In a row: what the message must carry. In a packet: what arrived, kEither if that is not
// known.
enum class Descriptor : std::uint8_t { kNone, kOne, kEither };
enum class Answered : std::uint8_t { kAlways, kIfAsked, kNever };  // kIfAsked: with kWaitForIt
enum class Sender : std::uint8_t {
  kAnybody,
  kOwnUser,  // the daemon's own user and root
  kDaemon,   // no client
};
// The right at the origin that the sender needs, unless it is the daemon's own user (D15).
enum class Wish : std::uint8_t {
  kNone,    // or the handler checks the descriptor or the single frame
  kSearch,  // reach the dataset's frames
  kList,    // list the frames
  kWrite,   // create frames
  kVouch,   // state which frames exist
  kManage,  // let frames be evicted: only the dataset's owner
};

struct MessageRule {
  MessageType type;
  char name[16];
  BodyForm body = BodyForm::kNone;
  Descriptor descriptor = Descriptor::kNone;
  std::uint32_t flags = kWaitForIt;  // the flags that it may carry
  Answered answered = Answered::kAlways;
  Sender from = Sender::kAnybody;
  Wish wish = Wish::kNone;
  bool removed_too = false;  // it may name a dataset that a reload has removed
  bool is_carried = false;   // it may come from another machine (bodhi/push/push_wire.h)
};

inline constexpr MessageRule kMessages[] = {
    {.type = MessageType::kFill,
     .name = "fill",
     .body = BodyForm::kFrame,
     .descriptor = Descriptor::kOne,
     .flags = kWaitForIt | kNotYetOpened,
     .answered = Answered::kIfAsked},
    {.type = MessageType::kPush,
     .name = "push",
     .body = BodyForm::kFrame,
     .descriptor = Descriptor::kOne},
    {.type = MessageType::kInvalidate,
     .name = "invalidate",
     .body = BodyForm::kFrame,
     .flags = kWaitForIt | kFoundStale | kOpenForWriting,
     .removed_too = true},
    {.type = MessageType::kSample,
     .name = "sample",
     .body = BodyForm::kDataset,
     .wish = Wish::kSearch},
    {.type = MessageType::kEvict,
     .name = "evict",
     .body = BodyForm::kSelection,
     .wish = Wish::kManage,
     .removed_too = true,
     .is_carried = true},
    {.type = MessageType::kList,
     .name = "list",
     .body = BodyForm::kDatasetOrAll,
     .wish = Wish::kList,
     .is_carried = true},
    {.type = MessageType::kStatus, .name = "status", .is_carried = true},
    {.type = MessageType::kKeepListing,
     .name = "keep_listing",
     .body = BodyForm::kDataset,
     .descriptor = Descriptor::kOne,
     .wish = Wish::kVouch},
    {.type = MessageType::kPin,
     .name = "pin",
     .body = BodyForm::kRange,
     .wish = Wish::kManage,
     .removed_too = true,
     .is_carried = true},
    {.type = MessageType::kUnpin,
     .name = "unpin",
     .body = BodyForm::kRange,
     .wish = Wish::kManage,
     .removed_too = true,
     .is_carried = true},
    {.type = MessageType::kReadIn,
     .name = "read_in",
     .body = BodyForm::kFrame,
     .wish = Wish::kSearch},
    {.type = MessageType::kVerify,
     .name = "verify",
     .body = BodyForm::kVerify,
     .wish = Wish::kManage,
     .removed_too = true,
     .is_carried = true},
    {.type = MessageType::kPushContent,
     .name = "push_content",
     .body = BodyForm::kFrame,
     .descriptor = Descriptor::kOne,
     .from = Sender::kOwnUser},
    {.type = MessageType::kWritten,
     .name = "written",
     .body = BodyForm::kFrame,
     .answered = Answered::kIfAsked},
    {.type = MessageType::kPeerNotice,
     .name = "peer_notice",
     .body = BodyForm::kNotice,
     .from = Sender::kOwnUser},
    {.type = MessageType::kHistory,
     .name = "history",
     .body = BodyForm::kFrame,
     .wish = Wish::kSearch,
     .is_carried = true},
    {.type = MessageType::kFetch,
     .name = "fetch",
     .body = BodyForm::kFrame,
     .wish = Wish::kSearch,
     .is_carried = true},
    {.type = MessageType::kReload, .name = "reload", .from = Sender::kOwnUser},
    {.type = MessageType::kAddDataset,
     .name = "add_dataset",
     .body = BodyForm::kNewDataset,
     .flags = kWaitForIt | kTakeAway},
    {.type = MessageType::kReply,
     .name = "reply",
     .body = BodyForm::kAny,
     .descriptor = Descriptor::kEither,
     .flags = 0,
     .answered = Answered::kNever,
     .from = Sender::kDaemon},
};

constexpr bool names_dataset(BodyForm form) {
  return form >= BodyForm::kFrame && form <= BodyForm::kVerify;
}

// The types ascend. Only a message that names a dataset may require a right at one. A message
// without kWaitForIt among its flags cannot be kIfAsked.
consteval bool is_sound(std::span<const MessageRule> rules) {
  for (std::size_t i = 0; i < rules.size(); ++i) {
    const MessageRule& rule = rules[i];
    if (i > 0 && rule.type <= rules[i - 1].type) return false;
    if (rule.name[0] == '\0') return false;
    bool on_dataset = rule.wish != Wish::kNone || rule.removed_too;
    if (on_dataset && !names_dataset(rule.body)) return false;
    if (rule.answered == Answered::kIfAsked && (rule.flags & kWaitForIt) == 0) return false;
    // Another machine gets an answer, and can pass no descriptor.
    const bool may_be_carried = rule.answered == Answered::kAlways &&
                                rule.descriptor == Descriptor::kNone &&
                                rule.from == Sender::kAnybody;
    if (rule.is_carried && !may_be_carried) return false;
  }
  return true;
}
static_assert(is_sound(kMessages));

// Null if the table has no such message.
constexpr const MessageRule* find_rule(MessageType type,
                                       std::span<const MessageRule> rules = kMessages) {
  for (const MessageRule& rule : rules) {
    if (rule.type == type) return &rule;
  }
  return nullptr;
}

// A packet is well formed: magic, version and length are right, and its type's row allows its
// flags, its body and its descriptor. Texts fill the body exactly and contain no NUL.
bool message_is_valid(const char* packet, std::size_t size,
                      Descriptor came = Descriptor::kEither,
                      std::span<const MessageRule> rules = kMessages);

// The texts of a valid packet, both empty where its body has none.
struct MessageNames {
  const char* dataset = nullptr;
  std::size_t dataset_length = 0;
  const char* name = nullptr;
  std::size_t name_length = 0;
};
MessageNames message_names(const char* packet, std::span<const MessageRule> rules = kMessages);

}  // namespace zazen
