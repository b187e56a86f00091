// An application server: the real engine of the server library, over a simulated
// application that takes its time to load and drop shards and to work on requests.
#pragma once

#include <array>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "orchestrator/shell/ports.h"
#include "server/engine.h"
#include "server/lanes.h"
#include "tests/simulation/cell/network.h"
#include "tests/simulation/cell/orders.h"
#include "tests/simulation/cell/store_pump.h"

namespace shardmanager::simulation {

inline const std::string kCell = "sim";
inline const std::string kApp = "kv";

// How the application behaves; may change at any time.
struct AppHabits {
  Duration slowest_add = Milliseconds(50);
  double add_fails = 0;
  std::set<std::string> sick;  // servers on which each AddShard fails
  Duration slowest_work = Milliseconds(20);
  Duration slowest_drop = Milliseconds(20);  // DropShard and PrepareDropShard
  double drop_fails = 0;                     // likewise
  std::string poison;          // a shard that no server but one can prepare or add; empty: none
  std::string can_add_poison;  // that server
  mutable uint64_t poison_tries = 0;  // by others
};

struct Request {
  uint64_t id = 0;
  std::string shard;
  // Set if the old owner of a handover forwarded the request.
  std::string forwarded_by = {};
  ShardEpoch forwarded_to = {};
  bool for_primary = false;
};
enum class RequestEnd { kAnswered, kRefused };

// The application's data of one shard: the writes that it knows.
struct ShardCopy {
  std::set<uint64_t> writes;
  std::optional<Members> members;  // of a primary
  ShardEpoch epoch;                // of the newest primary that it has heard of
  ShardEpoch taken;                // with `quorum`, as the primary: it had what most knew
  Incarnation in_step;             // the life in which it was last brought into step
};
using Copies = std::map<std::string, ShardCopy>;  // by shard

// Told of everything that checkers want to know, at the instant when it is so.
class ServerWitness {
 public:
  virtual ~ServerWitness() = default;
  virtual void Admitted(const class SimServer& server, const std::string& shard, Role role,
                        ShardEpoch epoch) = 0;
  virtual void Processed(uint64_t request) = 0;
  // It obeyed a leader, and then one that was deposed before.
  virtual void ObeyedDeposed(const class SimServer& server, LeaderEpoch leader,
                             LeaderEpoch deposed) = 0;
  virtual void Added(const class SimServer& server) = 0;
  // AddShard fails on a sick server.
  virtual void AddFailed(const class SimServer& server, const server::Grant& grant) = 0;
  // Of apps with primaries and secondaries: a write is known to all members.
  virtual void Acknowledged(const std::string& shard, ShardEpoch epoch, uint64_t request) = 0;
};

// One life. Destroyed: killed, if it has not left.
class SimServer {
 public:
  struct Context {
    Network& network;
    StorePump& store;
    ServerWitness& witness;
    const AppHabits& habits;
    const bool& replicates;  // shards have a primary and secondaries
    const bool& quorum;      // what most members know is acknowledged
    const bool& durable;     // as Cluster::durable
    Copies& disk;            // of the machine: outlives its processes
    Orders& orders;
    bool on_disk() const { return quorum || durable; }
    // Who is at that endpoint; null: nobody.
    std::function<SimServer*(const std::string& endpoint)> server;
    // The running server of that name, in any life; null: there is none.
    std::function<SimServer*(const std::string& name)> named;
    // The server has left by itself; the callee destroys it.
    std::function<void(const std::string& name)> left;
  };

  SimServer(Context context, std::shared_ptr<Process> process, const std::string& name, int life,
            const std::string& region);
  ~SimServer();
  SimServer(const SimServer&) = delete;
  SimServer& operator=(const SimServer&) = delete;

  // A request for the shard is in flight for so long, if it is admitted now.
  void WorkLong(const std::string& shard, Duration time);
  // Lets its shards go and says good-bye, as on SIGTERM.
  void Terminate();
  bool gone() const { return gone_; }

