// The steps of a job's start, in the order in which run() calls them. Each is made of local
// parts, which may fail (trouble_.attempt), of collective parts, which every rank goes
// through whatever has failed (trouble_.together), and of a vote. A collective is entered
// only when a vote has shown that all ranks know its shape, so that no failure of one rank
// can make two ranks disagree about what comes next.
#include "coord/job.h"

#include <algorithm>
#include <limits>
#include <optional>
#include <stdexcept>

#include "bodhi/client.h"
#include "bodhi/seqlog.h"
#include "coord/job_messages.h"
#include "coord/protocol.h"
#include "coord/rules.h"
#include "coord/trouble.h"
#include "coord/view_writer.h"

namespace zazen {
namespace {

constexpr int kDaemonTimeoutMs = 250;
constexpr std::uint64_t kNobody = std::numeric_limits<std::uint64_t>::max();

[[noreturn]] void fail(const Error& error) {
  throw std::runtime_error(error.message());
}

class JobStart {
 public:
  JobStart(Communicator& world, const PluginHost& host, const Settings& settings)
      : world_(world), host_(host), settings_(settings), rank_(world.rank()) {}

  Agreement run() {
    agreement_.rank = rank_;
    agreement_.ranks = world_.size();
    if (introduce() && name_datasets() && form_groups()) {
      bool going = true;
      for (std::size_t i = 0; going && i < named_.size(); ++i) going = agree_on(i);
      if (going) share_out_views();
    }
    if (!agreement_.filtered && !directory_.empty()) remove_view_directory(directory_);
    return std::move(agreement_);
  }

 private:
  // Collective. False if any rank is in trouble; then the reason is the same on all.
  bool vote() {
    if (world_.failed()) trouble_.note("communication failed");
    std::uint64_t first_failed[] = {trouble_.any() ? static_cast<std::uint64_t>(rank_)
                                                   : kNobody};
    world_.all_min(first_failed);
    if (first_failed[0] == kNobody && !world_.failed()) return true;

    const int speaker = first_failed[0] == kNobody ? 0 : static_cast<int>(first_failed[0]);
    std::string text;
    trouble_.together([&] {
      if (speaker == rank_) text = trouble_.text();
      world_.broadcast(text, speaker);
    });
    trouble_.together(
        [&] { agreement_.reason = "rank " + std::to_string(speaker) + ": " + text; });
    return false;
  }

  bool give_up(const char* reason) {
    trouble_.together([&] { agreement_.reason = reason; });
    return false;
  }

  // Who is there, on which node, and does anybody object to a filter?
  bool introduce() {
    std::string mine;
    trouble_.attempt([&] {
      const Table* table = host_.table;
      const bool alive = table != nullptr && daemon_is_alive(*table, monotonic_ms());
      Introduction me{{alive, {}},
                      alive ? table->node_name : "",
                      settings_.filter == FilterWish::kOff,
                      host_.ledger != nullptr,
                      settings_.protocol};
      if (alive) me.member.node = table->node_id;
      mine = encode_introduction(me);
      has_daemon_ = alive;
      node_name_ = me.node_name;
    });
    std::vector<std::string> all;
    trouble_.together([&] { all = world_.all_gather(mine); });
    bool any_off = false;
    trouble_.attempt([&] {
      if (all.size() != static_cast<std::size_t>(world_.size()))
        throw std::runtime_error("a rank did not introduce itself");
      for (const std::string& bytes : all) {
        Introduction who = decode_introduction(bytes);
        any_off |= who.filter_off;
        if (members_.empty()) protocol_choice_ = who.protocol;
        members_.push_back(who.member);
        agreement_.places.push_back({std::move(who.node_name), who.has_ledger});
      }
      groups_ = group_by_node(members_);
      agreement_.nodes = groups_.nodes;
    });
    if (!vote()) return false;
    if (rank_ == 0 && !settings_.unknown_protocol.empty())
      trouble_.attempt([&] {
        say_if_asked(settings_, {"zazen: ZAZEN_PROTOCOL=" + settings_.unknown_protocol +
                                     ": neither exchange nor paper",
                                 "hint: exchange is used"});
      });
    if (any_off) return give_up("ZAZEN_FILTER=off");
    if (groups_.nodes == 0) return give_up("no rank reaches a daemon");
    return true;
  }

