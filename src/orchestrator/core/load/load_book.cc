#include "orchestrator/core/load/load_book.h"

#include <algorithm>

#include "absl/strings/str_cat.h"
#include "orchestrator/decide/load/loads.h"

namespace shardmanager::orchestrator {
namespace {

// Beyond its limit by this part of it, a server is worth a look.
constexpr float kLoadSlack = 0.05F;
// However busy the partition is otherwise, a picture is not older than this.
constexpr Duration kOldestPicture = Seconds(600);

}  // namespace

bool LoadBook::AdoptMetrics() {
  std::vector<std::string> names;
  for (const v1::Metric& metric : state_.spec.metrics()) names.push_back(metric.name());
  if (names == state_.loads.metrics) return false;
  state_.loads.metrics = std::move(names);
  state_.loads.reported = LoadTable(state_.loads.metrics.size());
  state_.loads.planned = LoadTable(state_.loads.metrics.size());
  pressure_.clear();
  course_over_ = false;
  return true;
}

void LoadBook::RecordLoads(ReplicaIndex id, const HeldReplica& held, LoadProblem& problem) {
  const ServerIndex server = state_.tables.replica(id).server;
  for (const MetricAmount& load : held.load) {
    const auto name =
        std::find(state_.loads.metrics.begin(), state_.loads.metrics.end(), load.metric);
    if (name == state_.loads.metrics.end()) continue;
    const auto metric = static_cast<size_t>(name - state_.loads.metrics.begin());
    if (const char* why = WhyRefused(load.amount); why != nullptr) {
      if (problem.count++ == 0) {
        problem.first = absl::StrCat(load.metric, " of shard ", held.shard, ": found ", load.amount,
                                     " (", why, ")");
      }
      continue;
    }
    const bool known = state_.loads.reported.Knows(id, metric);
    const double before = known ? state_.loads.reported.Of(id, metric) : load.amount;
    state_.loads.reported.Set(id, server, metric, (before + load.amount) / 2);
    if (!state_.loads.planned.Knows(id, metric)) {
      state_.loads.planned.Set(id, server, metric, load.amount);
    }
  }
}

void LoadBook::NoteLoadProblem(ServerIndex id, const LoadProblem& problem) {
  state_.loads.refused += problem.count;
  if (problem.count == 0) {
    if (!bad_loads_.empty()) bad_loads_.erase(id);
    return;
  }
  if (!bad_loads_.insert(id).second) return;
  std::string detail = problem.first;
  if (problem.count > 1) absl::StrAppend(&detail, " and ", problem.count - 1, " more");
  agenda_.AddNote(NoteKind::kLoadRefused, id, ShardIndex(),
                  absl::StrCat(detail, "; allowed: 0 to 1e12. The last good values hold"));
}

void LoadBook::InheritLoads(ReplicaIndex fresh) {
  const Replica& replica = state_.tables.replica(fresh);
  for (size_t m = 0; m < state_.loads.metrics.size(); ++m) {
    for (LoadTable* loads : {&state_.loads.reported, &state_.loads.planned}) {
      double most = -1;
      double most_of_role = -1;
      state_.tables.ForEach(replica.shard, [&](ReplicaIndex id, const Replica& other) {
        if (id == fresh || !loads->Knows(id, m)) return;
        most = std::max(most, loads->Of(id, m));
        if (other.role == replica.role) most_of_role = std::max(most_of_role, loads->Of(id, m));
      });
      if (most_of_role >= 0) most = most_of_role;
      if (most >= 0) loads->Set(fresh, replica.server, m, most);
    }
  }
}

void LoadBook::PassLoads(ReplicaIndex before, ReplicaIndex now) {
  if (!before.valid() || !now.valid() || before == now) return;
  for (size_t m = 0; m < state_.loads.metrics.size(); ++m) {
    for (LoadTable* loads : {&state_.loads.reported, &state_.loads.planned}) {
      if (!loads->Knows(before, m) || !loads->Knows(now, m)) continue;
      const double of_primary = loads->Of(before, m);
      loads->Set(before, state_.tables.replica(before).server, m, loads->Of(now, m));
      loads->Set(now, state_.tables.replica(now).server, m, of_primary);
    }
  }
}

void LoadBook::RemoveReplica(ReplicaIndex id) {
  state_.missing.MayHelp(Help::kRoom);
  const ServerIndex server = state_.tables.replica(id).server;
  state_.loads.reported.Forget(id, server);
  state_.loads.planned.Forget(id, server);
  state_.tables.RemoveReplica(id);
}

void LoadBook::EndCourse() {
  course_over_ = true;
  if (!state_.loads.metrics.empty())
    pressure_ = Pressure(state_, state_.loads.planned, state_.loads.capacity);
}

void LoadBook::ConsiderLoads() {
  if (state_.loads.metrics.empty()) return;
  const bool old = state_.now >= pictured_at_ + kOldestPicture;
  bool shifted = false;
  if (course_over_) {
    const std::vector<float> pressure =
        Pressure(state_, state_.loads.reported, state_.loads.capacity_now);
    for (size_t i = 0; i < pressure.size() && !shifted; ++i) {
      const float left_at = i < pressure_.size() ? pressure_[i] : 0;
      shifted = pressure[i] > std::max(1.0F, left_at) * (1 + kLoadSlack);
    }
  }
  if (!shifted && (state_.balance.at_rest || !old)) return;
  course_over_ = false;
  pictured_at_ = state_.now;
  state_.loads.planned = state_.loads.reported;
  capacities_.Renew();
  if (shifted) state_.balance.at_rest = false;
}

}  // namespace shardmanager::orchestrator
