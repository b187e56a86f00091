#include "tests/simulation/operator.h"

#include <utility>

#include "absl/strings/str_cat.h"
#include "tests/simulation/maintenance_event.h"

namespace shardmanager::simulation {
namespace {
constexpr Duration kPatience = Seconds(3);
constexpr Duration kPause = Milliseconds(300);

// Nothing to take back, or no such server yet: nothing is to be done.
bool IsDone(const absl::Status& status) { return status.ok() || absl::IsNotFound(status); }

// Sends the request with that method of Operations.
template <typename Request, typename Method>
auto Sends(Method method, Request request) {
  return [method, request](orchestrator::Operations& operations,
                           const std::function<void(bool)>& answer) {
    (operations.*method)(request,
                         [answer](const auto& response) { answer(IsDone(response.status())); }, {});
  };
}

auto SendNotice(const v1::Maintenance& notice) {
  v1::AddMaintenanceRequest request;
  *request.mutable_maintenance() = notice;
  return Sends(&orchestrator::Operations::AddMaintenance, request);
}

auto SendCancel(const std::string& id) {
  v1::CancelMaintenanceRequest request;
  request.set_id(id);
  return Sends(&orchestrator::Operations::CancelMaintenance, request);
}

auto SendPause() {
  v1::PauseAppRequest request;
  request.set_app(kApp);
  request.mutable_pause()->set_failover(true);
  return Sends(&orchestrator::Operations::PauseApp, request);
}

auto SendResume() {
  v1::ResumeAppRequest request;
  request.set_app(kApp);
  return Sends(&orchestrator::Operations::ResumeApp, request);
}

auto SendPin(const std::string& shard) {
  v1::PinShardRequest request;
  request.set_app(kApp);
  request.mutable_pin()->set_shard(shard);
  return Sends(&orchestrator::Operations::PinShard, request);
}

auto SendUnpin(const std::string& shard) {
  v1::UnpinShardRequest request;
  request.set_app(kApp);
  request.set_shard(shard);
  return Sends(&orchestrator::Operations::UnpinShard, request);
}

auto SendPreferences(const std::vector<std::string>& shards, const std::string& region) {
  v1::PreferRegionsRequest request;
  request.set_app(kApp);
  request.set_replace(true);
  for (const std::string& shard : shards) {
    v1::ShardPreference& preference = *request.add_preferences();
    preference.set_shard(shard);
    preference.set_region(region);
    preference.set_weight(static_cast<uint32_t>(1 + request.preferences_size() % 3));
  }
  return Sends(&orchestrator::Operations::PreferRegions, request);
}

}  // namespace

Operator::Operator(Cluster& cluster, Checkers& checkers, v1::AppSpec spec)
    : cluster_(cluster), checkers_(checkers), spec_(std::move(spec)) {
  SetRevision(spec_, revision_);
}

void Operator::ApplyUntilAcknowledged() { BeginSpec(/*again=*/true); }

void Operator::AdoptHandoversUntilAcknowledged() {
  spec_.mutable_moves()->set_primary_move(v1::HANDOVER);
  SetRevision(spec_, ++revision_);
  ApplyUntilAcknowledged();
}

void Operator::DrainUntilAcknowledged(const std::string& server, bool drain) {
  BeginDrain(server, drain, /*again=*/true);
}

void Operator::PauseUntilAcknowledged() { Begin(SendPause(), /*again=*/true); }

void Operator::ResumeUntilAcknowledged() { Begin(SendResume(), /*again=*/true); }

void Operator::PinUntilAcknowledged(const std::string& shard) {
  Begin(SendPin(shard), /*again=*/true);
}

void Operator::UnpinUntilAcknowledged(const std::string& shard) {
  Begin(SendUnpin(shard), /*again=*/true);
}

void Operator::PreferUntilAcknowledged(const std::vector<std::string>& shards,
                                       const std::string& region) {
  Begin(SendPreferences(shards, region), /*again=*/true);
}

void Operator::NotifyUntilAcknowledged(const v1::Maintenance& notice) {
  Begin(SendNotice(notice), /*again=*/true);
}

void Operator::MakeCellAnew() {
  cluster_.MakeAnew();
  checkers_.ForgetCell();
  ApplyUntilAcknowledged();
}

void Operator::Begin(Send send, bool again) {
  busy_ = true;
  send_ = std::move(send);
  Try(again);
}

void Operator::BeginSpec(bool again) {
  Begin([this](auto& operations, const Answer& answer) { SendSpec(operations, answer); }, again);
}

void Operator::BeginDrain(const std::string& server, bool drain, bool again) {
  checkers_.AttemptedDrain(server);
  Begin(
      [this, server, drain](auto& operations, const Answer& answer) {
        SendDrain(operations, server, drain, answer);
      },
      again);
}

void Operator::ChangeSomething() {
  if (busy_) return;
  Random& random = cluster_.random;
  auto& shards = *spec_.mutable_key_space()->mutable_shards();
  switch (random.Below(6)) {
    case 0:
      shards.Add()->set_id(absl::StrCat("new-", revision_));
      break;
    case 1:
      if (shards.size() > 2) shards.erase(shards.begin() + static_cast<int>(random.Below(2)));
      break;
    case 2:
      if (cluster_.durable) return;  // nobody is to be given up
      spec_.mutable_failover()->set_delay_ms(static_cast<uint32_t>(random.Below(3) * 1'000));
      break;
    case 3:
      if (spec_.replication().strategy() == v1::SECONDARY_ONLY) {
        spec_.mutable_replication()->set_replicas(1 + static_cast<uint32_t>(random.Below(3)));
      } else if (spec_.replication().strategy() == v1::PRIMARY_SECONDARY) {
        spec_.mutable_replication()->set_replicas(2 + static_cast<uint32_t>(random.Below(2)));
      }
      break;
    case 4:
      return DrainSomething();
    case 5:
      return PullSomeLever();
  }
  SetRevision(spec_, ++revision_);
  BeginSpec(/*again=*/false);
}

void Operator::DrainSomething() {
  if (busy_) return;
  const std::string server = cluster_.servers()[cluster_.random.Below(cluster_.servers().size())];
  const bool drain = cluster_.random.Below(2) == 0 && Free().size() > 2;
  BeginDrain(server, drain, /*again=*/false);
}

void Operator::DrainIfFree(const std::string& server) {
  if (!busy_ && Free().size() > 2) BeginDrain(server, /*drain=*/true, /*again=*/false);
}

void Operator::NotifySomething() {
  if (busy_) return;
  Random& random = cluster_.random;
  const std::string id = absl::StrCat("m-", random.Below(3));
  if (random.Below(4) == 0) return Begin(SendCancel(id), /*again=*/false);
  v1::Maintenance notice;
  notice.set_id(id);
  const std::string& server = cluster_.servers()[random.Below(cluster_.servers().size())];
  const std::string region = PlaceOf(cluster_, server).region();
  if (!region.empty() && random.Below(3) == 0) {
    notice.mutable_scope()->mutable_domain()->set_region(region);
  } else {
    notice.mutable_scope()->set_server(server);
  }
  notice.set_impact(static_cast<v1::MaintenanceImpact>(1 + random.Below(4)));
  const int64_t now = cluster_.schedule.WallMs();
  notice.set_start_ms(now - 5'000 + static_cast<int64_t>(random.Below(20'000)));
  notice.set_end_ms(now + 15'000 + static_cast<int64_t>(random.Below(15'000)));
  Begin(SendNotice(notice), /*again=*/false);
}

