// The steps of a job's start, in the order in which run() calls them. Each is made of local
// parts, which may fail (attempt), of collective parts, which every rank goes through
// whatever has failed (together), and of votes.
#include "coord/job.h"

#include <algorithm>
#include <chrono>
#include <functional>
#include <optional>
#include <stdexcept>

#include "bodhi/client.h"
#include "bodhi/packed_listing.h"
#include "coord/division.h"
#include "coord/gathering.h"
#include "coord/holdings.h"
#include "coord/job_messages.h"
#include "coord/samples.h"
#include "coord/view_writer.h"

namespace zazen {
namespace {

constexpr int kDaemonTimeoutMs = 250;

[[noreturn]] void fail(const Error& error) {
  throw std::runtime_error(error.message());
}

class JobStart {
 public:
  JobStart(Communicator& world, const PluginHost& host, const Settings& settings)
      : all_(world),
        trouble_(all_.trouble()),
        world_(world),
        host_(host),
        settings_(settings),
        rank_(world.rank()) {}

  Agreement run() {
    agreement_.rank = rank_;
    agreement_.ranks = world_.size();
    if (introduce() && name_datasets() && form_groups() && find_listings()) {
      bool going = true;
      for (std::size_t i = 0; going && i < named_.size(); ++i) going = agree_on(i);
      if (going) share_out_views();
    }
    samples_.wait();
    if (!agreement_.filtered) {
      trouble_.together([&] {
        if (agreement_.reason.empty()) agreement_.reason = all_.reason();
      });
      if (!directory_.empty()) remove_view_directory(directory_);
    }
    return std::move(agreement_);
  }

 private:
  using Clock = std::chrono::steady_clock;

  static double seconds_since(Clock::time_point then) {
    return std::chrono::duration<double>(Clock::now() - then).count();
  }

  void end_phase(const char* name) {
    trouble_.attempt([&] { agreement_.phases.push_back({name, seconds_since(phase_began_)}); });
    phase_began_ = Clock::now();
  }

  bool give_up(const char* reason) {
    trouble_.together([&] { agreement_.reason = reason; });
    return false;
  }

  // Who is there, on which node, and does anybody object to a filter?
  bool introduce() {
    std::optional<Introduction> me;
    trouble_.attempt([&] {
      const Table* table = host_.table;
      has_daemon_ = table != nullptr && daemon_is_alive(*table, monotonic_ms());
      me = {{has_daemon_, {}},
            has_daemon_ ? table->node_name : "",
            settings_.filter == FilterWish::kOff,
            host_.ledger != nullptr,
            settings_.protocol,
            settings_.selection};
      if (has_daemon_) me->member.node = table->node_id;
    });
    const bool all_here = all_.introduce(me ? &*me : nullptr);
    trouble_.attempt([&] {
      for (const Introduction& who : all_.members())
        agreement_.places.push_back({who.node_name, who.has_ledger});
      agreement_.nodes = all_.groups().nodes;
    });
    if (!all_here) return false;
    if (rank_ == 0) trouble_.attempt([&] { complain(); });
    end_phase("introduce");
    if (std::ranges::any_of(all_.members(), &Introduction::filter_off))
      return give_up("ZAZEN_FILTER=off");
    if (all_.groups().nodes == 0) return give_up("no rank reaches a daemon");
    return true;
  }

  // Of settings that make no sense.
  void complain() const {
    if (!settings_.unknown_protocol.empty())
      say_if_asked(settings_, {"zazen: ZAZEN_PROTOCOL=" + settings_.unknown_protocol +
                                   ": neither exchange nor paper",
                               "hint: exchange is used"});
    if (!settings_.wrong_selection.empty())
      say({"zazen: " + settings_.wrong_selection,
           "hint: the ranks see all frames, as without ZAZEN_BEGIN, ZAZEN_END, ZAZEN_STRIDE"});
  }

