// The server library. Start here if your process holds shards.
//
//   using namespace shardmanager;
//   class Store : public ShardHandler {
//     absl::Status AddShard(const ShardGrant& grant, const LoadProgress&) override;  // open it
//     absl::Status DropShard(const ShardId& shard) override;                         // close it
//   };
//   int main() {
//     Store store;
//     Server server({.app = "kv", .name = "kv-3", .zookeeper = "127.0.0.1:2181"});
//     KvService service(server, store);               // your gRPC service
//     absl::Status status = server.Run(store, {&service});   // until SIGTERM
//   }
//
// and in each method of the service:
//
//   auto admission = server.Admit(*context, &Kv::Stub::Get, request, response);
//   if (!admission.ok()) return admission.status();   // the right server answers
//   ... work on admission.shard(); give admission.epoch() to your storage ...
//
// A table of what you have for each shard, that requests search without a lock: shard_table.h.
//
// While a shard goes to another server, its requests are held for a moment and then sent
// on to the new owner: clients see no error. The handler needs no code for this; each method
// only has to pass its own stub method to Admit (above: &Kv::Stub::Get).
//
// A service of gRPC's callback API has the same, and no thread waits (docs/callback-services.md):
//
//   grpc::ServerUnaryReactor* Get(grpc::CallbackServerContext* context, const GetRequest* request,
//                                 GetResponse* response) override {
//     return server_.Admit<Kv>(*context, &Kv::Stub::async::Get, request, response,
//                              [=, this](const AdmittedCall& call) {
//       store_.Read(call.shard(), request->key(), [=](const std::string& value) {
//         response->set_value(value);
//         call.Finish(grpc::Status::OK);
//       });
//     });
//   }
//
// The library registers the process, renews its lease, reads its assignment from
// the coordination store (so it starts with the control plane down), carries out
// the control plane's commands, and stops admitting work by itself the moment its
// right to serve lapses. See examples/kvstore for all of it in one small program.
//
// An app may choose availability instead (`failover.on_partition: KEEP_SERVING` in its spec): then
// a server that is cut off from the coordination store goes on admitting what it served, primaries,
// too, while others may have been granted the same shards. Their epochs are greater: storage that
// compares epochs refuses the older primary's writes. What other storage acknowledges to it may be
// lost. See OnPartition in proto/shardmanager/v1/app_spec.proto.
#pragma once

#include <grpcpp/client_context.h>
#include <grpcpp/server_context.h>
#include <grpcpp/support/byte_buffer.h>
#include <grpcpp/support/client_callback.h>
#include <grpcpp/support/server_callback.h>
#include <grpcpp/support/status.h>
#include <grpcpp/support/sync_stream.h>

#include <chrono>
#include <cstdint>
#include <functional>
#include <initializer_list>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include "absl/functional/function_ref.h"
#include "absl/status/status.h"
#include "shardmanager/observe.h"
#include "shardmanager/security.h"
#include "shardmanager/stub_inl.h"
#include "shardmanager/types.h"

namespace grpc {
class ChannelArguments;
class ServerBuilder;
class ServerCredentials;
class Service;
}  // namespace grpc

namespace shardmanager {

// The right to serve one shard.
struct ShardGrant {
  ShardId shard = {};
  Role role = Role::kPrimary;
  ShardEpoch epoch = {};
  // Only in PrepareAddShard: who serves it now. Without an endpoint: it is not known.
  Peer old_owner = {};
  // Of primaries in apps that have secondaries. Nothing: not known yet, as this process
  // came back while the control plane was down; UpdateMembership follows, and until then a
  // write that the members have to know must not be acknowledged.
  std::optional<Members> members = std::nullopt;
  // Of a shard that was made of others, by a split or a merge: where its data is to come from. Only
  // in AddShard, and for some time after it was made.
  std::optional<ShardOrigin> origin = std::nullopt;
};

// A split, or a merge.
struct Reshape {
  struct Shard {
    ShardId shard = {};
    std::string start = "";  // as in ShardOrigin
    std::string end = "";
  };
  // In the order of their keys. One of the two has one shard. Both have the same keys together.
  std::vector<Shard> from = {};
  std::vector<Shard> to = {};
  bool hash_keys = false;  // as in ShardOrigin
};

// Call it with a fraction from 0 to 1 while a long AddShard works; it is shown to
// operators. Cheap; thread-safe.
using LoadProgress = std::function<void(double fraction)>;

// What the application implements. Calls for one shard never overlap; calls for different shards
// may run at once, on the library's threads. Each method has threads of its own
// (ServerOptions::command_threads), and AddShard of a prepared shard others than a load from
// nothing: loads of minutes hold up neither the handover nor the change of role of another shard.
//
// An exception that leaves a method is logged and counts as an error of it (INTERNAL, with what()):
// return errors instead, as the shard is then in a state that you know.
class ShardHandler {
 public:
  virtual ~ShardHandler() = default;

