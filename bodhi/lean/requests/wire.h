// The messages between a daemon and its local clients, over a SOCK_SEQPACKET socket
// <runtime>/socket. One packet is one message: a header, then a body of header.length bytes.
// Large answers (status, ls) and frames travel as file descriptors, never as bytes. The kernel
// tells the sender's identity (SO_PEERCRED); a message cannot claim one.
//
// The reply repeats the number of its request; replies may come in any order. messages.h lists
// the messages. Lean.
#pragma once
#include <sys/uio.h>
#include <sys/un.h>

#include "bodhi/lean/requests/messages.h"

namespace zazen {

inline constexpr std::uint32_t kWireMagic = 0x315a415a;  // "ZAZ1"
inline constexpr std::uint16_t kWireVersion = 1;
inline constexpr std::size_t kMaxMessage = 8192;
inline constexpr std::size_t kLongestNotice = 8'000;  // the body of a kPeerNotice
inline constexpr int kReadInMs = 10'000;              // the time limit of a kReadIn
// Smaller copies are not read in turns: the kernel's read-ahead fetches them at once.
inline constexpr std::int64_t kOrderedBytes = 128 << 10;

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
// A request reads a part of the range; the client asks again from `next` on.
struct VerifyBody {  // followed by the dataset's path; frames with first <= seq <= last
  FrameSeq first;
  FrameSeq last;
  std::uint32_t dataset_length;
  std::uint32_t reserved;
};
enum class Verdict : std::uint32_t {
  kGood = 0,
  kMissing = 1,   // its file is gone, which is harmless
  kChecksum = 2,  // this and the following are bad: the content differs from what was copied
  kSize = 3,
  kIdentity = 4,  // its mode or its attribute is not that of a copy
  kUnreadable = 5,
};
struct VerifyFinding {
  FrameSeq seq;
  Verdict verdict;
  std::int32_t error;  // kUnreadable: why
};
struct VerifyReply {     // followed by VerifyFinding[findings]; those copies are dropped
  std::uint64_t frames;  // read
  std::uint64_t bytes;
  FrameSeq next;
  std::uint32_t done;  // 1: the range is finished
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

// The address of the socket in a runtime directory that is open as directory_fd, and its size.
// "/proc/self/fd/N/socket", because sun_path has room for 107 characters only. Used for bind
// and for connect.
std::size_t socket_address(int directory_fd, struct sockaddr_un* out);

// By raw system calls, bounded by timeout_ms in total (0: one try). No signal (MSG_NOSIGNAL);
// errors are -errno.
int connect_daemon(const char* runtime, int timeout_ms);  // fd or -errno
int send_message(int socket, const char* packet, std::size_t size, int passed_fd,
                 int timeout_ms);  // 0 or -errno
// Size of the packet or -errno (0: the peer closed); *passed_fd is -1 if none came.
int receive_message(int socket, char* buffer, std::size_t capacity, int* passed_fd,
                    int timeout_ms);

// The same, for one try. As many descriptors as kMostPassed.
inline constexpr std::size_t kMostPassed = 16;
int send_once(int socket, std::span<struct iovec> parts,
              std::span<const int> passed_fds);  // 0 or -errno
struct Arrival {
  int size;       // of the packet, or -errno
  int passed_fd;  // the first one that arrived, or -1; the others are closed
  bool is_whole;  // nothing was truncated, and no second descriptor arrived
};
Arrival receive_once(int socket, char* buffer, std::size_t capacity);

}  // namespace zazen
