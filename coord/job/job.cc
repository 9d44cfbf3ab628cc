// The steps of a job's start, in the order in which run() calls them. Each is made of local
// parts, which may fail (attempt), of collective parts, which every rank goes through
// whatever has failed (together), and of votes.
#include "coord/job/job.h"

#include <sys/stat.h>

#include <algorithm>
#include <chrono>
#include <cstring>
#include <optional>
#include <span>
#include <stdexcept>

#include "coord/job/dataset_start.h"
#include "coord/job/directory_looks.h"
#include "coord/job/shared_listings.h"
#include "coord/job/view_writer.h"
#include "coord/protocol/division.h"
#include "coord/ranks/job_messages.h"
#include "coord/ranks/job_ranks.h"

namespace zazen {
namespace {

[[noreturn]] void fail(const Error& error) {
  throw std::runtime_error(error.message());
}

class JobStart {
 public:
  JobStart(Communicator& world, const PluginHost& host, const Settings& settings)
      : all_(world),
        first_error_(all_.first_error()),
        world_(world),
        host_(host),
        settings_(settings),
        rank_(world.rank()) {}

  Agreement run() {
    agreement_.rank = rank_;
    agreement_.ranks = world_.size();
    // First of all, so that it is known whatever fails.
    agreement_.expected = host_.expected;
    first_error_.local_step([&] {
      if (host_.expected_paths != nullptr) agreement_.expected_paths = host_.expected_paths;
    });
    introduce();
    if (prepare() && may_go_on() && hear_of_datasets() && share_listings() && form_groups()) {
      divide();
      share_out_views();
    }
    if (!agreement_.filtered) {
      first_error_.collective_step([&] {
        if (!agreement_.reason.empty()) return;
        // A vote has failed: it is about all datasets, and not about some that were left out.
        agreement_.reason = all_.reason();
        agreement_.left_out.clear();
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
    first_error_.local_step([&] {
      agreement_.phases.push_back({name, seconds_since(phase_began_)});
    });
    phase_began_ = Clock::now();
  }

  bool give_up(const char* reason) {
    first_error_.collective_step([&] { agreement_.reason = reason; });
    return false;
  }

  // Who is there, and on which node? Rank 0 says the rest with it, if it can.
  void introduce() {
    std::optional<Introduction> me;
    first_error_.local_step([&] {
      const Table* table = host_.table;
      has_daemon_ = table != nullptr && daemon_is_alive(*table, monotonic_ms());
      me = {{has_daemon_, {}},  has_daemon_ ? table->node_name : "",
            settings_.filter,   host_.ledger != nullptr,
            settings_.protocol, settings_.selection,
            host_.expected,     host_.expected_paths == nullptr ? "" : host_.expected_paths};
      if (host_.run != nullptr) me->run = host_.run->number;
      struct stat st;
      if (::stat("/proc/self/ns/mnt", &st) == 0) me->mount_namespace = st.st_ino;
      if (has_daemon_) me->member.node = table->node_id;
      const bool speaks = has_daemon_ && me->filter != FilterWish::kOff;
      // A rank that is not the first on its host is hardly ever its node's leader.
      if (rank_ == 0 || host_.place.local_rank <= 0)
        look_at(speaks ? wanted_datasets() : std::vector<NamedDataset>());
      if (rank_ != 0) return;
      // One MPI job of a run has the run's number.
      if (host_.run != nullptr && host_.run->is_taken.exchange(1) == 0)
        seen_.job.id = host_.run->job;
      me->opening = encode_opening(seen_);
    });
    all_.introduce(me ? &*me : nullptr);
    first_error_.local_step([&] {
      for (const Introduction& who : all_.members()) {
        agreement_.places.push_back({who.node_name, who.has_ledger, who.run});
        if (who.expected <= agreement_.expected) continue;
        agreement_.expected = who.expected;
        agreement_.expected_paths = who.expected_paths;
      }
      agreement_.nodes = all_.groups().nodes;
      take_opening(all_.members()[0].opening);
    });
    end_phase("introduce");
  }

  // Everything that a rank can do alone, if its node keeps the listings, and a vote: has every
  // rank come so far, and are the listings the same? A node's word is the checksum of all of
  // its listings; if the least of these is the greatest, all are the same.
  bool prepare() {
    std::uint64_t word = kNobody, misses_datasets = kNobody;
    first_error_.local_step([&] {
      if (somebody_objects()) return;
      missed_ = missed_datasets();
      if (!missed_.empty()) misses_datasets = static_cast<std::uint64_t>(rank_);
      compare_with_own_look();
      for (DatasetStart& dataset : datasets_) load_listing(dataset);
      end_phase("listings");
      word = listings_checksum();
      if (word != kNobody) make_division();
      end_phase("logs");
    });
    std::uint64_t minima[] = {kNobody, word, ~word, misses_datasets};
    const bool all_well = all_.vote(minima);
    listings_agree_ = minima[1] == ~minima[2] && minima[1] != kNobody;
    misses_datasets_ = minima[3];
    end_phase("ready");
    return all_well;
  }

  // The lowest rank with ZAZEN_FILTER=off, or as many as there are.
  std::size_t who_objects() const {
    const auto& members = all_.members();
    return static_cast<std::size_t>(
        std::ranges::find(members, FilterWish::kOff, &Introduction::filter) - members.begin());
  }
  bool somebody_objects() const { return who_objects() != all_.members().size(); }

  bool may_go_on() {
    if (somebody_objects()) {
      const bool all_do = std::ranges::all_of(all_.members(), [](const Introduction& who) {
        return who.filter == FilterWish::kOff;
      });
      first_error_.collective_step([&] {
        agreement_.reason = "ZAZEN_FILTER=off";
        if (!all_do) agreement_.reason += " on rank " + std::to_string(who_objects());
      });
      return false;
    }
    if (all_.groups().nodes == 0) return give_up("no rank reaches a daemon");
    return true;
  }

  // The lowest rank that has a daemon.
  int deciding_rank() const {
    const auto with_daemon = std::ranges::find_if(
        all_.members(), [](const Introduction& who) { return who.member.has_daemon; });
    return static_cast<int>(with_daemon - all_.members().begin());
  }
  const std::string& deciding_node() const {
    return all_.members()[static_cast<std::size_t>(deciding_rank())].node_name;
  }

  // Which datasets are filtered, by the word of the deciding rank; and in which state their
  // directories are, by the word of rank 0. Nearly always they are the same rank, and all is
  // known.
  bool hear_of_datasets() {
    const int speaker = deciding_rank();
    if (speaker != 0) {
      std::string bytes;
      first_error_.local_step([&] {
        if (speaker == rank_) bytes = encode_datasets(wanted_datasets());
      });
      first_error_.collective_step([&] { world_.broadcast(bytes, speaker); });
      first_error_.local_step([&] {
        if (rank_ == 0) {
          look_at(decode_datasets(bytes));
          bytes = encode_opening(seen_);
        }
      });
      first_error_.collective_step([&] { world_.broadcast(bytes, 0); });
      first_error_.local_step([&] { take_opening(bytes); });
      if (!prepare()) return false;
    }
    if (!hear_of_missed_datasets()) return false;
    if (datasets_.empty()) return give_up("no dataset is to be divided");
    return true;
  }

  // Datasets that this rank expects to be divided and that are not among the agreed ones: the
  // nodes' configurations or the ranks' environments differ, or ZAZEN_DATASETS names one that
  // this node does not know (which then has no template). Also those that must be divided here,
  // and merely should be by the word of the rank that named them.
  std::vector<NamedDataset> missed_datasets() {
    if (!has_daemon_) return {};
    std::vector<NamedDataset> missed = wanted_datasets();
    if (settings_.datasets) {
      const bool is_required = settings_.filter == FilterWish::kRequire;
      for (const std::string& path : *settings_.datasets)
        if (path.size() < kMaxPath && !own_table_has(path))
          missed.push_back({path, "", is_required ? FilterMode::kRequire : FilterMode::kOn});
    }
    std::erase_if(missed, [&](const NamedDataset& one) {
      const FilterMode* known = known_filter(one.path);
      return known != nullptr && *known >= one.filter;
    });
    if (missed.size() > kMaxDatasets)
      missed.resize(kMaxDatasets);  // the rest in another message
    return missed;
  }

  // Of a dataset that is agreed on, or left out.
  FilterMode* known_filter(const std::string& path) {
    for (DatasetStart& dataset : datasets_)
      if (dataset.named.path == path) return &dataset.named.filter;
    for (LeftOut& dataset : agreement_.left_out)
      if (dataset.path == path) return &dataset.filter;
    return nullptr;
  }

  bool own_table_has(const std::string& path) const {
    const std::span all(host_.table->datasets, host_.table->dataset_count);
    return std::ranges::any_of(all, [&](const TableDataset& dataset) {
      return dataset.removed == 0 && path == dataset.path;
    });
  }

  // Collective: the ranks that miss datasets name them, the lowest rank first, and all ranks
  // leave them out. Nearly always there is no such rank.
  bool hear_of_missed_datasets() {
    while (misses_datasets_ != kNobody) {
      const auto speaker = static_cast<int>(misses_datasets_);
      std::string bytes;
      first_error_.local_step([&] {
        if (speaker == rank_) bytes = encode_datasets(missed_);
      });
      first_error_.collective_step([&] { world_.broadcast(bytes, speaker); });
      first_error_.local_step([&] {
        for (const NamedDataset& one : decode_datasets(bytes)) take_missed(one, speaker);
        missed_ = missed_datasets();
      });
      std::uint64_t minima[] = {kNobody,
                                missed_.empty() ? kNobody : static_cast<std::uint64_t>(rank_)};
      if (!all_.vote(minima)) return false;
      misses_datasets_ = minima[1];
    }
    return true;
  }

  void take_missed(const NamedDataset& missed, int speaker) {
    if (FilterMode* known = known_filter(missed.path)) {
      *known = std::max(*known, missed.filter);
      return;
    }
    std::string why = "no such dataset";
    if (!missed.frames.empty()) {
      why = "node " + all_.members()[static_cast<std::size_t>(speaker)].node_name +
            " divides it by its configuration or environment, node " + deciding_node() +
            " does not";
    }
    agreement_.left_out.push_back({missed.path, why, missed.filter});
  }

  std::vector<NamedDataset> wanted_datasets() const {
    std::vector<NamedDataset> wanted;
    for (std::uint32_t i = 0; i < host_.table->dataset_count; ++i) {
      const TableDataset& dataset = host_.table->datasets[i];
      const FilterMode filter = effective_filter(settings_, dataset);
      if (filter == FilterMode::kOff) continue;
      wanted.push_back({dataset.path, dataset.frames, filter, dataset.audit});
    }
    return wanted;
  }

  // At the directories of these datasets. Rank 0's word on their states counts, and each node's
  // leader must find the directories that are listed: a host may lack a file system. So must a
  // rank that may see other ones than its leader does. A file server is asked once by each
  // node.
  void look_at(std::vector<NamedDataset> datasets) {
    seen_ = {std::move(datasets), {}, new_job_identity()};
    seen_.states = look_at_directories(seen_.datasets);
  }

  bool sees_what_its_leader_sees() const {
    if (all_.is_leader()) return false;
    const NodeGroups& groups = all_.groups();
    const auto leader = static_cast<std::size_t>(groups.ranks[groups.group(rank_)].front());
    const std::uint64_t own = all_.members()[static_cast<std::size_t>(rank_)].mount_namespace;
    return own != 0 && own == all_.members()[leader].mount_namespace;
  }

  // The agreed datasets as this rank found them. Nearly always they are those of its table.
  void compare_with_own_look() {
    if (sees_what_its_leader_sees()) {
      for (DatasetStart& dataset : datasets_) dataset.here = dataset.state;
      return;
    }
    std::vector<NamedDataset> agreed;
    for (const DatasetStart& dataset : datasets_) agreed.push_back(dataset.named);
    if (!agreed.empty() && agreed != seen_.datasets) look_at(std::move(agreed));
    for (std::size_t i = 0; i < datasets_.size(); ++i) datasets_[i].here = seen_.states[i];
  }

  void take_opening(const std::string& bytes) {
    Opening opening = decode_opening(bytes);
    view_.job = opening.job;
    agreement_.job = opening.job.id;
    datasets_.clear();
    for (std::size_t i = 0; i < opening.datasets.size(); ++i) {
      DatasetStart& dataset = datasets_.emplace_back();
      dataset.named = std::move(opening.datasets[i]);
      dataset.name = compiled(dataset.named.frames);
      dataset.state = opening.states[i];
      dataset.own = own_dataset(dataset, i);
    }
  }

  bool form_groups() {
    const bool formed = all_.form_groups();
    end_phase("groups");
    return formed;
  }

  // Where this node's daemon keeps what it knows of the dataset; "" if it does not know it.
  std::string state_path(const DatasetStart& dataset, const char* file) const {
    if (dataset.own == nullptr) return "";
    return std::string(host_.table->cache) + dataset.named.path + '/' + file;
  }
  // Nearly always it is the one with this number.
  const TableDataset* own_dataset(const DatasetStart& dataset, std::size_t first) const {
    const std::size_t count = has_daemon_ ? host_.table->dataset_count : 0;
    for (std::size_t d = 0; d < count; ++d) {
      const TableDataset& own = host_.table->datasets[(first + d) % count];
      if (dataset.named.path == own.path && dataset.named.frames == own.frames) return &own;
    }
    return nullptr;
  }

  // The one that this node keeps. Its leader makes sure that it is whole; if it is not, the
  // leader has none, and nobody's is used.
  void load_listing(DatasetStart& dataset) const {
    if (dataset.state.code != 0 || dataset.own == nullptr) return;
    Result<PackedListing> kept =
        load_kept_listing(state_path(dataset, kListingFile), dataset.state.identity,
                          all_.is_leader() ? ListingCheck::kWhole : ListingCheck::kTrusting);
    if (kept) dataset.listing = std::move(*kept);
  }

  // Of all datasets that can be listed.
  void make_division() {
    const Introduction& first = all_.members()[0];
    std::vector<NodeHoldings> holdings;
    divided_.clear();
    for (DatasetStart& dataset : datasets_) {
      if (dataset.state.code != 0) continue;
      dataset.domain = Domain(dataset.listing->runs(), first.selection);
      holdings.push_back(holdings_here(dataset));
      divided_.push_back(&dataset);
    }
    division_.emplace(all_, first.protocol, std::move(holdings));
  }

  // The frames that this node holds; only its leader looks for them.
  NodeHoldings holdings_here(const DatasetStart& dataset) const {
    if (all_.is_leader() && dataset.own != nullptr)
      return holdings_of_node(host_.table->cache + dataset.named.path, dataset.domain);
    const PackedSet none(dataset.domain.size());
    return {none, none};
  }

  std::uint64_t listings_checksum() const {
    std::uint64_t word = 0;
    for (const DatasetStart& dataset : datasets_) {
      if (dataset.state.code != 0) continue;
      if (!dataset.listing) return kNobody;
      word = word * 0x9e3779b97f4a7c15 + dataset.listing_checksum();
    }
    return std::min(word, kNobody - 1);
  }

  // If the nodes do not keep the same listings, all get the same ones (D20).
  bool share_listings() {
    if (listings_agree_) return true;
    std::optional<bool> shared = zazen::share_listings(all_, host_.runtime, datasets_);
    if (!shared) return false;
    if (*shared) agreement_.listing_seconds = seconds_since(phase_began_);
    end_phase("list");
    first_error_.local_step([&] { make_division(); });
    end_phase("logs");
    return all_.vote();
  }

  // Collective: from the listings to this rank's frames. All ranks left out the same datasets.
  void divide() {
    first_error_.local_step([&] {
      for (const DatasetStart& dataset : datasets_)
        if (dataset.state.code != 0)
          agreement_.left_out.push_back(
              {dataset.named.path, std::strerror(dataset.state.code), dataset.named.filter});
    });
    std::vector<Share> shares = division_->run();
    division_.reset();
    end_phase("protocol");
    first_error_.local_step([&] {
      for (std::size_t i = 0; i < divided_.size(); ++i) {
        divided_[i]->share = std::move(shares[i]);
        add_to_view(*divided_[i]);
      }
    });
  }

  void add_to_view(const DatasetStart& dataset) {
    const PackedListing& listing = *dataset.listing;
    const Domain& domain = dataset.domain;
    if (dataset.here.code != 0)
      fail(Error{dataset.here.code, dataset.named.path + ": look at the directory", {}});
    if (dataset.here.identity.ino != listing.directory().ino)
      fail(Error{ESTALE, dataset.named.path + ": not the directory that was listed", {}});
    ViewDatasetContent content;
    content.path = dataset.named.path;
    content.frames = dataset.named.frames;
    content.frame_directory_ino = listing.directory().ino;
    content.entry_is_directory = dataset.name.entry_is_directory();
    content.domain_count = domain.size();
    for (const DomainRun& run : domain.runs())
      content.domain.push_back({run.first, run.stride, run.count});
    content.names = listing.others();
    content.own_count = dataset.share.frames.count();
    content.own = [&dataset](ViewFrames& out) {
      if (!add_own_frames(dataset.share.frames, dataset.domain, *dataset.listing, &out))
        throw std::runtime_error(dataset.named.path + ": the kept listing cannot be read");
    };
    agreement_.datasets.push_back({content.path, content.frames, listing.directory(),
                                   content.domain_count, dataset.share.adopted,
                                   domain.selection(), dataset.named.audit});
    view_.datasets.push_back(std::move(content));
  }

  void share_out_views() {
    // Every rank left out the same datasets, but a rank in trouble may have none.
    const bool any = std::ranges::any_of(
        datasets_, [](const DatasetStart& dataset) { return dataset.state.code == 0; });
    if (!any) {
      first_error_.collective_step([&] {
        agreement_.reason = "no dataset can be listed";
        if (agreement_.left_out.empty()) return;
        const LeftOut& first = agreement_.left_out.front();
        agreement_.reason = first.path + ": " + first.why;
      });
      return;
    }
    bool adopted = false;
    first_error_.local_step([&] {
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
      if (int code = host_.adopt_view(directory_.c_str(), &agreement_.view, &agreement_.tally))
        fail(Error{code, directory_ + ": adopt the view", {}});
      adopted = true;
      agreement_.view_directory = directory_;
    });
    end_phase("view");
    const bool all_have_one = all_.vote();
    end_phase("end");
    if (all_have_one) {
      host_.activate_view();
      agreement_.filtered = true;
      return;
    }
    if (adopted) host_.drop_view();
    agreement_.view = nullptr;
    agreement_.tally = nullptr;
  }

  JobRanks all_;
  FirstError& first_error_;
  Communicator& world_;
  const PluginHost& host_;
  const Settings& settings_;
  const int rank_;

  Agreement agreement_;
  Clock::time_point phase_began_ = Clock::now();
  bool has_daemon_ = false;
  Opening seen_;                             // what this rank would say in rank 0's place
  std::vector<DatasetStart> datasets_;       // the agreed ones
  std::vector<NamedDataset> missed_;         // by this rank
  std::uint64_t misses_datasets_ = kNobody;  // the lowest rank that misses some
  std::vector<DatasetStart*> divided_;       // of these, those that can be listed
  std::optional<Division> division_;         // of those
  bool listings_agree_ = false;
  ViewContent view_;
  std::string directory_;
};

}  // namespace

Agreement agree_on_views(Communicator& world, const PluginHost& host,
                         const Settings& settings) {
  return JobStart(world, host, settings).run();
}

}  // namespace zazen
