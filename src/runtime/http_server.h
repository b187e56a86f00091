// A small HTTP/1.1 server around civetweb: for metrics, health, and the console. Plain HTTP,
// without a login: who listens beyond this machine says why (docs/security.md). In a library of its
// own (sm_http), so that the SDK needs none of it.
#pragma once

#include <chrono>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"

namespace shardmanager {

struct HttpRequest {
  std::string method;                          // "GET" (also of a HEAD), "POST"
  std::string path;                            // decoded, without "." and "..": "/api/v1/apps"
  std::string query;                           // as it came, without "?"
  std::string body;                            // of a POST
  std::map<std::string, std::string> headers;  // names in lower case

  // "": there is no such header. `name`: in lower case.
  std::string Header(const std::string& name) const;
};

struct HttpResponse {
  int status = 200;
  std::string content_type = "text/plain; charset=utf-8";
  std::string body;
  // Of the content, for example a hash of it; empty: none. Who has it already gets 304 and no body.
  std::string etag;
  std::vector<std::pair<std::string, std::string>> headers;
};

struct HttpRoute {
  using Handler = std::function<HttpResponse(const HttpRequest&)>;

  // One that ends in "/" stands for all below it; the longest that fits counts.
  std::string path;
  // GET and HEAD. Empty: 405.
  Handler get;
  // Empty: 405.
  Handler post = nullptr;
};

// Serves until it is destroyed, which waits for the requests under way. Handlers are called on its
// threads, several at the same time, and must not throw.
//
// A connection carries one request. It takes a thread from the moment it is accepted, even if its
// client says nothing; more than there are threads wait. A client that sends no whole request
// within `request_timeout` is cut off, and one that takes none of the answer for that time, or not
// all of it within `answer_timeout`.
class HttpServer {
 public:
  struct Options {
    std::string listen;  // "host:port", the host a numeric address; port 0: a free one
    int threads = 32;
    std::chrono::milliseconds request_timeout{2'000};
    std::chrono::milliseconds answer_timeout{30'000};
    size_t most_path_bytes = 4'096;   // with the query; longer: 414
    size_t most_body_bytes = 65'536;  // of a POST; more: 413
  };

  // Errors: UNAVAILABLE, it cannot listen there, and why.
  static absl::StatusOr<std::unique_ptr<HttpServer>> Start(Options options,
                                                           std::vector<HttpRoute> routes);
  ~HttpServer();
  HttpServer(const HttpServer&) = delete;

  int port() const;

 private:
  class Impl;
  explicit HttpServer(std::unique_ptr<Impl> impl);
  std::unique_ptr<Impl> impl_;
};

// The parameters of a query, decoded: "a=1&b=x%20y". Of a name that repeats the last counts.
std::map<std::string, std::string> QueryParameters(const std::string& query);

}  // namespace shardmanager
