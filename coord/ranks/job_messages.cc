// Every message states how many elements follow, unless the reader knows the number. The limits
// are those of bodhi/lean/system/base_types.h.
#include "coord/ranks/job_messages.h"

#include <sys/random.h>
#include <unistd.h>

#include <ctime>
#include <limits>
#include <stdexcept>

#include "bodhi/lean/frames/identity.h"
#include "coord/ranks/byte_stream.h"

namespace zazen {
namespace {

[[noreturn]] void refuse(const char* what) {
  throw std::runtime_error(std::string("malformed message: ") + what);
}

// 0 or an errno.
bool take_code(ByteReader& in, int* code) {
  std::uint64_t number = 0;
  if (!in.number(&number) || number > std::numeric_limits<int>::max()) return false;
  *code = static_cast<int>(number);
  return true;
}

}  // namespace

JobIdentity new_job_identity() {
  JobIdentity identity;
  timespec now{};
  ::clock_gettime(CLOCK_REALTIME, &now);
  identity.started_ns = to_ns(now);
  if (::getrandom(&identity.id, sizeof identity.id, GRND_NONBLOCK) != sizeof identity.id)
    identity.id = static_cast<std::uint64_t>(identity.started_ns) << 24 ^
                  static_cast<std::uint64_t>(::getpid());
  return identity;
}

std::string encode_introduction(const Introduction& introduction) {
  ByteWriter out;
  out.number(introduction.member.has_daemon);
  out.text({reinterpret_cast<const char*>(introduction.member.node.bytes), sizeof(NodeId)});
  out.text(introduction.node_name);
  out.number(static_cast<std::uint64_t>(introduction.filter));
  out.number(introduction.has_ledger);
  out.number(introduction.run);
  out.number(introduction.mount_namespace);
  out.number(introduction.protocol == ProtocolChoice::kPaper);
  const Selection& selection = introduction.selection;
  out.number(selection.begin.has_value());
  out.number(selection.begin.value_or(0));
  out.number(selection.end.has_value());
  out.number(selection.end.value_or(0));
  out.number(selection.stride);
  out.number(static_cast<std::uint64_t>(introduction.expected));
  out.text(introduction.expected_paths);
  out.text(introduction.opening);
  return out.take();
}

Introduction decode_introduction(const std::string& bytes) {
  ByteReader in(bytes);
  std::uint64_t has_daemon = 0, filter = 0, has_ledger = 0, run = 0, paper = 0;
  std::uint64_t mount_namespace = 0;
  std::uint64_t has_begin = 0, begin = 0, has_end = 0, end = 0, stride = 0, expected = 0;
  std::string_view node, name, paths, opening;
  if (!in.number(&has_daemon) || !in.text(&node, sizeof(NodeId)) ||
      node.size() != sizeof(NodeId) || !in.text(&name, kMaxNodeName - 1) ||
      !in.number(&filter) || filter > static_cast<std::uint64_t>(FilterWish::kRequire) ||
      !in.number(&has_ledger) || !in.number(&run) || !in.number(&mount_namespace) ||
      !in.number(&paper) || !in.number(&has_begin) || !in.number(&begin) ||
      !in.number(&has_end) || !in.number(&end) || !in.number(&stride) || stride == 0 ||
      !in.number(&expected) || expected > static_cast<std::uint64_t>(FilterMode::kRequire) ||
      !in.text(&paths, bytes.size()) || !in.text(&opening, bytes.size()) || !in.done())
    refuse("introduction");
  Introduction introduction{{has_daemon != 0, {}},
                            std::string(name),
                            static_cast<FilterWish>(filter),
                            has_ledger != 0,
                            paper != 0 ? ProtocolChoice::kPaper : ProtocolChoice::kExchange,
                            {}};
  if (has_begin != 0) introduction.selection.begin = begin;
  if (has_end != 0) introduction.selection.end = end;
  introduction.selection.stride = stride;
  introduction.expected = static_cast<FilterMode>(expected);
  introduction.expected_paths = paths;
  introduction.opening = opening;
  introduction.run = run;
  introduction.mount_namespace = mount_namespace;
  std::memcpy(introduction.member.node.bytes, node.data(), sizeof(NodeId));
  return introduction;
}

std::string encode_datasets(std::span<const NamedDataset> datasets) {
  ByteWriter out;
  out.number(datasets.size());
  for (const NamedDataset& dataset : datasets) {
    out.text(dataset.path);
    out.text(dataset.frames);
    out.number(static_cast<std::uint64_t>(dataset.filter));
    out.number(static_cast<std::uint64_t>(dataset.audit));
  }
  return out.take();
}

std::vector<NamedDataset> decode_datasets(const std::string& bytes) {
  ByteReader in(bytes);
  std::uint64_t count = 0;
  if (!in.number(&count) || count > kMaxDatasets) refuse("datasets");
  std::vector<NamedDataset> datasets;
  for (std::uint64_t i = 0; i < count; ++i) {
    std::string_view path, frames;
    std::uint64_t filter = 0, audit = 0;
    if (!in.text(&path, kMaxPath - 1) || !in.text(&frames, kMaxTemplate - 1) ||
        !in.number(&filter) || filter > static_cast<std::uint64_t>(FilterMode::kRequire) ||
        !in.number(&audit) || audit > static_cast<std::uint64_t>(AuditMode::kWarn))
      refuse("datasets");
    datasets.push_back({std::string(path), std::string(frames), static_cast<FilterMode>(filter),
                        static_cast<AuditMode>(audit)});
  }
  if (!in.done()) refuse("datasets");
  return datasets;
}

std::string encode_opening(const Opening& opening) {
  ByteWriter out;
  out.text(encode_datasets(opening.datasets));
  for (const DirectoryState& state : opening.states) {
    out.number(static_cast<std::uint64_t>(state.code));
    out.number(state.identity.ino);
    out.number(static_cast<std::uint64_t>(state.identity.mtime_ns));
    out.number(static_cast<std::uint64_t>(state.identity.ctime_ns));
    out.number(state.identity.names);
  }
  out.number(opening.job.id);
  out.number(static_cast<std::uint64_t>(opening.job.started_ns));
  return out.take();
}

Opening decode_opening(const std::string& bytes) {
  ByteReader in(bytes);
  Opening opening;
  std::string_view datasets;
  if (!in.text(&datasets, bytes.size())) refuse("opening");
  opening.datasets = decode_datasets(std::string(datasets));
  opening.states.resize(opening.datasets.size());
  for (DirectoryState& state : opening.states) {
    std::uint64_t mtime = 0, ctime = 0;
    if (!take_code(in, &state.code) || !in.number(&state.identity.ino) || !in.number(&mtime) ||
        !in.number(&ctime) || !in.number(&state.identity.names))
      refuse("opening");
    state.identity.mtime_ns = static_cast<std::int64_t>(mtime);
    state.identity.ctime_ns = static_cast<std::int64_t>(ctime);
  }
  std::uint64_t started = 0;
  if (!in.number(&opening.job.id) || !in.number(&started) || !in.done()) refuse("opening");
  opening.job.started_ns = static_cast<std::int64_t>(started);
  return opening;
}

std::string encode_listing_answer(const ListingAnswer& answer) {
  ByteWriter out;
  out.number(static_cast<std::uint64_t>(answer.code));
  out.text(answer.listing);
  return out.take();
}

ListingAnswer decode_listing_answer(const std::string& bytes) {
  ByteReader in(bytes);
  int code = 0;
  std::string_view listing;
  if (!take_code(in, &code) || !in.text(&listing, bytes.size()) || !in.done())
    refuse("listing");
  return {code, std::string(listing)};
}

}  // namespace zazen
