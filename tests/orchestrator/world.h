// A small world around a Partition: a store that keeps what is persisted, servers
// that obey, all under virtual time. Everything that a test does not hold back
// happens at once.
#pragma once

#include <deque>
#include <functional>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <type_traits>
#include <vector>

#include "orchestrator/core/partition.h"
#include "tests/orchestrator/returns.h"

namespace shardmanager::orchestrator {

class World {
 public:
  struct Held {
    ShardEpoch epoch;
    Role role;
  };
  struct AppServer {
    Incarnation incarnation;
    bool live = false;
    bool departed = false;
    bool forgotten = false;
    FaultDomain at;
    uint32_t capacity = 0;
    std::map<std::string, Held> held;    // what the process serves
    std::vector<StoredReplica> record;   // its assignment record in the store
    bool record_damaged = false;         // and nobody can read it
    bool life_damaged = false;           // its live record, likewise
    bool answers = true;                 // false: commands vanish
    bool heard = true;                   // false: it obeys, and its answers vanish
    std::set<std::string> refuses;       // shards whose add, or change of role, fails
    bool sick = false;                   // every add, and change of role, fails
    bool refuses_members = false;        // changes of members fail
    std::set<std::string> cannot_bring;  // servers that it, as the primary, cannot bring into step
    // The same, but instead of failing it never answers: the command times out.
    std::set<std::string> brings_for_ever;
    bool stays_primary = false;              // turns to secondary fail
    std::map<std::string, ShardEpoch> over;  // by shard: grants up to here are stale
    bool obeys_another = false;              // a leader with a higher epoch
    // Drops, and turns to secondary, are called off: its requests take too long.
    bool cannot_let_go = false;
    bool tells_epoch = true;  // under which it serves on then
    std::vector<MetricAmount> metric_capacity;
  };

  explicit World(v1::AppSpec spec, uint64_t leader_epoch = 1, uint32_t epochs_given = 0);

  // ---- what happens ----
  void Start();    // Recovered from the store
  void Restart();  // a new leader, one epoch on
  void Join(const std::string& server, const std::string& region = "r1", uint32_t capacity = 0);
  void JoinAt(const std::string& server, const FaultDomain& at, uint32_t capacity = 0);
  void Gather() { Advance(Milliseconds(200)); }  // those who joined are all there are
  void Die(const std::string& server);           // its session has expired
  void Depart(const std::string& server);        // SIGTERM
  void Apply(v1::AppSpec spec, bool deleting = false);
  void Recheck(const std::string& server);  // its life is read again, as after a conflict
  void Advance(Duration time);              // fires every wake on the way
  void Send(Event event);

  // ---- what is held back ----
  bool hold_writes = false;  // Persist waits in `writes`
  bool hold_plans = false;
  bool hold_adds = false;      // servers load, and answer in FinishAdds()
  bool recheck = true;         // false: by hand
  bool hold_collects = false;  // nobody answers those in `collects`
  std::deque<Persist> writes;
  std::deque<ComputePlan> plans;
  std::vector<Collect> collects;
  void FinishWrite(WriteOutcome outcome, const std::string& conflict = {});
  void FinishPlan();
  void FinishAdds();
  std::vector<CommandResult> adds;

  // ---- what is seen ----
  std::map<std::string, AppServer> servers;
  OperatorOrders ordered;  // given along with the spec
  std::vector<Note> notes;
  int publishes = 0;
  bool emptied = false;
  bool stepped_down = false;
  TrafficFigures traffic;             // as metrics show it
  std::vector<std::string> commands;  // "add s-1 kv-2" in order
  size_t NoteCount(NoteKind kind) const;
  // As `shardctl explain` has them; empty: it waits for nothing.
  std::vector<std::string> WaitsOf(const std::string& shard) const;
  // Its state and how far it is, as `shardctl get servers` shows them.
  std::pair<std::string, std::string> DrainState(const std::string& server) const;
  // Why the server is quarantined; empty: it is not.
  std::string Quarantine(const std::string& server) const;
  // Servers that serve the shard, as the processes have it.
  std::vector<std::string> Holders(const std::string& shard) const;
  // Shards with exactly the wanted number of serving replicas, in the published map.
  size_t Served() const;
  std::map<std::string, size_t> Counts() const;
  // "kv-1*" is the primary, by what the processes hold.
  std::vector<std::string> Roles(const std::string& shard) const;
  // Where clients are sent, likewise.
  std::vector<std::string> Published(const std::string& shard) const;
  // The servers (names and lives) that are in step with the shard's primary, according to the last
  // list that it was given. As in real applications, a repeated grant does not replace the list,
  // and a server that is on the list already needs nothing more, whatever has happened to it since.
  using Members = std::set<std::pair<std::string, uint64_t>>;
  std::map<std::string, Members> members;
  // Shards of which clients were told a primary, since the spec names them. (What no client was
  // told of has acknowledged nothing.)
  std::set<std::string> reachable;
  // Shards of whose primary it was said that it may lack writes.
  std::set<std::string> unclean;
  Partition& partition() { return *partition_; }
  std::string Name(ShardIndex shard) const { return partition_->tables().name(shard); }
  TimePoint now{};

