// The console in the browser: pages that are compiled in, and their data. It only reads.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "console/console_api.h"
#include "console/source.h"
#include "runtime/http_server.h"

namespace shardmanager::console {

// Serves until it is destroyed.
//
// There is no TLS and no login, so by default only this machine is served, and only requests whose
// Host header names it: a page from elsewhere whose name was made to point here (DNS rebinding)
// gets nothing. No page from elsewhere may ask a what-if, or show the console in a frame.
class Console {
 public:
  struct Options {
    std::string listen;              // "host:port", the host a numeric address; port 0: a free one
    std::vector<std::string> hosts;  // more names by which browsers may call it
    bool open_to_network = false;    // `listen` may be an address that others reach
  };

  // Errors: INVALID_ARGUMENT: `listen` is no "host:port", or one that others reach; UNAVAILABLE:
  // the port is taken. `source` must outlive it.
  static absl::StatusOr<std::unique_ptr<Console>> Start(const Options& options, Source& source);

  // "http://127.0.0.1:7480".
  const std::string& url() const { return url_; }
  int port() const { return http_->port(); }

 private:
  Console(const Options& options, Source& source);
  HttpResponse Serve(const HttpRequest& request);
  bool MayBeCalled(const std::string& host_header) const;

  std::vector<std::string> hosts_;
  std::string url_;
  ConsoleApi api_;
  std::unique_ptr<HttpServer> http_;  // last: it calls the others
};

}  // namespace shardmanager::console
