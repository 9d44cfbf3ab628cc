// The messages between zazend and its workers (D23), in both directions.
//
// A worker *asks* zazend for what only zazend may do: anything in the store. zazend *orders* a
// worker to do what only a process with the user's rights may do: anything at an origin. Each
// message has a reply; its status is 0 or an errno, and with another status than 0 it has no
// body. Descriptors travel from zazend to a worker only: one from a worker could be made to
// block zazend when it is closed.
//
// Each message is a struct, and ZAZEN_LINK_FIELDS names what is sent of it (link_codec.h).
// LinkAsks and LinkOrders list all messages: their numbers, the dispatch on both sides, the
// fuzzer and its seeds come from these lists.
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

namespace zazen {

inline constexpr std::size_t kMostTickets = 2'048;  // of a worker, for files that it writes
inline constexpr std::uint32_t kNoDataset = std::numeric_limits<std::uint32_t>::max();

struct NoReply {
  ZAZEN_LINK_FIELDS();
};

// The whole of many messages, or their beginning.
struct OfDataset {
  std::uint32_t dataset = kNoDataset;
  ZAZEN_LINK_FIELDS(dataset);
};
struct OfDatasets {
  std::vector<std::uint32_t> datasets;
  ZAZEN_LINK_FIELDS(datasets);
};
struct OfFrame {
  std::uint32_t dataset = kNoDataset;
  FrameSeq seq = 0;
  ZAZEN_LINK_FIELDS(dataset, seq);
};
struct OfRange {
  std::uint32_t dataset = kNoDataset;
  FrameSeq first = 0, last = 0;
  ZAZEN_LINK_FIELDS(dataset, first, last);
};
struct TextReply {
  std::string body;  // as the client gets it
  ZAZEN_LINK_FIELDS(body);
};
struct ContentReply {
  std::string body;
  UniqueFd file;
  ZAZEN_LINK_FIELDS(body);
};

// ---- Asks

// A frame is to be copied. Status EINPROGRESS: a native waits for this origin, see Adopt.
// EALREADY: another worker copies it, and this one does not want to wait.
struct BeginFill : OfFrame {
  FrameKind kind = FrameKind::kAlien;
  bool is_idle = false;     // no program waits for it; only what lies idle gives way
  bool is_content = false;  // the origin need not have it
  bool waits = false;       // for another copy of it that is under way
  bool replaces = false;    // a native that waits, and is not this frame
  OriginFacts origin;       // of content: its file
  struct Reply {
    std::uint64_t ticket = 0;  // 0: the copy is there
    UniqueFd file;             // to write the copy to
    ZAZEN_LINK_FIELDS(ticket);
  };
  ZAZEN_LINK_FIELDS(dataset, seq, kind, is_idle, is_content, waits, replaces, origin);
};
struct MoreRoom {
  std::uint64_t ticket = 0, bytes = 0;
  ZAZEN_LINK_FIELDS(ticket, bytes);
};
// The file of the ticket is written and closed.
struct FinishFill {
  std::uint64_t ticket = 0, checksum = 0, room = 0;
  struct stat after = {};        // of the origin
  bool writers_unknown = false;  // nobody can tell whether somebody writes to the frame
  ZAZEN_LINK_FIELDS(ticket, checksum, room, after, writers_unknown);
};
struct FinishContent {
  std::uint64_t ticket = 0, bytes = 0, checksum = 0, room = 0;
  OriginLook look;
  ZAZEN_LINK_FIELDS(ticket, bytes, checksum, room, look);
};
// Files for content that comes over the network: for so many frames of a dataset, each of so
// many bytes. zazend may give fewer, but one at least.
struct BeginPushes {
  static constexpr std::uint32_t kMost = kMostPassed;
  std::uint32_t dataset = kNoDataset;
  std::uint64_t bytes = 0;
  std::uint32_t count = 0;
  struct Reply {
    std::vector<std::uint64_t> tickets;
    std::vector<UniqueFd> files;  // one for each ticket
    std::int32_t status = 0;      // why there are no more
    ZAZEN_LINK_FIELDS(tickets, status);
  };
  ZAZEN_LINK_FIELDS(dataset, bytes, count);
};
struct PushedFile {  // written and closed
  std::uint64_t ticket = 0;
  FrameSeq seq = 0;  // it was begun for any frame of its dataset
  std::uint64_t bytes = 0, checksum = 0;
  ZAZEN_LINK_FIELDS(ticket, seq, bytes, checksum);
};
// Content that came over the network: zazend has it compared with the origin. The reply comes
// when all are stored, or are not.
struct FinishPushes {
  static constexpr std::size_t kMost = 64;
  std::uint32_t dataset = kNoDataset;
  std::vector<PushedFile> pushed;
  struct Reply {
    std::vector<std::int32_t> statuses;  // one for each
    ZAZEN_LINK_FIELDS(statuses);
  };
  ZAZEN_LINK_FIELDS(dataset, pushed);
};
struct AbandonFill {
  std::uint64_t ticket = 0;
  std::int32_t status = 0;  // 0: nothing was written to the file
  ZAZEN_LINK_FIELDS(ticket, status);
};
// For the figures and the log: what a fill came to that had no ticket.
struct FillFailed : OfFrame {
  FrameKind kind = FrameKind::kAlien;
  std::int32_t status = 0;
  ZAZEN_LINK_FIELDS(dataset, seq, kind, status);
};
struct Adopt : OfFrame {
  OriginFacts origin;
  std::string pages;  // of the origin's file: sample_pages()
  ZAZEN_LINK_FIELDS(dataset, seq, origin, pages);
};
// The frame changes, or has changed: its copy goes. was_removed: the program has removed it
// itself; if another one is there by now, that stays.
struct Changed : OfFrame {
  bool found_stale = false, was_removed = false;
  ZAZEN_LINK_FIELDS(dataset, seq, found_stale, was_removed);
};
// A program has opened the frame for writing. ENOENT: there is no copy; otherwise the copy is
// suspended (D25), or dropped.
struct Suspend : OfFrame {
  struct Reply {
    bool is_suspended = false;
    bool has_copy = false;  // of this version:
    std::uint64_t size = 0;
    std::int64_t mtime_ns = 0, ctime_ns = 0;
    ZAZEN_LINK_FIELDS(is_suspended, has_copy, size, mtime_ns, ctime_ns);
  };
};
struct Restore : OfFrame {
  std::uint64_t epoch = 0;
  bool is_young = false;
  ZAZEN_LINK_FIELDS(dataset, seq, epoch, is_young);
};
struct Renew : OfFrame {
  std::uint64_t epoch = 0;
  OriginFacts origin;
  ZAZEN_LINK_FIELDS(dataset, seq, epoch, origin);
};
struct CopyState : OfFrame {
  struct Reply {
    std::uint64_t epoch = 0;  // of a suspended copy
    bool is_held = false;
    std::int32_t status = 0;  // of the identity
    OriginIdentity identity = {};
    ZAZEN_LINK_FIELDS(epoch, is_held, status, identity);
  };
};
// Compare the frame's copy with the origin, as this worker sees it.
struct Check : OfFrame {
  bool distrusts = false;  // a stale copy casts doubt on the others
  ZAZEN_LINK_FIELDS(dataset, seq, distrusts);
};
struct SampleAsk : OfDataset {};
struct Evict : OfRange {
  using Reply = TextReply;
  std::uint32_t what = 0;
  ZAZEN_LINK_FIELDS(dataset, first, last, what);
};
struct Pin : OfRange {
  using Reply = TextReply;
  bool is_pinned = false;
  ZAZEN_LINK_FIELDS(dataset, first, last, is_pinned);
};
struct Verify : OfRange {
  using Reply = TextReply;
};
struct ReadIn : OfFrame {};
struct History : OfFrame {
  using Reply = TextReply;
};
// What a person should know of the origins, as the worker sees them; one phrase each.
struct OriginFindings {
  std::vector<std::string> problems = {}, warnings = {};
  bool is_whole = true;  // false: an origin has not answered yet
  ZAZEN_LINK_FIELDS(is_whole, warnings, problems);
};
struct ListAsk : OfDatasets {
  using Reply = ContentReply;
};
// Read the configuration again; of the worker of zazend's own user.
struct ReloadAsk {
  using Reply = ContentReply;
  ZAZEN_LINK_FIELDS();
};
// This user, to whom the directory belongs, makes it a dataset, or takes it away.
struct AddDataset {
  std::string path, frames;
  bool takes_away = false;
  ZAZEN_LINK_FIELDS(path, frames, takes_away);
};
// From another daemon of this machine.
struct Notice {
  std::string bytes;
  ZAZEN_LINK_FIELDS(bytes);
};
struct BeginListing {
  std::uint32_t dataset = kNoDataset;
  std::uint64_t bytes = 0;
  struct Reply {
    std::uint64_t ticket = 0;
    UniqueFd file;
    ZAZEN_LINK_FIELDS(ticket);
  };
  ZAZEN_LINK_FIELDS(dataset, bytes);
};
struct FinishListing {
  std::uint64_t ticket = 0;
  ReachedDirectories reached;
  ZAZEN_LINK_FIELDS(ticket, reached);
};
// Tells the peers which version of a frame the origin has; without one, that any frame of the
// dataset may have changed.
struct Tell : OfFrame {
  bool is_known = false, is_gone = false;
  std::uint64_t size = 0;
  std::int64_t mtime_ns = 0, ctime_ns = 0;
  ZAZEN_LINK_FIELDS(dataset, seq, is_known, is_gone, size, mtime_ns, ctime_ns);
};
// Messages were lost that may have told of changes, of a user who may search the dataset's
// directory.
struct Doubt : OfDataset {};
// A program of such a user has changed frames and could not tell. Perhaps it still does.
struct Untold : OfDataset {};
// Such a user's programs use the dataset.
struct Used : OfDataset {};
// What the worker proves itself with at other nodes, for datasets with `push = true`; or what
// writers prove themselves with at this node.
struct PushKeyAsk {
  struct Reply {
    std::string key;
    std::vector<std::string> old_keys;
    bool has_munge = false;
    ZAZEN_LINK_FIELDS(key, old_keys, has_munge);
  };
  ZAZEN_LINK_FIELDS();
};
// These five: of the worker that listens for pushes.
struct Natives : OfDataset {
  using Reply = ContentReply;
};
struct DiskState {
  struct Reply {
    bool is_usable = true;
    ZAZEN_LINK_FIELDS(is_usable);
  };
  ZAZEN_LINK_FIELDS();
};
// Only zazend's own user can decode credentials for it.
struct MungeReply {
  std::uint32_t uid = 0;
  std::string secret;
  ZAZEN_LINK_FIELDS(uid, secret);
};
struct DecodeMunge {
  using Reply = MungeReply;
  std::string credential;
  ZAZEN_LINK_FIELDS(credential);
};
// A connection for one request of a user of another machine, which MUNGE names. zazend believes
// the listener nothing else.
struct ConnectAs {
  using Reply = ContentReply;  // its file has the other end at the worker of this user
  std::string credential;
  std::string binding;  // of the session, in which the user's program has asked
  ZAZEN_LINK_FIELDS(credential, binding);
};
struct NodeFigures {
  std::string peer;
  std::uint64_t pushed = 0, bytes = 0;
  bool answers = false;
  std::int64_t known_at_ns = 0;
  ZAZEN_LINK_FIELDS(peer, pushed, bytes, answers, known_at_ns);
};
struct PeerFigures {
  std::string peer;
  std::uint64_t told = 0;  // notices that it has answered
  std::uint64_t waiting = 0;
  std::string failure;  // why it cannot be told; "": it could, or nothing was tried yet
  ZAZEN_LINK_FIELDS(peer, told, waiting, failure);
};
// What the worker has done, once a second and when it leaves; since its start.
struct WorkerFigures {
  std::uint64_t fills_dropped = 0, fills_queued = 0;
  std::uint64_t being_written = 0, written_dropped = 0, watched = 0;
  std::uint64_t queued = 0, pushed = 0, dropped = 0, left = 0, waiting = 0, bytes = 0;
  std::vector<NodeFigures> nodes;
  // Of the worker that listens for pushes; frames and bytes zazend counts itself.
  std::uint64_t connections = 0, refused = 0, push_bytes = 0;
  std::vector<PeerFigures> peers;  // of the worker that talks to them
  ZAZEN_LINK_FIELDS(fills_dropped, fills_queued, being_written, written_dropped, watched,
                    queued, pushed, dropped, left, waiting, bytes, nodes, connections, refused,
                    push_bytes, peers);
};
struct StatusAsk {
  using Reply = ContentReply;
  OriginFindings findings;
  WorkerFigures figures;  // so that zazend need not ask for them
  ZAZEN_LINK_FIELDS(findings, figures);
};
// The worker is idle. 0: it may end; EAGAIN: more messages are on their way than it has seen.
struct Leave {
  std::uint64_t orders_seen = 0;
  ZAZEN_LINK_FIELDS(orders_seen);
};

// ---- Orders

struct Connection {  // of a client; has no reply
  std::int32_t pid = 0;
  ZAZEN_LINK_FIELDS(pid);
};
// Comes with a connection on which the worker takes one message: that of this digest in the
// session with this binding (bodhi/push/push_keys.h).
struct ProvedConnection {
  std::string binding, digest;
  ZAZEN_LINK_FIELDS(binding, digest);
};
struct Compare {
  std::uint32_t dataset = kNoDataset;
  std::uint32_t threads = 1;
  std::vector<CopyToCompare> copies;
  struct Reply {
    std::vector<Comparison> outcomes;
    ZAZEN_LINK_FIELDS(outcomes);
  };
  ZAZEN_LINK_FIELDS(dataset, threads, copies);
};
struct Rights : OfDataset {
  struct Reply {
    bool is_known = false;  // the origin answers
    RightsAtOrigin rights;
    ZAZEN_LINK_FIELDS(is_known, rights);
  };
};
struct NameRights {
  std::uint32_t dataset = kNoDataset;
  std::vector<FrameSeq> frames;
  struct Reply {
    std::vector<FrameRights> rights;  // one for each frame
    ZAZEN_LINK_FIELDS(rights);
  };
  ZAZEN_LINK_FIELDS(dataset, frames);
};
// Are these still the origin's files, found through the same directories?
struct OriginToVerify {
  FrameSeq seq = 0;
  OriginIdentity identity = {};
  ReachedDirectories reached;
  bool is_fetched = false;  // nobody may have it open for writing
  ZAZEN_LINK_FIELDS(seq, identity, reached, is_fetched);
};
struct VerifyOrigins {
  std::uint32_t dataset = kNoDataset;
  std::vector<OriginToVerify> frames;
  struct Reply {
    std::vector<std::uint8_t> are_current;  // 0 or 1
    ZAZEN_LINK_FIELDS(are_current);
  };
  ZAZEN_LINK_FIELDS(dataset, frames);
};
// Has the origin this frame, of this size and with pages of this digest?
struct ContentToLook {
  FrameSeq seq = 0;
  std::uint64_t bytes = 0;
  ZAZEN_LINK_FIELDS(seq, bytes);
};
struct Look {
  std::uint32_t dataset = kNoDataset;
  std::vector<ContentToLook> contents;
  struct Reply {
    std::vector<OriginLook> looks;  // of the first ones; those after them were not looked at
    ZAZEN_LINK_FIELDS(looks);
  };
  ZAZEN_LINK_FIELDS(dataset, contents);
};
// A suspended copy was found: tell when nobody writes to the frame.
struct WatchWriters : OfFrame {};
struct WatchChanges : OfFrame {};
struct DatasetKeys {
  std::string path, frames, also;
  bool is_pushed = false, is_removed = false;
  ZAZEN_LINK_FIELDS(path, frames, also, is_pushed, is_removed);
};
// A reload has changed the configuration: all datasets by position, and the peers.
struct Configure {
  std::vector<DatasetKeys> datasets;
  std::vector<std::string> peers;
  bool has_peers = false;
  std::uint64_t writer_memory_bytes = 0, writer_timeout_ms = 0;
  ZAZEN_LINK_FIELDS(datasets, peers, has_peers, writer_memory_bytes, writer_timeout_ms);
};
struct Problems {
  using Reply = OriginFindings;
  ZAZEN_LINK_FIELDS();
};
// Where paths of the configuration lead.
struct FollowPaths {
  struct Reply {
    std::vector<std::string> paths;
    ZAZEN_LINK_FIELDS(paths);
  };
  std::vector<std::string> paths;
  ZAZEN_LINK_FIELDS(paths);
};
// The directories that a path with '*' stands for (bodhi/config/expand_paths.h).
struct ExpandPath {
  struct Reply {
    bool is_known = false;
    std::vector<std::string> paths;
    ZAZEN_LINK_FIELDS(is_known, paths);
  };
  std::string pattern;
  ZAZEN_LINK_FIELDS(pattern);
};
struct ReportFigures {
  using Reply = WorkerFigures;
  ZAZEN_LINK_FIELDS();
};
// Take away what dead jobs of this user left, and reports beyond the limits.
struct SweepJobs {
  ZAZEN_LINK_FIELDS();
};
// To the worker of zazend's own user, which talks to the nodes in `peers`: Tell, in the name of
// this life of zazend. kNoDataset: nothing but that it lives. Has no reply.
struct TellPeers {
  std::uint64_t life = 0;
  Tell news;
  ZAZEN_LINK_FIELDS(life, news);
};
// A socket on which writers push comes with it; has no reply.
struct Listen {
  std::uint16_t methods = 0;
  std::uint32_t own_uid = 0;  // of zazend
  ZAZEN_LINK_FIELDS(methods, own_uid);
};
// To the worker of zazend's own user.
struct Munge {
  using Reply = MungeReply;
  std::string credential;
  bool is_of_request = false;  // of a session
  ZAZEN_LINK_FIELDS(credential, is_of_request);
};
// The worker answers requests for metrics on the socket that comes with it; has no reply.
struct ServeMetrics {
  ZAZEN_LINK_FIELDS();
};
// Write the log to the file that comes with it; has no reply.
struct WriteLog {
  ZAZEN_LINK_FIELDS();
};
// Take no more of the clients' messages, and end what is under way.
struct Stop {
  ZAZEN_LINK_FIELDS();
};
// Programs of this user say in their counters that they have changed frames and could not tell.
// The worker says whether that is to be believed (Untold); has no reply.
struct UntoldChanges : OfDatasets {};
// The same of datasets that they use (Used); has no reply.
struct UsedDatasets : OfDatasets {};

using LinkAsks =
    std::tuple<BeginFill, MoreRoom, FinishFill, FinishContent, BeginPushes, FinishPushes,
               AbandonFill, FillFailed, Adopt, Changed, Suspend, Restore, Renew, CopyState,
               Check, SampleAsk, Evict, Pin, Verify, ReadIn, History, StatusAsk, ListAsk,
               Notice, BeginListing, FinishListing, Tell, Doubt, PushKeyAsk, Natives, DiskState,
               DecodeMunge, WorkerFigures, Leave, Untold, Used, ReloadAsk, ConnectAs,
               AddDataset>;
using LinkOrders =
    std::tuple<Connection, Compare, Rights, NameRights, VerifyOrigins, Look, WatchWriters,
               WatchChanges, Configure, Problems, FollowPaths, SweepJobs, ReportFigures,
               TellPeers, Listen, Munge, Stop, UntoldChanges, UsedDatasets, ServeMetrics,
               WriteLog, ProvedConnection, ExpandPath>;

// The number of a message: its place in the lists.
enum class LinkType : std::uint16_t { kFirstAsk = 1, kFirstOrder = 100 };
static_assert(std::tuple_size_v<LinkAsks> < 99);

template <class Message, class... Listed>
consteval LinkType number_in(std::tuple<Listed...>*, LinkType first) {
  std::uint16_t number = static_cast<std::uint16_t>(first);
  const bool is_listed = ((std::is_same_v<Message, Listed> || (++number, false)) || ...);
  return is_listed ? LinkType{number} : LinkType{};
}
template <class Message>
inline constexpr LinkType kLinkType = [] {
  constexpr LinkType ask =
      number_in<Message>(static_cast<LinkAsks*>(nullptr), LinkType::kFirstAsk);
  constexpr LinkType order =
      number_in<Message>(static_cast<LinkOrders*>(nullptr), LinkType::kFirstOrder);
  static_assert(ask != order, "a message that is in no list");
  return ask != LinkType{} ? ask : order;
}();

// A message that names no Reply has an empty one.
template <class Message>
struct ReplyOf {
  using type = NoReply;
};
template <class Message>
requires(requires { typename Message::Reply; }) struct ReplyOf<Message> {
  using type = typename Message::Reply;
};
template <class Message>
using LinkReply = typename ReplyOf<Message>::type;

}  // namespace zazen