  // Which datasets are filtered, by the word of the lowest rank that has a daemon; and in
  // which state their directories are, by the word of rank 0.
  bool name_datasets() {
    const auto with_daemon = std::ranges::find_if(members_, &Member::has_daemon);
    const int speaker = static_cast<int>(with_daemon - members_.begin());
    std::string bytes;
    trouble_.attempt([&] {
      if (speaker == rank_) bytes = encode_datasets(wanted_datasets());
    });
    trouble_.together([&] { world_.broadcast(bytes, speaker); });
    trouble_.attempt([&] {
      named_ = decode_datasets(bytes);
      names_.resize(named_.size());
      for (std::size_t i = 0; i < named_.size(); ++i) {
        const char* why = nullptr;
        const std::string& text = named_[i].frames;
        if (!FrameName::parse(text.data(), text.size(), &names_[i], &why))
          throw std::runtime_error(text + ": " + why);
      }
    });
    trouble_.attempt([&] {
      bytes.clear();
      if (rank_ != 0) return;
      std::vector<DirectoryState> states;
      for (std::size_t i = 0; i < named_.size(); ++i) {
        Result<DirectoryIdentity> identity =
            stat_directory(frame_directory(named_[i].path, names_[i]));
        states.push_back(identity ? DirectoryState{0, *identity}
                                  : DirectoryState{identity.error().code, {}});
      }
      bytes = encode_states(states);
    });
    trouble_.together([&] { world_.broadcast(bytes, 0); });
    trouble_.attempt([&] { states_ = decode_states(bytes, named_.size()); });
    if (!vote()) return false;
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

  bool form_groups() {
    leader_ = groups_.is_leader(rank_);
    trouble_.together([&] { leaders_ = world_.split(leader_ ? 0 : 1); });
    trouble_.together([&] { node_ = world_.split(static_cast<int>(groups_.group(rank_))); });
    if (leaders_ == nullptr || node_ == nullptr) trouble_.note("no communicator");
    return vote();
  }

  // One dataset, from its listing to this rank's frames. False if a vote failed.
  bool agree_on(std::size_t i) {
    if (states_[i].code != 0) {
      leave_out(i, states_[i].code);
      return true;
    }
    std::optional<Listing> listing;
    int code = 0;
    share_listing(i, &listing, &code);
    if (!vote()) return false;
    if (!listing) {
      leave_out(i, code);
      return true;
    }

    std::optional<Protocol> protocol;
    if (leader_) trouble_.attempt([&] { look_up_holdings(i, *listing, &protocol); });
    if (!vote()) return false;
    if (leader_) trouble_.together([&] { protocol->run(*leaders_); });

    std::vector<std::string> parts;
    std::size_t adopted = 0;
    if (leader_)
      trouble_.attempt([&] {
        parts = deal(*protocol, *listing);
        adopted = protocol->residue_count();
      });
    std::string mine;
    trouble_.together([&] { mine = node_->scatter(parts, 0); });
    trouble_.attempt([&] { add_to_view(i, *listing, mine, adopted); });
    return vote();
  }

  void leave_out(std::size_t i, int code) {
    trouble_.attempt([&] {
      agreement_.notes.push_back(Error{code, named_[i].path, {}}.message());
    });
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

  // The listing that some node keeps, else the one that rank 0 takes now (D20).
  void share_listing(std::size_t i, std::optional<Listing>* listing, int* code) {
    std::string bytes;
    bool fresh = false;
    if (leader_) {
      std::uint64_t holder[] = {kNobody};
      trouble_.attempt([&] {
        if (own_dataset(i) == nullptr) return;
        Result<Listing> kept =
            load_kept_listing(state_path(i, kListingFile), states_[i].identity);
        if (!kept) return;
        bytes = encode_listing_answer(kept);
        holder[0] = static_cast<std::uint64_t>(leaders_->rank());
      });
      leaders_->all_min(holder);
      fresh = holder[0] == kNobody;
      if (fresh && rank_ == 0)
        trouble_.attempt([&] {
          bytes = encode_listing_answer(
              list_directory(frame_directory(named_[i].path, names_[i]), names_[i]));
        });
      const int root = fresh ? 0 : static_cast<int>(holder[0]);
      trouble_.together([&] { leaders_->broadcast(bytes, root); });
    }
    trouble_.together([&] { node_->broadcast(bytes, 0); });
    trouble_.attempt([&] {
      Result<Listing> answer = decode_listing_answer(bytes);
      if (answer)
        *listing = std::move(*answer);
      else
        *code = answer.error().code;
    });
    if (leader_ && fresh) trouble_.attempt([&] { keep_listing(i, *listing); });
  }

  // Best effort: the next job need not list. A daemon that does not answer costs 250 ms.
  void keep_listing(std::size_t i, const std::optional<Listing>& listing) {
    if (!listing || !listing->settled() || own_dataset(i) == nullptr) return;
    Result<Client> client = Client::connect(host_.runtime, kDaemonTimeoutMs);
    if (client) (void)client->keep_listing(named_[i].path, encode_listing(*listing));
  }

  // What the logs of this node say, after the daemon has looked
  // whether its copies are still those of the origin (D10). A log that cannot be read is an
  // empty one: its frames are read from the origin.
  void look_up_holdings(std::size_t i, const Listing& listing,
                        std::optional<Protocol>* protocol) {
    std::vector<std::uint64_t> ranks;
    for (const std::vector<int>& group : groups_.ranks) ranks.push_back(group.size());
    protocol->emplace(protocol_choice_, listing.frames.size(), std::move(ranks));
    const TableDataset* dataset = own_dataset(i);
    if (dataset == nullptr) return;
    if (dataset->validate != Validate::kNever) {
      Result<Client> client = Client::connect(host_.runtime, kDaemonTimeoutMs);
      if (client) (void)client->sample(named_[i].path);
    }
    auto held = [&](const char* log) {
      Bitmap bitmap(listing.frames.size());
      if (Result<FrameSet> frames = read_sequence_log(state_path(i, log)))
        mark_held(listing.frames, *frames, &bitmap);
      return PackedSet::pack(bitmap);
    };
    (*protocol)->natives() = held(kNativeLog);
    (*protocol)->aliens() = held(kAlienLog);
  }

  // A leader's word to the ranks of its node: for each a block of the node's own frames,
  // and the block of the residues that belongs to its rank among all.
  std::vector<std::string> deal(const Protocol& protocol, const Listing& listing) const {
    const std::vector<int>& ranks = groups_.ranks[groups_.group(rank_)];
    std::vector<std::string> parts;
    for (std::size_t k = 0; k < ranks.size(); ++k) {
      std::vector<FrameSeq> part;
      auto add_block = [&](const PackedSet& set, std::size_t number, std::size_t of) {
        ranked_part(set, block_of(set.count(), number, of)).for_each([&](std::size_t index) {
          part.push_back(listing.frames[index]);
        });
      };
      add_block(protocol.own(), k, ranks.size());
      add_block(protocol.residues(), static_cast<std::size_t>(ranks[k]),
                static_cast<std::size_t>(world_.size()));
      parts.push_back(FrameSet(std::move(part)).encode());
    }
    return parts;
  }

  void add_to_view(std::size_t i, Listing& listing, const std::string& mine,
                   std::size_t adopted) {
    Result<FrameSet> frames = FrameSet::decode(mine, listing.frames.size());
    if (!frames) fail(frames.error());
    ViewDatasetContent content;
    content.path = named_[i].path;
    content.frames = named_[i].frames;
    content.frame_directory_ino = listing.directory.ino;
    content.entry_is_directory = names_[i].entry_is_directory();
    content.domain_count = listing.frames.size();
    content.own.reserve(frames->size());
    std::size_t index = 0;
    for (FrameSeq seq : frames->frames()) {
      while (index < listing.frames.size() && listing.frames[index] < seq) ++index;
      if (index == listing.frames.size() || listing.frames[index] != seq)
        throw std::runtime_error("a frame was assigned that the listing lacks");
      content.own.push_back({seq, listing.inodes[index]});
    }
    content.names = std::move(listing.others);
    content.domain = FrameSet(std::move(listing.frames)).runs();
    agreement_.datasets.push_back(
        {content.path, content.frames, listing.directory, content.domain_count, adopted});
    view_.datasets.push_back(std::move(content));
  }

  void share_out_views() {
    if (view_.datasets.empty()) {
      trouble_.together([&] {
        agreement_.reason =
            agreement_.notes.empty() ? "no dataset can be listed" : agreement_.notes[0];
      });
      return;
    }
    bool adopted = false;
    trouble_.attempt([&] {
      view_.rank = rank_;
      view_.ranks = world_.size();
      view_.nodes = groups_.nodes;
      view_.node_name = node_name_;
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
    if (vote()) {
      host_.activate_view();
      agreement_.filtered = true;
      return;
    }
    if (adopted) host_.drop_view();
    if (agreement_.view != nullptr) unmap_view(agreement_.view, agreement_.tally);
    agreement_.view = nullptr;
    agreement_.tally = nullptr;
  }

  Communicator& world_;
  const PluginHost& host_;
  const Settings& settings_;
  const int rank_;

  Trouble trouble_;
  Agreement agreement_;
  bool has_daemon_ = false;
  bool leader_ = false;
  std::string node_name_;
  std::vector<Member> members_;
  ProtocolChoice protocol_choice_ = ProtocolChoice::kExchange;
  NodeGroups groups_;
  std::vector<NamedDataset> named_;
  std::vector<FrameName> names_;  // of named_, compiled
  std::vector<DirectoryState> states_;
  std::unique_ptr<Communicator> leaders_;
  std::unique_ptr<Communicator> node_;
  ViewContent view_;
  std::string directory_;
};

}  // namespace

Agreement agree_on_views(Communicator& world, const PluginHost& host,
                         const Settings& settings) {
  return JobStart(world, host, settings).run();
}

}  // namespace zazen