  // Makes the shard ready to serve. No request is admitted before it returns OK.
  // May take minutes. After an error the shard is not held: clean up before returning
  // one, as DropShard may not be called. The control plane hears of it and tries again,
  // here or elsewhere. ABORTED says that the storage has seen a newer epoch, as after the control
  // plane's store was restored from a backup: the shard gets a new grant at once, and the server
  // does not count as sick. AddShard is called again with a higher epoch after the server has lost
  // its right to serve the shard and got it back. DropShard may not have been called in between:
  // be idempotent.
  virtual absl::Status AddShard(const ShardGrant& grant, const LoadProgress& progress) = 0;

  // Lets the shard go. No request of it is in flight when it is called, and none
  // comes after it. Once it returns, another server may call AddShard: everything that the other
  // server needs must have left this process by then (flushed to shared storage, for example). An
  // error is logged, and the shard counts as dropped all the same. DropShard is also called when
  // the process stops and when its session has ended. The same shard may be added again later, so
  // with `quorum` do not delete its data on disk.
  virtual absl::Status DropShard(const ShardId& shard) = 0;

  // When a primary goes to another server, requests wait while this one's DropShard and
  // then the other one's AddShard run. If one of them takes long, do the slow part in these two
  // methods, while the old owner still serves.
  //
  // On the new owner: AddShard with the same grant follows, or DropShard if the move is
  // called off. After an error neither does, and the old owner keeps the shard.
  // Default: OK, at once. Example: read the files that will not change any more.
  virtual absl::Status PrepareAddShard(const ShardGrant& grant);
  // On the old owner, which goes on serving until it returns: DropShard follows. An error
  // is logged. Default: OK, at once. Example: write most of what is in memory.
  virtual absl::Status PrepareDropShard(const ShardId& shard);

  // The process stops: methods that still work should end soon, with an error. Called once,
  // by Server::Shutdown, before the shards are dropped; other methods may run meanwhile.
  // Default: nothing.
  virtual void Stopping() {}

  // Of a shard that is held here: makes a secondary the primary, or the primary a
  // secondary. No request of it is in flight when it is called; what comes waits until it
  // returns. After an error the shard goes on in its old role: nothing may have changed.
  // Default: AddShard with the same grant.
  virtual absl::Status ChangeRole(const ShardGrant& grant);
  // On the primary, while it serves: from now on these are the members. One server comes or
  // goes at a time; one that may have lost what it had goes first, and then comes again.
  //  * One that comes is made a member for good only when this returns OK: bring it up to
  //    date first, and from then on acknowledge no write that it lacks (or, with `quorum`,
  //    that most of them lack).
  //  * One that goes may be dead: it cannot become the primary any more.
  // May repeat the last list. After an error it is tried again later. While it runs, the shard is
  // neither dropped nor does it change its role: give up on a member that does not answer within a
  // second or so. At most command_threads of these calls run at a time, and as many more that bring
  // nobody new. Default: OK, at once.
  virtual absl::Status UpdateMembership(const ShardId& shard, const Members& members);

  // May the shards `from`, of which this server holds one at least, be replaced by `to`? Asked when
  // an operator orders a split or a merge, on each server that holds one of them; the order stands
  // only if all say OK, and its message tells the operator why not. Nothing changes yet. Later,
  // once the shards that are merged are together, this server gets DropShard of `from` and AddShard
  // of `to`, with their ShardGrant::origin, in this order and right after each other: keep what is
  // in memory in between, and read what is in storage by the new names. Requests wait meanwhile.
  // May be called again, and nothing may follow. On the library's threads; answer within some
  // seconds. Default: UNIMPLEMENTED, so no shard of this application is split or merged.
  virtual absl::Status PrepareReshape(const Reshape& reshape);

