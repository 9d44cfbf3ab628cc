#include "tools/serve/node_page.h"

#include <fmt/format.h>

#include <algorithm>
#include <numeric>
#include <span>

#include "bodhi/common/units.h"
#include "bodhi/lean/run/run_summary.h"
#include "tools/commands/job_findings.h"
#include "tools/commands/job_table.h"
#include "tools/support/output.h"
#include "tools/web/chart.h"

namespace zazen {
namespace {

constexpr std::size_t kMostJobs = 50;
constexpr std::size_t kMostOpen = 16;  // more healthy nodes than that are folded

std::string share_words(std::uint64_t hits, std::uint64_t misses) {
  return hits + misses == 0 ? "-" : fmt::format("{}%", percent_of(hits, hits + misses));
}

std::string state_words(const NodeState& node) {
  if (!node.answers()) return "✗ does not answer";
  return node.is_fine() ? "✓ healthy" : "✗ " + plural(node.problems.size(), "problem");
}

void titles(Html& html, std::initializer_list<const char*> words) {
  html.element("thead", {}, [&] {
    html.element("tr", {}, [&] {
      for (const char* title : words) html.element("th", {{"scope", "col"}}, title);
    });
  });
}

std::uint64_t sum_of(const std::vector<NodeState>& nodes, std::uint64_t NodeState::*figure) {
  return std::accumulate(
      nodes.begin(), nodes.end(), std::uint64_t{0},
      [&](std::uint64_t sum, const NodeState& node) { return sum + node.*figure; });
}

void tile(Html& html, const char* id, const char* name, const Html::Content& content) {
  html.element("div", {{"id", id}}, [&] {
    html.element("dt", {}, name);
    html.element("dd", {}, content);
  });
}

void write_head(Html& html, const NodesView& view) {
  const auto fine =
      static_cast<std::size_t>(std::ranges::count_if(view.nodes, &NodeState::is_fine));
  const bool all_fine = fine == view.nodes.size();
  html.element("p", {{"class", "kicker"}}, "Zazen: the cache of trajectory frames");
  html.element("h1", {},
               view.nodes.size() == 1 ? "Node " + view.nodes.front().name
                                      : plural(view.nodes.size(), "node"));
  html.element(
      "div", {{"class", all_fine ? "verdict good" : "verdict bad"}, {"id", "verdict"}}, [&] {
        html.element("p", {{"class", "state"}}, all_fine ? "✓ healthy" : "✗ look at this");
        html.element("p", {},
                     fmt::format("{} of {} healthy.", format_count(fine),
                                 plural(view.nodes.size(), "node")));
      });
  if (std::ranges::none_of(view.nodes, &NodeState::answers)) return;
  html.element("dl", {{"class", "tiles"}}, [&] {
    tile(html, "used", "Used", [&] { html.bytes(sum_of(view.nodes, &NodeState::used_bytes)); });
    tile(html, "capacity", "Capacity", [&] {
      const std::uint64_t capacity = sum_of(view.nodes, &NodeState::capacity_bytes);
      if (capacity == 0) return html.text("no limit in bytes");
      html.bytes(capacity);
    });
    tile(html, "files", "Frames",
         [&] { html.count(sum_of(view.nodes, &NodeState::used_files)); });
    tile(html, "hits", "Opens from the cache",
         [&] { html.count(sum_of(view.nodes, &NodeState::hits)); });
    tile(html, "misses", "Opens of the origin",
         [&] { html.count(sum_of(view.nodes, &NodeState::misses)); });
    tile(html, "evictions", "Evictions",
         [&] { html.count(sum_of(view.nodes, &NodeState::evictions)); });
  });
}

void write_problems(Html& html, const NodesView& view) {
  html.element("h2", {{"id", "problems"}}, "Problems");
  bool is_any = false;
  html.element("ul", {{"class", "problems"}}, [&] {
    auto item = [&](const NodeState& node, const char* kind, const std::string& words,
                    const std::string& hint) {
      is_any = true;
      html.element("li", {{"class", kind}}, [&] {
        html.element("span", {{"class", "state bad"}}, node.name + ": ");
        html.text(words);
        html.element("div", {{"class", "hint"}}, hint);
      });
    };
    for (const NodeState& node : view.nodes) {
      if (!node.answers()) {
        item(node, "silent", node.failure,
             "On that node, zazenctl doctor says why; zazenctl start starts it.");
      }
      for (const std::string& problem : node.problems) {
        item(node, "problem", problem, "On that node, zazenctl doctor names the remedy.");
      }
    }
    for (const NodeState& node : view.nodes) {
      for (const std::string& warning : node.warnings) {
        item(node, "warning", "warning: " + warning,
             "Frames are served all the same; zazenctl doctor names the remedy.");
      }
    }
  });
  if (!is_any) html.element("p", {}, "None.");
}

void write_course(Html& html, const NodesView& view) {
  double sum = 0, lowest = 1, latest = 0;
  std::size_t looks = 0;
  for (const std::optional<double>& share : view.shares) {
    if (!share) continue;
    ++looks;
    sum += *share;
    lowest = std::min(lowest, *share);
    latest = *share;
  }
  html.element("h2", {{"id", "hit-rate"}}, "Opens served by the cache");
  const std::string words =
      looks == 0 ? std::string("No frame was opened since this page's server began.")
                 : fmt::format(
                       "Latest {:.0f}%, lowest {:.0f}%, on average {:.0f}% of the opens "
                       "in each {} s.",
                       latest * 100, lowest * 100, sum / static_cast<double>(looks) * 100,
                       WatchedNodes::kPeriodSeconds);
  html.element("p", {{"id", "course-words"}}, words);
  if (looks == 0) return;
  html.element("div", {{"class", "plot"}}, [&] {
    html.element("div", {{"class", "scale"}, {"aria-hidden", "true"}}, [&] {
      for (const char* mark : {"100%", "50%", "0%"}) html.element("span", {}, mark);
    });
    draw_course(html, view.shares, "Share of opens from the cache over time. " + words);
    html.element("div", {{"class", "times"}, {"aria-hidden", "true"}}, [&] {
      const std::uint64_t seconds =
          (std::max<std::size_t>(view.shares.size(), 1) - 1) * WatchedNodes::kPeriodSeconds;
      html.element("span", {}, format_duration(seconds) + " ago");
      html.element("span", {}, "latest");
    });
  });
}

void write_node_rows(Html& html, const std::vector<const NodeState*>& nodes) {
  html.element("table", {{"class", "nodes"}}, [&] {
    titles(html,
           {"Node", "State", "Up", "Used", "Full", "Frames", "From the cache", "Copying"});
    html.element("tbody", {}, [&] {
      for (const NodeState* node : nodes) {
        html.element("tr", {{"data-node", node->name}}, [&] {
          html.element("th", {{"scope", "row"}}, node->name);
          html.cell("node-state", "State", [&] {
            html.element("span", {{"class", node->is_fine() ? "state good" : "state bad"}},
                         state_words(*node));
          });
          if (!node->answers()) {
            return html.element("td", {{"colspan", "6"}}, node->failure);
          }
          html.cell("up", "Up", format_duration(node->uptime_seconds));
          html.cell("used", "Used", [&] { html.bytes(node->used_bytes); });
          html.cell("chart", "Full", [&] {
            if (node->capacity_bytes == 0) return html.text("no limit in bytes");
            const double part = static_cast<double>(node->used_bytes) /
                                static_cast<double>(node->capacity_bytes);
            const std::string words =
                fmt::format("{:.0f}% of {}", part * 100, format_size(node->capacity_bytes));
            html.element("span", {}, words);
            draw_level(html, part, node->name + ": " + words);
          });
          html.cell("files", "Frames", [&] { html.count(node->used_files); });
          html.cell("share", "From the cache", share_words(node->hits, node->misses));
          html.cell("fills", "Copying", [&] { html.count(node->fills_under_way); });
        });
      }
    });
  });
}

void write_node_table(Html& html, const NodesView& view) {
  std::vector<const NodeState*> fine, others;
  for (const NodeState& node : view.nodes) (node.is_fine() ? fine : others).push_back(&node);
  html.element("h2", {{"id", "nodes"}}, "Nodes");
  if (fine.size() <= kMostOpen) {
    others.insert(others.end(), fine.begin(), fine.end());
    return write_node_rows(html, others);
  }
  if (!others.empty()) write_node_rows(html, others);
  html.element("details", {{"id", "healthy"}}, [&] {
    html.element("summary", {{"id", "healthy-summary"}}, plural(fine.size(), "healthy node"));
    write_node_rows(html, fine);
  });
}

void write_dataset_table(Html& html, const NodesView& view) {
  std::map<std::string, DatasetState> sums;
  std::map<std::string, std::size_t> holders;
  for (const NodeState& node : view.nodes) {
    for (const auto& [path, dataset] : node.datasets) {
      DatasetState& sum = sums[path];
      sum.native += dataset.native;
      sum.alien += dataset.alien;
      sum.bytes += dataset.bytes;
      sum.pinned += dataset.pinned;
      sum.hits += dataset.hits;
      sum.misses += dataset.misses;
      if (dataset.native + dataset.alien > 0) ++holders[path];
    }
  }
  html.element("h2", {{"id", "datasets"}}, "Datasets");
  if (sums.empty()) {
    html.element("p", {},
                 std::ranges::none_of(view.nodes, &NodeState::answers)
                     ? "No node answers."
                     : "There is none: zazenctl init DIR adds one to the configuration.");
    return;
  }
  html.element("table", {{"class", "datasets"}}, [&] {
    titles(html,
           {"Dataset", "Pushed", "Fetched", "Bytes", "Pinned", "From the cache", "On nodes"});
    html.element("tbody", {}, [&] {
      for (const auto& [path, dataset] : sums) {
        html.element("tr", {{"data-dataset", path}}, [&] {
          html.element("th", {{"scope", "row"}}, [&] { html.element("code", {}, path); });
          html.cell("native", "Pushed", [&] { html.count(dataset.native); });
          html.cell("alien", "Fetched", [&] { html.count(dataset.alien); });
          html.cell("bytes", "Bytes", [&] { html.bytes(dataset.bytes); });
          html.cell("pinned", "Pinned", [&] { html.count(dataset.pinned); });
          html.cell("share", "From the cache", share_words(dataset.hits, dataset.misses));
          html.cell("holders", "On nodes", [&] { html.count(holders[path]); });
        });
      }
    });
  });
}

void write_jobs(Html& html, const std::vector<JobRecord>& jobs) {
  html.element("h2", {{"id", "jobs"}}, "Your jobs on this node");
  if (jobs.empty()) {
    html.element("p", {}, "None in the last days: zazenctl run starts one.");
    return;
  }
  html.element("table", {{"class", "jobs"}}, [&] {
    titles(html, {"Job", "Began", "State", "Frames", "Time", "From the cache", "Command"});
    html.element("tbody", {}, [&] {
      for (const JobRecord& job : std::span(jobs).first(std::min(jobs.size(), kMostJobs))) {
        const RunFigures figures = job.figures();
        const std::optional<std::int64_t> duration = job.duration_ns();
        html.element("tr", {}, [&] {
          html.element("th", {{"scope", "row"}}, [&] {
            html.element("a", {{"id", "job-" + job.number()}, {"href", "job/" + job.number()}},
                         job.number().substr(0, kNumberShown));
          });
          html.cell("began", "Began", began_words(job.started_ns(), "{:%m-%d %H:%M}"));
          html.cell("life", "State", life_words(job.life()));
          html.cell("read", "Frames", [&] { html.count(figures.frames); });
          html.cell("time", "Time", duration ? duration_words(*duration) : "-");
          html.cell("share", "From the cache", share_words(figures.hits, figures.misses));
          html.cell("command", "Command", [&] { html.element("code", {}, job.command()); });
        });
      }
    });
  });
}

}  // namespace

void write_nodes(Html& html, const NodesView& view, const std::vector<JobRecord>& jobs) {
  define_patterns(html);
  if (view.nodes.empty()) {
    html.element("h1", {}, "Zazen");
    html.element("p", {}, "The nodes are being asked.");
    return;
  }
  write_head(html, view);
  write_problems(html, view);
  write_node_table(html, view);
  write_course(html, view);
  write_dataset_table(html, view);
  write_jobs(html, jobs);
}

}  // namespace zazen
