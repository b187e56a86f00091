// What must hold, watched from outside: none of it uses the code that it watches, but
// for what a client or a person could see (who admits a request, what is stored).
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "shardmanager/v1/app_spec.pb.h"
#include "shardmanager/v1/stored.pb.h"
#include "tests/golden/digest.h"
#include "tests/simulation/cell/cluster.h"
#include "tests/simulation/cell/sim_server.h"
#include "tests/simulation/checks/cut_off_checker.h"
#include "tests/simulation/checks/written.h"
#include "tests/simulation/shown.h"

namespace shardmanager::simulation {

// The newest election that the checkers know of. They look for a newer one whenever they ask a
// leader, and when it answers.
struct Election {
  int32_t epoch = -1;
  TimePoint at{};

  // False: nobody was ever elected.
  bool See(const MemoryTree& store, TimePoint now);
};

class Checkers final : public ServerWitness {
 public:
  void Watch(Cluster& cluster) { cluster_ = &cluster; }

  // The cell was made anew: epochs begin at the bottom, and nothing is promised yet.
  void ForgetCell();

  // The first thing that was wrong; empty: nothing was.
  const std::string& violation() const { return violation_; }
  void Violate(const std::string& what);

  // ---- invariant A, at each admission ----
  // In true time, the epochs under which primary requests of a shard are admitted never
  // go down, and one epoch belongs to one life of one server. And when a right passes
  // on while its former owner is still a member, that one has nothing in flight. In apps that keep
  // serving, this holds of the rights that members have, and CutOffChecker says what of others.
  void Admitted(const SimServer& server, const std::string& shard, Role role,
                ShardEpoch epoch) override;

  // A server's lease ends before its session does: after each write to the store, as a session may
  // have ended with it. (Each request that a primary admits is checked, too.)
  void LookAtSessions();

  // ---- one leader's word ----
  // Asks each control-plane process as an operator would. None answers as the leader once another
  // one has been elected for longer than a lease can last. And what is shown as served is served.
  void AskLeaders();

  // ---- acknowledged writes ----
  // Whoever begins to serve as primary has them all, unless nobody is left that has: a member that
  // lives, and has not lost its session since it came into step.
  void Acknowledged(const std::string& shard, ShardEpoch epoch, uint64_t request) override {
    // Nothing is promised of what an older primary acknowledges that keeps serving.
    if (cluster_->keeps_serving && epoch < newest_[shard].epoch) return;
    LearnShards();
    written_.To(shard).insert(request);
  }

  // A call that is not idempotent is processed once at most.
  void Called(uint64_t call, bool idempotent);
  void Processed(uint64_t request) override;

  // ---- no storm ----
  // A server on which everything fails, while another one can add shards, is given no more, but for
  // one shard at a time. From the end of the faults on: before, all servers may fail.
  void ExpectCalm() { calm_since_ = cluster_->schedule.now(); }
  void ObeyedDeposed(const SimServer& server, LeaderEpoch leader, LeaderEpoch deposed) override;
  void Added(const SimServer& server) override;
  void AddFailed(const SimServer& server, const server::Grant& grant) override;

  // Asks every server for every shard that there ever was whether it would admit a request.
  void Probe();
  // The same, and returns the servers that would, by shard.
  using Serving = std::map<std::string, std::set<std::string>>;
  Serving Sweep();

  // ---- invariant B ----
  // While only planned things happen, no shard of the spec has fewer replicas than it should;
  // one that nobody serves least of all.
  // `away`: of each shard, replicas that may be missing in a rolling restart; nothing: there is
  // none.
  void ExpectFullService(const v1::AppSpec& spec, const Serving& serving,
                         std::optional<size_t> away);
  // All is at rest: what there is now is not to get less. `killed`: planned restarts are not
  // graceful, so the leader hears of them when a session ends.
  void Promise(const v1::AppSpec& spec, bool killed = false) {
    killed_ = killed;
    promised_ = LeastReplicas(spec);
    swept_ = cluster_->schedule.now();
    missing_.clear();
  }
  // Was the shard, since the first promise, with a server that is sick, or with two that cannot
  // reach each other?
  bool IsConcerned(const std::string& shard) const;

  // ---- invariant C ----
  // `revision` of a spec is in it; that of the last one that was acknowledged.
  void Acknowledged(uint32_t revision) { acknowledged_ = std::max(acknowledged_, revision); }
  uint32_t acknowledged() const { return acknowledged_; }
  // A drain of the server may be written or taken back from now on; it was.
  void AttemptedDrain(const std::string& server) { drains_.erase(server); }
  void AcknowledgedDrain(const std::string& server, bool drained) { drains_[server] = drained; }
  // Which acknowledged drain, or end of one, is not stored; empty: all are.
  std::string LostDrain() const;

