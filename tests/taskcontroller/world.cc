#include "tests/taskcontroller/world.h"

#include <algorithm>
#include <cstdio>
#include <memory>
#include <utility>

#include "absl/strings/str_cat.h"
#include "model/spec/spec_validation.h"
#include "tests/taskcontroller/manager.h"

namespace shardmanager::taskcontroller {
namespace {

constexpr Duration kFaultsLast = Seconds(120);
constexpr Duration kMustEndIn = Seconds(1'200);
constexpr size_t kMostViolations = 5;

v1::AppSpec SpecOf(const Fleet::Sizes& sizes, uint32_t most_servers) {
  v1::AppSpec spec;
  spec.mutable_replication()->set_strategy(sizes.primaries ? v1::PRIMARY_SECONDARY
                                                           : v1::SECONDARY_ONLY);
  spec.mutable_replication()->set_replicas(sizes.replicas);
  spec.mutable_availability()->set_max_unavailable_servers(absl::StrCat(most_servers));
  spec.mutable_availability()->set_approval_ms(5'000);
  spec.mutable_availability()->set_most_wait_ms(60'000);
  return WithDefaults(std::move(spec));
}

class World {
 public:
  explicit World(const WorldOptions& options)
      : options_(options),
        random_(options.seed),
        fleet_(DrawSizes(), random_),
        most_servers_(1 + static_cast<uint32_t>(random_.Below(fleet_.sizes().servers))),
        policy_(SpecOf(fleet_.sizes(), most_servers_)) {
    for (uint32_t region = 0; region < fleet_.sizes().regions; ++region) {
      managers_.push_back(std::make_unique<SimManager>(
          absl::StrCat("manager-", region), region, fleet_, random_,
          [this](Duration delay, std::function<void()> what) { After(delay, std::move(what)); }));
      managers_.back()->send = [this, region](Report report) {
        Deliver(region, std::move(report));
      };
    }
  }

  WorldResult Run() {
    Elect();
    for (auto& manager : managers_) manager->Start();
    MovePrimaries();
    if (options_.faults) After(Seconds(1), [this] { Fault(); });
    while (!queue_.empty() && now_ < Deadline() && !Done() &&
           result_.violations.size() < kMostViolations) {
      auto first = queue_.begin();
      now_ = first->first;
      auto what = std::move(first->second);
      queue_.erase(first);
      what();
    }
    if (!Done() && result_.violations.empty()) Violate(WhoIsLeft());
    for (const auto& manager : managers_) result_.restarts += manager->acted();
    return std::move(result_);
  }

 private:
  Fleet::Sizes DrawSizes() {
    Fleet::Sizes sizes;
    sizes.regions = 1 + static_cast<uint32_t>(random_.Below(3));
    sizes.servers = 4 + static_cast<uint32_t>(random_.Below(12));
    sizes.shards = 1 + static_cast<uint32_t>(random_.Below(30));
    sizes.replicas = 2 + static_cast<uint32_t>(random_.Below(2));
    sizes.primaries = random_.Below(2) == 0;
    return sizes;
  }

  TimePoint Deadline() const { return TimePoint(kFaultsLast + kMustEndIn); }
  bool FaultsGoOn() const { return options_.faults && now_ < TimePoint(kFaultsLast); }
  bool Done() const {
    return !FaultsGoOn() && std::all_of(managers_.begin(), managers_.end(),
                                        [](const auto& manager) { return manager->done(); });
  }
  void After(Duration delay, std::function<void()> what) {
    queue_.emplace(now_ + delay, std::move(what));
  }
  Duration Some(int64_t least_ms, int64_t most_ms) {
    return Milliseconds(least_ms + static_cast<int64_t>(random_.Below(
                                       static_cast<uint64_t>(most_ms - least_ms + 1))));
  }
  bool Chance(uint64_t one_in) { return FaultsGoOn() && random_.Below(one_in) == 0; }
  void Violate(std::string what) {
    result_.violations.push_back(
        absl::StrCat(now_.time_since_epoch() / Milliseconds(1), " ms: ", std::move(what)));
  }

  void Trace(const std::string& what) const {
    if (!options_.trace) return;
    std::printf("%8lld ms  %s\n", static_cast<long long>(now_.time_since_epoch() / Milliseconds(1)),
                what.c_str());
  }

  // ---- the leader ----

  void Elect() {
    ++leader_;
    Trace(absl::StrCat("leader ", leader_));
    ++result_.leaders;
    core_ = std::make_unique<TaskController>();
    orders_.clear();
    tickets_.clear();
    woken_at_ = kNever;
    Handle(Recovered{policy_, stored_});
  }

  void Handle(Event event) { Carry(core_->OnEvent(now_, std::move(event))); }

  void Carry(Output<Action> output) {
    for (Action& action : output.actions) std::visit([this](auto& a) { Do(a); }, action);
    if (output.next_wake == kNever || output.next_wake >= woken_at_) return;
    woken_at_ = output.next_wake;
    After(std::max(Duration(0), output.next_wake - now_), [this, leader = leader_] {
      if (leader != leader_) return;
      woken_at_ = kNever;
      Carry(core_->OnAdvance(now_));
    });
  }

  void Do(LookAtFleet&) {
    After(Duration(0), [this, leader = leader_] {
      if (leader != leader_) return;
      const FleetView view = fleet_.View();
      Handle(FleetSeen{&view});
    });
  }

  void Do(Persist& action) {
    for (const auto& [key, operation] : action.held) {
      Trace(absl::StrCat("write ", action.write, ": ", key.manager, "/", key.id, " of ",
                         operation.info.server, " life ", operation.info.life.value(), " stage ",
                         static_cast<int>(operation.stage)));
    }
    CheckWhatBegins(action.held);
    const bool lost = Chance(20);
    const bool told = !lost && !Chance(20);
    After(Some(1, 30), [this, leader = leader_, action, lost, told] {
      if (leader != leader_) return;  // fenced
      Trace(absl::StrCat("write ", action.write, lost ? ": lost" : told ? ": ok" : ": ambiguous"));
      if (!lost) stored_ = action.held;
      Handle(Written{action.write, told});
    });
  }

  void Do(Answer& action) {
    const auto ticket = tickets_.find(action.ticket);
    if (ticket == tickets_.end()) return Violate("an answer to nobody, or a second one");
    const auto [region, sequence] = ticket->second;
    tickets_.erase(ticket);
    Trace(absl::StrCat(managers_[region]->name(), " <- ", action.response.ShortDebugString()));
    CheckAnswer(managers_[region]->name(), action);
    if (Chance(10) || !action.status.ok()) return;
    After(Some(1, 200), [this, region = region, sequence = sequence, response = action.response] {
      managers_[region]->Hear(sequence, response);
    });
  }

  void Do(Order& action) { orders_ = action.orders; }
  void Do(Note& action) {
    Trace(absl::StrCat(std::string(NameOf(action.kind)), " ", action.server, " ", action.detail));
    result_.withdrawn += action.kind == NoteKind::kOperationWithdrawn;
  }

  // ---- the network ----

  void Deliver(uint32_t region, Report report) {
    const auto arrive = [this, region](Report r) {
      r.ticket = ++last_ticket_;
      Trace(absl::StrCat(r.manager, " ", r.manager_life, ".", r.sequence, ": ",
                         managers_[region]->Describe()));
      tickets_[r.ticket] = {region, r.sequence};
      Handle(Reported{std::move(r)});
    };
    if (Chance(10)) return;
    if (Chance(10))
      After(Some(1'000, 20'000), [arrive, report] { arrive(report); });  // again, late
    After(Some(1, 100), [arrive, report] { arrive(report); });
  }

  // ---- what goes on, and wrong ----

  void MovePrimaries() {
    fleet_.MoveOnePrimary(orders_);
    After(Milliseconds(20), [this] { MovePrimaries(); });
  }

  void Fault() {
    if (!FaultsGoOn()) return EndFaults();
    switch (random_.Below(5)) {
      case 0:
        Elect();
        break;
      case 1:
        managers_[random_.Below(managers_.size())]->Vanish(Some(1'000, 60'000),
                                                           random_.Below(3) == 0);
        break;
      case 2:
        Trouble();
        break;
      default:
        Crash();
    }
    After(Some(100, 15'000), [this] { Fault(); });
  }

  // It serves on, and nobody relies on it.
  void Trouble() {
    TrueServer& server = fleet_.servers()[random_.Below(fleet_.servers().size())];
    server.trouble = "quarantined";
    After(Some(1'000, 30'000), [&server] { server.trouble.clear(); });
  }

  void EndFaults() {
    for (auto& manager : managers_) manager->Return();
  }

  void Crash() {
    TrueServer& server = fleet_.servers()[random_.Below(fleet_.servers().size())];
    if (!server.live) return;
    ++result_.crashes;
    Trace(absl::StrCat(server.name, " crashes"));
    managers_.front()->Stop(server);
    After(Some(500, 20'000), [this, &server] { managers_.front()->StartAgain(server); });
  }

  // ---- the checker ----

  // Servers whose manager was told GO, and may still act.
  std::vector<std::string> Committed() {
    std::erase_if(told_go_, [&](const auto& entry) {
      const auto& [server, life] = entry.second;
      if (fleet_.Find(server).life > life.value())
        return true;  // nothing can happen to it any more
      return std::none_of(managers_.begin(), managers_.end(), [&](const auto& manager) {
        return manager->name() == entry.first.manager && manager->MayStillAct(entry.first.id);
      });
    });
    std::vector<std::string> servers;
    for (const auto& [key, told] : told_go_) servers.push_back(told.first);
    return servers;
  }

  // Against the truth at the moment of the decision.
  void CheckWhatBegins(const HeldOperations& held) {
    std::vector<std::string> away = Committed();
    std::vector<const HeldOperation*> begin;
    for (const auto& [key, operation] : held) {
      if (operation.stage != HeldStage::kBegun) continue;
      away.push_back(operation.info.server);
      const auto before = core_->held().find(key);
      const bool is_new =
          before == core_->held().end() || before->second.stage != HeldStage::kBegun;
      if (is_new) begin.push_back(&operation);
    }
    for (const HeldOperation* operation : begin) CheckServer(*operation, away);
    // What is down, or in trouble, counts as away already.
    const bool takes = std::any_of(begin.begin(), begin.end(), [&](const HeldOperation* operation) {
      const TrueServer& server = fleet_.Find(operation->info.server);
      return server.live && server.trouble.empty();
    });
    if (takes) CheckServerCap(away);
  }

  void CheckServer(const HeldOperation& operation, const std::vector<std::string>& away) {
    const TrueServer& server = fleet_.Find(operation.info.server);
    if (server.life != operation.info.life.value()) {
      Violate(absl::StrCat(server.name, ": an operation on life ", operation.info.life.value(),
                           " begins in life ", server.life));
    }
    if (!server.live) return;
    for (const TrueReplica& replica : server.replicas) {
      if (replica.role == Role::kPrimary && operation.leaving.primaries) {
        Violate(absl::StrCat(server.name, " is to stop as the primary of s-", replica.shard));
      }
      if (!replica.serving) continue;
      const uint32_t serving = fleet_.Serving(replica.shard, away);
      if (serving + 1 >= fleet_.sizes().replicas) continue;
      Violate(absl::StrCat(server.name, " is to stop: s-", replica.shard, " has ", serving, " of ",
                           fleet_.sizes().replicas, " replicas then"));
    }
  }

  void CheckServerCap(std::vector<std::string> away) {
    for (const TrueServer& server : fleet_.servers()) {
      const bool down = !server.live && !server.replicas.empty();
      if (down || !server.trouble.empty()) away.push_back(server.name);
    }
    std::sort(away.begin(), away.end());
    away.erase(std::unique(away.begin(), away.end()), away.end());
    if (away.size() <= most_servers_) return;
    Violate(absl::StrCat(away.size(), " servers are to be away, of ", most_servers_, " that may"));
  }

  // What is told is durable.
  void CheckAnswer(const std::string& manager, const Answer& answer) {
    for (const v1::OperationAnswer& a : answer.response.answers()) {
      const auto stored = stored_.find({manager, a.id()});
      const bool approved = stored != stored_.end() && stored->second.stage >= HeldStage::kApproved;
      const bool begun = approved && stored->second.stage == HeldStage::kBegun;
      if (a.verdict() == v1::OPERATION_GO && !begun) {
        Violate(absl::StrCat(a.id(), " may begin, and that is not stored"));
      }
      if (a.verdict() == v1::OPERATION_GO && begun) {
        const OperationInfo& info = stored->second.info;
        told_go_[{manager, a.id()}] = {info.server, info.life};
      }
      if (a.verdict() == v1::OPERATION_APPROVED && !approved) {
        Violate(absl::StrCat(a.id(), " is approved, and that is not stored"));
      }
    }
  }

  std::string WhoIsLeft() const {
    std::string left = "not finished:";
    for (const auto& manager : managers_) absl::StrAppend(&left, " ", manager->Describe());
    for (const auto& [key, answer] : core_->answers()) {
      absl::StrAppend(&left, "; ", key.id, ": ", answer.ShortDebugString());
    }
    return left;
  }

  const WorldOptions options_;
  Random random_;
  Fleet fleet_;
  const uint32_t most_servers_;
  const Policy policy_;
  TimePoint now_{};
  std::multimap<TimePoint, std::function<void()>> queue_;
  std::unique_ptr<TaskController> core_;
  uint64_t leader_ = 0;
  TimePoint woken_at_ = kNever;
  HeldOperations stored_;
  std::vector<ServerOrder> orders_;
  std::map<uint64_t, std::pair<uint32_t, uint64_t>> tickets_;  // manager and sequence
  uint64_t last_ticket_ = 0;
  std::vector<std::unique_ptr<SimManager>> managers_;
  std::map<OperationKey, std::pair<std::string, Incarnation>> told_go_;  // server, life
  WorldResult result_;
};

}  // namespace

WorldResult RunWorld(const WorldOptions& options) { return World(options).Run(); }

}  // namespace shardmanager::taskcontroller
