// The client library. Start here if you call a sharded service.
//
//   shardmanager::Router router({.discovery = {"127.0.0.1:7401"}});
//   auto client = router.GetClient<kv::KeyValue>("kv", "apple");
//   grpc::Status status = client.Call(&kv::KeyValue::Stub::Put, request, &response);
//
// A lookup is a search in an immutable map: no lock, no allocation, no I/O. A
// request that meets a server without the shard was not processed; the router
// learns from the refusal and tries again until the deadline. With the control
// plane down it works on from the last map.
//
// Calls that wait on nobody's thread: CallAsync and CallFuture. docs/calling-a-service.md has
// examples of all kinds of calls.
#pragma once

#include <grpcpp/support/status.h>

#include <chrono>
#include <cstdint>
#include <functional>
#include <future>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

#include "absl/functional/function_ref.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "shardmanager/observe.h"
#include "shardmanager/security.h"
#include "shardmanager/stub_inl.h"
#include "shardmanager/types.h"

namespace grpc {
class ChannelArguments;
class ChannelCredentials;
class ChannelInterface;
class ClientContext;
class ServerContextBase;
}  // namespace grpc

namespace shardmanager {

struct RouterOptions {
  // REQUIRED. Discovery endpoints, "host:port", tried in order and in turn.
  std::vector<std::string> discovery = {};
  // How discovery and the application's servers are connected to: with which certificate, and whom
  // it believes. A router that cannot use it fails all calls, and they say why. Default: the
  // certificates in $SM_CERTS or ~/.shardmanager/certs. Example: {.certs = "/etc/shop/certs"}.
  Security security = {};
  // Who this is, for the other side's logs. Default: "<host>/<pid>".
  std::string subscriber = {};
  // Where this client stands. When any replica of a shard may answer, the nearest one does: in the
  // same rack, datacenter, region, then any; unless it takes more than three times as long as one
  // that is farther. Default: nowhere, all are equally near. Example: {"eu-west", "dub1"}.
  // One request in eight names the region to the server, so that replicas can follow their requests
  // (placement.follow_demand in the app's spec).
  FaultDomain location = {};
  // A server that this client cannot use (more than half of its last requests found no connection,
  // no answer, or an answer like INTERNAL or UNAVAILABLE) gets no request that another replica may
  // answer, but for a probe a second; as long as one of the others does better. Default: true.
  bool leave_out_outliers = true;
  // Further attempts of an app's calls, over many calls and in proportion to these: 0.2 is one for
  // five calls. 10 a second may be made in any case, and 100 are saved. When they are spent, a call
  // waits 0.5 to 1 s before it tries again, or until a newer map names other servers; it does not
  // fail for that. From 0 up. Default: 0.2.
  double retry_share = 0.2;
  // A directory where the newest map of each app is kept, so that a process that starts
  // while no discovery answers begins with it; made if it is not there. Processes may share
  // it. A file is written within a second of an app's first map, at most every 10 s from
  // then on, and when the router goes. It is read if no map has come 0.3 s after the first
  // use of the app. A map that is older than the one in use never replaces it, on disk or in
  // memory. Default: "", nothing is kept. Example: "/var/cache/checkout/shard-maps".
  std::string map_cache = {};
  // Maps of other cells are refused, those that are kept and those that discovery has: an endpoint
  // of another cell is left for the next one. Default: "", any cell. Example: "prod".
  std::string cell = {};
  // Connections to each application server; each call and stream takes one of them at random. What
  // is in flight on one connection shares its flow control, and one thread of gRPC at a time reads
  // it: more of them help a client that sends large messages, or very many small ones, to few
  // servers. From 1 to 64; what is beyond counts as the nearest of these. Default: 1. Example: 4.
  int channels_per_server = 1;
  // Called each time before a channel to an application server is made, by the thread of the call
  // that needs it, with the arguments that it has by default; what is set here holds, but for an
  // HTTP proxy: none is used. Of keepalive (default: none; without it, a call or stream on a
  // connection that is dead though nobody said so waits for its deadline, or for a newer map): the
  // server library accepts a ping every 5 s. It must not block. Default: nothing. Example:
  //   .channel_arguments = [](grpc::ChannelArguments& arguments) {
  //     arguments.SetInt(GRPC_ARG_KEEPALIVE_TIME_MS, 20'000);
  //     arguments.SetInt(GRPC_ARG_KEEPALIVE_TIMEOUT_MS, 5'000);
  //     arguments.SetMaxReceiveMessageSize(64 << 20);
  //   }
  std::function<void(grpc::ChannelArguments& arguments)> channel_arguments = nullptr;
  // The application's own, for the channels to its servers only, in place of what `security` makes:
  // for servers that listen with ServerOptions::credentials. Default: null, `security` holds.
  // Example: grpc::SslCredentials({.pem_root_certs = roots}).
  std::shared_ptr<grpc::ChannelCredentials> credentials = nullptr;
  // One request in 64 names its key to the server, in its metadata ("sm-key-bin"), so that
  // `shardctl top keys` can say which keys are asked for most. Keys of more than 256 bytes are not
  // named. Set it to false if keys are secrets that your proxies or logs must not see. Default:
  // true.
  bool name_keys = true;
  // Gets metric::kClientCallDuration and kClientAttempts (observe.h). Default: null, nobody counts;
  // stats() counts in any case.
  std::shared_ptr<MetricsSink> metrics = nullptr;
  // Gets a span for each call, and below it one for each attempt, whose headers go to the server.
  // Streams have none of their own: CallOptions::prepare can add headers. Default: null, no spans.
  std::shared_ptr<Tracer> tracer = nullptr;
};

struct CallOptions {
  // For the whole call, retries and waits included. milliseconds::max(): as long as it takes.
  std::chrono::milliseconds timeout{5'000};
  // When the call ends at the latest, instead of after `timeout`. Default: nothing, `timeout`
  // holds.
  std::optional<std::chrono::system_clock::time_point> deadline = std::nullopt;
  // The request may be processed twice without harm, so it is also retried when
  // the connection broke, or an attempt took long (the first a quarter of the
  // timeout, the second half of what is left), and nobody knows whether it was
  // processed. Refusals are always retried: a refused request was not processed.
  bool idempotent = false;
  // Any replica may answer, the nearest is best: for reads that may be a little old, in
  // apps whose shards have a primary and secondaries. Default: the primary answers.
  bool any_replica = false;
  // For reads that any replica may answer (`any_replica`, or `idempotent` in an app without
  // primaries): when an attempt has no answer after this time, another replica is asked as well.
  // The first good answer is the call's, and the other attempt is cancelled; whatever else comes of
  // one of them counts only when both have ended. Once in a call, and as long as `retry_share`
  // allows. About what nine in ten calls take is a good value. A blocking call is hedged if it is
  // given the method of the callback stub. Default: 0, never. Example: 20ms.
  std::chrono::microseconds hedge_after{0};
  // The call of your server (a ServerContext, or CallbackServerContext) out of which this one is
  // made: this one ends by its deadline, and with CANCELLED when it is cancelled. Must outlive this
  // call. Default: none.
  const grpc::ServerContextBase* parent = nullptr;
  // Of the gRPC method, for RouterOptions::metrics and tracer, which cannot know it. Must outlive
  // this call. Default: "", not known. Example: "Get".
  std::string_view method = {};
  // The span below which this call's span begins. Must live until the call has begun. Default:
  // null, what the tracer takes for the current span of the thread that makes the call.
  const Span* parent_span = nullptr;
  // Called for each attempt before it is sent, by the thread that sends it: add metadata, set
  // credentials. The deadline that it sets does not count. It must not block.
  std::function<void(grpc::ClientContext& context)> prepare = nullptr;
  // Called with the context of the attempt that was answered, before the call returns or its
  // callback runs: metadata of the response, for example. It must not block.
  std::function<void(const grpc::ClientContext& context)> inspect = nullptr;
};

// Counters since the router was made. Monotonic.
struct RouterStats {
  uint64_t calls = 0;             // and Client::Bind
  uint64_t attempts = 0;          // attempts - calls - hedges: retries
  uint64_t refused = 0;           // attempts that a server refused
  uint64_t transport_errors = 0;  // attempts that died on the way
  uint64_t failed_calls = 0;      // calls that returned an error of ours
  uint64_t map_updates = 0;
  uint64_t held_back = 0;   // waits of 0.5 to 1 s, as RouterOptions::retry_share was spent
  uint64_t left_out = 0;    // attempts that passed over a server in trouble
  uint64_t hedges = 0;      // attempts made beside another one, by CallOptions::hedge_after
  uint64_t hedges_won = 0;  // of them, those whose answer is the call's
};

// What the templates below stand on; not for use outside.
namespace router_internal {

class RouterImpl;
class AppRouter;  // one app, as long as the Router lives
class AsyncCall;
class Binding;      // of a key to a server, for streams
class StreamState;  // of one stream

using sdk_internal::StubFactory;

struct CallTarget {
  AppRouter& app;
  std::string_view key_or_shard;
  bool by_shard;
  std::string_view service;  // "kv.KeyValue"
};

// One attempt on the given stub.
using Attempt = absl::FunctionRef<grpc::Status(void* stub, grpc::ClientContext* context)>;

grpc::Status Call(const CallTarget& target, const CallOptions& options, StubFactory make_stub,
                  Attempt attempt);

using Done = std::function<void(grpc::Status status)>;

// What the template knows of an asynchronous call: its method and messages.
class AsyncMethod {
 public:
  virtual ~AsyncMethod() = default;
  // `attempt`: 0, or 1 for a hedge, which may be under way beside it.
  virtual void Start(void* stub, grpc::ClientContext* context, size_t attempt, Done done) = 0;
  // The response of that attempt is the call's. All have ended.
  virtual void TakeResponse(size_t attempt) = 0;
};

std::shared_ptr<AsyncCall> CallAsync(const CallTarget& target, const CallOptions& options,
                                     StubFactory make_stub, std::unique_ptr<AsyncMethod> method,
                                     Done done);
void Cancel(const std::weak_ptr<AsyncCall>& call);

struct BoundTo {
  std::shared_ptr<Binding> binding;  // null: there is none
  std::shared_ptr<void> stub;
  grpc::Status status;
};
BoundTo Bind(const CallTarget& target, const CallOptions& options, StubFactory make_stub,
             const StreamState* ended);
const std::string& ShardOf(const Binding& binding);
const std::string& ServerOf(const Binding& binding);
const std::string& EndpointOf(const Binding& binding);

}  // namespace router_internal

// An asynchronous call that may be cancelled. Needs not be kept. Thread-safe.
class PendingCall {
 public:
  PendingCall() = default;
  explicit PendingCall(std::weak_ptr<router_internal::AsyncCall> call) : call_(std::move(call)) {}

