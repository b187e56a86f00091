#include "console/console.h"

#include <algorithm>
#include <chrono>
#include <utility>

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "base/endpoint.h"
#include "console/files.h"
#include "runtime/clock.h"

namespace shardmanager::console {
namespace {

constexpr int kThreads = 32;
// Browsers open connections ahead of their use, and close those that were not used after 10 s. If
// one were cut off here just when it is used, a person would see an error.
constexpr std::chrono::milliseconds kRequestTimeout{12'000};
constexpr std::string_view kApi = "/api/v1/";

// "[::1]:80" -> "[::1]"; also without a port.
std::string HostOf(const std::string& authority) {
  const size_t bracket = authority.rfind(']');
  const size_t colon = authority.rfind(':');
  const bool has_port =
      colon != std::string::npos && (bracket == std::string::npos || colon > bracket);
  return absl::AsciiStrToLower(has_port ? authority.substr(0, colon) : authority);
}

bool IsLoopback(const std::string& host) { return host.starts_with("127.") || host == "[::1]"; }

absl::Status CheckListen(const Console::Options& options) {
  if (options.listen.starts_with(':') ||
      !WhatIsWrongWithEndpoint(options.listen, /*to_listen=*/true).empty()) {
    return absl::InvalidArgumentError(absl::StrCat("--console-listen: found \"", options.listen,
                                                   "\"; allowed: HOST:PORT, HOST an address"));
  }
  if (options.open_to_network || IsLoopback(HostOf(options.listen))) return absl::OkStatus();
  return absl::InvalidArgumentError(absl::StrCat(
      "--console-listen: found \"", options.listen,
      "\"; allowed: 127.0.0.1:PORT or [::1]:PORT. The console has neither TLS nor a login: whoever "
      "reaches it reads all that the cell does. From another machine: `ssh -L 7480:127.0.0.1:7480 "
      "HOST`, or a reverse proxy with TLS and a login in front of it. --console-open-to-network "
      "allows other addresses all the same"));
}

void AddSecurityHeaders(HttpResponse& response) {
  response.headers.emplace_back(
      "Content-Security-Policy",
      "default-src 'self'; frame-ancestors 'none'; base-uri 'none'; form-action 'none'; "
      "object-src 'none'");
  response.headers.emplace_back("Referrer-Policy", "no-referrer");
  response.headers.emplace_back("Cross-Origin-Resource-Policy", "same-origin");
  response.headers.emplace_back("Cross-Origin-Opener-Policy", "same-origin");
}

HttpResponse FileAt(const std::string& path) {
  for (const File& file : Files()) {
    if (file.path != path) continue;
    HttpResponse response{.content_type = std::string(file.type),
                          .body = std::string(file.content),
                          .etag = std::string(file.hash)};
    response.headers.emplace_back("Cache-Control", "no-cache");  // ask whether it is still the same
    return response;
  }
  return {.status = 404, .body = absl::StrCat("nothing is at ", path, "\n")};
}

HttpResponse Refused(int status, const std::string& why) {
  return {.status = status, .body = absl::StrCat(why, "\n")};
}

}  // namespace

absl::StatusOr<std::unique_ptr<Console>> Console::Start(const Options& options, Source& source) {
  if (absl::Status wrong = CheckListen(options); !wrong.ok()) return wrong;
  std::unique_ptr<Console> console(new Console(options, source));
  const auto serve = [raw = console.get()](const HttpRequest& request) {
    HttpResponse response = raw->Serve(request);
    AddSecurityHeaders(response);
    return response;
  };
  auto http = HttpServer::Start(
      {.listen = options.listen, .threads = kThreads, .request_timeout = kRequestTimeout},
      {{.path = "/", .get = serve}, {.path = std::string(kApi), .get = serve, .post = serve}});
  if (!http.ok()) {
    return absl::Status(http.status().code(),
                        absl::StrCat("--console-listen: ", std::string(http.status().message())));
  }
  console->http_ = *std::move(http);
  console->url_ = absl::StrCat("http://", HostOf(options.listen), ":", console->port());
  return console;
}

Console::Console(const Options& options, Source& source)
    : hosts_({"localhost", "127.0.0.1", "[::1]", HostOf(options.listen)}),
      api_(source, {.now = MonotonicNow, .wall_ms = WallMilliseconds}) {
  for (const std::string& host : options.hosts) hosts_.push_back(HostOf(host));
}

bool Console::MayBeCalled(const std::string& host_header) const {
  return std::find(hosts_.begin(), hosts_.end(), HostOf(host_header)) != hosts_.end();
}

HttpResponse Console::Serve(const HttpRequest& request) {
  if (!MayBeCalled(request.Header("host"))) {
    return Refused(403, absl::StrCat("Host: found \"", request.Header("host"),
                                     "\"; allowed: ", absl::StrJoin(hosts_, ", "),
                                     " (--console-host allows another name)"));
  }
  if (!request.path.starts_with(kApi)) return FileAt(request.path);
  const std::string name = request.path.substr(kApi.size());
  if (request.method != "POST") return api_.Get(name, request);
  // A page from elsewhere cannot send this header without asking first, and is refused then.
  if (request.Header("x-console").empty()) return Refused(403, "the header X-Console is missing");
  return api_.Post(name, request);
}

}  // namespace shardmanager::console
