// zazenctl serve: a page of this node, or of many, for a browser on this machine.
//
// Any local user can connect to a port on loopback, so the address has a random token, and
// nothing is answered without it. The token stays in the path: browsers send a cookie to every
// port of a host, and with it to other users' servers. The server only reads.
#include <fmt/format.h>
#include <openssl/crypto.h>
#include <signal.h>
#include <sys/random.h>
#include <sys/signalfd.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <nlohmann/json.hpp>
#include <thread>

#include "bodhi/common/units.h"
#include "bodhi/http/http_server.h"
#include "bodhi/http/loopback_address.h"
#include "tools/commands/commands.h"
#include "tools/commands/job_page.h"
#include "tools/commands/job_table.h"
#include "tools/serve/node_page.h"
#include "tools/support/node.h"
#include "tools/support/output.h"
#include "tools/web/page.h"

namespace zazen {
namespace {

std::string random_token() {
  std::array<unsigned char, 16> bytes;
  if (::getrandom(bytes.data(), bytes.size(), 0) != static_cast<ssize_t>(bytes.size()))
    return "";
  std::string token;
  for (unsigned char byte : bytes) token += fmt::format("{:02x}", byte);
  return token;
}

// The rest of the path after "/TOKEN/"; nothing if the token is wrong. The time that it takes
// says nothing of the token.
std::optional<std::string> place_in(const std::string& path, const std::string& token) {
  const std::size_t begin = token.size() + 2;
  if (path.size() < begin || path[begin - 1] != '/') return std::nullopt;
  if (CRYPTO_memcmp(path.data() + 1, token.data(), token.size()) != 0) return std::nullopt;
  return path.substr(begin);
}

class Pages {
 public:
  Pages(const Node& node, const WatchedNodes& nodes, std::string token)
      : node_(node), nodes_(nodes), token_(std::move(token)) {}

  HttpResponse answer(const HttpRequest& request) const {
    HttpResponse response = content(request);
    response.headers = {{"Content-Security-Policy", kServedPolicy},
                        {"Referrer-Policy", "no-referrer"},
                        {"Cross-Origin-Resource-Policy", "same-origin"},
                        {"Cache-Control", "no-store"}};
    return response;
  }

 private:
  HttpResponse content(const HttpRequest& request) const {
    constexpr std::string_view kJob = "job/";
    const std::optional<std::string> place = place_in(request.path, token_);
    if (!place)
      return {403,
              "text/plain; charset=utf-8",
              "Open the address that zazenctl serve printed.\n",
              {}};
    if (place->empty()) return nodes_page();
    if (*place == "page.css")
      return {200, "text/css; charset=utf-8", std::string(kPageStyle), {}};
    if (*place == "page.js")
      return {200, "text/javascript; charset=utf-8", std::string(kPageScript), {}};
    if (place->starts_with(kJob)) return job_page(place->substr(kJob.size()));
    return {404, "text/plain; charset=utf-8", "There is no such page.\n", {}};
  }

  static HttpResponse html_page(const std::string& title, const std::string& home,
                                const Html& html) {
    return {200, "text/html; charset=utf-8", served_page(title, home, html), {}};
  }

  static void write_footer(Html& html, std::int64_t at_ns) {
    html.element("footer", {},
                 fmt::format("zazenctl {}; as of {}. The page takes new figures every {} s.",
                             ZAZEN_VERSION, began_words(at_ns, "{:%Y-%m-%d %H:%M:%S}"),
                             WatchedNodes::kPeriodSeconds));
  }

  HttpResponse nodes_page() const {
    const NodesView view = nodes_.view();
    Html html;
    html.element("main", {}, [&] {
      write_nodes(html, view, jobs_of(node_));
      write_footer(html, view.looked_ns);
    });
    const bool is_one = view.nodes.size() == 1;
    return html_page(is_one ? "Zazen: " + view.nodes.front().name : "Zazen", "", html);
  }

  HttpResponse job_page(const std::string& number) const {
    const std::vector<JobRecord> jobs = jobs_of(node_);
    const auto job = std::ranges::find_if(
        jobs, [&](const JobRecord& one) { return one.number() == number; });
    if (job == jobs.end())
      return {404, "text/plain; charset=utf-8", "There is no such job here.\n", {}};
    Html html;
    html.element("main", {}, [&] {
      html.element("nav", {}, [&] {
        html.element("a", {{"id", "back"}, {"href", "../"}}, "All nodes and jobs");
      });
      write_job(html, *job, jobs);
      write_footer(html, wall_clock_ns());
    });
    return html_page("Zazen: job " + number.substr(0, kNumberShown), "../", html);
  }

  const Node& node_;
  const WatchedNodes& nodes_;
  const std::string token_;
};

void watch(EveryNode& nodes, WatchedNodes& watched) {
  for (;;) {
    const auto next =
        std::chrono::steady_clock::now() + std::chrono::seconds(WatchedNodes::kPeriodSeconds);
    watched.take(WatchedNodes::look(nodes), wall_clock_ns());
    std::this_thread::sleep_until(next);
  }
}

}  // namespace

int serve_command(const ServeOptions& options) {
  Node node = load_node_or_exit(options.config, kUsage);
  NodesOptions asked = options.nodes;
  if (!asked.is_given()) asked.nodes = "unix:" + node.runtime;
  EveryNode nodes = EveryNode::load_or_exit(node.config, asked);

  Result<UniqueFd> listening = listen_on_loopback("127.0.0.1:" + std::to_string(options.port));
  if (!listening) {
    print_error(listening.error().message(), "without --port the system chooses a free one");
    return kFailed;
  }
  const std::string token = random_token();
  if (token.empty()) {
    print_error(std::string("no random numbers: ") + std::strerror(errno));
    return kFailed;
  }
  const std::string address = listening_address(listening->get());
  const std::string url = "http://" + address + "/" + token + "/";

  // The signals end the server; its threads inherit that they are blocked.
  sigset_t signals;
  ::sigemptyset(&signals);
  for (int number : {SIGINT, SIGTERM, SIGHUP}) ::sigaddset(&signals, number);
  ::pthread_sigmask(SIG_BLOCK, &signals, nullptr);
  const UniqueFd stop(::signalfd(-1, &signals, SFD_CLOEXEC));

  WatchedNodes watched;
  std::thread([&] { watch(nodes, watched); }).detach();
  const Pages pages(node, watched, token);
  if (options.json) {
    print_json({{"url", url}, {"address", address}});
  } else {
    fmt::print("{}\n", url);
    fmt::print(stderr,
               "Open this address in a browser here; ^C ends it. From another machine:\n"
               "  ssh -L {0}:127.0.0.1:{0} {1}\n",
               address.substr(address.rfind(':') + 1), printable(node.config.node));
  }
  std::fflush(nullptr);
  HttpServer(std::move(*listening), [&](const HttpRequest& request) {
    return pages.answer(request);
  }).run(stop.get());
  std::fflush(nullptr);
  ::_exit(kDone);  // a thread may wait for a node that does not answer
}

}  // namespace zazen
