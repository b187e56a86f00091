#include "tests/simulation/simulation.h"

#include <algorithm>
#include <map>
#include <memory>
#include <string>
#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "tests/simulation/cell/cluster.h"
#include "tests/simulation/chaos.h"
#include "tests/simulation/checkers.h"
#include "tests/simulation/log_to_trace.h"
#include "tests/simulation/operator.h"
#include "tests/simulation/restart_checker.h"

namespace shardmanager::simulation {
namespace {

constexpr Duration kSweep = Milliseconds(200);
constexpr Duration kLook = Milliseconds(500);
// The cell is at rest when no assignment was written for so long. After faults the wait is longer,
// as what failed is tried again at growing intervals.
constexpr Duration kRestAfterFaults = Seconds(25);
constexpr Duration kRestAfterPlans = Seconds(10);
// Of a shard, in a rolling restart: requests that may be refused or fail.
constexpr uint64_t kMostOnTheWay = 3;

class Run {
 public:
  explicit Run(const SimulationOptions& options)
      : options_(options),
        random_(options.seed * 0x9e3779b97f4a7c15U + 1),
        cluster_(DrawCluster(), random_.Next(), checkers_,
                 [this](uint64_t call, bool idempotent) { checkers_.Called(call, idempotent); }),
        operator_(cluster_, checkers_, DrawSpec()),
        restarts_(cluster_, checkers_, managers_),
        chaos_(cluster_, operator_, managers_, random_.Next(),
               [this](const std::string& what) { Trace(what); }) {
    checkers_.Watch(cluster_);
    if (options_.strict_restarts) restarts_.BeStrict();
    cluster_.on_made_anew = [this] {
      restarts_.ForgetCell();
      for (const auto& manager : managers_) manager->ForgetCell();
    };
  }

  // Calls that are under way end with the control plane, and whoever called hears of it.
  ~Run() {
    for (const std::string& host : cluster_.controls()) cluster_.Kill(host);
  }
  Run(const Run&) = delete;
  Run& operator=(const Run&) = delete;

  SimulationResult All() {
    operator_.ApplyUntilAcknowledged();
    std::optional<LogToTrace> log;
    if (options_.log) log.emplace([this](const std::string& line) { Print("    " + line); });
    KeepSweeping();
    RunFor(Seconds(3));
    if (options_.faults) chaos_.Start();
    if (Draw(2) == 0 && cluster_.servers().size() > 3) RollOut(Restarts::kEither);
    RunFor(options_.chaos);
    if (options_.faults) chaos_.Heal();
    for (const auto& manager : managers_) manager->GiveUp();
    checkers_.ExpectCalm();
    const TimePoint healed = cluster_.schedule.now();
    AwaitRest("the faults ended");
    result_.converged_after = cluster_.schedule.now() - healed - kRestAfterFaults;
    CheckAcknowledged();
    LoseMinority();
    PlannedEvents();
    return Finish();
  }

 private:
  // ---- what the seed chooses ----
  ClusterOptions DrawCluster() {
    ClusterOptions cluster;
    cluster.servers = options_.servers > 0 ? options_.servers : 3 + Draw(6);
    cluster.regions = regions_ = 1 + Draw(3);
    cluster.controls = 1 + Draw(3);
    cluster.clients = 2;
    cluster.cell.set_cell(kCell);
    cluster.cell.set_zookeeper_tick_ms(100 + 100 * static_cast<uint32_t>(Draw(4)));
    cluster.cell.set_session_timeout_ms(2'000 + 1'000 * static_cast<uint32_t>(Draw(5)));
    cluster.cell.set_buckets(1 + static_cast<uint32_t>(Draw(4)));
    return cluster;
  }