  // The callback gets CANCELLED soon, unless there is an answer already. Idempotent; does nothing
  // when the call is over, also when its Router is gone.
  void Cancel() const { router_internal::Cancel(call_); }

 private:
  std::weak_ptr<router_internal::AsyncCall> call_;
};

// What CallFuture brings.
template <typename Response>
struct CallResult {
  grpc::Status status;
  Response response;
};

// The context of one stream on a Bound stub; copies are the same context. Must live until the
// stream has ended, and not longer than its Router. Not thread-safe, but for what gRPC's context
// is.
class StreamContext {
 public:
  // Made by Bound.
  explicit StreamContext(std::shared_ptr<router_internal::StreamState> state)
      : state_(std::move(state)) {}

  grpc::ClientContext* get() const;
  grpc::ClientContext* operator->() const { return get(); }

  // The stream ended with this status. True: bind again, and go on there: the server refused it, or
  // the shard went to another server meanwhile (the router ends the stream with CANCELLED then), or
  // the connection broke, or the server answered UNAVAILABLE, or stopped (gRPC ends what is still
  // open with CANCELLED then: do not ask of a stream that you cancelled yourself). What was sent on
  // the stream may have been processed, in part or not at all; only the application can tell where
  // to go on.
  bool ShouldReopen(const grpc::Status& status) const;

