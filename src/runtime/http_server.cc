#include "runtime/http_server.h"

#include <civetweb.h>
#include <netdb.h>
#include <sys/socket.h>
#include <unistd.h>
#include <zlib.h>

#include <algorithm>
#include <condition_variable>
#include <cstring>
#include <mutex>
#include <optional>
#include <string_view>
#include <thread>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "absl/strings/str_split.h"
#include "absl/time/clock.h"
#include "absl/time/time.h"
#include "base/endpoint.h"

namespace shardmanager {
namespace {

using Clock = std::chrono::steady_clock;

// Below this, the head is larger than what is saved.
constexpr size_t kLeastToCompress = 1'024;
constexpr std::chrono::milliseconds kKnockPause{10};
// So much is written before the time is looked at again.
constexpr size_t kPieceBytes = 32'768;
// What civetweb reads of a request's head.
constexpr const char* kMostHeadBytes = "16384";

const char* ReasonOf(int status) {
  switch (status) {
    case 200:
      return "OK";
    case 304:
      return "Not Modified";
    case 400:
      return "Bad Request";
    case 403:
      return "Forbidden";
    case 404:
      return "Not Found";
    case 405:
      return "Method Not Allowed";
    case 408:
      return "Request Timeout";
    case 411:
      return "Length Required";
    case 413:
      return "Content Too Large";
    case 414:
      return "URI Too Long";
    case 421:
      return "Misdirected Request";
    case 500:
      return "Internal Server Error";
    case 501:
      return "Not Implemented";
    case 503:
      return "Service Unavailable";
    default:
      return "Error";
  }
}

HttpResponse Plain(int status, const std::string& text) {
  return {.status = status, .body = text + "\n"};
}

bool AcceptsGzip(const HttpRequest& request) {
  for (const auto& coding : absl::StrSplit(request.Header("accept-encoding"), ',')) {
    const std::string compact = absl::StrReplaceAll(std::string(coding), {{" ", ""}});
    if (compact == "gzip") return true;
    if (!absl::StartsWith(compact, "gzip;q=")) continue;
    double quality = 0;
    return absl::SimpleAtod(compact.substr(std::strlen("gzip;q=")), &quality) && quality > 0;
  }
  return false;
}

// Nothing: it did not work.
std::optional<std::string> Gzip(const std::string& text) {
  z_stream stream{};
  constexpr int kGzipWindow = 15 + 16;
  if (deflateInit2(&stream, /*level=*/2, Z_DEFLATED, kGzipWindow, /*memLevel=*/8,
                   Z_DEFAULT_STRATEGY) != Z_OK) {
    return std::nullopt;
  }
  std::string packed(deflateBound(&stream, text.size()), '\0');
  stream.next_in = reinterpret_cast<Bytef*>(const_cast<char*>(text.data()));
  stream.avail_in = static_cast<uInt>(text.size());
  stream.next_out = reinterpret_cast<Bytef*>(packed.data());
  stream.avail_out = static_cast<uInt>(packed.size());
  const bool done = deflate(&stream, Z_FINISH) == Z_STREAM_END;
  packed.resize(stream.total_out);
  deflateEnd(&stream);
  if (!done) return std::nullopt;
  return packed;
}

bool HasIt(const HttpRequest& request, const std::string& etag) {
  if (etag.empty()) return false;
  for (const auto& part : absl::StrSplit(request.Header("if-none-match"), ',')) {
    const absl::string_view stripped = absl::StripAsciiWhitespace(part);
    std::string_view one(stripped.data(), stripped.size());
    if (one == "*") return true;
    if (one.starts_with("W/")) one.remove_prefix(2);
    if (one == absl::StrCat("\"", etag, "\"")) return true;
  }
  return false;
}

// civetweb wants to be told once for each process, and untold once.
class Library {
 public:
  static Library& Get() {
    static Library library;
    return library;
  }

 private:
  Library() { mg_init_library(MG_FEATURES_DEFAULT); }
};

// Connects once and hangs up. `listen`: where a server listens, at `port`.
void Knock(const std::string& listen, int port) {
  std::string host = SplitEndpoint(listen).host;
  if (host.empty() || host == "0.0.0.0") host = "127.0.0.1";
  if (host == "::") host = "::1";
  addrinfo hints{};
  hints.ai_flags = AI_NUMERICHOST | AI_NUMERICSERV;
  hints.ai_socktype = SOCK_STREAM;
  addrinfo* address = nullptr;
  if (getaddrinfo(host.c_str(), absl::StrCat(port).c_str(), &hints, &address) != 0) return;
  const int fd = socket(address->ai_family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
  if (fd >= 0) {
    (void)connect(fd, address->ai_addr, address->ai_addrlen);
    close(fd);
  }
  freeaddrinfo(address);
}

// civetweb's main thread looks every 2 s whether it is to stop, and whenever somebody connects.
void StopSoon(mg_context* context, const std::string& listen, int port) {
  const std::jthread knocks([&](const std::stop_token& stopped) {
    std::mutex mutex;
    std::condition_variable_any wake;
    std::unique_lock lock(mutex);
    while (!wake.wait_for(lock, stopped, kKnockPause, [] { return false; }) &&
           !stopped.stop_requested()) {
      Knock(listen, port);
    }
  });
  mg_stop(context);
}

}  // namespace

std::string HttpRequest::Header(const std::string& name) const {
  const auto found = headers.find(name);
  return found == headers.end() ? "" : found->second;
}

class HttpServer::Impl {
 public:
  Impl(Options options, std::vector<HttpRoute> routes)
      : options_(std::move(options)), routes_(std::move(routes)) {}
  ~Impl() {
    if (context_ != nullptr) StopSoon(context_, options_.listen, port_);
  }