void Operator::PullSomeLever() {
  Random& random = cluster_.random;
  const auto& shards = spec_.key_space().shards();
  const std::string shard = shards[static_cast<int>(random.Below(shards.size()))].id();
  const std::string server = cluster_.servers()[random.Below(cluster_.servers().size())];
  const uint64_t lever = random.Below(3);
  for (const std::string& host : cluster_.controls()) {
    SimControl* control = cluster_.control(host);
    if (control == nullptr || !cluster_.Running(host)) continue;
    orchestrator::Levers& levers = control->controller().levers();
    const auto whatever_comes = [](const auto&) {};
    if (lever == 0) {
      v1::RetryShardRequest request;
      request.set_app(kApp);
      request.set_shard(shard);
      levers.RetryShard(request, whatever_comes);
    } else if (lever == 1) {
      v1::MoveShardRequest request;
      request.set_app(kApp);
      request.set_shard(shard);
      request.set_to(server);
      levers.MoveShard(request, whatever_comes);
    } else {
      v1::LiftQuarantineRequest request;
      request.set_app(kApp);
      request.set_server(server);
      levers.LiftQuarantine(request, whatever_comes);
      v1::ForgetServerRequest forget;
      forget.set_app(kApp);
      forget.set_server(server);
      levers.ForgetServer(forget, whatever_comes);
    }
  }
}

std::set<std::string> Operator::Free() const {
  std::set<std::string> free = cluster_.healthy();
  for (const std::string& drained : checkers_.StoredDrains()) free.erase(drained);
  return free;
}

void Operator::Try(bool again) {
  const uint64_t attempt = ++attempt_;
  cluster_.schedule.After(kPatience,
                          [this, attempt, again] { OnReply(attempt, again, /*ok=*/false); });
  const std::string& host = cluster_.controls()[next_control_++ % cluster_.controls().size()];
  SimControl* control = cluster_.control(host);
  if (control == nullptr || !cluster_.Running(host)) return;
  send_(control->controller().operations(),
        [this, attempt, again](bool ok) { OnReply(attempt, again, ok); });
}

void Operator::SendSpec(orchestrator::Operations& operations, const Answer& answer) {
  v1::ApplyAppRequest request;
  *request.mutable_spec() = spec_;
  request.set_force(true);
  operations.ApplyApp(
      std::move(request),
      [this, revision = revision_, answer](const absl::StatusOr<v1::ApplyAppResponse>& response) {
        // An acknowledgement counts even if nobody waits for it any more.
        if (response.ok()) checkers_.Acknowledged(revision);
        answer(response.ok());
      });
}

void Operator::SendDrain(orchestrator::Operations& operations, const std::string& server,
                         bool drain, const Answer& answer) {
  const auto told = [this, attempt = attempt_, server, drain, answer](const absl::Status& status) {
    if (status.ok() && attempt == attempt_ && busy_) checkers_.AcknowledgedDrain(server, drain);
    answer(IsDone(status));
  };
  if (drain) {
    v1::DrainRequest request;
    request.mutable_drain()->mutable_scope()->set_server(server);
    operations.Drain(request, [told](const auto& response) { told(response.status()); });
  } else {
    v1::UndrainRequest request;
    request.mutable_scope()->set_server(server);
    operations.Undrain(request, [told](const auto& response) { told(response.status()); });
  }
}

void Operator::OnReply(uint64_t attempt, bool again, bool ok) {
  if (attempt != attempt_ || !busy_) return;
  if (ok) {
    ++acknowledged_changes_;
    busy_ = false;
  } else if (again || next_control_ % cluster_.controls().size() != 0) {
    ++attempt_;  // no other answer to this one counts
    cluster_.schedule.After(kPause, [this, again, attempt = attempt_] {
      if (attempt == attempt_) Try(again);  // else another change has begun
    });
  } else {
    busy_ = false;  // gives up; it may have been written all the same
  }
}

}  // namespace shardmanager::simulation