 private:
  template <typename Service>
  friend class Client;
  std::shared_ptr<router_internal::StreamState> state_;
};

// A stub on the connection to the server that holds a key now: for streams, and whatever Call does
// not do. Nothing is retried. Must not outlive its Router; cheap to copy.
template <typename Service>
class Bound {
 public:
  using Stub = typename Service::Stub;

  bool ok() const { return to_.status.ok(); }
  // Why it is not, as of a call.
  const grpc::Status& status() const { return to_.status; }

  // The others REQUIRE: ok().
  Stub* operator->() const { return static_cast<Stub*>(to_.stub.get()); }
  // For one stream each: says for whom it is, and has what CallOptions::deadline, parent and
  // prepare ask for (no deadline without these). When the map names another server, the stream is
  // ended.
  StreamContext NewContext() const;

  const std::string& shard() const { return router_internal::ShardOf(*to_.binding); }
  const std::string& server() const { return router_internal::ServerOf(*to_.binding); }
  const std::string& endpoint() const { return router_internal::EndpointOf(*to_.binding); }

 private:
  template <typename>
  friend class Client;
  explicit Bound(router_internal::BoundTo to) : to_(std::move(to)) {}

  router_internal::BoundTo to_;
};

// Calls to the server that holds one key. Cheap to make: make one per call. Must not
// outlive its Router.
template <typename Service>
class Client {
 public:
  using Stub = typename Service::Stub;
  // The class Service::Stub::async, which gRPC generates for callbacks.
  using AsyncStub = std::remove_pointer_t<decltype(std::declval<Stub&>().async())>;
  // Example: &kv::KeyValue::Stub::async::Get.
  template <typename Request, typename Response>
  using AsyncMethodOf = void (AsyncStub::*)(grpc::ClientContext*, const Request*, Response*,
                                            std::function<void(grpc::Status)>);
  using Callback = std::function<void(grpc::Status status)>;

