// The messages between a daemon and its local clients, over a SOCK_SEQPACKET socket
// <runtime>/socket. One packet is one message: a header, then a body of header.length bytes.
// Large answers (status, ls) and frames travel as file descriptors, never as bytes.
// Identity is the kernel's word (SO_PEERCRED), never the message's.
//
// Requests carry a number that the reply repeats; replies may come in any order. kFill is
// not answered unless kWaitForIt is set, nor is kWritten. Lean.
#pragma once
#include <sys/un.h>

#include "bodhi/base_types.h"

namespace zazen {

inline constexpr std::uint32_t kWireMagic = 0x315a415a;  // "ZAZ1"
inline constexpr std::uint16_t kWireVersion = 1;
inline constexpr std::size_t kMaxMessage = 8192;
inline constexpr std::size_t kLongestNotice = 8'000;  // the body of a kPeerNotice
inline constexpr int kReadInMs = 10'000;  // nobody waits longer for a kReadIn

enum class MessageType : std::uint16_t {
  kFill = 1,        // FrameBody + the origin's fd: cache it as an alien
  kPush = 2,        // FrameBody + the origin's fd: cache it as a native; answered when durable
  kInvalidate = 3,  // FrameBody: the origin's frame is about to change; drop the copy
  kSample = 4,      // FrameBody without a name: compare a sample of the dataset's copies (D10)
  kEvict = 5,       // EvictBody; answered with EvictReply
  kList = 6,    // FrameBody without a name, empty dataset: all; answered with ListReply + fd
  kStatus = 7,  // no body; answered with an fd that holds JSON text
  kKeepListing = 8,   // FrameBody without a name + fd of an encoded Listing (D20)
  kPin = 20,          // EvictBody; answered with EvictReply: what is held of the range
  kUnpin = 21,        // the same
  kReadIn = 22,       // FrameBody: answered when the copy has been read into memory (D17)
  kVerify = 23,       // VerifyBody; answered with VerifyReply and its findings
  kPushContent = 24,  // FrameBody + an fd of the content (a memory file: sealed), which the
                      // origin may not have yet; from the daemon's own user and root only
  kWritten = 25,      // FrameBody: a program of this node has opened the frame for writing, or
                      // changed it; to be pushed when nobody writes to it any more
  kPeerNotice = 30,  // a ChangeNotice (change_notice.h) of another daemon of this machine; from
                     // the daemon's own user and root only
  kHistory = 31,     // FrameBody; answered with JSON text: what became of the frame's copy
  kReply = 100,
};

enum : std::uint32_t {  // header.flags
  kWaitForIt = 1,
  kFoundStale = 2,    // kInvalidate: the copy differs from its origin, which nobody told us of
  kNotYetOpened = 4,  // kFill: no program waits for it; only what lies idle gives way
  kOpenForWriting = 8,  // kInvalidate: a program has opened the frame for writing, and has not
                        // changed it yet; the copy is not served until the last one closes it
};

struct MessageHeader {
  std::uint32_t magic;
  std::uint16_t version;
  MessageType type;
  std::uint32_t length;  // of the body
  std::uint32_t flags;
  std::uint64_t request;
  std::int32_t status;  // replies: 0 or an errno
  std::uint32_t reserved;
};
static_assert(sizeof(MessageHeader) == 32);

// Followed by dataset_length bytes of the dataset's path, then name_length bytes of the
// frame's name relative to it. No NULs.
struct FrameBody {
  std::uint16_t dataset_length;
  std::uint16_t name_length;
};

enum : std::uint32_t { kEvictNatives = 1, kEvictAliens = 2, kEvictDryRun = 4 };
struct EvictBody {  // also of kPin and kUnpin, without flags; followed by the dataset's path;
                    // frames with first <= seq <= last
  FrameSeq first;
  FrameSeq last;
  std::uint32_t what;
  std::uint32_t dataset_length;
};
struct EvictReply {
  std::uint64_t frames;
  std::uint64_t bytes;
  std::uint64_t pinned;  // frames of the range that were left because they are pinned
};
// A part of the range is read, and all of it by asking again from `next` on.
struct VerifyBody {  // followed by the dataset's path; frames with first <= seq <= last
  FrameSeq first;
  FrameSeq last;
  std::uint32_t dataset_length;
  std::uint32_t reserved;
};
enum class Verdict : std::uint32_t {
  kGood = 0,
  kMissing = 1,   // its file is gone, which does no harm
  kChecksum = 2,  // from here on bad: the content is not what was copied
  kSize = 3,
  kIdentity = 4,  // its mode or its attribute is not a copy's
  kUnreadable = 5,
};
struct VerifyFinding {
  FrameSeq seq;
  Verdict verdict;
  std::int32_t error;  // kUnreadable: why
};
struct VerifyReply {     // followed by VerifyFinding[findings]; they are dropped by now
  std::uint64_t frames;  // read
  std::uint64_t bytes;
  FrameSeq next;
  std::uint32_t done;  // 1: there is no next
  std::uint32_t findings;
};

struct ListReply {
  std::uint64_t records;  // ListRecord[records] in the fd
};
struct ListRecord {
  FrameSeq seq;
  std::uint64_t bytes;
  std::uint32_t dataset;  // index in the table
  FrameKind kind;
  std::uint16_t pinned;  // 0 or 1
};

// Builds a request with a FrameBody into buffer; returns the packet's size, 0 if too long.
std::size_t encode_frame_message(MessageType type, std::uint64_t request, std::uint32_t flags,
                                 const char* dataset, const char* name, char* buffer,
                                 std::size_t capacity);

// A packet is well formed: magic, version, length, body of at least the type's size, and for
// FrameBody and EvictBody the strings fill the body exactly and contain no NUL.
bool message_is_valid(const char* packet, std::size_t size);
// For a valid packet with a FrameBody.
struct FrameNames {
  const char* dataset;
  std::size_t dataset_length;
  const char* name;
  std::size_t name_length;
};
FrameNames frame_names(const char* packet);

// The address of the socket in a runtime directory that is open as directory_fd, and its
// size: "/proc/self/fd/N/socket", because sun_path has room for 107 characters only. Both
// sides use it, for bind and for connect.
std::size_t socket_address(int directory_fd, struct sockaddr_un* out);

// Raw system calls, bounded by timeout_ms in all (0: one try), no signal (MSG_NOSIGNAL), errno
// results.
int connect_daemon(const char* runtime, int timeout_ms);  // fd or -errno
int send_message(int socket, const char* packet, std::size_t size, int passed_fd,
                 int timeout_ms);  // 0 or -errno
// Size of the packet or -errno (0: the peer closed); *passed_fd is -1 if none came.
int receive_message(int socket, char* buffer, std::size_t capacity, int* passed_fd,
                    int timeout_ms);

}  // namespace zazen
