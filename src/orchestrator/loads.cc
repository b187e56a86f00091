// What servers report about their loads, and when it is worth a look at the balance.
//
// Two tables, so that noise does not move shards for ever:
//   * reported_ follows every report (half-way, which halves the noise);
//   * planned_ is what plans are made of. It stands still until the partition is at
//     rest, so that one course of balancing works on one picture and comes to an end as
//     the solver does. It is renewed when some server is by the newest reports well
//     beyond where the solver may leave it, and where it did leave it.
#include <algorithm>
#include <cmath>
#include <limits>

#include "absl/strings/str_cat.h"
#include "model/load.h"
#include "orchestrator/partition.h"

namespace shardmanager::orchestrator {
namespace {

// Beyond its limit by this part of it, a server is worth a look.
constexpr float kLoadSlack = 0.05F;
// However busy the partition is otherwise, a picture is not older than this.
constexpr Duration kOldestPicture = Seconds(600);

// Null: it can be taken over.
const char* WhyRefused(double load) {
  if (std::isnan(load)) return "not a number";
  if (load < 0) return "negative";
  if (load > kMostLoad) return "above 1e12";
  return nullptr;
}

}  // namespace

// REQUIRES: spec_ is the new one.
bool Partition::AdoptMetrics() {
  std::vector<std::string> names;
  for (const v1::Metric& metric : spec_.metrics()) names.push_back(metric.name());
  if (names == metric_names_) return false;
  metric_names_ = std::move(names);
  reported_ = LoadTable(metric_names_.size());
  planned_ = LoadTable(metric_names_.size());
  pressure_.clear();
  course_over_ = false;
  return true;
}

void Partition::RecordLoads(ReplicaIndex id, const HeldReplica& held, LoadProblem& problem) {
  const ServerIndex server = tables_.replica(id).server;
  for (const MetricAmount& load : held.load) {
    const auto name = std::find(metric_names_.begin(), metric_names_.end(), load.metric);
    if (name == metric_names_.end()) continue;
    const auto metric = static_cast<size_t>(name - metric_names_.begin());
    if (const char* why = WhyRefused(load.amount); why != nullptr) {
      if (problem.count++ == 0) {
        problem.first = absl::StrCat(load.metric, " of shard ", held.shard, ": found ", load.amount,
                                     " (", why, ")");
      }
      continue;
    }
    const bool known = reported_.Knows(id, metric);
    const double before = known ? reported_.Of(id, metric) : load.amount;
    reported_.Set(id, server, metric, (before + load.amount) / 2);
    if (!planned_.Knows(id, metric)) planned_.Set(id, server, metric, load.amount);
  }
}

// Said when it begins; counted always.
void Partition::NoteLoadProblem(ServerIndex id, const LoadProblem& problem) {
  loads_refused_ += problem.count;
  if (problem.count == 0) {
    if (!bad_loads_.empty()) bad_loads_.erase(id);
    return;
  }
  if (!bad_loads_.insert(id).second) return;
  std::string detail = problem.first;
  if (problem.count > 1) absl::StrAppend(&detail, " and ", problem.count - 1, " more");
  AddNote(NoteKind::kLoadRefused, id, ShardIndex(),
          absl::StrCat(detail, "; allowed: 0 to 1e12. The last good values hold"));
}

// What a new replica will carry: as another one of the shard does.
void Partition::InheritLoads(ReplicaIndex fresh) {
  const Replica& replica = tables_.replica(fresh);
  for (size_t m = 0; m < metric_names_.size(); ++m) {
    for (LoadTable* loads : {&reported_, &planned_}) {
      double most = -1;
      tables_.ForEach(replica.shard, [&](ReplicaIndex other, const Replica&) {
        if (other != fresh && loads->Knows(other, m)) most = std::max(most, loads->Of(other, m));
      });
      if (most >= 0) loads->Set(fresh, replica.server, m, most);
    }
  }
}

void Partition::RemoveReplica(ReplicaIndex id) {
  missing_.MayHelp(Help::kRoom);
  const ServerIndex server = tables_.replica(id).server;
  reported_.Forget(id, server);
  planned_.Forget(id, server);
  tables_.RemoveReplica(id);
}

void Partition::AdoptCapacities(ServerIndex id, const std::vector<MetricAmount>& registered) {
  metric_capacity_.erase(id);
  for (const MetricAmount& own : registered) {
    if (const char* why = WhyRefused(own.amount); why != nullptr) {
      AddNote(NoteKind::kLoadRefused, id, ShardIndex(),
              absl::StrCat("capacity for ", own.metric, ": found ", own.amount, " (", why,
                           "); allowed: 0 to 1e12. The spec's holds"));
      continue;
    }
    metric_capacity_[id].push_back(own);
  }
}

double Partition::MetricCapacity(ServerIndex server, size_t metric) const {
  if (auto own = metric_capacity_.find(server); own != metric_capacity_.end()) {
    for (const MetricAmount& capacity : own->second) {
      if (capacity.metric == metric_names_[metric]) return capacity.amount;
    }
  }
  const double capacity = spec_.metrics(static_cast<int>(metric)).capacity();
  return capacity > 0 ? capacity : std::numeric_limits<double>::infinity();
}

double Partition::ServerLoad(ServerIndex server, size_t metric) const {
  return reported_.OfServer(server, tables_.server(server).replicas.size(), metric);
}

double Partition::ReplicaLoad(ReplicaIndex replica, size_t metric) const {
  return reported_.Of(replica, metric);
}

// How much each live server carries of each metric, as a part of what the solver may
// leave it at most: [server][metric].
std::vector<float> Partition::Pressure(const LoadTable& loads) const {
  const size_t metrics = metric_names_.size();
  std::vector<float> pressure(tables_.server_count() * metrics);
  for (size_t m = 0; m < metrics; ++m) {
    const v1::Metric& policy = spec_.metrics(static_cast<int>(m));
    double load = 0;
    double capacity = 0;
    size_t servers = 0;
    for (uint32_t i = 0; i < tables_.server_count(); ++i) {
      if (tables_.server(ServerIndex(i)).state != ServerState::kLive) continue;
      load += loads.OfServer(ServerIndex(i), tables_.server(ServerIndex(i)).replicas.size(), m);
      if (!Accepts(ServerIndex(i))) continue;
      capacity += MetricCapacity(ServerIndex(i), m);
      ++servers;
    }
    if (load <= 0 || servers == 0) continue;
    for (uint32_t i = 0; i < tables_.server_count(); ++i) {
      const ServerIndex id(i);
      if (tables_.server(id).state != ServerState::kLive) continue;
      const double own = MetricCapacity(id, m);
      const double share = std::isinf(capacity) ? load / static_cast<double>(servers)
                                                : load * own / std::max(capacity, 1e-300);
      const double limit = std::min(share * (1 + policy.tolerance()), own * policy.threshold());
      const double used = loads.OfServer(id, tables_.server(id).replicas.size(), m);
      if (limit > 0) pressure[i * metrics + m] = static_cast<float>(used / limit);
    }
  }
  return pressure;
}

// The solver sees nothing to improve in its picture: how it left the servers is what
// further reports are compared with.
void Partition::EndCourse() {
  course_over_ = true;
  if (!metric_names_.empty()) pressure_ = Pressure(planned_);
}

// Called when there is time to look at the balance.
void Partition::ConsiderLoads() {
  if (metric_names_.empty()) return;
  const bool old = now_ >= pictured_at_ + kOldestPicture;
  bool shifted = false;
  if (course_over_) {
    const std::vector<float> pressure = Pressure(reported_);
    for (size_t i = 0; i < pressure.size() && !shifted; ++i) {
      const float left_at = i < pressure_.size() ? pressure_[i] : 0;
      shifted = pressure[i] > std::max(1.0F, left_at) * (1 + kLoadSlack);
    }
  }
  if (!shifted && (at_rest_ || !old)) return;
  course_over_ = false;
  pictured_at_ = now_;
  planned_ = reported_;
  if (shifted) at_rest_ = false;
}

}  // namespace shardmanager::orchestrator
