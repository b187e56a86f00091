#include "orchestrator/describe/problems.h"

#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "model/text.h"
#include "orchestrator/decide/supply.h"
#include "orchestrator/describe/failover.h"
#include "orchestrator/describe/health.h"
#include "orchestrator/describe/servers.h"

namespace shardmanager::orchestrator {
namespace {

class Problems {
 public:
  Problems(const PartitionState& state, const v1::AppHealth& health, TimePoint now)
      : state_(state), health_(health), now_(now) {}

  std::vector<v1::Problem> List() {
    AddCritical();
    AddOfShards();
    AddOfServers();
    return std::move(all_);
  }

 private:
  void Add(v1::Problem::Severity severity, const char* reason, std::string message) {
    all_.push_back(ProblemOf(severity, reason, std::move(message)));
  }
  void Critical(const char* reason, std::string message) {
    Add(v1::Problem::CRITICAL, reason, std::move(message));
  }
  void Warning(const char* reason, std::string message) {
    Add(v1::Problem::WARNING, reason, std::move(message));
  }

  // "3 of 120 shards".
  std::string Of(size_t count) const {
    return absl::StrCat(count, " of ", Counted(state_.map_order.size(), "shard"));
  }

  // ": users-0042: failed on kv-3: ..." of the first one that is not served, or degraded.
  std::string First() const {
    const auto first = TroublesOf(state_, 1);
    if (first.empty()) return "";
    return absl::StrCat(": ", first[0].shard(),
                        first[0].reason().empty() ? "" : absl::StrCat(": ", first[0].reason()));
  }

  std::string ForSoLong() const {
    const int64_t ms = health_.longest_unserved_ms();
    return ms <= 0 ? "" : absl::StrFormat(", the first for %.0f s", static_cast<double>(ms) / 1e3);
  }

  void AddCritical() {
    const uint32_t unserved = health_.shards_unserved();
    const uint32_t without_primary = health_.shards_without_primary();
    if (unserved > without_primary) {
      Critical("ShardsUnserved", absl::StrCat(Of(unserved - without_primary), " are not served",
                                              ForSoLong(), First()));
    }
    if (without_primary > 0) {
      Critical("ShardsWithoutPrimary",
               absl::StrCat(Of(without_primary), " have no primary: what needs one is refused",
                            ForSoLong(), First()));
    }
    if (state_.failures.overtaken.leader_is_behind() || state_.failures.overtaken.size() > 0) {
      Critical("EpochsBehind", std::string(kEpochsBehind));
    }
  }

  void AddOfShards() {
    if (health_.shards_below_replicas() > 0) {
      Warning("ReplicasMissing", absl::StrCat(Of(health_.shards_below_replicas()),
                                              " are served by fewer replicas than they are to have",
                                              health_.shards_unserved() > 0 ? "" : First()));
    }
    if (health_.shards_poisoned() > 0) {
      Warning("ShardsPoisoned",
              absl::StrCat(Of(health_.shards_poisoned()),
                           " failed on several servers in a row: mend the cause, then `shardctl "
                           "retry shard`; which ones: `shardctl watch --app ",
                           state_.spec.name(), "`, ShardPoisoned"));
    }
    if (IsMapMissing(state_)) {
      Warning("MapMissing",
              absl::StrCat(WhyMapIsMissing(state_), ": no operation is approved for it"));
    }
    if (std::string mass = MassFailureCondition(state_, now_); !mass.empty()) {
      Warning("MassFailure", std::move(mass));
    }
  }

  // "2 servers ..., as kv-1: why".
  template <typename Why>
  std::string Servers(uint32_t count, const char* what, Why why) const {
    std::string text = absl::StrCat(Counted(count, "server"), " ", what);
    for (const ServerIndex id : state_.tables.servers()) {
      const std::string reason = why(id);
      if (!reason.empty()) return absl::StrCat(text, ", as ", reason);
    }
    return text;
  }

  void AddOfServers() {
    const auto name = [this](ServerIndex id) -> std::string { return state_.tables.name(id); };
    if (health_.servers_lost() > 0) {
      Warning("ServersLost",
              Servers(health_.servers_lost(), "lost, and not replaced yet", [&](ServerIndex id) {
                const Server& server = state_.tables.server(id);
                return server.state == ServerState::kLost && !IsFailedOver(server) ? name(id) : "";
              }));
    }
    if (health_.servers_quarantined() > 0) {
      Warning("ServersQuarantined",
              Servers(health_.servers_quarantined(), "quarantined", [&](ServerIndex id) {
                std::string why =
                    IsQuarantined(state_, id) ? QuarantineState(state_, id, now_) : "";
                return why.empty() ? why : absl::StrCat(name(id), ": ", why);
              }));
    }
    if (health_.servers_draining_stuck() > 0) {
      Warning("DrainStuck", Servers(health_.servers_draining_stuck(), "cannot be emptied",
                                    [&](ServerIndex id) -> std::string {
                                      if (DrainStageOf(state_, id) != DrainStage::kStuck) return "";
                                      return absl::StrCat(name(id), ": ",
                                                          DrainState(state_, id, now_).second);
                                    }));
    }
    for (const ServerIndex id : state_.tables.servers()) {
      const std::string why = RecordState(state_, id, now_);
      if (why.empty()) continue;
      Warning("RecordFull", absl::StrCat(name(id), ": ", why));
      break;  // one line for all
    }
    if (!state_.unread.servers.empty()) {
      Warning("RecordDamaged",
              absl::StrCat(Counted(state_.unread.servers.size(), "server"),
                           " with an assignment record that cannot be read, as ",
                           name(state_.unread.servers.front()), ": see `shardctl describe app ",
                           state_.spec.name(), "`"));
    }
  }

  const PartitionState& state_;
  const v1::AppHealth& health_;
  const TimePoint now_;
  std::vector<v1::Problem> all_;
};

}  // namespace

v1::Problem ProblemOf(v1::Problem::Severity severity, std::string reason, std::string message) {
  v1::Problem problem;
  problem.set_severity(severity);
  problem.set_reason(std::move(reason));
  problem.set_message(std::move(message));
  return problem;
}

std::vector<v1::Problem> ProblemsOf(const PartitionState& state, const v1::AppHealth& health,
                                    TimePoint now) {
  return Problems(state, health, now).List();
}

}  // namespace shardmanager::orchestrator