  v1::AppSpec DrawSpec() {
    v1::AppSpec spec;
    spec.set_name(kApp);
    const int shards = options_.shards > 0 ? options_.shards : 4 + Draw(40);
    for (int i = 0; i < shards; ++i) {
      spec.mutable_key_space()->add_shards()->set_id(absl::StrCat("s-", i));
    }
    // Who is in step with whom has most to go wrong.
    const int draw = Draw(5);
    const bool both = draw < 2;
    auto& replication = *spec.mutable_replication();
    replication.set_strategy(both        ? v1::PRIMARY_SECONDARY
                             : draw == 2 ? v1::SECONDARY_ONLY
                                         : v1::PRIMARY_ONLY);
    replication.set_replicas(both ? 2 + static_cast<uint32_t>(Draw(2)) : draw == 2 ? 2 : 1);
    cluster_.replicates = both;
    cluster_.quorum = both && replication.replicas() == 3 && options_.seed % 3 != 0;
    replication.set_quorum(cluster_.quorum);
    spec.mutable_failover()->set_delay_ms(static_cast<uint32_t>(Draw(3) * 1'000));
    DrawAvailability(spec);
    return spec;
  }

  // How many servers may be away, and what leaves them before.
  void DrawAvailability(v1::AppSpec& spec) {
    // (With 100%, all servers may be prepared at once, and what is to leave has nowhere to go.)
    static constexpr const char* kMost[] = {"1", "2", "50%"};
    auto& availability = *spec.mutable_availability();
    availability.set_max_unavailable_servers(kMost[Draw(3)]);
    if (spec.replication().replicas() == 3) {
      availability.set_max_unavailable_replicas(1 + static_cast<uint32_t>(Draw(2)));
    }
    availability.set_approval_ms(5'000);
    availability.set_most_wait_ms(60'000);
    if (Draw(3) != 0) return;
    v1::DrainRule& rule = *spec.mutable_drain()->add_rules();
    rule.add_kinds(v1::RESTART);
    rule.set_secondaries(Draw(2) == 0);
    if (rule.secondaries()) rule.set_up_to_ms(static_cast<uint32_t>(Draw(2) * 10'000));
  }

  int Draw(int bound) { return static_cast<int>(random_.Below(static_cast<uint64_t>(bound))); }

  // ---- time ----
  bool RunUntil(TimePoint end) {
    while (checkers_.violation().empty() && cluster_.schedule.RunNext(end)) {
      cluster_.store.Kick();
      checkers_.LookAtSessions();
    }
    return checkers_.violation().empty();
  }
  bool RunFor(Duration time) { return RunUntil(cluster_.schedule.now() + time); }

  void KeepSweeping() {
    cluster_.schedule.After(kSweep, [this] {
      if (full_service_) {
        checkers_.ExpectFullService(*full_service_, checkers_.Sweep(), may_be_away_);
      } else {
        checkers_.Probe();
      }
      asks_leaders_ = !asks_leaders_;
      if (asks_leaders_) checkers_.AskLeaders();
      if (!managers_.empty()) restarts_.Look();
      KeepSweeping();
    });
  }

  // Until all is well and nothing has been written for a while (invariant D).
  void AwaitRest(const std::string& since, int patience = 1) {
    const TimePoint give_up = cluster_.schedule.now() + patience * options_.patience;
    const Duration rest = full_service_ ? kRestAfterPlans : kRestAfterFaults;
    TimePoint rests_since = cluster_.schedule.now();
    uint64_t writes = checkers_.AssignmentWrites();
    std::string why = "nothing was looked at";
    while (RunFor(kLook)) {
      cluster_.StartAll();  // those that were still stopping when the faults ended
      why = checkers_.NotConverged();
      const uint64_t now_written = checkers_.AssignmentWrites();
      if (!why.empty() || now_written != std::exchange(writes, now_written)) {
        rests_since = cluster_.schedule.now();
        if (why.empty()) why = "assignments are still written";
      }
      if (cluster_.schedule.now() - rests_since >= rest) return;
      if (cluster_.schedule.now() >= give_up) {
        checkers_.Violate(absl::StrCat("D: ", patience * options_.patience / Seconds(1),
                                       " s after ", since, ": ", why));
      }
    }
  }

  void CheckAcknowledged() {
    const std::string lost = checkers_.LostDrain();
    if (!lost.empty())
      checkers_.Violate(absl::StrCat("C: ", lost, " was acknowledged and is lost"));
    const auto spec = checkers_.StoredSpec();
    if (spec && RevisionOf(*spec) >= checkers_.acknowledged()) return;
    checkers_.Violate(absl::StrCat("C: revision ", checkers_.acknowledged(),
                                   " of the spec was acknowledged, stored is ",
                                   spec ? absl::StrCat(RevisionOf(*spec)) : "none"));
  }

  // With a quorum: of the three members that each shard has at rest, one is gone for good.
  void LoseMinority() {
    const auto spec = checkers_.StoredSpec();
    if (!options_.faults || !cluster_.quorum || !spec || checkers_.LeastReplicas(*spec) < 3) return;
    if (!checkers_.violation().empty() || Draw(2) == 0) return;
    chaos_.LeaveForGood();
    AwaitRest("a server left for good");
  }

  // Without faults: a server joins and gets its share, another one is drained, and nobody
  // has less for it.
  void PlannedEvents() {
    if (!checkers_.violation().empty()) return;
    full_service_ = checkers_.StoredSpec();
    if (full_service_) checkers_.Promise(*full_service_);
    Trace("a server joins; from here on only planned things happen");
    cluster_.AddServer();
    const Trouble before = TroubleOfCalls();
    AwaitRest("a server joined");
    if (!checkers_.violation().empty()) return;
    if (full_service_) checkers_.Promise(*full_service_);
    const std::string drained = SomeHealthyServer();
    // A move that is called off is tried again after one or two minutes.
    const bool slowly = Draw(3) == 0 && BeginLongRequests(drained);
    Trace("drain of " + drained);
    operator_.DrainUntilAcknowledged(drained, true);
    AwaitRest("a server was drained", slowly ? 2 : 1);
    if (!checkers_.violation().empty()) return;
    const std::string& leaves = cluster_.controls()[0];
    Trace("restart of " + leaves);
    cluster_.Terminate(leaves);
    cluster_.Start(leaves);
    AwaitRest("a control-plane process was restarted");
    CheckAcknowledged();
    // A primary is handed over; a secondary may be gone before all clients know.
    const bool primary =
        full_service_ && full_service_->replication().strategy() != v1::SECONDARY_ONLY;
    if (primary) ExpectNoMoreTrouble(before, TroubleOfCalls(), 0);
    const Trouble before_restarts = TroubleOfPrimaries();
    if (RestartEverything() && primary)
      ExpectNoMoreTrouble(before_restarts, TroubleOfPrimaries(), kMostOnTheWay);
  }

  // ---- rolling restarts ----
  void RollOut(Restarts how) {
    Trace("rolling restart");
    for (int region = 0; managers_.size() < static_cast<size_t>(regions_); ++region) {
      managers_.push_back(
          std::make_unique<SimManager>(cluster_, region, regions_, random_.Next(), restarts_));
    }
    for (const auto& manager : managers_) manager->Begin(how);
  }

  // Of all servers, by all managers at once. True: no request may be refused or fail. That is so if
  // all servers were stopped gracefully, there was a leader to tell clients where shards went, and
  // shards were added in less time than a call has.
  bool RestartEverything() {
    constexpr Duration kPatience = Seconds(900);
    const auto spec = checkers_.StoredSpec();
    if (!checkers_.violation().empty() || !spec) return false;
    if (!MayRestart(*spec)) return false;
    const bool graceful = Draw(3) != 0;
    restarts_.ExpectCalm();
    checkers_.Promise(*spec, !graceful);
    may_be_away_ = MostAway(*spec);
    const bool slow = Draw(2) == 0;
    if (slow) cluster_.habits.slowest_add = Seconds(1 + Draw(5));
    RollOut(graceful ? Restarts::kGraceful : Restarts::kRude);
    const bool leaders_go = Draw(2) == 0;
    if (leaders_go) RestartLeaderNowAndThen(cluster_.schedule.now() + Seconds(60));
    const TimePoint give_up = cluster_.schedule.now() + kPatience;
    const auto done = [this] {
      return std::all_of(managers_.begin(), managers_.end(),
                         [](const auto& manager) { return manager->done(); });
    };
    while (RunFor(kLook) && !done()) {
      if (cluster_.schedule.now() < give_up) continue;
      std::string left;
      for (const auto& manager : managers_) absl::StrAppend(&left, " ", manager->Describe());
      checkers_.Violate(absl::StrCat("restart: not all is done ", kPatience / Seconds(1),
                                     " s after it was wanted:", left));
    }
    for (const auto& manager : managers_) manager->GiveUp();
    cluster_.habits.slowest_add = Milliseconds(50);
    Trace(absl::StrCat("all servers are restarted; operations so far: ", restarts_.acted()));
    AwaitRest("all servers were restarted");
    may_be_away_.reset();
    return graceful && !slow && !leaders_go;
  }

  // A takeover in the middle of operations: what was approved is still approved.
  void RestartLeaderNowAndThen(TimePoint until) {
    cluster_.schedule.After(Seconds(1 + Draw(10)), [this, until] {
      if (cluster_.schedule.now() > until) return;
      const std::string leader = cluster_.Leader();
      if (!leader.empty()) {
        Trace("restart of " + leader);
        cluster_.Terminate(leader);
        cluster_.Start(leader);
      }
      RestartLeaderNowAndThen(until);
    });
  }

  // Something can be taken away, and what leaves a server has another one to go to. (One on which
  // everything fails counts as away for ever.)
  bool MayRestart(const v1::AppSpec& spec) const {
    return cluster_.habits.sick.empty() && cluster_.lasting.gray.empty() &&
           operator_.Free().size() > WantedReplicas(spec);
  }

  // By shard: requests that were refused, and calls that failed.
  using Trouble = std::map<std::string, uint64_t>;
  Trouble TroubleOfCalls() const {
    Trouble all;
    for (const auto& client : cluster_.clients()) {
      for (const auto& [shard, times] : client->trouble()) all[shard] += times;
    }
    return all;
  }
  Trouble TroubleOfPrimaries() const {
    Trouble all;
    for (const auto& client : cluster_.clients()) {
      for (const auto& [shard, times] : client->primary_trouble()) all[shard] += times;
    }
    return all;
  }
  // What a server cannot forward, or the new owner cannot add, is refused.
  void ExpectNoMoreTrouble(const Trouble& before, const Trouble& now, uint64_t most) {
    for (const auto& [shard, times] : now) {
      const auto known = before.find(shard);
      const uint64_t more = times - (known == before.end() ? 0 : known->second);
      if (more <= most || checkers_.IsConcerned(shard)) continue;
      checkers_.Violate(absl::StrCat("B: only planned things happened, and ", more,
                                     " requests for ", shard, " were refused or failed"));
    }
  }

  // Requests that outlive every drain time-out: the shard stays until they have ended.
  bool BeginLongRequests(const std::string& name) {
    SimServer* server = cluster_.server(name);
    if (server == nullptr || !full_service_) return false;
    Trace("long requests at " + name);
    for (const v1::Shard& shard : full_service_->key_space().shards()) {
      if (Draw(2) == 0) server->WorkLong(shard.id(), Seconds(25));
    }
    return true;
  }

  // Not the first one: it was there from the beginning, and has most.
  std::string SomeHealthyServer() const {
    for (const std::string& name : cluster_.servers()) {
      if (name != cluster_.servers()[0] && cluster_.healthy().contains(name)) return name;
    }
    return cluster_.servers()[0];
  }

  void Trace(const std::string& what) {
    checkers_.Mix(static_cast<uint64_t>(cluster_.schedule.now().time_since_epoch().count()));
    Print(what);
  }

  void Print(const std::string& what) const {
    if (!options_.trace) return;
    const Duration now = cluster_.schedule.now().time_since_epoch();
    options_.trace(absl::StrFormat("%9.3f s  %s", InSeconds(now), what));
  }

  // With a trace: which map each of them has.
  void TellMaps() {
    const auto tell = [this](const std::string& host, const std::optional<MapVersion>& version,
                             bool stale) {
      Trace(absl::StrCat(host, " has the map ", version ? version->ToString() : "none",
                         stale ? ", and says that there may be a newer one" : ""));
    };
    for (const std::string& host : cluster_.controls()) {
      SimControl* control = cluster_.control(host);
      if (control != nullptr) tell(host, control->feed().version(), control->feed().stale());
    }
    for (size_t i = 0; i < cluster_.relays().size(); ++i) {
      tell(cluster_.relays()[i], cluster_.feed_of(i).version(), cluster_.feed_of(i).stale());
    }
    for (const auto& client : cluster_.clients()) {
      if (client->map() != nullptr) tell(client->host(), client->map()->version(), false);
    }
  }

  // With a trace: what the leader says of the shards that are not as they should be.
  void AskWhy() {
    for (const std::string& host : cluster_.controls()) {
      SimControl* control = cluster_.control(host);
      if (control == nullptr || !control->controller().leads()) continue;
      v1::GetShardsRequest request;
      request.set_app(kApp);
      control->controller().operations().GetShards(request, [this, control](const auto& shards) {
        int asked = 0;
        for (const v1::ShardStatus& shard : shards->shards()) {
          const bool named = absl::StrContains(checkers_.violation(), shard.shard() + " ");
          if (named || (shard.state() != "serving" && ++asked <= 2)) {
            Explain(*control, shard.shard());
          }
        }
      });
    }
    const TimePoint end = cluster_.schedule.now() + Seconds(1);
    while (cluster_.schedule.RunNext(end)) cluster_.store.Kick();
  }

  void Explain(SimControl& control, const std::string& shard) {
    v1::ExplainShardRequest request;
    request.set_app(kApp);
    request.set_shard(shard);
    control.controller().operations().ExplainShard(request, [this](const auto& answer) {
      if (!answer.ok()) return Trace(answer.status().ToString());
      Trace(absl::StrCat(answer->shard().shard(), ": ", answer->shard().state(), ", ",
                         answer->shard().reason()));
      for (const v1::ReplicaStatus& r : answer->shard().replicas()) {
        Trace(absl::StrCat("  ", r.server(), " ", v1::Role_Name(r.role()), " ", r.state(), " ",
                           r.reason()));
      }
      for (const v1::Wait& wait : answer->waits()) Trace("  waits: " + wait.message());
    });
  }

  SimulationResult Finish() {
    result_.violation = checkers_.violation();
    if (!result_.violation.empty() && options_.trace) {
      TellMaps();
      AskWhy();
    }
    checkers_.Mix(cluster_.schedule.ran());
    result_.digest = checkers_.digest();
    result_.simulated = cluster_.schedule.now().time_since_epoch();
    result_.events = cluster_.schedule.ran();
    result_.faults = chaos_.faults();
    for (const auto& client : cluster_.clients()) {
      result_.calls += client->counts().calls;
      result_.answered += client->counts().answered;
    }
    return result_;
  }

  const SimulationOptions options_;
  Random random_;
  int regions_ = 1;
  Checkers checkers_;
  Cluster cluster_;
  Operator operator_;
  Managers managers_;
  RestartChecker restarts_;
  Chaos chaos_;
  bool asks_leaders_ = false;  // in this sweep
  std::optional<v1::AppSpec> full_service_;
  std::optional<size_t> may_be_away_;  // of each shard, in a rolling restart
  SimulationResult result_;
};

}  // namespace

SimulationResult Simulate(const SimulationOptions& options) {
  return std::make_unique<Run>(options)->All();
}

}  // namespace shardmanager::simulation