  // Which datasets are filtered, by the word of the lowest rank that has a daemon; and in
  // which state their directories are, by the word of rank 0.
  bool name_datasets() {
    const auto with_daemon = std::ranges::find_if(
        all_.members(), [](const Introduction& who) { return who.member.has_daemon; });
    const int speaker = static_cast<int>(with_daemon - all_.members().begin());
    std::string bytes;
    trouble_.attempt([&] {
      if (speaker == rank_) bytes = encode_datasets(wanted_datasets());
    });
    trouble_.together([&] { world_.broadcast(bytes, speaker); });
    trouble_.attempt([&] { take_datasets(bytes); });
    trouble_.attempt([&] {
      bytes.clear();
      if (rank_ == 0) bytes = encode_states(look_at_directories());
    });
    trouble_.together([&] { world_.broadcast(bytes, 0); });
    trouble_.attempt([&] {
      states_ = decode_states(bytes, named_.size());
      listings_.resize(named_.size());
      minima_.assign(1 + 2 * named_.size(), kNobody);
    });
    if (!all_.vote()) return false;
    end_phase("datasets");
    if (named_.empty()) return give_up("no dataset is to be filtered");
    return true;
  }

  std::vector<NamedDataset> wanted_datasets() const {
    std::vector<NamedDataset> wanted;
    for (std::uint32_t i = 0; i < host_.table->dataset_count; ++i) {
      const TableDataset& dataset = host_.table->datasets[i];
      if (dataset.filter == 0) continue;
      if (settings_.datasets && std::ranges::count(*settings_.datasets, dataset.path) == 0)
        continue;
      wanted.push_back({dataset.path, dataset.frames});
    }
    return wanted;
  }

  void take_datasets(const std::string& bytes) {
    named_ = decode_datasets(bytes);
    names_.resize(named_.size());
    for (std::size_t i = 0; i < named_.size(); ++i) {
      const char* why = nullptr;
      const std::string& text = named_[i].frames;
      if (!FrameName::parse(text.data(), text.size(), &names_[i], &why))
        throw std::runtime_error(text + ": " + why);
    }
  }

  std::vector<DirectoryState> look_at_directories() const {
    std::vector<DirectoryState> states;
    for (std::size_t i = 0; i < named_.size(); ++i) {
      Result<DirectoryIdentity> identity =
          stat_directory(frame_directory(named_[i].path, names_[i]), names_[i]);
      states.push_back(identity ? DirectoryState{0, *identity}
                                : DirectoryState{identity.error().code, {}});
    }
    return states;
  }

  bool form_groups() {
    if (all_.is_leader()) trouble_.attempt([&] { ask_for_samples(); });
    all_.form_groups();
    end_phase("groups");
    return true;
  }

  // The daemon looks whether its copies are still those of the origin (D10).
  void ask_for_samples() {
    for (std::size_t i = 0; i < named_.size(); ++i) {
      const TableDataset* dataset = own_dataset(i);
      if (states_[i].code != 0 || dataset == nullptr) continue;
      if (dataset->validate != Validate::kNever)
        samples_.begin(host_.runtime, named_[i].path, kDaemonTimeoutMs);
    }
  }

  // Where this node's daemon keeps what it knows of the dataset; "" if it does not know it.
  std::string state_path(std::size_t i, const char* file) const {
    if (own_dataset(i) == nullptr) return "";
    return std::string(host_.table->cache) + named_[i].path + '/' + file;
  }
  const TableDataset* own_dataset(std::size_t i) const {
    if (!has_daemon_) return nullptr;
    for (std::uint32_t d = 0; d < host_.table->dataset_count; ++d) {
      const TableDataset& dataset = host_.table->datasets[d];
      if (named_[i].path == dataset.path && named_[i].frames == dataset.frames) return &dataset;
    }
    return nullptr;
  }

