#include "tests/simulation/operator.h"

#include <utility>

#include "absl/strings/str_cat.h"

namespace shardmanager::simulation {
namespace {
constexpr Duration kPatience = Seconds(3);
constexpr Duration kPause = Milliseconds(300);
}  // namespace

Operator::Operator(Cluster& cluster, Checkers& checkers, v1::AppSpec spec)
    : cluster_(cluster), checkers_(checkers), spec_(std::move(spec)) {
  SetRevision(spec_, revision_);
}

void Operator::ApplyUntilAcknowledged() {
  server_.clear();
  Begin(/*again=*/true);
}

void Operator::DrainUntilAcknowledged(const std::string& server, bool drain) {
  server_ = server;
  drain_ = drain;
  Begin(/*again=*/true);
}

void Operator::MakeCellAnew() {
  cluster_.MakeAnew();
  checkers_.ForgetCell();
  ApplyUntilAcknowledged();
}

void Operator::Begin(bool again) {
  busy_ = true;
  if (!server_.empty()) checkers_.AttemptedDrain(server_);
  Try(again);
}

void Operator::ChangeSomething() {
  if (busy_) return;
  Random& random = cluster_.random;
  auto& shards = *spec_.mutable_key_space()->mutable_shards();
  server_.clear();
  switch (random.Below(6)) {
    case 0:
      shards.Add()->set_id(absl::StrCat("new-", revision_));
      break;
    case 1:
      if (shards.size() > 2) shards.erase(shards.begin() + static_cast<int>(random.Below(2)));
      break;
    case 2:
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
      return RetrySomething();
  }
  SetRevision(spec_, ++revision_);
  Begin(/*again=*/false);
}

void Operator::DrainSomething() {
  if (busy_) return;
  server_ = cluster_.servers()[cluster_.random.Below(cluster_.servers().size())];
  drain_ = cluster_.random.Below(2) == 0 && Free().size() > 2;
  Begin(/*again=*/false);
}

void Operator::RetrySomething() {
  v1::RetryShardRequest request;
  request.set_app(kApp);
  const auto& shards = spec_.key_space().shards();
  request.set_shard(shards[static_cast<int>(cluster_.random.Below(shards.size()))].id());
  for (const std::string& host : cluster_.controls()) {
    SimControl* control = cluster_.control(host);
    if (control == nullptr || !cluster_.Running(host)) continue;
    control->controller().operations().RetryShard(request, [](const auto&) {});
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
  const Answer answer = [this, attempt, again](bool ok) { OnReply(attempt, again, ok); };
  if (server_.empty()) {
    SendSpec(control->controller(), answer);
  } else {
    SendDrain(control->controller(), answer);
  }
}

void Operator::SendSpec(orchestrator::Controller& controller, const Answer& answer) {
  v1::ApplyAppRequest request;
  *request.mutable_spec() = spec_;
  request.set_force(true);
  controller.operations().ApplyApp(
      std::move(request),
      [this, revision = revision_, answer](const absl::StatusOr<v1::ApplyAppResponse>& response) {
        // An acknowledgement counts even if nobody waits for it any more.
        if (response.ok()) checkers_.Acknowledged(revision);
        answer(response.ok());
      });
}

void Operator::SendDrain(orchestrator::Controller& controller, const Answer& answer) {
  const auto told = [this, attempt = attempt_, server = server_, drain = drain_,
                     answer](const absl::Status& status) {
    // None to take back, or no such server yet: nothing is to be done.
    const bool ok = status.ok() || absl::IsNotFound(status);
    if (status.ok() && attempt == attempt_ && busy_) checkers_.AcknowledgedDrain(server, drain);
    answer(ok);
  };
  if (drain_) {
    v1::DrainRequest request;
    request.mutable_drain()->mutable_scope()->set_server(server_);
    controller.operations().Drain(request,
                                  [told](const auto& response) { told(response.status()); });
  } else {
    v1::UndrainRequest request;
    request.mutable_scope()->set_server(server_);
    controller.operations().Undrain(request,
                                    [told](const auto& response) { told(response.status()); });
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