  // Blocking unary call. Returns the application's status as it is, or one of ours,
  // with the shard, the server and the reason of the last attempt:
  // DEADLINE_EXCEEDED: no answer in time. UNAVAILABLE: the connection broke under a
  // request that is not idempotent; it may have been processed. NOT_FOUND: no shard
  // holds the key, or has that id. CANCELLED: CallOptions::parent was cancelled, or
  // PendingCall::Cancel called. At once, where there is no shard map, also none that
  // is kept: FAILED_PRECONDITION, by RouterOptions none can come (no discovery, or all
  // of it is of other cells); NOT_FOUND, the cell has no such app (as soon as it is made,
  // calls succeed).
  template <typename Request, typename Response>
  grpc::Status Call(grpc::Status (Stub::*method)(grpc::ClientContext*, const Request&, Response*),
                    const Request& request, Response* response, const CallOptions& options = {});

  // The same with the method of the callback stub, for CallOptions::hedge_after. Not in a callback.
  template <typename Request, typename Response>
  grpc::Status Call(AsyncMethodOf<Request, Response> method, const Request& request,
                    Response* response, const CallOptions& options = {});

  // The same, without a thread that waits. `callback` is called exactly once, not inside of
  // CallAsync, but possibly before that returns, by a thread of gRPC or of the Router: it must not
  // block (no blocking call), but may make another asynchronous call. When the Router is destroyed,
  // calls under way are cancelled, and their callbacks have returned before the destructor does; it
  // must not run inside of a callback.
  //
  // `request`, key and `options` are copied (move the request if you can). `*response` must live,
  // and be left alone, until the callback; so must what `options` point to.
  template <typename Request, typename Response>
  PendingCall CallAsync(AsyncMethodOf<Request, Response> method, Request request,
                        Response* response, const CallOptions& options, Callback callback);

  // The same; the future brings status and response. It may be dropped.
  template <typename Request, typename Response>
  std::future<CallResult<Response>> CallFuture(AsyncMethodOf<Request, Response> method,
                                               Request request, const CallOptions& options = {});