  absl::Status Start();
  int port() const { return port_; }

 private:
  // One request, as civetweb has it.
  struct Call {
    mg_connection* connection;
    Clock::time_point began = Clock::now();
    bool head = false;  // its answer has no body
  };

  static Impl& Of(const mg_connection* connection) {
    return *static_cast<Impl*>(mg_get_user_data(mg_get_context(connection)));
  }
  static int OnRequest(mg_connection* connection) { return Of(connection).Serve(connection); }
  // What civetweb itself refuses: what is no HTTP, or has too large a head.
  static int OnError(mg_connection* connection, int status, const char* message) {
    HttpRequest request;
    Of(connection).Send({connection}, request, Plain(status, message));
    return 0;
  }
  static int OnLog(const mg_connection*, const char*) { return 1; }

  int Serve(mg_connection* connection);
  HttpResponse Answer(Call& call, HttpRequest& request);
  const HttpRoute* RouteOf(const std::string& path) const;
  std::optional<HttpResponse> ReadBody(const Call& call, long long length,
                                       HttpRequest& request) const;
  void Send(const Call& call, const HttpRequest& request, HttpResponse response) const;
  void Write(const Call& call, std::string_view text) const;

  const Options options_;
  const std::vector<HttpRoute> routes_;
  mg_context* context_ = nullptr;
  int port_ = 0;
};

absl::Status HttpServer::Impl::Start() {
  Library::Get();
  const std::string threads = absl::StrCat(options_.threads);
  const std::string timeout = absl::StrCat(options_.request_timeout.count());
  const char* options[] = {"listening_ports",
                           options_.listen.c_str(),
                           "num_threads",
                           threads.c_str(),
                           "request_timeout_ms",
                           timeout.c_str(),
                           "max_request_size",
                           kMostHeadBytes,
                           "enable_keep_alive",
                           "no",
                           "decode_url",
                           "yes",
                           nullptr};
  mg_callbacks callbacks{};
  callbacks.begin_request = OnRequest;
  callbacks.http_error = OnError;
  callbacks.log_message = OnLog;
  callbacks.log_access = OnLog;
  mg_init_data init{&callbacks, this, options};
  char why[256] = "";
  unsigned code = 0;
  mg_error_data error{&code, why, sizeof why};
  context_ = mg_start2(&init, &error);
  if (context_ == nullptr) {
    return absl::UnavailableError(
        absl::StrCat("cannot serve HTTP on ", options_.listen,
                     ": is the port taken, or the host not a numeric address of this machine?",
                     *why == '\0' ? "" : absl::StrCat(" (", why, ")")));
  }
  mg_server_port port{};
  if (mg_get_server_ports(context_, 1, &port) == 1) port_ = port.port;
  return absl::OkStatus();
}

const HttpRoute* HttpServer::Impl::RouteOf(const std::string& path) const {
  const HttpRoute* best = nullptr;
  for (const HttpRoute& route : routes_) {
    const bool fits = route.path.ends_with('/') ? path.starts_with(route.path) : path == route.path;
    if (fits && (best == nullptr || route.path.size() > best->path.size())) best = &route;
  }
  return best;
}

int HttpServer::Impl::Serve(mg_connection* connection) {
  Call call{connection};
  HttpRequest request;
  const HttpResponse response = Answer(call, request);
  Send(call, request, response);
  return response.status;
}

HttpResponse HttpServer::Impl::Answer(Call& call, HttpRequest& request) {
  const mg_request_info& info = *mg_get_request_info(call.connection);
  const auto text = [](const char* value) { return std::string(value == nullptr ? "" : value); };
  for (int i = 0; i < info.num_headers; ++i) {
    request.headers[absl::AsciiStrToLower(info.http_headers[i].name)] = info.http_headers[i].value;
  }
  request.method = text(info.request_method);
  request.path = text(info.local_uri);
  request.query = text(info.query_string);
  call.head = request.method == "HEAD";
  if (request.path.size() + request.query.size() > options_.most_path_bytes) {
    return Plain(414, absl::StrCat("path: found ", request.path.size() + request.query.size(),
                                   " bytes; allowed: ", options_.most_path_bytes));
  }
  const HttpRoute* route = RouteOf(request.path);
  if (route == nullptr) return Plain(404, absl::StrCat("nothing is at ", request.path));
  if (call.head) request.method = "GET";
  const HttpRoute::Handler* handler = nullptr;
  if (request.method == "GET") handler = &route->get;
  if (request.method == "POST") handler = &route->post;
  if (handler == nullptr || !*handler) {
    const std::string allowed = !route->post  ? "GET, HEAD"
                                : !route->get ? "POST"
                                              : "GET, HEAD, POST";
    HttpResponse refused =
        Plain(405, absl::StrCat("method: found ", request.method, "; allowed: ", allowed));
    refused.headers.emplace_back("Allow", allowed);
    return refused;
  }
  if (request.method == "POST") {
    if (auto refused = ReadBody(call, info.content_length, request)) return *refused;
  }
  return (*handler)(request);
}

// Something: why the request is refused.
std::optional<HttpResponse> HttpServer::Impl::ReadBody(const Call& call, long long length,
                                                       HttpRequest& request) const {
  if (length < 0) return Plain(411, "a POST needs a Content-Length");
  if (length > static_cast<long long>(options_.most_body_bytes)) {
    return Plain(
        413, absl::StrCat("body: found ", length, " bytes; allowed: ", options_.most_body_bytes));
  }
  request.body.resize(static_cast<size_t>(length));
  size_t have = 0;
  while (have < request.body.size()) {
    const int n =
        Clock::now() - call.began > options_.request_timeout
            ? 0
            : mg_read(call.connection, request.body.data() + have, request.body.size() - have);
    if (n <= 0) return Plain(408, "the body did not come in time");
    have += static_cast<size_t>(n);
  }
  return std::nullopt;
}

void HttpServer::Impl::Send(const Call& call, const HttpRequest& request,
                            HttpResponse response) const {
  if (response.status == 200 && HasIt(request, response.etag)) response.status = 304;
  const bool bare = response.status == 304;
  bool packed = false;
  if (!bare && response.body.size() >= kLeastToCompress && AcceptsGzip(request)) {
    if (auto smaller = Gzip(response.body)) {
      response.body = *std::move(smaller);
      packed = true;
    }
  }
  std::string head = absl::StrCat(
      "HTTP/1.1 ", response.status, " ", ReasonOf(response.status),
      "\r\nDate: ", absl::FormatTime("%a, %d %b %Y %H:%M:%S GMT", absl::Now(), absl::UTCTimeZone()),
      "\r\nConnection: close\r\nX-Content-Type-Options: nosniff\r\nVary: Accept-Encoding\r\n");
  if (!bare) {
    absl::StrAppend(&head, "Content-Type: ", response.content_type,
                    "\r\nContent-Length: ", response.body.size(), "\r\n");
  }
  if (packed) absl::StrAppend(&head, "Content-Encoding: gzip\r\n");
  // Weak: the same content may come compressed or not.
  if (!response.etag.empty()) absl::StrAppend(&head, "ETag: W/\"", response.etag, "\"\r\n");
  for (const auto& [name, value] : response.headers) {
    absl::StrAppend(&head, name, ": ", value, "\r\n");
  }
  head += "\r\n";
  if (!bare && !call.head) head += response.body;
  Write(call, head);
}

void HttpServer::Impl::Write(const Call& call, std::string_view text) const {
  const Clock::time_point until = Clock::now() + options_.answer_timeout;
  while (!text.empty() && Clock::now() < until) {
    const size_t size = std::min(kPieceBytes, text.size());
    if (mg_write(call.connection, text.data(), size) != static_cast<int>(size)) return;
    text.remove_prefix(size);
  }
}

absl::StatusOr<std::unique_ptr<HttpServer>> HttpServer::Start(Options options,
                                                              std::vector<HttpRoute> routes) {
  auto impl = std::make_unique<Impl>(std::move(options), std::move(routes));
  if (absl::Status status = impl->Start(); !status.ok()) return status;
  return std::unique_ptr<HttpServer>(new HttpServer(std::move(impl)));
}

HttpServer::HttpServer(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}
HttpServer::~HttpServer() = default;

int HttpServer::port() const { return impl_->port(); }

std::map<std::string, std::string> QueryParameters(const std::string& query) {
  std::map<std::string, std::string> parameters;
  const auto decoded = [](std::string_view text) {
    std::string out(text.size() + 1, '\0');
    const int n = mg_url_decode(text.data(), static_cast<int>(text.size()), out.data(),
                                static_cast<int>(out.size()), /*is_form_url_encoded=*/1);
    out.resize(n < 0 ? 0 : static_cast<size_t>(n));
    return out;
  };
  for (const auto& part : absl::StrSplit(query, '&', absl::SkipEmpty())) {
    const std::string_view one(part.data(), part.size());
    const size_t equals = std::min(one.find('='), one.size());
    parameters[decoded(one.substr(0, equals))] =
        equals < one.size() ? decoded(one.substr(equals + 1)) : "";
  }
  return parameters;
}

}  // namespace shardmanager
