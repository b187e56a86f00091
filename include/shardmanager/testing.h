// A test kit for applications. Start here if you have a ShardHandler and want to test it.
//
// A TestCell is a cell in your test's process: the real server library, on a coordination store
// in memory and a clock of its own, and you are the control plane. No ZooKeeper, no other
// process; a test takes milliseconds, and a lease lapses when you say so, not when the machine
// is slow. Give its options to your server, which needs no change:
//
//   TEST(Kv, MoveTakesTheDataAlong) {
//     shardmanager::TestCell cell;
//     KvServer one(cell.Options("kv-1")), two(cell.Options("kv-2"));  // yours; they Start()
//     ASSERT_TRUE(cell.Assign("users", "kv-1").ok());   // one's AddShard has returned OK
//     Put put; put.set_key("apple"); put.set_value("red");
//     ASSERT_TRUE(cell.Call("kv-1", "users", &Kv::Stub::Put, put, &answer).ok());
//     ASSERT_TRUE(cell.Move("users", "kv-2").ok());     // a handover, whole
//     EXPECT_TRUE(cell.Call("kv-2", "users", &Kv::Stub::Get, get, &value).ok());
//   }
//
// Calls come over gRPC on the loopback, as the router makes them, so admission, forwarding and
// your service's own code are those of production. What needs no service asks the Server:
// `server.Admit(ShardId("users")).ok()`. Works with every test framework, and needs none.
#pragma once

#include <grpcpp/channel.h>
#include <grpcpp/client_context.h>
#include <grpcpp/support/status.h>

#include <chrono>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "shardmanager/server.h"
#include "shardmanager/types.h"