  // Invariant A, watched from outside after every step: fails the test when two live processes
  // serve one shard as primary. Also fails it when a server becomes the primary (or is it in a new
  // life) without having been in step with the last one, unless a note said that it may lack
  // writes. Slow in a large world: set check_every_step to false there, and call it by hand.
  void CheckInvariants() const;
  bool check_every_step = true;
  // Are given each event before the partition hears it, and each action that it asks for.
  struct Watcher {
    std::function<void(const Event&)> hears;
    std::function<void(const Action&)> asks;
    // Moves that should not have been, of the partition that leads.
    Returns returns;
    // By shard: what it was made of, as servers were told.
    std::map<std::string, std::set<std::string>> origins = {};
  } watcher;
  // What the server's process measures for a shard that it serves.
  std::function<std::vector<MetricAmount>(const std::string& shard, const std::string& server)>
      load;
  struct {
    // What came to it for such a shard since its last report.
    std::function<std::vector<RequestsFrom>(const std::string& shard, const std::string& server)>
        requests;
    // What it can carry.
    std::function<std::vector<MetricAmount>(const std::string& server)> capacity;
    // Fills in what it counted of its requests: by shard, and by key.
    std::function<void(const std::string& server, ServerReport& report)> traffic;
  } says;

 private:
  void Carry(Output<Action> output);
  void Do(Persist& action);
  void Do(SendCommands& action);
  void Do(Collect& action);
  void Do(ComputePlan& action);
  void Do(Publish& action);
  void NoteReachable();
  void Do(Note& action);
  template <typename Seen>
  void Do(Seen& action) {
    if constexpr (std::is_same_v<Seen, ShowTraffic>) traffic = action.figures;
    emptied |= std::is_same_v<Seen, Emptied>;
    stepped_down |= std::is_same_v<Seen, StepDown>;
  }
  void Obey(const SendCommands& action, const Grant& grant, AppServer& server);
  bool HasNew(const std::set<std::string>& of, const Grant& grant) const;
  // `elected`: the new list replaces the last one; else members that are known keep their lives.
  void TakeMembers(const std::string& shard, const Grant& grant, bool elected);
  void CheckBegins(const std::string& shard, const std::string& server) const;
  void StoreWrite(const Persist& action);
  void CheckSize(const Persist& action) const;
  ServerLife LifeOf(const std::string& name) const;
  // The spec does not name it any more. What was written to it goes with it, though the same name
  // may come again.
  bool IsOver(const std::string& shard) const;

  v1::AppSpec spec_;
  bool deleting_ = false;
  uint64_t leader_epoch_;
  std::optional<Partition> partition_;
  std::deque<Event> queue_;
  bool pumping_ = false;
  TimePoint next_wake_ = kNever;
};

// What all shards wait for, a line each.
std::string WaitsOfAll(World& world);
// Replicas on servers that live.
size_t HeldByAll(const World& world);

// An app "kv" with `shards` shards "s-0".. and all defaults filled in.
v1::AppSpec TestSpec(int shards, v1::ReplicationStrategy strategy = v1::PRIMARY_ONLY,
                     uint32_t replicas = 1);

// An operator says that it does not come back. Nothing, while it lives.
void Forget(World& world, const std::string& server);

}  // namespace shardmanager::orchestrator