  // The listings that the nodes keep, if all have the same ones. A node's word on a dataset is
  // the checksum of its listing: if the least of these is the greatest, all are the same.
  bool find_listings() {
    trouble_.attempt([&] {
      for (std::size_t i = 0; i < named_.size(); ++i) {
        if (states_[i].code != 0 || own_dataset(i) == nullptr) continue;
        Result<PackedListing> kept =
            load_kept_listing(state_path(i, kListingFile), states_[i].identity);
        if (kept) listings_[i] = std::move(*kept);
      }
      for (std::size_t i = 0; i < named_.size(); ++i) {
        minima_[1 + 2 * i] = word_on(i);
        minima_[2 + 2 * i] = ~word_on(i);
      }
    });
    if (!all_.vote(minima_)) return false;
    end_phase("listings");

    bool shared = false;
    for (std::size_t i = 0; i < named_.size(); ++i) {
      const std::uint64_t least = minima_[1 + 2 * i], greatest = ~minima_[2 + 2 * i];
      if (states_[i].code != 0 || (least == greatest && least != kNobody)) continue;
      share_listing(i, least);
      shared = true;
    }
    if (!shared) return true;
    const bool all_have_it = all_.vote();
    agreement_.listing_seconds = seconds_since(phase_began_);
    end_phase("list");
    return all_have_it;
  }

  std::uint64_t word_on(std::size_t i) const {
    return listings_[i] ? std::min(listings_[i]->checksum(), kNobody - 1) : kNobody;
  }

  // Collective: all get the listing with this word, from the lowest rank that has it, or else
  // the one that rank 0 takes now (D20). The nodes that had none keep it.
  void share_listing(std::size_t i, std::uint64_t word) {
    std::uint64_t holder[] = {kNobody};
    const bool has_it = word != kNobody && word_on(i) == word;
    if (has_it) holder[0] = static_cast<std::uint64_t>(rank_);
    world_.all_min(holder);
    const int root = holder[0] == kNobody ? 0 : static_cast<int>(holder[0]);

    std::string bytes;
    trouble_.attempt([&] {
      if (rank_ == root) bytes = encode_listing_answer(has_it ? kept(i) : list(i));
    });
    trouble_.together([&] { world_.broadcast(bytes, root); });
    trouble_.attempt([&] {
      if (has_it) return;
      ListingAnswer answer = decode_listing_answer(bytes);
      listings_[i].reset();
      states_[i].code = answer.code;
      if (answer.code != 0) return;
      Result<PackedListing> listing = PackedListing::read(std::move(answer.listing));
      if (!listing) fail(listing.error());
      listings_[i] = std::move(*listing);
      if (all_.is_leader()) keep_listing(i);
    });
  }

  ListingAnswer kept(std::size_t i) const { return {0, listings_[i]->bytes()}; }
  ListingAnswer list(std::size_t i) const {
    Result<Listing> listing =
        list_directory(frame_directory(named_[i].path, names_[i]), names_[i]);
    if (!listing) return {listing.error().code, {}};
    return {0, encode_listing(*listing)};
  }

  // Best effort: the next job need not list. A daemon that does not answer costs 250 ms, once.
  void keep_listing(std::size_t i) {
    const PackedListing& listing = *listings_[i];
    if (!is_settled(listing.directory(), listing.taken_at_ns()) || own_dataset(i) == nullptr ||
        daemon_is_silent_)
      return;
    daemon_is_silent_ = true;
    Result<Client> client = Client::connect(host_.runtime, kDaemonTimeoutMs);
    if (!client) return;
    Status kept = client->keep_listing(named_[i].path, listing.bytes());
    daemon_is_silent_ = !kept && kept.error().code == ETIMEDOUT;
  }

  // One dataset, from its listing to this rank's frames. False if a vote failed.
  bool agree_on(std::size_t i) {
    if (states_[i].code != 0) {
      trouble_.attempt([&] {
        agreement_.notes.push_back(Error{states_[i].code, named_[i].path, {}}.message());
      });
      return true;
    }
    const Introduction& first = all_.members()[0];
    Domain domain;
    trouble_.attempt([&] { domain = Domain(listings_[i]->runs(), first.selection); });
    auto look_up = [&](Protocol& protocol) {
      if (own_dataset(i) == nullptr) return;
      protocol.natives() = held_frames(state_path(i, kNativeLog), domain);
      protocol.aliens() = held_frames(state_path(i, kAlienLog), domain);
    };
    Share share;
    if (!divide(all_, first.protocol, domain.size(), std::ref(look_up), &share)) return false;
    end_phase("protocol");
    trouble_.attempt([&] { add_to_view(i, domain, share); });
    return true;
  }