  // ---- invariant D ----
  // Why not every shard of the stored spec is served as it should be, or known to all
  // clients; empty: all is well.
  std::string NotConverged();
  // Grows with every write of an assignment.
  uint64_t AssignmentWrites() const;

  // As it is stored; empty, if there is none.
  v1::AssignmentRecord AssignmentOf(const std::string& server) const;
  size_t LeastReplicas(const v1::AppSpec& spec) const;
  // Servers that are to be drained, as stored now.
  std::set<std::string> StoredDrains() const;
  // As stored now; nothing if there is none.
  std::optional<v1::AppSpec> StoredSpec() const;
  // Of the run so far: equal for equal runs.
  uint64_t digest() const { return digest_.value(); }
  void Mix(uint64_t value) { digest_.Add(value); }

 private:
  struct Newest {
    ShardEpoch epoch;
    std::string endpoint;
    TimePoint at;
  };

  // Of each server that would admit a request for a shard now: shard, server.
  using Found = std::function<void(const std::string&, const std::string&, SimServer::Right)>;
  void ForEachServing(const Found& found);
  void LearnShards();
  void CheckMissing(const std::string& shard, Duration more, Duration most);
  void NoteConcerned();
  void AnsweredAsLeader(const std::string& host);
  void CheckShown(const std::function<std::string(const ShownChecker::Moment&)>& look);
  bool IsMember(const SimServer& server) const;
  bool IsInStep(const SimServer& server, const std::string& shard) const;
  void CheckWrites(const SimServer& server, const std::string& shard);
  std::string InStep(const SimServer& server, const std::string& shard,
                     const std::set<uint64_t>& written) const;
  std::vector<std::string> Primaries(const std::string& shard);
  std::string OtherPrimaries(const std::string& shard);
  void CheckOverlap(const SimServer& server, const std::string& shard, ShardEpoch epoch);
  std::string ClientDisagrees(const SimClient& client, const std::string& shard,
                              const std::set<std::string>& serving);
  bool CannotBeInStep(const std::string& server, const std::string& shard);

  Cluster* cluster_ = nullptr;
  struct LiveNode {
    Incarnation life;
    std::string path;
  };
  // By server. A cache: making these paths anew took a twelfth of a run.
  mutable absl::flat_hash_map<std::string, LiveNode> live_nodes_;
  int64_t last_write_ = 0;
  Election elected_;
  bool asks_of_app_ = false;  // this time; else of its shards
  ShownChecker shown_;
  CutOffChecker cut_off_;
  uint32_t store_changes_ = 0;  // at the last look at what is shown
  std::string violation_;
  bool killed_ = false;
  size_t promised_ = 0;                                   // replicas of each shard
  TimePoint swept_{};                                     // last, since the promise
  std::map<std::string, Duration> missing_;               // how long a replica was since, by shard
  std::map<std::string, std::set<std::string>> held_by_;  // since the first one, by shard
  std::set<std::string> shards_;                          // that there ever were
  int32_t spec_version_ = -1;                             // of the spec that they are known from
  absl::flat_hash_map<std::string, Newest> newest_;       // by shard
  Written written_;
  std::map<uint64_t, int> once_;  // calls that are not idempotent: times processed
  // Of a sick server, under one leader: its failures.
  struct Failures {
    int32_t leader = 0;
    TimePoint since{};   // it leads
    ShardEpoch granted;  // the newest grant, up to when it was found out
    struct First {
      ShardEpoch epoch;
      TimePoint at;
    };
    std::map<std::string, First> first;  // of each shard, under its newest grant
    std::vector<TimePoint> trials;       // when shards came after it was found out
  };
  ShardEpoch NewestGrant(const SimServer& server) const;
  std::map<std::string, Failures> failures_;
  struct Success {
    std::string server;
    TimePoint at;
  };
  std::vector<Success> added_;
  TimePoint calm_since_ = kNever;
  uint32_t acknowledged_ = 0;
  std::map<std::string, bool> drains_;  // by server: what was acknowledged last
  Digest digest_;
};

// The spec's revision, hidden in a knob that changes nothing else.
uint32_t RevisionOf(const v1::AppSpec& spec);
void SetRevision(v1::AppSpec& spec, uint32_t revision);
// As many as the spec wants of each shard, whatever its load.
size_t WantedReplicas(const v1::AppSpec& spec);
size_t MostReplicas(const v1::AppSpec& spec);

}  // namespace shardmanager::simulation