  // Load of one shard by metric of the app's spec, in the metric's own unit, 0 to 1e12:
  // what it costs to serve it now, not since the start. Asked every
  // moves.collect_interval_ms (30 s), on the library's threads; answer from memory.
  // Never during AddShard or DropShard of that shard. Default: none (only shard counts
  // balance).
  virtual std::map<std::string, double> CollectLoad(const ShardId& shard);

  // What this server can carry now by metric of the app's spec, where that changes while it runs:
  // the same unit and range as loads. Example: {"disk", used + free bytes}. Asked together with
  // CollectLoad, once for all shards; answer from memory. A metric that is not named has what
  // ServerOptions::metric_capacity says, else the spec. Less than the server carries: shards leave
  // it. A fall counts when two answers in a row have it, a rise when it is by more than a tenth and
  // has lasted for ten minutes. Default: none.
  virtual std::map<std::string, double> CollectCapacity();
};

struct ServerOptions {
  // REQUIRED. Example: "kv".
  std::string app = {};
  // REQUIRED. Unique in the app, stable over restarts. 1 to 127 of [A-Za-z0-9._-].
  std::string name = {};
  // ZooKeeper's connect string, "host:port[,host:port...]".
  std::string zookeeper = "127.0.0.1:2181";
  // A file with this server's ZooKeeper credentials, or its app's, as `shardctl cell credentials`
  // writes them. Only its owner may read or write it (mode 0600). REQUIRED in a secure cell.
  // Read when the server starts. Example: "/etc/shardmanager/kv-3.zk". Default: none.
  std::string zookeeper_credentials = {};
  // The cell (one control plane and what it manages).
  std::string cell = "default";
  // The certificate of this server, which is of its cell, app and name, and whom it believes. Those
  // who can connect: the control plane, the app's other servers and its clients, and operators.
  // Commands are obeyed from the control plane only. Default: the certificates in $SM_CERTS or
  // ~/.shardmanager/certs. Example: {.certs = "/etc/kv/certs"}.
  Security security = {};
  // The application's own, of `listen`, in place of what `security` makes of it: their rules say
  // who can connect. They must ask for certificates, or no command is obeyed; with an insecure
  // `security`, commands of all whom they let in are obeyed. Default: null.
  std::shared_ptr<grpc::ServerCredentials> credentials = nullptr;
  // Where the gRPC server listens. Port 0: a free one.
  std::string listen = "0.0.0.0:0";
  // Host that clients reach this server at. Default: the listen address's host, or
  // this machine's name when that is a wildcard.
  std::string advertise_host = {};
  // Where this server stands. `region` should be given in geo-distributed apps.
  FaultDomain fault_domain = {};
  // Most replicas it should hold. 0: no limit.
  uint32_t capacity = 0;
  // What it can carry of each metric, in the metric's own unit, 0 to 1e12. Example:
  // {{"cpu", 16}}. Default: what the app's spec says. See ShardHandler::CollectCapacity, too.
  std::map<std::string, double> metric_capacity = {};
  // Most calls of each method of ShardHandler that run at once, for different shards. And most
  // calls of callback services that begin to be processed at once after they were held; the others
  // begin on gRPC's threads. Threads are started when they are needed.
  int command_threads = 4;
  // Longest wait for requests in flight. When a shard is dropped: past it the drop
  // is called off and the shard stays. When it is handed over, or a primary becomes a secondary,
  // the wait is at most three quarters of hold_timeout, so that the requests that are held
  // meanwhile can be answered before hold_timeout refuses them. (Give an application whose requests
  // take long a longer hold_timeout, or its planned moves wait for a quiet moment.) When the
  // process stops: past it the gRPC calls that still run are cancelled; see Server::Shutdown.
  std::chrono::milliseconds drain_timeout{10'000};
  // Longest that a request waits while its shard goes from one server to another; then it
  // is refused, and the router tries again. And how long after the lease has lapsed requests
  // wait for its renewal, as long as the session may still live. At most 1,024 wait at a time.
  std::chrono::milliseconds hold_timeout{2'000};
  // What else the gRPC server is to have: message sizes, interceptors, health, reflection, a
  // generic service, further ports with credentials of their own. Called once, in Start(), after
  // the library has set what it needs and registered `services`, and just before it builds the
  // server. It must not build the server, keep the builder, or add `listen` once more (another port
  // is fine; all services are reached at all ports, so one that others than the cell's own machines
  // can reach needs credentials). An exception leaves Start(). Example:
  //   .builder = [](grpc::ServerBuilder& builder) { builder.SetMaxReceiveMessageSize(64 << 20); }
  // Default: nothing.
  std::function<void(grpc::ServerBuilder&)> builder = nullptr;
  // Gets metric::kServerRequests and kServerRequestDuration (observe.h). Default: null, nobody
  // counts. (MetricsText() and what the control plane is told do not depend on it.)
  std::shared_ptr<MetricsSink> metrics = nullptr;
  // Gets a span for each request that is admitted, from Admit until its Admission goes; the
  // client's span, if its headers name one, is the parent. Default: null, no spans.
  std::shared_ptr<Tracer> tracer = nullptr;
};

namespace server {
class AdmissionSlot;
}  // namespace server
namespace server_internal {
class Watched;
}  // namespace server_internal

// The answer to "may I process this request?". Holds the shard open while it
// lives: keep it until the work is done, on any thread. Movable, not copyable. Must
// not outlive its Server.
class Admission {
 public:
  Admission(Admission&& other) noexcept;
  Admission& operator=(Admission&& other) noexcept;
  ~Admission();

  bool ok() const { return slot_ != nullptr; }
  // Why the request was refused or, if it was forwarded, the new owner's answer: return it from the
  // gRPC method as it is. OK when admitted.
  grpc::Status status() const;
  // One of the words of model/request_metadata.h ("not-owner", "loading", ...);
  // null when admitted or forwarded.
  const char* refusal() const { return refusal_; }
  // The shard's new owner has answered in our stead.
  bool forwarded() const { return answer_ != nullptr; }

  // REQUIRES of the rest: ok().
  const ShardId& shard() const;
  // The fencing token of the grant under which the request was admitted.
  ShardEpoch epoch() const { return epoch_; }
  Role role() const { return role_; }
  // OPTIONAL. Says how the request ends, once, and returns the status as it is:
  //   return admission.Ended(status);
  // Errors of the server's own (UNKNOWN, INTERNAL, UNAVAILABLE, DATA_LOSS, RESOURCE_EXHAUSTED,
  // DEADLINE_EXCEEDED) are then counted by shard (`shardctl top shards`), and the hooks of
  // ServerOptions see the status. The library does this for AdmittedCall::Finish, and where a
  // callback service returns the status of its work.
  const grpc::Status& Ended(const grpc::Status& status) const;

 private:
  friend class ServerImpl;
  explicit Admission(const char* refusal) : refusal_(refusal) {}
  Admission(server::AdmissionSlot* slot, ShardEpoch epoch, Role role)
      : slot_(slot), epoch_(epoch), role_(role) {}

  explicit Admission(const grpc::Status& answer);

  server::AdmissionSlot* slot_ = nullptr;  // null: refused, or forwarded
  const char* refusal_ = nullptr;
  ShardEpoch epoch_;
  Role role_ = Role::kPrimary;
  int64_t timed_from_us_ = 0;  // 0: it is not timed
  std::unique_ptr<grpc::Status> answer_;
  std::shared_ptr<server_internal::Watched> watched_;  // null: no hook watches it
};

// One unary call of a callback service that was admitted. It holds its shard open until Finish(),
// on whatever threads the work is done. Copies are of the same call: a std::function can hold one.
// Thread-safe. Must not outlive its Server.
class AdmittedCall {
 public:
  // Ends the call: with the response, if the status is OK. Call it once, when all the work is done:
  // the shard may go to another server then. (A second time is logged as an error and does nothing.
  // If the last copy goes without it, the call ends with INTERNAL, so no client waits for ever.)
  // The request, the response, the context and this must not be used afterwards.
  void Finish(const grpc::Status& status) const;

  // The client does not wait any more: it has cancelled, or its deadline has passed. Finish() has
  // to be called all the same.
  bool IsCancelled() const;

  const ShardId& shard() const;
  // The fencing token of the grant under which the call was admitted.
  ShardEpoch epoch() const;
  Role role() const;

  // For the templates of Server::Admit.
  AdmittedCall(Admission admission, grpc::CallbackServerContext& context,
               grpc::ServerUnaryReactor* reactor);

 private:
  struct State;
  std::shared_ptr<State> state_;
};

// The methods of the callback stub that gRPC generates for a service, of each kind. Example of the
// first: &kv::KeyValue::Stub::async::Get.
template <typename Service>
using AsyncStubOf =
    std::remove_pointer_t<decltype(std::declval<typename Service::Stub&>().async())>;
template <typename Service, typename Request, typename Response>
using UnaryMethodOf = void (AsyncStubOf<Service>::*)(grpc::ClientContext*, const Request*,
                                                     Response*, std::function<void(grpc::Status)>);
template <typename Service, typename Request, typename Response>
using ServerStreamOf = void (AsyncStubOf<Service>::*)(grpc::ClientContext*, const Request*,
                                                      grpc::ClientReadReactor<Response>*);
template <typename Service, typename Request, typename Response>
using ClientStreamOf = void (AsyncStubOf<Service>::*)(grpc::ClientContext*, Response*,
                                                      grpc::ClientWriteReactor<Request>*);
template <typename Service, typename Request, typename Response>
using BidiStreamOf = void (AsyncStubOf<Service>::*)(grpc::ClientContext*,
                                                    grpc::ClientBidiReactor<Request, Response>*);

// Makes the reactor that serves a stream which was admitted; gRPC's rules for reactors hold.
template <typename Reactor>
using MakeReactor = std::function<Reactor*(Admission admission)>;

// What the templates below stand on; not for use outside.
namespace server_internal {

class Arrival;
class Wait;

// Who gives gRPC the status of an admitted call.
enum class EndedBy : uint8_t { kApplication, kLibrary };

// A call to the new owner. `pass_initial` gives on the initial metadata that have come.
using Onward = absl::FunctionRef<grpc::Status(void* stub, grpc::ClientContext& call,
                                              absl::FunctionRef<void()> pass_initial)>;

// Runs `requests` on a thread of its own, and `answers` here. When that is over and `requests`
// goes on for a second more, `break_off` is to end it.
grpc::Status RunBothWays(absl::FunctionRef<void()> requests,
                         absl::FunctionRef<grpc::Status()> answers,
                         absl::FunctionRef<void()> break_off);

}  // namespace server_internal

// One application server. Thread-safe.
class Server {
 public:
  explicit Server(ServerOptions options);
  ~Server();
  Server(const Server&) = delete;
  Server& operator=(const Server&) = delete;

  // Start(), then Wait(), then Shutdown(): the whole life of a process.
  absl::Status Run(ShardHandler& handler, std::vector<grpc::Service*> services);

  // Listens, registers, and loads the shards that the stored assignment grants.
  // Returns once registered; waits (saying so once in the log) while the
  // coordination store is out of reach or a former life's session still stands.
  // Errors: INVALID_ARGUMENT (options), UNAVAILABLE (the port is taken),
  // ALREADY_EXISTS (another live process has this name), FAILED_PRECONDITION (not a cell, or
  // ZooKeeper grants other session time-outs than the cell's leases need; or it is the second
  // Start, or one after Shutdown: a Server has one life, make another one). After INVALID_ARGUMENT
  // and UNAVAILABLE it may be called once more. `handler` and `services` must outlive the server.
  absl::Status Start(ShardHandler& handler, std::vector<grpc::Service*> services);

  // Blocks until SIGTERM, SIGINT or Shutdown(). The library installs no handlers
  // unless this is called.
  void Wait();

  // Stops admitting, lets requests in flight finish, calls DropShard for each shard, goes
  // on forwarding for 0.2 s if a shard went to another server just now, stops listening,
  // and says good-bye to the coordination store (so nobody waits for a time-out). If an
  // Admission is still held after all that, there is no good-bye and
  // the session ends only when the lease has lapsed. Waits until every method and every
  // AdmittedCall has ended, and every continuation of Admit() has returned.
  void Shutdown();

  // May this request, which the router sent, be processed here? Adds the refusal
  // to the trailing metadata. Normally takes no lock and does no I/O. While the lease has lapsed,
  // or the shard is moving to another server, Admit may wait for up to hold_timeout, and may then
  // forward the call to the new owner with the client's deadline, cancellation and metadata. In
  // that case status() is the new owner's status, and `*response` (or the stream) holds the new
  // owner's answer already. `method` is the method of the client's stub. Call Admit first in every
  // method.
  //
  // For methods of all four kinds. A shard does not move while a stream of it is admitted: past
  // drain_timeout the move is called off. So in a long stream, call Admit(shard) for each message
  // instead of holding one Admission for the whole stream. A bidirectional stream that is forwarded
  // takes one more thread; when the new owner ends it while the client neither writes nor has ended
  // its side, the client gets CANCELLED a second later.
  template <typename Stub, typename Request, typename Response>
  Admission Admit(grpc::ServerContext& context,
                  grpc::Status (Stub::*method)(grpc::ClientContext*, const Request&, Response*),
                  const Request* request, Response* response);
  template <typename Stub, typename Request, typename Response>
  Admission Admit(grpc::ServerContext& context,
                  std::unique_ptr<grpc::ClientReader<Response>> (Stub::*method)(
                      grpc::ClientContext*, const Request&),
                  const Request* request, grpc::ServerWriter<Response>* writer);
  template <typename Stub, typename Request, typename Response>
  Admission Admit(grpc::ServerContext& context,
                  std::unique_ptr<grpc::ClientWriter<Request>> (Stub::*method)(grpc::ClientContext*,
                                                                               Response*),
                  grpc::ServerReader<Request>* reader, Response* response);
  template <typename Stub, typename Request, typename Response>
  Admission Admit(grpc::ServerContext& context,
                  std::unique_ptr<grpc::ClientReaderWriter<Request, Response>> (Stub::*method)(
                      grpc::ClientContext*),
                  grpc::ServerReaderWriter<Response, Request>* stream);

  // The same, but a request that would be forwarded is refused: the router tries again until it
  // knows the new owner.
  Admission Admit(grpc::ServerContext& context);
  // The same for work that did not come through the router, such as each message of a long stream.
  // (Of a stream that was sent on to this server, too, which may be before others are admitted.)
  // Work that would have to wait is refused at once, unless it may wait for `patience`
  // (hold_timeout is a good value) until the lease is renewed, or the shard has changed its role or
  // stays after all. Once the shard has moved away the work is refused: end a stream with status()
  // then, and let its client begin another. Do not pass a patience while you hold an older
  // Admission of the same shard: the library may be waiting for that Admission to be released.
  Admission Admit(const ShardId& shard, std::chrono::milliseconds patience = {});

  // ---- for services of gRPC's callback API
  //
  // The same promises, and no thread waits: what is held stands in one queue with the blocking
  // calls; a client that cancels leaves it at once. Return what Admit returns: the work runs only
  // if the call is admitted, and whatever else becomes of the call (it is refused, sent on,
  // cancelled while it is held, or its work throws, which is INTERNAL) is answered here. `Service`
  // is the class that gRPC generates (kv::KeyValue), `method` that of its callback stub
  // (&kv::KeyValue::Stub::async::Get).
  //
  // Work begins inside of Admit, on gRPC's thread, or when the hold has ended, on one of the
  // library's (ServerOptions::command_threads). Do not block in it for long. It may use the
  // request, the response and the context until the call is finished.

  // `work` begins the work, and `call.Finish(status)` ends the call, then or later:
  //   void(const AdmittedCall& call)
  // or it does the work, which must be short:
  //   grpc::Status(const Admission& admission)
  template <typename Service, typename Request, typename Response, typename Work>
  grpc::ServerUnaryReactor* Admit(grpc::CallbackServerContext& context,
                                  UnaryMethodOf<Service, Request, Response> method,
                                  const Request* request, Response* response, Work work);
  // The same, but a call that would be sent on is refused.
  template <typename Work>
  grpc::ServerUnaryReactor* Admit(grpc::CallbackServerContext& context, Work work);

  // Streams: `make` makes the reactor that your method would return without this library, and gives
  // it the admission to keep. The reactor's functions are called as gRPC would call them. As of
  // blocking streams: a shard does not move while a stream of it holds an admission. So a long
  // stream lets it go in the beginning, and asks for each message (below).
  //
  //   return server_.Admit<Kv>(*context, &Kv::Stub::async::List, request, [=, this](Admission a) {
  //     return new Lister(std::move(a), store_, *request);
  //   });
  template <typename Service, typename Request, typename Response>
  grpc::ServerWriteReactor<Response>* Admit(
      grpc::CallbackServerContext& context, ServerStreamOf<Service, Request, Response> method,
      const Request* request,
      std::type_identity_t<MakeReactor<grpc::ServerWriteReactor<Response>>> make);
  template <typename Service, typename Request, typename Response>
  grpc::ServerReadReactor<Request>* Admit(
      grpc::CallbackServerContext& context, ClientStreamOf<Service, Request, Response> method,
      Response* response, std::type_identity_t<MakeReactor<grpc::ServerReadReactor<Request>>> make);
  template <typename Service, typename Request, typename Response>
  grpc::ServerBidiReactor<Request, Response>* Admit(
      grpc::CallbackServerContext& context, BidiStreamOf<Service, Request, Response> method,
      std::type_identity_t<MakeReactor<grpc::ServerBidiReactor<Request, Response>>> make);

  // Of a generic service (grpc::CallbackGenericService, registered through ServerOptions::builder):
  // calls of any method of any kind, in bytes. To make a proxy, or to serve methods that are not
  // known when it is built.
  //
  //   return server_.Admit(*context, [=, this](Admission admission) {
  //     return new Passing(std::move(admission), backend_, context->method());
  //   });
  template <typename Make>
  grpc::ServerBidiReactor<grpc::ByteBuffer, grpc::ByteBuffer>* Admit(
      grpc::GenericCallbackServerContext& context, Make make) {
    return AdmitGeneric(context, std::move(make));
  }

  // Admit(shard, patience) without a thread that waits, such as for each message of a long stream.
  // `then` is called once, with the answer: before this returns, if nothing is waited for, or on a
  // thread of the library's. So hold no lock that it takes. An exception in it is logged.
  void Admit(const ShardId& shard, std::chrono::milliseconds patience,
             std::function<void(Admission admission)> then);

  // ---- for what the app's own servers say to each other (ServerOptions::security)
  //
  // A channel to another server of this app; with certificates, nobody else is talked to there.
  std::shared_ptr<grpc::Channel> OpenChannel(const std::string& endpoint,
                                             const grpc::ChannelArguments& arguments);
  // OK: the call is of the app's server of this name ("": of any of them), or the server is
  // insecure, and nobody knows. Else PERMISSION_DENIED or UNAUTHENTICATED, and whose it is.
  absl::Status IsOfServer(const grpc::ServerContextBase& context,
                          const std::string& name = "") const;

  // "host:port" where it listens. REQUIRES: Start() returned OK.
  std::string endpoint() const;

  // What the library counts, in Prometheus' text format, to be served with your own metrics:
  //   shardmanager_server_lease_left_at_renewal_seconds   histogram; 0: the lease had lapsed
  //   shardmanager_server_lease_remaining_seconds         gauge
  //   shardmanager_server_lease_held_requests_total       waited for a lapsed lease
  //   shardmanager_server_lease_refused_requests_total    refused as lease-lapsed
  std::string MetricsText() const;

 private:
  Admission AdmitOrForward(grpc::ServerContext& context, sdk_internal::StubFactory make_stub,
                           server_internal::Onward onward);
  // Nothing: it has to wait, or may be sent on.
  std::optional<Admission> AdmitAtOnce(grpc::CallbackServerContext& context,
                                       server_internal::EndedBy ended_by);
  // Without `make_stub` it is not sent on.
  std::shared_ptr<server_internal::Wait> AdmitLater(grpc::CallbackServerContext& context,
                                                    sdk_internal::StubFactory make_stub,
                                                    server_internal::Arrival& arrival,
                                                    server_internal::EndedBy ended_by);
  using BytesReactor = grpc::ServerBidiReactor<grpc::ByteBuffer, grpc::ByteBuffer>;
  BytesReactor* AdmitGeneric(grpc::GenericCallbackServerContext& context,
                             MakeReactor<BytesReactor> make);
  template <typename Work, typename Begin>
  grpc::ServerUnaryReactor* AdmitUnary(grpc::CallbackServerContext& context,
                                       sdk_internal::StubFactory make_stub, Work work, Begin begin);
  template <typename Late, typename Reactor>
  Reactor* AdmitStream(grpc::CallbackServerContext& context, sdk_internal::StubFactory make_stub,
                       MakeReactor<Reactor> make, typename Late::Start start);

  std::unique_ptr<class ServerImpl> impl_;
};

template <typename Stub, typename Request, typename Response>
Admission Server::Admit(grpc::ServerContext& context,
                        grpc::Status (Stub::*method)(grpc::ClientContext*, const Request&,
                                                     Response*),
                        const Request* request, Response* response) {
  return AdmitOrForward(context, &sdk_internal::MakeStub<Stub>,
                        [&](void* stub, grpc::ClientContext& call, auto pass_initial) {
                          grpc::Status status =
                              (static_cast<Stub*>(stub)->*method)(&call, *request, response);
                          pass_initial();
                          return status;
                        });
}

template <typename Stub, typename Request, typename Response>
Admission Server::Admit(grpc::ServerContext& context,
                        std::unique_ptr<grpc::ClientReader<Response>> (Stub::*method)(
                            grpc::ClientContext*, const Request&),
                        const Request* request, grpc::ServerWriter<Response>* writer) {
  return AdmitOrForward(context, &sdk_internal::MakeStub<Stub>,
                        [&](void* stub, grpc::ClientContext& call, auto pass_initial) {
                          auto from = (static_cast<Stub*>(stub)->*method)(&call, *request);
                          from->WaitForInitialMetadata();
                          pass_initial();
                          for (Response message; from->Read(&message);) {
                            if (!writer->Write(message)) call.TryCancel();
                          }
                          return from->Finish();
                        });
}

template <typename Stub, typename Request, typename Response>
Admission Server::Admit(
    grpc::ServerContext& context,
    std::unique_ptr<grpc::ClientWriter<Request>> (Stub::*method)(grpc::ClientContext*, Response*),
    grpc::ServerReader<Request>* reader, Response* response) {
  return AdmitOrForward(context, &sdk_internal::MakeStub<Stub>,
                        [&](void* stub, grpc::ClientContext& call, auto pass_initial) {
                          auto to = (static_cast<Stub*>(stub)->*method)(&call, response);
                          for (Request message; reader->Read(&message);) {
                            if (!to->Write(message)) break;
                          }
                          // A stream that was broken off must not look like a whole one.
                          if (context.IsCancelled()) call.TryCancel();
                          to->WritesDone();
                          grpc::Status status = to->Finish();
                          pass_initial();
                          return status;
                        });
}

template <typename Stub, typename Request, typename Response>
Admission Server::Admit(grpc::ServerContext& context,
                        std::unique_ptr<grpc::ClientReaderWriter<Request, Response>> (
                            Stub::*method)(grpc::ClientContext*),
                        grpc::ServerReaderWriter<Response, Request>* stream) {
  return AdmitOrForward(context, &sdk_internal::MakeStub<Stub>,
                        [&](void* stub, grpc::ClientContext& call, auto pass_initial) {
                          auto onward = (static_cast<Stub*>(stub)->*method)(&call);
                          const auto requests = [&] {
                            for (Request message; stream->Read(&message);) {
                              if (!onward->Write(message)) return;
                            }
                            // As of a client's stream.
                            if (context.IsCancelled()) call.TryCancel();
                            onward->WritesDone();
                          };
                          const auto answers = [&] {
                            onward->WaitForInitialMetadata();
                            pass_initial();
                            for (Response message; onward->Read(&message);) {
                              if (!stream->Write(message)) call.TryCancel();
                            }
                            return onward->Finish();
                          };
                          return server_internal::RunBothWays(requests, answers,
                                                              [&] { context.TryCancel(); });
                        });
}

}  // namespace shardmanager

#include "shardmanager/callback_inl.h"  // the templates for callback services