  // Finds the server that holds the key now and connects to it, and waits for both as a call does,
  // until `options` say that it is too late. `timeout` is for that alone; `hedge_after` and
  // `inspect` mean nothing here. `ended`: the stream that ended before, and whose ShouldReopen was
  // true: another server is preferred, and there is a pause as after a refused attempt, unless the
  // map has changed.
  Bound<Service> Bind(const CallOptions& options = {}, const StreamContext* ended = nullptr);

 private:
  friend class Router;
  // `Held`: how the request is kept, as a copy or a reference.
  template <typename Held, typename Request, typename Response>
  PendingCall Start(AsyncMethodOf<Request, Response> method, Held request, Response* response,
                    const CallOptions& options, Callback callback);

  Client(router_internal::AppRouter& app, std::string_view key_or_shard, bool by_shard)
      : app_(app), key_or_shard_(key_or_shard), by_shard_(by_shard) {}

  router_internal::CallTarget Target() const {
    return {app_, key_or_shard_, by_shard_, Service::service_full_name()};
  }

  router_internal::AppRouter& app_;
  std::string key_or_shard_;
  bool by_shard_;
};

// Where a shard is, by one map.
struct ShardPlace {
  ShardId shard = {};
  // Its keys, [start, end); an empty end is the end of all keys. Both empty where shards have no
  // ranges, or keys are hashed (KeySpace.hash_keys): then its keys stand everywhere.
  std::string start = {};
  std::string end = {};
  // Its primary, or one of its servers where shards have no primaries. Empty: nobody serves it now.
  std::string server = {};
  std::string endpoint = {};
};

// Thread-safe; make one per process.
class Router {
 public:
  explicit Router(RouterOptions options);
  // REQUIRES: no blocking call is under way. Asynchronous ones are cancelled.
  ~Router();
  Router(const Router&) = delete;
  Router& operator=(const Router&) = delete;

  // The first use of an app subscribes to its map; calls wait for it within their
  // deadline.
  template <typename Service>
  Client<Service> GetClient(std::string_view app, std::string_view key) {
    return Client<Service>(App(app), key, /*by_shard=*/false);
  }
  template <typename Service>
  Client<Service> GetClientForShard(std::string_view app, const ShardId& shard) {
    return Client<Service>(App(app), shard.value(), /*by_shard=*/true);
  }

  // Waits until there is a map of the app with all shards served, and discovery says that it is the
  // newest one. While discovery cannot say so, an older map is good enough, be it in memory or kept
  // by RouterOptions::map_cache: as soon as each endpoint was tried in vain, or does not know
  // itself whether its map is the newest, and in any case after `timeout` (clients must start
  // during an outage, too; a server refuses what it does not hold any more). What discovery says
  // holds as of the last 15 s: a dead connection is noticed by then. DEADLINE_EXCEEDED names what
  // is missing. FAILED_PRECONDITION, NOT_FOUND: at once, where there is no map, as for a call.
  absl::Status WaitReady(std::string_view app, std::chrono::milliseconds timeout);

  // For work that is grouped by shard or server. Of the newest map, which may be old by the time it
  // is used: make the requests themselves by Client, which follows the map. A map is waited for.
  // NOT_FOUND: no shard holds the key. All other errors: as for WaitReady.
  absl::StatusOr<ShardPlace> Resolve(std::string_view app, std::string_view key,
                                     std::chrono::milliseconds timeout);
  // The shards that hold keys of [start, end), in key order, all of one map; an empty end is the
  // end of all keys. For scans: send each shard its part with GetClientForShard. Of an app that
  // hashes its keys: all shards, if both are empty, else FAILED_PRECONDITION.
  absl::StatusOr<std::vector<ShardPlace>> Scan(std::string_view app, std::string_view start,
                                               std::string_view end,
                                               std::chrono::milliseconds timeout);

  RouterStats stats() const;

 private:
  router_internal::AppRouter& App(std::string_view app);

  std::unique_ptr<router_internal::RouterImpl> impl_;
};

}  // namespace shardmanager

#include "shardmanager/router_inl.h"