namespace shardmanager {

struct TestCellOptions {
  // 1 to 127 of [A-Za-z0-9._-].
  std::string app = "app";
  // How long the store keeps a server's session that it does not hear of, on the cell's clock,
  // in milliseconds, 1,000 to 60,000. A lease is shorter by two ticks (of 200 ms) and 1%.
  std::chrono::milliseconds session_timeout{10'000};
  // Secondaries refuse, too, when the lease has lapsed (the spec's on_partition: STOP_ALL).
  bool stop_all = false;
  // Primaries serve on, too (on_partition: KEEP_SERVING). Not with stop_all.
  bool keep_serving = false;
  // Longest wait for your code, in real time; past it, DEADLINE_EXCEEDED says for what.
  std::chrono::milliseconds patience{10'000};
};

// The methods of ShardHandler that commands run.
enum class HandlerMethod {
  kAddShard,
  kDropShard,
  kPrepareAddShard,
  kPrepareDropShard,
  kChangeRole,
  kUpdateMembership,
};

namespace testing_internal {
struct HeldCallState;
}  // namespace testing_internal

// A call of a handler's method that is stopped on its way in; see TestCell::Hold. Movable.
// Destroying the HeldCall lets the call continue.
class HeldCall {
 public:
  HeldCall(HeldCall&&) noexcept;
  HeldCall& operator=(HeldCall&&) noexcept;
  ~HeldCall();

  // Waits until the library calls the method. False: not within the cell's patience.
  bool Await();
  // Lets it go on, and later ones.
  void Release();

 private:
  friend class TestCell;
  explicit HeldCall(std::shared_ptr<testing_internal::HeldCallState> state);
  std::shared_ptr<testing_internal::HeldCallState> state_;
};

// Thread-safe: what waits for your code (a Move whose PrepareAddShard takes long, say) may run
// in a std::async while the test looks on. May go before its servers, which are then without a
// control plane.
//
// Errors of all methods that return a Status, beside those named there:
//   INVALID_ARGUMENT     a name is not one
//   NOT_FOUND            no such server has started, or the shard is not where you say
//   UNKNOWN              your method returned an error; the message is its
//   ABORTED              requests in flight did not end within drain_timeout: the server has called
//                        it off, and all is as before
//   DEADLINE_EXCEEDED    your method did not return within the patience
//   FAILED_PRECONDITION  it would break a rule, or another order of the shard is under way; the
//                        message says which
//   RESOURCE_EXHAUSTED   more shards than a server's record holds (some 20,000)
class TestCell {
 public:
  explicit TestCell(TestCellOptions options = {});
  ~TestCell();
  TestCell(const TestCell&) = delete;
  TestCell& operator=(const TestCell&) = delete;

  // For a server of this cell, by its name: it listens on a free port of the loopback. Change
  // what you like but `app`, `cell` and `zookeeper`.
  ServerOptions Options(const std::string& server) const;

  // ---- The control plane. Each change is durable before it is commanded, as in production,
  // ---- and is done, or has failed, when the method returns.

  // Grants the shard to the server, under a greater epoch than all before (epochs count from
  // 1): AddShard. If it has the shard already, the command is repeated with the same epoch:
  // that is how production tries again after an error.
  // FAILED_PRECONDITION: another live server is its primary (Move it, or end that one's session
  // first: then this is a failover).
  absl::Status Assign(const std::string& shard, const std::string& server,
                      Role role = Role::kPrimary);
  // Grants it again where it is, under a greater epoch, as after a time without right.
  absl::Status Regrant(const std::string& shard, const std::string& server);
  // Hands the primary over: PrepareAddShard there, PrepareDropShard and DropShard here, AddShard
  // there. No request of the shard is refused meanwhile, and this server forwards the requests
  // that it still gets until the cell's clock has advanced by 10 s.
  // If PrepareAddShard fails, the move is called off: all is as before. After any other error the
  // handover stays at the step that it had reached, as in production; calling Move again with the
  // same arguments continues it.
  absl::Status Move(const std::string& shard, const std::string& to);
  // Makes a secondary the primary, under a greater epoch: ChangeRole. A live primary is made a
  // secondary first, as Demote() does, and from then on forwards requests for the primary to this
  // server. A primary whose session has ended counts as a secondary from then on.
  // After an error of this server's ChangeRole, the same Promote tries again.
  absl::Status Promote(const std::string& shard, const std::string& server);
  // Makes the primary a secondary, under a greater epoch: ChangeRole. Nobody is the primary then.
  // If ChangeRole fails, it is called off: granted again as the primary, under a greater epoch.
  // (If it is called off as requests in flight took too long, it is the primary as before.)
  absl::Status Demote(const std::string& shard, const std::string& server);
  // Tells the primary who is in step with it: UpdateMembership. From then on, grants of this
  // shard's primary name them, too. FAILED_PRECONDITION: it is not among them.
  absl::Status SetMembers(const std::string& shard, const std::vector<std::string>& servers);
  // Takes the shard away: DropShard, once no request is in flight.
  absl::Status Drop(const std::string& shard, const std::string& server);
  // What CollectLoad says of a shard that the server serves.
  absl::StatusOr<std::map<std::string, double>> Load(const std::string& shard,
                                                     const std::string& server);
  // What the server's CollectCapacity says.
  absl::StatusOr<std::map<std::string, double>> Capacity(const std::string& server);

  // ---- The clock. It stands still but for this, and all cells of a process have the same.

  // Leases of servers that are in reach of the store are renewed on the way.
  void Advance(std::chrono::milliseconds time);

  // ---- Faults.

  // The server and the store do not hear each other any more. Its lease runs on.
  absl::Status CutOff(const std::string& server);
  // CutOff(), then advances the clock until the server's lease has lapsed: primary requests are
  // refused ("lease-lapsed"), while the store still keeps its session.
  absl::Status LapseLease(const std::string& server);
  // CutOff(), then advances the clock until the store has ended the server's session: its shards
  // may be assigned to others.
  absl::Status ExpireSession(const std::string& server);
  // Ends the above. The server has its lease again (as a new life, if its session is over), and
  // has been asked for all that it is assigned.
  absl::Status Reconnect(const std::string& server);

  // The method returns this error once, at its next call, instead of being called. Several wait
  // in line.
  void FailNext(const std::string& server, HandlerMethod method, absl::Status error);
  // Calls of the method wait before they reach your code, from now on until the HeldCall is
  // released: a slow server, or the moment in the middle that you want to look at.
  HeldCall Hold(const std::string& server, HandlerMethod method);

  // ---- What happened.

  // What the library has called, in the order of its begin, as "AddShard(users, primary, 3)",
  // "PrepareAddShard(users, primary, 3)", "PrepareDropShard(users)", "DropShard(users)",
  // "ChangeRole(users, secondary, 4)", "UpdateMembership(users, kv-1 kv-2)"; what
  // FailNext answered is among them. The number is the epoch.
  std::vector<std::string> Calls(const std::string& server) const;

  // ---- Requests, as the router makes them.

  // One attempt, for the primary if the shard has secondaries beside it, unless `any_replica`;
  // what is refused says so ("refused (not-owner): ..."). The server need not have
  // the shard.
  template <typename Stub, typename Request, typename Response>
  grpc::Status Call(const std::string& server, const std::string& shard,
                    grpc::Status (Stub::*method)(grpc::ClientContext*, const Request&, Response*),
                    const Request& request, Response* response, bool any_replica = false) {
    grpc::ClientContext context;
    Address(server, shard, &context, any_replica);
    Stub stub(Channel(server));
    return (stub.*method)(&context, request, response);
  }
  // The parts of it, for streams and other needs. Address() says whom the call is for, and sets
  // the patience as its deadline. Channel(): to a server that has not started, it leads nowhere.
  void Address(const std::string& server, const std::string& shard, grpc::ClientContext* context,
               bool any_replica = false) const;
  std::shared_ptr<grpc::Channel> Channel(const std::string& server) const;

 private:
  class Impl;
  const std::unique_ptr<Impl> impl_;
};

}  // namespace shardmanager
