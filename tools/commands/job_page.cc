// The records have no times of single reads, so the page shows the reads by rank (by node, if
// the job was not divided) and by their place in the trajectory.
#include "tools/commands/job_page.h"

#include <fmt/format.h>

#include <algorithm>
#include <ranges>

#include "bodhi/common/units.h"
#include "bodhi/lean/run/run_summary.h"
#include "tools/commands/job_findings.h"
#include "tools/commands/job_table.h"
#include "tools/support/output.h"
#include "tools/web/chart.h"

namespace zazen {
namespace {

constexpr std::int64_t kNanoseconds = 1'000'000'000;

// Whoever read: a rank, or all processes that share a record of `zazenctl run`.
struct Reader {
  struct Part {  // of one dataset
    std::uint64_t assigned = 0;
    FrameSet read, lost;
  };
  std::string name, node, ending;
  bool is_known = true;
  std::uint64_t assigned = 0, read = 0, hits = 0, misses = 0, bytes_local = 0, bytes_origin = 0;
  std::map<std::string, Part> parts;  // by the dataset's path

  std::uint64_t opens() const { return hits + misses; }
};

FrameSet own_frames(const View& view, const ViewDataset& dataset) {
  std::vector<FrameSeq> frames(dataset.own_count);
  for (std::uint64_t i = 0; i < dataset.own_count; ++i) {
    frames[i] = own_frame(view, dataset, i).seq;
  }
  return FrameSet(std::move(frames));
}

Reader reader_of_rank(const JobRecord& job, const JobAudit& audited, std::size_t number) {
  const RankReport& figures = audited.audit.by_rank[number];
  Reader reader;
  reader.name = "rank " + std::to_string(number);
  reader.node = figures.node;
  reader.ending = ending_words(job.ranks[number].get());
  reader.is_known = audited.fragments[number].has_value();
  if (!reader.is_known) return reader;
  const Fragment& fragment = *audited.fragments[number];
  reader.assigned = figures.assigned;
  reader.read = figures.read;
  reader.hits = figures.hits;
  reader.misses = figures.misses;
  reader.bytes_local = fragment.bytes_local;
  reader.bytes_origin = fragment.bytes_origin;
  const View& view = job.ranks[number]->view();
  for (std::uint32_t d = 0; d < view.dataset_count; ++d) {
    const DatasetFragment& part = fragment.datasets[d];
    const FrameSet own = own_frames(view, view.datasets[d]);
    reader.parts[part.path] = {
        own.size(), set_union(set_difference(own, part.unread_own), part.read_others), {}};
  }
  for (auto& [path, part] : reader.parts) {
    for (const Lost& lost : lost_frames(audited, path)) {
      if (lost.rank == number) part.lost = lost.frames;
    }
  }
  return reader;
}

std::vector<Reader> readers_of_records(const JobRecord& job) {
  std::vector<Reader> readers;
  for (const auto& run : job.runs) {
    const RunRecord& record = run->record();
    Reader& reader = readers.emplace_back();
    reader.name = job.runs.size() == 1 && record.nodes <= 1
                      ? "all processes"
                      : fmt::format("node {}", readers.size());
    reader.ending = run->life() == Life::kOver
                        ? (run->ended_in_order() ? "in order" : "without a word")
                        : life_words(run->life());
    reader.hits = record.ledger.hits;
    reader.misses = record.ledger.misses;
    reader.bytes_local = record.ledger.bytes_local;
    reader.bytes_origin = record.ledger.bytes_origin;
    reader.read = record.ledger.frames;
    for (DatasetFragment& part : fragment_of_ledger(record.ledger, 0).datasets) {
      reader.parts[part.path].read = std::move(part.opened_frames);
    }
  }
  const RunRecord& first = job.runs.front()->record();
  if (job.runs.size() == 1 && first.other_hits + first.other_misses != 0) {
    Reader& others = readers.emplace_back();
    others.name = "other nodes";
    others.ending = readers.front().ending;
    others.hits = first.other_hits;
    others.misses = first.other_misses;
    others.bytes_local = first.other_bytes_local;
    others.bytes_origin = first.other_bytes_origin;
    others.read = first.other_frames;
  }
  return readers;
}

void tile(Html& html, const char* id, const char* name, const Html::Content& content,
          const std::string& more = {}) {
  html.element("div", {{"id", id}}, [&] {
    html.element("dt", {}, name);
    html.element("dd", {}, content);
    if (!more.empty()) html.element("dd", {{"class", "more"}}, more);
  });
}

void write_verdict(Html& html, const JobRecord& job, const std::optional<JobAudit>& audited) {
  Advice advice;
  if (audited) {
    advice = advice_on(job, *audited);
  } else if (job.life() != Life::kOver) {
    advice.lines.push_back("The job still runs: the figures grow.");
  } else if (job.ended_in_order()) {
    advice.is_good = true;
    advice.lines.push_back("The job ended in order.");
  } else {
    advice.lines.push_back(
        "Its first process ended without a word: it crashed, or it was killed.");
  }
  if (advice.lines.empty()) advice.lines.push_back("Nothing was read.");
  const bool is_over = job.life() == Life::kOver;
  const char* kind = !is_over ? "verdict" : advice.is_good ? "verdict good" : "verdict bad";
  html.element("div", {{"class", kind}, {"id", "verdict"}}, [&] {
    html.element("p", {{"class", "state"}},
                 !is_over         ? life_words(job.life())
                 : advice.is_good ? "✓ fine"
                                  : "✗ look at this");
    constexpr std::string_view kSpeaker = "zazen: ";  // of a line in the job's own output
    for (std::string_view line : advice.lines) {
      html.element("p", {}, line.substr(line.starts_with(kSpeaker) ? kSpeaker.size() : 0));
    }
  });
}

void write_figures(Html& html, const JobRecord& job) {
  const RunFigures figures = job.figures();
  const std::string bound = figures.is_whole ? "" : "at least: not all could be noted";
  html.element("dl", {{"class", "tiles"}}, [&] {
    const std::optional<std::int64_t> duration = job.duration_ns();
    const EarlierRun* earlier = earlier_run(job);
    tile(
        html, "duration", "Time",
        [&] { html.text(duration ? duration_words(*duration) : "not known"); },
        earlier == nullptr ? ""
                           : fmt::format("before: {}, {}% from the cache",
                                         duration_words(earlier->duration_ns),
                                         percent_of(earlier->hits, earlier->opens)));
    tile(
        html, "frames", "Frames opened", [&] { html.count(figures.frames); }, bound);
    tile(
        html, "share", "Opens from the cache",
        [&] {
          html.text(figures.opens() == 0
                        ? "-"
                        : fmt::format("{}%", percent_of(figures.hits, figures.opens())));
        },
        fmt::format("{} of {}", format_count(figures.hits), format_count(figures.opens())));
    tile(html, "bytes-local", "Bytes from the cache", [&] { html.bytes(figures.bytes_local); });
    tile(html, "bytes-origin", "Bytes from the origin",
         [&] { html.bytes(figures.bytes_origin); });
    double agreed = 0;
    for (const auto& rank : job.ranks) {
      if (rank != nullptr) agreed = std::max(agreed, rank->protocol_seconds());
    }
    tile(
        html, "ranks", "Ranks",
        [&] {
          if (job.rank_count() == 0) return html.text("no MPI program");
          html.count(job.rank_count());
        },
        job.rank_count() == 0
            ? ""
            : "on " + plural(static_cast<std::uint64_t>(job.node_count()), "node") +
                  (agreed > 0 ? fmt::format(", agreed in {}",
                                            duration_words(static_cast<std::int64_t>(
                                                agreed * static_cast<double>(kNanoseconds))))
                              : ""));
  });
}

void write_key(Html& html) {
  html.element("p", {{"class", "note"}}, [&] {
    for (const auto& [kind, words] : {std::pair("cached", "from the cache (solid)"),
                                      std::pair("origin", "from the origin (hatched)")}) {
      html.element("svg", {{"class", "key"}, {"aria-hidden", "true"}}, [&] {
        html.empty_element("rect", {{"class", kind}, {"width", "100%"}, {"height", "100%"}});
      });
      html.text(words);
    }
  });
}

void write_readers(Html& html, const std::vector<Reader>& readers, bool is_divided) {
  std::uint64_t longest = 0;
  for (const Reader& reader : readers) longest = std::max(longest, reader.opens());
  html.element("h2", {{"id", "readers"}}, "Who read from where");
  write_key(html);
  html.element("table", {{"class", "readers"}}, [&] {
    html.element("caption", {}, "Opens of frames, and the sizes of the frames opened.");
    html.element("thead", {}, [&] {
      html.element("tr", {}, [&] {
        html.element("th", {{"scope", "col"}}, is_divided ? "Rank" : "Processes");
        for (const char* title : {"Node", "Assigned", "Read", "From the cache",
                                  "From the origin", "Cache and origin", "Ended"}) {
          if (!is_divided && (*title == 'N' || *title == 'A')) continue;
          html.element("th", {{"scope", "col"}}, title);
        }
      });
    });
    html.element("tbody", {}, [&] {
      for (const Reader& reader : readers) {
        html.element("tr", {}, [&] {
          html.element("th", {{"scope", "row"}}, reader.name);
          auto figure = [&](const char* key, const char* label, std::uint64_t value,
                            const std::string& more) {
            html.cell(key, label, [&] {
              if (!reader.is_known) return html.text("not known");
              html.element("span", {}, [&] {
                html.count(value);
                html.text(more);
              });
            });
          };
          if (is_divided) {
            html.cell("node", "Node", reader.node.empty() ? "-" : reader.node);
            figure("assigned", "Assigned", reader.assigned, "");
          }
          figure("read", "Read", reader.read, "");
          figure("hits", "From the cache", reader.hits, ", " + format_size(reader.bytes_local));
          figure("misses", "From the origin", reader.misses,
                 ", " + format_size(reader.bytes_origin));
          html.cell("chart", "Cache and origin", [&] {
            draw_share(html, reader.hits, reader.misses, longest,
                       fmt::format("{}: {} from the cache, {} from the origin", reader.name,
                                   reader.hits, reader.misses));
          });
          html.cell("ending", "Ended", reader.ending);
        });
      }
    });
  });
}

// The part of one reader in one dataset, as a row of its strip.
void write_strip(Html& html, const FrameStrip& strip, const Reader& reader,
                 const Reader::Part& part, const std::string& frames) {
  const std::string words = frame_words(frames, part.read);
  html.element("tr", {}, [&] {
    html.element("th", {{"scope", "row"}}, reader.name);
    html.cell("read", "Read", [&] { html.count(part.read.size()); });
    html.cell("chart", "Where in the trajectory", [&] {
      strip.draw(html, part.read, part.lost,
                 fmt::format("{} read {}{}", reader.name, plural(part.read.size(), "frame"),
                             part.lost.empty() ? ""
                                               : fmt::format("; no rank read {} of its frames",
                                                             part.lost.size())));
    });
    html.cell("names", "Frames", [&] {
      html.element("span", {}, [&] {
        html.element("code", {}, words.empty() ? "none" : words);
        if (part.lost.empty()) return;
        html.element("span", {{"class", "state bad"}},
                     fmt::format(" ✗ never read: {}", format_count(part.lost.size())));
        html.element("code", {}, " " + frame_words(frames, part.lost));
      });
    });
  });
}

void write_datasets(Html& html, const JobRecord& job, const std::optional<JobAudit>& audited,
                    const std::vector<Reader>& readers) {
  std::map<std::string, FrameSet> all;  // by the dataset's path
  for (const Reader& reader : readers) {
    for (const auto& [path, part] : reader.parts) {
      all[path] = set_union(all[path], set_union(part.read, part.lost));
    }
  }
  std::erase_if(all, [](const auto& entry) { return entry.second.empty(); });
  if (all.empty()) return;
  html.element("h2", {{"id", "frames-read"}}, "Which frames");
  html.element(
      "p", {{"class", "note"}},
      "A strip is the trajectory from its first frame to its last. Solid bars are frames that "
      "this reader opened, hollow ones frames that nobody read. The records have no times of "
      "single reads.");
  for (const auto& [path, frames_of_all] : all) {
    const std::string frames = audited ? template_of(job, path) : std::string("{seq}");
    html.element("h3", {}, [&] { html.element("code", {}, path); });
    const FrameStrip strip(frames_of_all);
    html.element("table", {{"class", "strips"}, {"data-dataset", path}}, [&] {
      if (audited) {
        for (const DatasetAudit& dataset : audited->audit.datasets) {
          if (dataset.path != path) continue;
          html.element(
              "caption", {},
              fmt::format("{} listed, {} read, {} by several ranks, {} never read",
                          plural(dataset.listed, "frame"), format_count(dataset.read),
                          format_count(dataset.read_twice),
                          audited->audit.ranks_missing == 0 ? format_count(dataset.never_read)
                                                            : "not known how many"));
        }
      }
      html.element("thead", {}, [&] {
        html.element("tr", {}, [&] {
          for (const char* title : {"Reader", "Read", "Where in the trajectory", "Frames"}) {
            html.element("th", {{"scope", "col"}}, title);
          }
        });
      });
      html.element("tbody", {}, [&] {
        for (const Reader& reader : readers) {
          auto part = reader.parts.find(path);
          if (part == reader.parts.end()) continue;
          write_strip(html, strip, reader, part->second, frames);
        }
      });
    });
  }
}

void write_reason(Html& html, const char* id, const std::string& what,
                  const std::string& hint) {
  html.element("li", {{"id", id}}, [&] {
    html.text(what);
    html.element("div", {{"class", "hint"}}, hint);
  });
}

void write_other_calls(Html& html, const std::vector<OtherCalls>& others) {
  html.element("table", {{"class", "others"}}, [&] {
    html.element("caption", {}, "Other files in the datasets' directories, at the origin");
    html.element("thead", {}, [&] {
      html.element("tr", {}, [&] {
        for (const char* title :
             {"Names", "Opened to read", "To write", "Opens took", "Stats", "Stats took"}) {
          html.element("th", {{"scope", "col"}}, title);
        }
      });
    });
    auto words = [](double seconds) {
      return duration_words(
          static_cast<std::int64_t>(seconds * static_cast<double>(kNanoseconds)));
    };
    html.element("tbody", {}, [&] {
      for (const OtherCalls& other : others) {
        html.element("tr", {}, [&] {
          html.element("th", {{"scope", "row"}}, [&] {
            html.element(
                "code", {},
                other.dataset.empty() ? other.pattern : other.dataset + "/" + other.pattern);
          });
          html.cell("reads", "Opened to read", [&] { html.count(other.reads); });
          html.cell("writes", "To write", [&] { html.count(other.writes); });
          html.cell("took", "Opens took", words(other.open_seconds));
          html.cell("stats", "Stats", [&] { html.count(other.stats); });
          html.cell("took", "Stats took", words(other.stat_seconds));
        });
      }
    });
  });
}

void write_slow_parts(Html& html, const JobRecord& job, const std::vector<Reader>& readers) {
  const RunFigures figures = job.figures();
  const std::vector<OtherCalls> others = other_calls(job);
  const auto unknown = static_cast<std::uint64_t>(
      std::ranges::count_if(readers, [](const Reader& one) { return !one.is_known; }));
  html.element("h2", {{"id", "not-accelerated"}}, "What was not accelerated, and why");
  if (figures.opens() == 0) {
    html.element("p", {},
                 "No frame was opened. zazenctl doctor PROGRAM says whether Zazen reaches the "
                 "program, zazenctl explain PATH whether a file is a frame.");
  } else if (figures.misses == 0 && others.empty() && unknown == 0) {
    html.element("p", {}, "Every open of a frame was served from the cache.");
  }
  html.element("ul", {}, [&] {
    if (figures.misses > 0) {
      write_reason(
          html, "misses",
          fmt::format("{} went to the origin ({}): there was no current copy in the cache at "
                      "that time.",
                      plural(figures.misses, "open"), format_size(figures.bytes_origin)),
          "The first read of a frame on a node always does. Before the next job, zazenctl warm "
          "DIR copies the frames; zazenctl explain FRAME says why a copy is not used; zazenctl "
          "status says whether the cache is too small.");
    }
    if (!job.is_divided() && job.rank_count() > 1 && figures.opens() > 0) {
      write_reason(html, "undivided", "The frames were not divided: each rank saw all of them.",
                   "zazenctl run --divide gives each rank of an MPI program its own frames; a "
                   "job that cannot be divided then says why.");
    }
    if (unknown > 0) {
      write_reason(html, "unknown",
                   fmt::format("Nothing is known here of {}.", plural(unknown, "rank")),
                   "Their records are on other nodes: zazenctl report --from RUNTIME takes in "
                   "another node's runtime directory.");
    }
    if (!others.empty()) {
      write_reason(html, "other-files",
                   "The program also opened or looked at files that are no frames.",
                   "The dataset's key \"also\" in zazen.toml caches such files.");
    }
  });
  if (!others.empty()) write_other_calls(html, others);
}

// One run of the same command.
struct EarlierRow {
  std::string number, began;
  std::optional<std::int64_t> duration_ns;
  std::uint64_t frames = 0, hits = 0, opens = 0;
  bool is_this = false;
};

bool same_command(const JobRecord& one, const JobRecord& other) {
  if (!one.runs.empty() && !other.runs.empty()) {
    return one.runs.front()->record().command_key == other.runs.front()->record().command_key;
  }
  return one.runs.empty() == other.runs.empty() && one.command() == other.command() &&
         one.rank_count() == other.rank_count();
}

EarlierRow row_of(const JobRecord& job) {
  const RunFigures figures = job.figures();
  return {job.number().substr(0, kNumberShown),
          began_words(job.started_ns(), "{:%Y-%m-%d %H:%M:%S}"),
          job.duration_ns(),
          figures.frames,
          figures.hits,
          figures.opens(),
          false};
}

// This run first, then the earlier ones, the latest first.
std::vector<EarlierRow> runs_of_command(const JobRecord& job,
                                        const std::vector<JobRecord>& all) {
  std::vector<EarlierRow> rows = {row_of(job)};
  rows.front().is_this = true;
  for (const JobRecord& other : all) {
    if (other.started_ns() >= job.started_ns() || rows.size() > kMaxEarlierRuns) continue;
    if (same_command(job, other)) rows.push_back(row_of(other));
  }
  if (job.runs.empty()) return rows;
  // The record also knows of runs whose own records are gone.
  const auto& noted = job.runs.front()->record().earlier;
  for (std::size_t i = rows.size() - 1; i < kMaxEarlierRuns && noted[i].duration_ns > 0; ++i) {
    rows.push_back({"", "before that", noted[i].duration_ns, noted[i].frames, noted[i].hits,
                    noted[i].opens, false});
  }
  return rows;
}

void write_earlier(Html& html, const JobRecord& job, const std::vector<JobRecord>& all) {
  const std::vector<EarlierRow> rows = runs_of_command(job, all);
  html.element("h2", {{"id", "earlier"}}, "Earlier runs of this command");
  if (rows.size() == 1) {
    html.element("p", {}, "None is known on this node.");
    return;
  }
  std::int64_t longest = 1;
  for (const EarlierRow& row : rows) longest = std::max(longest, row.duration_ns.value_or(0));
  html.element("table", {{"class", "earlier"}}, [&] {
    html.element("thead", {}, [&] {
      html.element("tr", {}, [&] {
        for (const char* title :
             {"Job", "Began", "Frames", "From the cache", "Time", "Compared"}) {
          html.element("th", {{"scope", "col"}}, title);
        }
      });
    });
    html.element("tbody", {}, [&] {
      for (const EarlierRow& row : rows) {
        html.element("tr", {{"class", row.is_this ? "this" : "other"}}, [&] {
          html.element("th", {{"scope", "row"}},
                       row.is_this          ? row.number + " (this one)"
                       : row.number.empty() ? "-"
                                            : row.number);
          html.cell("began", "Began", row.began);
          html.cell("read", "Frames", [&] { html.count(row.frames); });
          html.cell("share", "From the cache",
                    row.opens == 0 ? "-" : fmt::format("{}%", percent_of(row.hits, row.opens)));
          html.cell("time", "Time",
                    row.duration_ns ? duration_words(*row.duration_ns) : "not known");
          html.cell("chart", "Compared", [&] {
            if (!row.duration_ns) return;
            const double part =
                static_cast<double>(*row.duration_ns) / static_cast<double>(longest);
            draw_level(html, part, "took " + duration_words(*row.duration_ns));
          });
        });
      }
    });
  });
}

}  // namespace

void write_job(Html& html, const JobRecord& job, const std::vector<JobRecord>& all) {
  std::optional<JobAudit> audited;
  std::vector<Reader> readers;
  if (job.is_divided()) {
    audited = audit_of(job);
    for (std::size_t r = 0; r < job.ranks.size(); ++r) {
      readers.push_back(reader_of_rank(job, *audited, r));
    }
  } else {
    readers = readers_of_records(job);
  }
  define_patterns(html);
  html.element("header", {}, [&] {
    html.element("p", {{"class", "kicker"}}, "Zazen: report of a job");
    html.element("h1", {{"id", "job"}}, "Job " + job.number().substr(0, kNumberShown));
    html.element("pre", {{"id", "command"}}, job.command());
    html.element(
        "p", {{"class", "note"}},
        fmt::format("Began {}, {}.", began_words(job.started_ns(), "{:%Y-%m-%d %H:%M:%S}"),
                    life_words(job.life())));
  });
  write_verdict(html, job, audited);
  write_figures(html, job);
  write_readers(html, readers, job.is_divided());
  write_datasets(html, job, audited, readers);
  write_slow_parts(html, job, readers);
  write_earlier(html, job, all);
}

}  // namespace zazen
