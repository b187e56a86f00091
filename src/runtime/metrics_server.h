// What monitoring asks of a process, over HTTP: its metrics, whether it lives, whether it is ready.
#pragma once

#include <functional>
#include <memory>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "runtime/http_server.h"
#include "runtime/metrics.h"

namespace shardmanager {

// Asked on any thread, several at the same time; must answer within a second or so.
struct Health {
  // Not OK: the process should be restarted, and why.
  std::function<absl::Status()> lives = [] { return absl::OkStatus(); };
  // Not OK: it cannot do its work now, and why.
  std::function<absl::Status()> ready = [] { return absl::OkStatus(); };
};

// Serves until it is destroyed:
//   /metrics   the text exposition format of Prometheus
//   /healthz   200 "ok", or 503 and why the process does not live
//   /readyz    200 "ok", or 503 and why it is not ready
//
// A client that connects and sends nothing does not hold up scrapes: as long as fewer than
// kConnections clients do that, a scrape is answered at once. With more of them a scrape waits
// until enough of them are closed, which happens to each after 2 s (http_server.h).
class MetricsServer {
 public:
  // Connections that are served at the same time; more wait.
  static constexpr int kConnections = 32;

  // `listen`: as HttpServer::Options. Errors: UNAVAILABLE, it cannot listen there, and why.
  // `metrics`, and what `health` asks, must outlive the server.
  static absl::StatusOr<std::unique_ptr<MetricsServer>> Start(const std::string& listen,
                                                              const Metrics& metrics,
                                                              Health health = {});

  int port() const { return http_->port(); }

 private:
  explicit MetricsServer(std::unique_ptr<HttpServer> http) : http_(std::move(http)) {}
  std::unique_ptr<HttpServer> http_;
};

}  // namespace shardmanager