  void add_to_view(std::size_t i, const Domain& domain, const Share& share) {
    const PackedListing& listing = *listings_[i];
    ViewDatasetContent content;
    content.path = named_[i].path;
    content.frames = named_[i].frames;
    content.frame_directory_ino = listing.directory().ino;
    content.entry_is_directory = names_[i].entry_is_directory();
    content.domain_count = domain.size();
    for (const DomainRun& run : domain.runs())
      content.domain.push_back({run.first, run.stride, run.count});
    content.own.reserve(share.frames.count());
    DomainWalk walk(domain);
    share.frames.for_each([&](std::size_t index) {
      const DomainWalk::Frame frame = walk.at(index);
      content.own.push_back({frame.seq, listing.inode(frame.position)});
    });
    content.names = listing.others();
    agreement_.datasets.push_back({content.path, content.frames, listing.directory(),
                                   content.domain_count, share.adopted, domain.selection()});
    view_.datasets.push_back(std::move(content));
    listings_[i].reset();
  }

  void share_out_views() {
    // Every rank left out the same datasets, but a rank in trouble may have none.
    const bool any = std::ranges::any_of(
        states_, [](const DirectoryState& state) { return state.code == 0; });
    if (!any) {
      trouble_.together([&] {
        agreement_.reason =
            agreement_.notes.empty() ? "no dataset can be listed" : agreement_.notes[0];
      });
      return;
    }
    std::string identity;
    trouble_.attempt([&] {
      if (rank_ == 0) identity = encode_job_identity(new_job_identity());
    });
    trouble_.together([&] { world_.broadcast(identity, 0); });
    bool adopted = false;
    trouble_.attempt([&] {
      view_.job = decode_job_identity(identity);
      view_.rank = rank_;
      view_.ranks = world_.size();
      view_.nodes = all_.groups().nodes;
      view_.node_name = agreement_.places[static_cast<std::size_t>(rank_)].node;
      std::vector<std::string> parents;
      if (has_daemon_) parents.push_back(std::string(host_.runtime) + '/' + kJobsDirectory);
      parents.push_back(settings_.temporary);
      Result<std::string> directory = make_view_directory(parents);
      if (!directory) fail(directory.error());
      directory_ = *directory;
      if (Status written = write_view(directory_, view_); !written) fail(written.error());
      if (int code = host_.adopt_view(directory_.c_str()))
        fail(Error{code, directory_ + ": adopt the view", {}});
      adopted = true;
      if (!map_view(directory_.c_str(), &agreement_.view, &agreement_.tally))
        throw std::runtime_error(directory_ + ": the view cannot be mapped");
      agreement_.view_directory = directory_;
    });
    end_phase("view");
    samples_.wait();
    end_phase("samples");
    const bool all_have_one = all_.vote();
    end_phase("end");
    if (all_have_one) {
      host_.activate_view();
      agreement_.filtered = true;
      return;
    }
    if (adopted) host_.drop_view();
    if (agreement_.view != nullptr) unmap_view(agreement_.view, agreement_.tally);
    agreement_.view = nullptr;
    agreement_.tally = nullptr;
  }

  Gathering all_;
  Trouble& trouble_;
  Communicator& world_;
  const PluginHost& host_;
  const Settings& settings_;
  const int rank_;

  Agreement agreement_;
  Clock::time_point phase_began_ = Clock::now();
  bool has_daemon_ = false;
  std::vector<NamedDataset> named_;
  std::vector<FrameName> names_;  // of named_, compiled
  std::vector<DirectoryState> states_;
  std::vector<std::optional<PackedListing>> listings_;
  std::vector<std::uint64_t> minima_;  // of a vote on the listings
  Samples samples_;
  bool daemon_is_silent_ = false;
  ViewContent view_;
  std::string directory_;
};

}  // namespace

Agreement agree_on_views(Communicator& world, const PluginHost& host,
                         const Settings& settings) {
  return JobStart(world, host, settings).run();
}

}  // namespace zazen
