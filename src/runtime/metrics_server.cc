#include "runtime/metrics_server.h"

#include <utility>

#include "absl/strings/str_cat.h"

namespace shardmanager {
namespace {

HttpRoute HealthRoute(const std::string& path, std::function<absl::Status()> ask) {
  return {.path = path, .get = [ask = std::move(ask)](const HttpRequest&) {
            const absl::Status status = ask();
            HttpResponse response;
            response.headers.emplace_back("Cache-Control", "no-store");
            response.body = "ok\n";
            if (status.ok()) return response;
            response.status = 503;
            response.body = absl::StrCat(std::string(status.message()), "\n");
            return response;
          }};
}

}  // namespace

absl::StatusOr<std::unique_ptr<MetricsServer>> MetricsServer::Start(const std::string& listen,
                                                                    const Metrics& metrics,
                                                                    Health health) {
  HttpRoute scrape{.path = "/metrics", .get = [&metrics](const HttpRequest&) {
                     return HttpResponse{.content_type = "text/plain; version=0.0.4; charset=utf-8",
                                         .body = metrics.Text()};
                   }};
  auto http =
      HttpServer::Start({.listen = listen, .threads = kConnections},
                        {std::move(scrape), HealthRoute("/healthz", std::move(health.lives)),
                         HealthRoute("/readyz", std::move(health.ready))});
  if (!http.ok()) {
    return absl::Status(http.status().code(),
                        absl::StrCat("--metrics-listen: ", std::string(http.status().message())));
  }
  return std::unique_ptr<MetricsServer>(new MetricsServer(*std::move(http)));
}

}  // namespace shardmanager
