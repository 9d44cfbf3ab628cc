// The messages between zazend and its workers (D23), in both directions.
//
// A worker *asks* zazend for what only zazend may do: anything in the store. zazend *orders* a
// worker to do what only a process with the user's rights may do: anything at an origin. Each
// message has a reply; its status is 0 or an errno, and with another status than 0 it has no
// body. Descriptors travel from zazend to a worker only: one from a worker could be made to
// block zazend when it is closed.
//
// LinkAsks and LinkOrders are the tables of all of them. Dispatch on both sides and the fuzzer
// are made from these lists.
#pragma once
#include <limits>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "bodhi/common/unique_fd.h"
#include "bodhi/lean/requests/wire.h"
#include "bodhi/node/change_notice.h"
#include "daemon/link/link_codec.h"
#include "daemon/origin/origin_facts.h"
#include "daemon/validation/sample.h"

namespace zazen {

inline constexpr std::uint32_t kNoDataset = std::numeric_limits<std::uint32_t>::max();

enum class LinkType : std::uint16_t {
  // Asks
  kBeginFill = 1,
  kMoreRoom,
  kFinishFill,
  kFinishContent,
  kBeginPushes,
  kFinishPushes,
  kAbandonFill,
  kFillFailed,
  kAdopt,
  kChanged,
  kSuspend,
  kRestore,
  kRenew,
  kCopyState,
  kCheck,
  kSample,
  kEvict,
  kPin,
  kVerify,
  kReadIn,
  kHistory,
  kStatus,
  kList,
  kNotice,
  kBeginListing,
  kFinishListing,
  kTell,
  kDoubt,
  kPushKeys,
  kNatives,
  kDiskState,
  kDecodeMunge,
  kFigures,
  kLeave,
  kUntold,
  kUsed,
  // Orders
  kConnection = 100,
  kCompare,
  kRights,
  kNameRights,
  kVerifyOrigins,
  kLook,
  kWatchWriters,
  kWatchChanges,
  kConfigure,
  kProblems,
  kFollowLinks,
  kSweepJobs,
  kReportFigures,
  kTellPeers,
  kListen,
  kMunge,
  kStop,
  kUntoldChanges,
  kUsedDatasets,
};

struct NoReply {
  template <class A>
  void fields(A&) {}
};

struct OfFrame {  // most messages begin with it
  std::uint32_t dataset = kNoDataset;
  FrameSeq seq = 0;
};

// ---- Asks

// A frame is to be copied. Status EINPROGRESS: a native waits for this origin, see Adopt.
// EALREADY: another worker copies it, and this one does not want to wait.
struct BeginFill : OfFrame {
  static constexpr LinkType kType = LinkType::kBeginFill;
  FrameKind kind = FrameKind::kAlien;
  bool is_idle = false;     // no program waits for it; only what lies idle gives way
  bool is_content = false;  // the origin need not have it
  bool waits = false;       // for another copy of it that is under way
  bool replaces = false;    // a native that waits, and is not this frame
  OriginFacts origin;       // of content: its file
  struct Reply {
    std::uint64_t ticket = 0;  // 0: the copy is there
    UniqueFd file;             // to write the copy to
    template <class A>
    void fields(A& a) {
      a(ticket);
    }
  };
  template <class A>
  void fields(A& a) {
    a(dataset, seq, kind, is_idle, is_content, waits, replaces, origin);
  }
};
struct MoreRoom {
  static constexpr LinkType kType = LinkType::kMoreRoom;
  using Reply = NoReply;
  std::uint64_t ticket = 0, bytes = 0;
  template <class A>
  void fields(A& a) {
    a(ticket, bytes);
  }
};
// The file of the ticket is written and closed.
struct FinishFill {
  static constexpr LinkType kType = LinkType::kFinishFill;
  using Reply = NoReply;
  std::uint64_t ticket = 0, checksum = 0, room = 0;
  struct stat after = {};        // of the origin
  bool writers_unknown = false;  // nobody can tell whether somebody writes to the frame
  template <class A>
  void fields(A& a) {
    a(ticket, checksum, room, after, writers_unknown);
  }
};
struct FinishContent {
  static constexpr LinkType kType = LinkType::kFinishContent;
  using Reply = NoReply;
  std::uint64_t ticket = 0, bytes = 0, checksum = 0, room = 0;
  OriginLook look;
  template <class A>
  void fields(A& a) {
    a(ticket, bytes, checksum, room, look);
  }
};
// Files for content that comes over the network: for so many frames of a dataset, each of so
// many bytes. zazend may give fewer, but one at least.
struct BeginPushes {
  static constexpr LinkType kType = LinkType::kBeginPushes;
  static constexpr std::uint32_t kMost = kMostPassed;
  std::uint32_t dataset = kNoDataset;
  std::uint64_t bytes = 0;
  std::uint32_t count = 0;
  struct Reply {
    std::vector<std::uint64_t> tickets;
    std::vector<UniqueFd> files;  // one for each ticket
    std::int32_t status = 0;      // why there are no more
    template <class A>
    void fields(A& a) {
      a(tickets, status);
    }
  };
  template <class A>
  void fields(A& a) {
    a(dataset, bytes, count);
  }
};
struct PushedFile {  // written and closed
  std::uint64_t ticket = 0;
  FrameSeq seq = 0;  // it was begun for any frame of its dataset
  std::uint64_t bytes = 0, checksum = 0;
  template <class A>
  void fields(A& a) {
    a(ticket, seq, bytes, checksum);
  }
};
// Content that came over the network: zazend has it compared with the origin. The reply comes
// when all are stored, or are not.
struct FinishPushes {
  static constexpr LinkType kType = LinkType::kFinishPushes;
  static constexpr std::size_t kMost = 64;
  std::uint32_t dataset = kNoDataset;
  std::vector<PushedFile> pushed;
  struct Reply {
    std::vector<std::int32_t> statuses;  // one for each
    template <class A>
    void fields(A& a) {
      a(statuses);
    }
  };
  template <class A>
  void fields(A& a) {
    a(dataset, pushed);
  }
};
struct AbandonFill {
  static constexpr LinkType kType = LinkType::kAbandonFill;
  using Reply = NoReply;
  std::uint64_t ticket = 0;
  std::int32_t status = 0;  // 0: nothing was written to the file
  template <class A>
  void fields(A& a) {
    a(ticket, status);
  }
};
// For the figures and the log: what a fill came to that had no ticket.
struct FillFailed : OfFrame {
  static constexpr LinkType kType = LinkType::kFillFailed;
  using Reply = NoReply;
  FrameKind kind = FrameKind::kAlien;
  std::int32_t status = 0;
  template <class A>
  void fields(A& a) {
    a(dataset, seq, kind, status);
  }
};
struct Adopt : OfFrame {
  static constexpr LinkType kType = LinkType::kAdopt;
  using Reply = NoReply;
  OriginFacts origin;
  std::string pages;  // of the origin's file: sample_pages()
  template <class A>
  void fields(A& a) {
    a(dataset, seq, origin, pages);
  }
};
// The frame changes, or has changed: its copy goes. was_removed: the program has removed it
// itself; if another one is there by now, that stays.
struct Changed : OfFrame {
  static constexpr LinkType kType = LinkType::kChanged;
  using Reply = NoReply;
  bool found_stale = false, was_removed = false;
  template <class A>
  void fields(A& a) {
    a(dataset, seq, found_stale, was_removed);
  }
};
// A program has opened the frame for writing. ENOENT: there is no copy; otherwise the copy is
// suspended (D25), or dropped.
struct Suspend : OfFrame {
  static constexpr LinkType kType = LinkType::kSuspend;
  struct Reply {
    bool is_suspended = false;
    bool has_copy = false;  // of this version:
    std::uint64_t size = 0;
    std::int64_t mtime_ns = 0, ctime_ns = 0;
    template <class A>
    void fields(A& a) {
      a(is_suspended, has_copy, size, mtime_ns, ctime_ns);
    }
  };
  template <class A>
  void fields(A& a) {
    a(dataset, seq);
  }
};
struct Restore : OfFrame {
  static constexpr LinkType kType = LinkType::kRestore;
  using Reply = NoReply;
  std::uint64_t epoch = 0;
  bool is_young = false;
  template <class A>
  void fields(A& a) {
    a(dataset, seq, epoch, is_young);
  }
};
struct Renew : OfFrame {
  static constexpr LinkType kType = LinkType::kRenew;
  using Reply = NoReply;
  std::uint64_t epoch = 0;
  OriginFacts origin;
  template <class A>
  void fields(A& a) {
    a(dataset, seq, epoch, origin);
  }
};
struct CopyState : OfFrame {
  static constexpr LinkType kType = LinkType::kCopyState;
  struct Reply {
    std::uint64_t epoch = 0;  // of a suspended copy
    bool is_held = false;
    std::int32_t status = 0;  // of the identity
    OriginIdentity identity = {};
    template <class A>
    void fields(A& a) {
      a(epoch, is_held, status, identity);
    }
  };
  template <class A>
  void fields(A& a) {
    a(dataset, seq);
  }
};
// Compare the frame's copy with the origin, as this worker sees it.
struct Check : OfFrame {
  static constexpr LinkType kType = LinkType::kCheck;
  using Reply = NoReply;
  bool distrusts = false;  // a stale copy casts doubt on the others
  template <class A>
  void fields(A& a) {
    a(dataset, seq, distrusts);
  }
};
struct SampleAsk {
  static constexpr LinkType kType = LinkType::kSample;
  using Reply = NoReply;
  std::uint32_t dataset = kNoDataset;
  template <class A>
  void fields(A& a) {
    a(dataset);
  }
};
struct OfRange {
  std::uint32_t dataset = kNoDataset;
  FrameSeq first = 0, last = 0;
};
struct TextReply {
  std::string body;  // as the client gets it
  template <class A>
  void fields(A& a) {
    a(body);
  }
};
struct Evict : OfRange {
  static constexpr LinkType kType = LinkType::kEvict;
  using Reply = TextReply;
  std::uint32_t what = 0;
  template <class A>
  void fields(A& a) {
    a(dataset, first, last, what);
  }
};
struct Pin : OfRange {
  static constexpr LinkType kType = LinkType::kPin;
  using Reply = TextReply;
  bool is_pinned = false;
  template <class A>
  void fields(A& a) {
    a(dataset, first, last, is_pinned);
  }
};
struct Verify : OfRange {
  static constexpr LinkType kType = LinkType::kVerify;
  using Reply = TextReply;
  template <class A>
  void fields(A& a) {
    a(dataset, first, last);
  }
};
struct ReadIn : OfFrame {
  static constexpr LinkType kType = LinkType::kReadIn;
  using Reply = NoReply;
  template <class A>
  void fields(A& a) {
    a(dataset, seq);
  }
};
struct History : OfFrame {
  static constexpr LinkType kType = LinkType::kHistory;
  using Reply = TextReply;
  template <class A>
  void fields(A& a) {
    a(dataset, seq);
  }
};
struct ContentReply {
  std::string body;
  UniqueFd file;
  template <class A>
  void fields(A& a) {
    a(body);
  }
};
// What a person should know of the origins, as the worker sees them; one phrase each.
struct OriginFindings {
  std::vector<std::string> problems = {}, warnings = {};
  bool is_whole = true;  // false: an origin has not answered yet
  template <class A>
  void fields(A& a) {
    a(is_whole, warnings, problems);
  }
};
struct StatusAsk : OriginFindings {
  static constexpr LinkType kType = LinkType::kStatus;
  using Reply = ContentReply;
};
struct ListAsk {
  static constexpr LinkType kType = LinkType::kList;
  using Reply = ContentReply;
  std::vector<std::uint32_t> datasets;
  template <class A>
  void fields(A& a) {
    a(datasets);
  }
};
// From another daemon of this machine.
struct Notice {
  static constexpr LinkType kType = LinkType::kNotice;
  using Reply = NoReply;
  std::string bytes;
  template <class A>
  void fields(A& a) {
    a(bytes);
  }
};
struct BeginListing {
  static constexpr LinkType kType = LinkType::kBeginListing;
  std::uint32_t dataset = kNoDataset;
  std::uint64_t bytes = 0;
  struct Reply {
    std::uint64_t ticket = 0;
    UniqueFd file;
    template <class A>
    void fields(A& a) {
      a(ticket);
    }
  };
  template <class A>
  void fields(A& a) {
    a(dataset, bytes);
  }
};
struct FinishListing {
  static constexpr LinkType kType = LinkType::kFinishListing;
  using Reply = NoReply;
  std::uint64_t ticket = 0;
  ReachedDirectories reached;
  template <class A>
  void fields(A& a) {
    a(ticket, reached);
  }
};
// Tells the peers which version of a frame the origin has; without one, that any frame of the
// dataset may have changed.
struct Tell : OfFrame {
  static constexpr LinkType kType = LinkType::kTell;
  using Reply = NoReply;
  bool is_known = false, is_gone = false;
  std::uint64_t size = 0;
  std::int64_t mtime_ns = 0, ctime_ns = 0;
  template <class A>
  void fields(A& a) {
    a(dataset, seq, is_known, is_gone, size, mtime_ns, ctime_ns);
  }
};
// Messages were lost that may have told of changes, of a user who may search the dataset's
// directory.
struct Doubt {
  static constexpr LinkType kType = LinkType::kDoubt;
  using Reply = NoReply;
  std::uint32_t dataset = kNoDataset;
  template <class A>
  void fields(A& a) {
    a(dataset);
  }
};
// A program of such a user has changed frames and could not tell. Perhaps it still does.
struct Untold {
  static constexpr LinkType kType = LinkType::kUntold;
  using Reply = NoReply;
  std::uint32_t dataset = kNoDataset;
  template <class A>
  void fields(A& a) {
    a(dataset);
  }
};
// Such a user's programs use the dataset.
struct Used {
  static constexpr LinkType kType = LinkType::kUsed;
  using Reply = NoReply;
  std::uint32_t dataset = kNoDataset;
  template <class A>
  void fields(A& a) {
    a(dataset);
  }
};
// What the worker proves itself with at other nodes, for datasets with `push = true`; or what
// writers prove themselves with at this node.
struct PushKeyAsk {
  static constexpr LinkType kType = LinkType::kPushKeys;
  struct Reply {
    std::string key;
    std::vector<std::string> old_keys;
    bool has_munge = false;
    template <class A>
    void fields(A& a) {
      a(key, old_keys, has_munge);
    }
  };
  template <class A>
  void fields(A&) {}
};
// These four: of the worker that listens for pushes.
struct Natives {
  static constexpr LinkType kType = LinkType::kNatives;
  using Reply = ContentReply;
  std::uint32_t dataset = kNoDataset;
  template <class A>
  void fields(A& a) {
    a(dataset);
  }
};
struct DiskState {
  static constexpr LinkType kType = LinkType::kDiskState;
  struct Reply {
    bool is_usable = true;
    template <class A>
    void fields(A& a) {
      a(is_usable);
    }
  };
  template <class A>
  void fields(A&) {}
};
// Only zazend's own user can decode credentials for it.
struct MungeReply {
  std::uint32_t uid = 0;
  std::string secret;
  template <class A>
  void fields(A& a) {
    a(uid, secret);
  }
};
struct DecodeMunge {
  static constexpr LinkType kType = LinkType::kDecodeMunge;
  using Reply = MungeReply;
  std::string credential;
  template <class A>
  void fields(A& a) {
    a(credential);
  }
};
struct NodeFigures {
  std::string peer;
  std::uint64_t pushed = 0, bytes = 0;
  bool answers = false;
  std::int64_t known_at_ns = 0;
  template <class A>
  void fields(A& a) {
    a(peer, pushed, bytes, answers, known_at_ns);
  }
};
struct PeerFigures {
  std::string peer;
  std::uint64_t told = 0;  // notices that it has answered
  std::uint64_t waiting = 0;
  std::string failure;  // why it cannot be told; "": it could, or nothing was tried yet
  template <class A>
  void fields(A& a) {
    a(peer, told, waiting, failure);
  }
};
// What the worker has done, once a second and when it leaves; since its start.
struct WorkerFigures {
  static constexpr LinkType kType = LinkType::kFigures;
  using Reply = NoReply;
  std::uint64_t fills_dropped = 0, fills_queued = 0;
  std::uint64_t being_written = 0, written_dropped = 0, watched = 0;
  std::uint64_t queued = 0, pushed = 0, dropped = 0, left = 0, waiting = 0, bytes = 0;
  std::vector<NodeFigures> nodes;
  // Of the worker that listens for pushes; frames and bytes zazend counts itself.
  std::uint64_t connections = 0, refused = 0, push_bytes = 0;
  std::vector<PeerFigures> peers;  // of the worker that talks to them
  template <class A>
  void fields(A& a) {
    a(fills_dropped, fills_queued, being_written, written_dropped, watched, queued, pushed,
      dropped, left, waiting, bytes, nodes, connections, refused, push_bytes, peers);
  }
};
// The worker is idle. 0: it may end; EAGAIN: more messages are on their way than it has seen.
struct Leave {
  static constexpr LinkType kType = LinkType::kLeave;
  using Reply = NoReply;
  std::uint64_t orders_seen = 0;
  template <class A>
  void fields(A& a) {
    a(orders_seen);
  }
};

// ---- Orders

struct Connection {  // of a client; has no reply
  static constexpr LinkType kType = LinkType::kConnection;
  using Reply = NoReply;
  std::int32_t pid = 0;
  template <class A>
  void fields(A& a) {
    a(pid);
  }
};
struct Compare {
  static constexpr LinkType kType = LinkType::kCompare;
  std::uint32_t dataset = kNoDataset;
  std::uint32_t threads = 1;
  std::vector<CopyToCompare> copies;
  struct Reply {
    std::vector<Comparison> outcomes;
    template <class A>
    void fields(A& a) {
      a(outcomes);
    }
  };
  template <class A>
  void fields(A& a) {
    a(dataset, threads, copies);
  }
};
struct Rights {
  static constexpr LinkType kType = LinkType::kRights;
  std::uint32_t dataset = kNoDataset;
  struct Reply {
    bool is_known = false;  // the origin answers
    RightsAtOrigin rights;
    template <class A>
    void fields(A& a) {
      a(is_known, rights);
    }
  };
  template <class A>
  void fields(A& a) {
    a(dataset);
  }
};
struct NameRights {
  static constexpr LinkType kType = LinkType::kNameRights;
  std::uint32_t dataset = kNoDataset;
  std::vector<FrameSeq> frames;
  struct Reply {
    std::vector<FrameRights> rights;  // one for each frame
    template <class A>
    void fields(A& a) {
      a(rights);
    }
  };
  template <class A>
  void fields(A& a) {
    a(dataset, frames);
  }
};
// Are these still the origin's files, found through the same directories?
struct OriginToVerify {
  FrameSeq seq = 0;
  OriginIdentity identity = {};
  ReachedDirectories reached;
  bool is_fetched = false;  // nobody may have it open for writing
  template <class A>
  void fields(A& a) {
    a(seq, identity, reached, is_fetched);
  }
};
struct VerifyOrigins {
  static constexpr LinkType kType = LinkType::kVerifyOrigins;
  std::uint32_t dataset = kNoDataset;
  std::vector<OriginToVerify> frames;
  struct Reply {
    std::vector<std::uint8_t> are_current;  // 0 or 1
    template <class A>
    void fields(A& a) {
      a(are_current);
    }
  };
  template <class A>
  void fields(A& a) {
    a(dataset, frames);
  }
};
// Has the origin this frame, of this size and with pages of this digest?
struct ContentToLook {
  FrameSeq seq = 0;
  std::uint64_t bytes = 0;
  template <class A>
  void fields(A& a) {
    a(seq, bytes);
  }
};
struct Look {
  static constexpr LinkType kType = LinkType::kLook;
  std::uint32_t dataset = kNoDataset;
  std::vector<ContentToLook> contents;
  struct Reply {
    std::vector<OriginLook> looks;  // of the first ones; those after them were not looked at
    template <class A>
    void fields(A& a) {
      a(looks);
    }
  };
  template <class A>
  void fields(A& a) {
    a(dataset, contents);
  }
};
// A suspended copy was found: tell when nobody writes to the frame.
struct WatchWriters : OfFrame {
  static constexpr LinkType kType = LinkType::kWatchWriters;
  using Reply = NoReply;
  template <class A>
  void fields(A& a) {
    a(dataset, seq);
  }
};
struct WatchChanges : OfFrame {
  static constexpr LinkType kType = LinkType::kWatchChanges;
  using Reply = NoReply;
  template <class A>
  void fields(A& a) {
    a(dataset, seq);
  }
};
struct DatasetKeys {
  std::string path, frames, also;
  bool is_pushed = false, is_removed = false;
  template <class A>
  void fields(A& a) {
    a(path, frames, also, is_pushed, is_removed);
  }
};
// A reload has changed the configuration: all datasets by position, and the peers.
struct Configure {
  static constexpr LinkType kType = LinkType::kConfigure;
  using Reply = NoReply;
  std::vector<DatasetKeys> datasets;
  std::vector<std::string> peers;
  bool has_peers = false;
  std::uint64_t writer_memory_bytes = 0, writer_timeout_ms = 0;
  template <class A>
  void fields(A& a) {
    a(datasets, peers, has_peers, writer_memory_bytes, writer_timeout_ms);
  }
};
struct Problems {
  static constexpr LinkType kType = LinkType::kProblems;
  using Reply = OriginFindings;
  template <class A>
  void fields(A&) {}
};
// Where paths of the configuration lead.
struct FollowPaths {
  static constexpr LinkType kType = LinkType::kFollowLinks;
  struct Reply {
    std::vector<std::string> paths;
    template <class A>
    void fields(A& a) {
      a(paths);
    }
  };
  std::vector<std::string> paths;
  template <class A>
  void fields(A& a) {
    a(paths);
  }
};
struct ReportFigures {
  static constexpr LinkType kType = LinkType::kReportFigures;
  using Reply = WorkerFigures;
  template <class A>
  void fields(A&) {}
};
// Take away what dead jobs of this user left, and reports beyond the limits.
struct SweepJobs {
  static constexpr LinkType kType = LinkType::kSweepJobs;
  using Reply = NoReply;
  template <class A>
  void fields(A&) {}
};
// To the worker of zazend's own user, which talks to the nodes in `peers`: Tell, in the name of
// this life of zazend. kNoDataset: nothing but that it lives. Has no reply.
struct TellPeers {
  static constexpr LinkType kType = LinkType::kTellPeers;
  using Reply = NoReply;
  std::uint64_t life = 0;
  Tell news;
  template <class A>
  void fields(A& a) {
    a(life, news);
  }
};
// A socket on which writers push comes with it; has no reply.
struct Listen {
  static constexpr LinkType kType = LinkType::kListen;
  using Reply = NoReply;
  std::uint16_t methods = 0;
  std::uint32_t own_uid = 0;  // of zazend
  template <class A>
  void fields(A& a) {
    a(methods, own_uid);
  }
};
// To the worker of zazend's own user.
struct Munge {
  static constexpr LinkType kType = LinkType::kMunge;
  using Reply = MungeReply;
  std::string credential;
  template <class A>
  void fields(A& a) {
    a(credential);
  }
};
// Take no more of the clients' messages, and end what is under way.
struct Stop {
  static constexpr LinkType kType = LinkType::kStop;
  using Reply = NoReply;
  template <class A>
  void fields(A&) {}
};

// Programs of this user say in their counters that they have changed frames and could not tell.
// The worker says whether that is to be believed (Untold); has no reply.
struct UntoldChanges {
  static constexpr LinkType kType = LinkType::kUntoldChanges;
  using Reply = NoReply;
  std::vector<std::uint32_t> datasets;
  template <class A>
  void fields(A& a) {
    a(datasets);
  }
};

// The same of datasets that they use (Used); has no reply.
struct UsedDatasets {
  static constexpr LinkType kType = LinkType::kUsedDatasets;
  using Reply = NoReply;
  std::vector<std::uint32_t> datasets;
  template <class A>
  void fields(A& a) {
    a(datasets);
  }
};

using LinkAsks =
    std::tuple<BeginFill, MoreRoom, FinishFill, FinishContent, BeginPushes, FinishPushes,
               AbandonFill, FillFailed, Adopt, Changed, Suspend, Restore, Renew, CopyState,
               Check, SampleAsk, Evict, Pin, Verify, ReadIn, History, StatusAsk, ListAsk,
               Notice, BeginListing, FinishListing, Tell, Doubt, PushKeyAsk, Natives, DiskState,
               DecodeMunge, WorkerFigures, Leave, Untold, Used>;
using LinkOrders =
    std::tuple<Connection, Compare, Rights, NameRights, VerifyOrigins, Look, WatchWriters,
               WatchChanges, Configure, Problems, FollowPaths, SweepJobs, ReportFigures,
               TellPeers, Listen, Munge, Stop, UntoldChanges, UsedDatasets>;

}  // namespace zazen