  const std::string& name() const { return name_; }
  const std::string& endpoint() const { return endpoint_; }
  const std::shared_ptr<Process>& process() const { return process_; }
  Incarnation incarnation() const { return engine_->incarnation(); }
  std::vector<server::ShardBook::Held> held() const { return engine_->book().held(); }

  // Would a request for the shard be admitted at this instant? Nothing: no.
  struct Right {
    Role role;
    ShardEpoch epoch;
  };
  std::optional<Right> MayServe(const std::string& shard);
  // What it served when it was told to stop. It refuses since, and is a member of the cell until
  // its handlers have returned, or for the drain time-out; nobody else can know.
  const std::map<std::string, Role>& served_until_stop() const { return served_until_stop_; }
  // Is it working on a request that was admitted in its current life, under an epoch older than
  // `epoch`? (Requests of a former life can be fenced off by the application's storage alone.)
  bool WorksBelow(const std::string& shard, ShardEpoch epoch) const;

  const ShardCopy* copy(const std::string& shard) const;
  // ---- messages that have arrived ----
  using Results = std::function<void(const server::Reply&)>;
  using Refusal = std::function<void(const absl::Status&)>;
  void Receive(server::Command command, Results results, Refusal refusal);
  void Receive(const server::Command& header,
               const std::function<void(absl::StatusOr<server::Engine::Holdings>)>& done);
  using Done = std::function<void(RequestEnd)>;
  void Receive(const Request& request, const Done& done);

 private:
  void Admit(const Request& request, const Done& done, TimePoint held_until);
  void Work(const Request& request, const Done& done,
            const server::AdmissionTable::Admitted& admitted);
  void Forward(Request request, const Done& done, const server::Successor& to);
  void NoteObeyed(uint64_t arrival, LeaderEpoch leader);
  server::Engine::Ports Ports();
  // The application's methods.
  absl::Status Run(const server::HandlerCall& call);
  absl::Status RunAdd(const server::Grant& grant);
  // sim_copies.cc
  Copies& copies() { return context_.on_disk() ? context_.disk : memory_; }
  absl::Status Take(const server::Grant& grant);
  absl::Status TakeFromMost(const server::Grant& grant);
  absl::Status BringIntoStep(const server::Grant& grant);
  bool Replicate(const std::string& shard, ShardEpoch epoch, uint64_t request);
  ShardCopy* CopyAt(const Peer& peer, const std::string& shard, ShardEpoch epoch) const;
  Duration UpTo(Duration most);
  // Within `most`, unless it is gone by then.
  void Later(Duration most, std::function<void()> work);
  struct LaneCalls {
    int running = 0;
    std::deque<server::HandlerCall> waiting;  // for their turn
  };
  void Handle(const server::HandlerCall& call);
  void BeginCalls(LaneCalls& calls);

  const Context context_;
  const std::shared_ptr<Process> process_;
  const std::string name_;
  const std::string endpoint_;
  const std::unique_ptr<CoordinationStoreFactory> stores_;
  std::shared_ptr<int> alive_ = std::make_shared<int>();
  uint64_t last_reply_ = 0;
  struct Waiter {
    Results results;
    Refusal refusal;
  };
  std::map<server::ReplyId, Waiter> waiters_;
  std::map<uint64_t, LeaderEpoch> obeyed_;  // by the order in which commands came
  struct Processing {
    ShardEpoch epoch;
    Incarnation life;
  };
  std::multimap<std::string, Processing> works_;  // requests in flight
  Copies memory_;
  Copies shelf_;  // what was in memory of shards that it let go: they may be split or merged
  std::array<LaneCalls, server::kLanes> lanes_;
  bool gone_ = false;
  bool leaving_ = false;
  std::map<std::string, Role> served_until_stop_;
  std::unique_ptr<SimExecutor> executor_;
  std::unique_ptr<server::Engine> engine_;
};

}  // namespace shardmanager::simulation
