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
  busy_ = true;
  Try(/*again=*/true);
}

void Operator::ChangeSomething() {
  if (busy_) return;
  Random& random = cluster_.random;
  auto& shards = *spec_.mutable_key_space()->mutable_shards();
  switch (random.Below(4)) {
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
      }
      break;
  }
  SetRevision(spec_, ++revision_);
  busy_ = true;
  Try(/*again=*/false);
}

void Operator::Try(bool again) {
  const uint64_t attempt = ++attempt_;
  const uint32_t revision = revision_;
  cluster_.schedule.After(kPatience, [this, attempt, revision, again] {
    OnReply(attempt, revision, again, /*ok=*/false);
  });
  const std::string& host = cluster_.controls()[next_control_++ % cluster_.controls().size()];
  SimControl* control = cluster_.control(host);
  if (control == nullptr || !cluster_.Running(host)) return;
  v1::ApplyAppRequest request;
  *request.mutable_spec() = spec_;
  request.set_force(true);
  control->controller().ApplyApp(
      std::move(request),
      [this, attempt, revision, again](const absl::StatusOr<v1::ApplyAppResponse>& response) {
        OnReply(attempt, revision, again, response.ok());
      });
}

void Operator::OnReply(uint64_t attempt, uint32_t revision, bool again, bool ok) {
  // An acknowledgement counts even if nobody waits for it any more.
  if (ok) checkers_.Acknowledged(revision);
  if (attempt != attempt_ || !busy_) return;
  if (ok) {
    ++acknowledged_changes_;
    busy_ = false;
  } else if (again || next_control_ % cluster_.controls().size() != 0) {
    ++attempt_;  // no other answer to this one counts
    cluster_.schedule.After(kPause, [this, again] { Try(again); });
  } else {
    busy_ = false;  // gives up; it may have been written all the same
  }
}

}  // namespace shardmanager::simulation
