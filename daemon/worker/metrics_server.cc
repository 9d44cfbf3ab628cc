#include "daemon/worker/metrics_server.h"

#include <sys/eventfd.h>
#include <sys/stat.h>

#include <nlohmann/json.hpp>
#include <thread>

#include "bodhi/lean/system/raw_call.h"
#include "bodhi/node/prometheus_text.h"
#include "daemon/process/crash_report.h"
#include "daemon/process/shortage.h"

namespace zazen {
namespace {

constexpr std::chrono::seconds kFresh(1);

}  // namespace

void MetricsServer::begin(UniqueFd listening) {
  auto socket = std::make_shared<UniqueFd>(std::move(listening));
  std::thread([this, socket] {
    CrashStack crash_stack;
    const UniqueFd never(::eventfd(0, EFD_CLOEXEC));
    until_no_shortage([&] {
      UniqueFd own(::fcntl(socket->get(), F_DUPFD_CLOEXEC, 0));
      HttpServer server(std::move(own),
                        [this](const HttpRequest& request) { return answer(request); });
      server.run(never.get());
    });
  }).detach();
}

HttpResponse MetricsServer::answer(const HttpRequest& request) {
  if (request.path != "/metrics") return {404, {}, "the figures are at /metrics\n", {}};
  const auto now = std::chrono::steady_clock::now();
  if (text_.empty() || now - asked_at_ >= kFresh) {
    Result<std::string> text = ask_for_text();
    if (!text) return {503, {}, text.error().message() + "\n", {}};
    text_ = std::move(*text);
    asked_at_ = now;
  }
  return {200, "text/plain; version=0.0.4; charset=utf-8", text_, {}};
}

Result<std::string> MetricsServer::ask_for_text() {
  ContentReply reply;
  if (const int code = link_.ask(StatusAsk{}, &reply); code != 0) {
    return Error{code, "zazend does not answer", {}};
  }
  struct stat st = {};
  if (::fstat(reply.file.get(), &st) != 0) return last_error("the status");
  std::string json(static_cast<std::size_t>(st.st_size), '\0');
  const long size = raw_read_at(reply.file.get(), json.data(), json.size(), 0);
  if (size != st.st_size) return Error{EIO, "the status", {}};
  return prometheus_text(nlohmann::ordered_json::parse(json));
}

}  // namespace zazen
