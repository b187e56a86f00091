#include "orchestrator/control/led_policy.h"

#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "coordination/election.h"
#include "coordination/envelope.h"
#include "model/pause.h"
#include "security/policy.h"

namespace shardmanager::orchestrator {
namespace {

// How long an operator waits until the lease is proved again; as Operations does.
constexpr Duration kHoldChanges = Seconds(2);
// A record that cannot be read may be mended by hand.
constexpr Duration kLookAgain = Seconds(10);

absl::Status NotLed() {
  return absl::FailedPreconditionError(
      "this process does not lead, and only the leader knows who was granted what");
}

absl::Status Reading() {
  return absl::UnavailableError(
      "this process was elected just now, and reads who was granted what; try again");
}

absl::Status GrantUnknown() {
  return OutcomeUnknown("the change happened", "Ask with `shardctl get grants`");
}

template <typename Request>
v1::RoleGrant ToGrant(const Request& request, int64_t now_ms) {
  v1::RoleGrant grant;
  grant.set_identity(request.identity());
  grant.set_role(request.role());
  *grant.mutable_apps() = request.apps();
  grant.set_by(request.who());
  grant.set_since_ms(now_ms);
  return grant;
}

}  // namespace

LedPolicy::LedPolicy(Context context) : context_(context), known_(NotLed()) {}

void LedPolicy::Begin(LeaderEpoch epoch) {
  lead_.emplace(Lead{epoch});
  Know(Reading());
  Read();
}

void LedPolicy::End() {
  lead_.reset();
  Know(NotLed());
}

absl::StatusOr<LedPolicy::Policy> LedPolicy::Known() const {
  std::lock_guard lock(mutex_);
  return known_;
}

void LedPolicy::Know(absl::StatusOr<Policy> known) {
  std::lock_guard lock(mutex_);
  known_ = std::move(known);
}

bool LedPolicy::IsOf(uint64_t session, LeaderEpoch epoch) const {
  return context_.session.IsCurrent(session) && lead_ && lead_->epoch == epoch;
}

void LedPolicy::Read() {
  CellSession& session = context_.session;
  session.store().Get(session.paths().policy(), [this, number = session.number(),
                                                 epoch = lead_->epoch](absl::StatusOr<Node> node) {
    context_.executor.Post([this, number, epoch, node = std::move(node)] {
      if (IsOf(number, epoch)) OnRead(node);
    });
  });
}

void LedPolicy::OnRead(const absl::StatusOr<Node>& node) {
  if (!node.ok() && !absl::IsNotFound(node.status())) {
    return context_.session.TryLater([this] {
      if (lead_) Read();
    });
  }
  auto policy = std::make_shared<v1::StoredPolicy>();
  lead_->version = node.ok() ? node->stat.version : kAbsent;
  const absl::Status opened = node.ok() ? Open(node->data, policy.get()) : absl::OkStatus();
  if (opened.ok()) return Know(std::move(policy));
  const std::string why =
      absl::StrCat("nothing counts as granted: the record ", context_.session.paths().policy(),
                   " cannot be read (", std::string(opened.message()),
                   "). Delete it, or restore it; admin certificates work meanwhile");
  if (Known().status().code() != absl::StatusCode::kDataLoss) {
    context_.events.Record("PolicyUnreadable", why, /*trouble=*/true);
  }
  Know(absl::DataLossError(why));
  context_.executor.PostAt(context_.executor.Now() + kLookAgain,
                           [this, number = context_.session.number(), epoch = lead_->epoch] {
                             if (IsOf(number, epoch)) Read();
                           });
}

absl::Status LedPolicy::MayAnswer() const {
  if (!lead_) return context_.leadership.NotLeading();
  if (!context_.leadership.InTouch()) return context_.leadership.OutOfTouch();
  return Known().status();
}

absl::Status LedPolicy::MayChange(const Wanted& wanted) const {
  if (absl::Status may = MayAnswer(); !may.ok()) return may;
  if (!IsWanted(wanted)) return NobodyWaits();
  return context_.session.connected() ? absl::OkStatus() : NothingWasChanged();
}

void LedPolicy::ToChange(std::function<void(absl::Status)> fail, Wanted wanted,
                         std::function<void()> work) {
  context_.executor.Post([this, fail, wanted, work] {
    context_.leadership.OnceInTouch(context_.executor.Now() + kHoldChanges,
                                    [this, fail, wanted, work] {
                                      if (absl::Status may = MayChange(wanted); !may.ok()) {
                                        return fail(may);
                                      }
                                      work();
                                    });
  });
}

void LedPolicy::Grant(v1::GrantRequest request, Reply<v1::GrantResponse> reply, Wanted wanted) {
  ToChange(reply, wanted, [this, request = std::move(request), reply, wanted] {
    if (absl::Status valid = ValidateNote("who", request.who()); !valid.ok()) return reply(valid);
    const Policy before = *Known();
    v1::GrantResponse response;
    const auto after = security::WithGrant(*before, ToGrant(request, context_.session.WallMs()),
                                           response.mutable_grant());
    if (!after.ok()) return reply(after.status());
    response.set_changed(after->SerializeAsString() != before->SerializeAsString());
    if (!response.changed()) {
      wanted.NoteNone();
      return reply(std::move(response));
    }
    if (wanted.is_noted()) wanted.Note(DifferenceOf(*before, *after));
    Write(*after, [reply, response](const absl::Status& status) {
      if (!status.ok()) return reply(status);
      reply(response);
    });
  });
}

void LedPolicy::Revoke(v1::RevokeRequest request, Reply<v1::RevokeResponse> reply, Wanted wanted) {
  ToChange(reply, wanted, [this, request = std::move(request), reply, wanted] {
    if (absl::Status valid = ValidateNote("who", request.who()); !valid.ok()) return reply(valid);
    std::vector<std::string> left;
    const auto after =
        security::WithoutGrant(**Known(), ToGrant(request, context_.session.WallMs()), &left);
    if (!after.ok()) return reply(after.status());
    if (wanted.is_noted()) wanted.Note(DifferenceOf(**Known(), *after));
    v1::RevokeResponse response;
    response.mutable_left_apps()->Assign(left.begin(), left.end());
    Write(*after, [reply, response](const absl::Status& status) {
      if (!status.ok()) return reply(status);
      reply(response);
    });
  });
}

void LedPolicy::GetPolicy(v1::GetPolicyRequest request, Reply<v1::GetPolicyResponse> reply) {
  context_.executor.Post([this, request = std::move(request), reply] {
    if (absl::Status may = MayAnswer(); !may.ok()) return reply(may);
    v1::GetPolicyResponse response;
    const Policy policy = *Known();
    for (const v1::RoleGrant& grant : policy->grants()) {
      if (request.identity().empty() || request.identity() == grant.identity()) {
        *response.add_grants() = grant;
      }
    }
    reply(std::move(response));
  });
}

void LedPolicy::Write(const v1::StoredPolicy& policy, std::function<void(absl::Status)> done) {
  CellSession& session = context_.session;
  std::string data = Seal(policy);
  std::vector<WriteOp> ops = {LeaderFence(session.paths(), lead_->epoch)};
  if (lead_->version == kAbsent) {
    ops.push_back(CreateNode{session.paths().policy(), std::move(data)});
  } else {
    ops.push_back(SetNode{session.paths().policy(), std::move(data), lead_->version});
  }
  const int32_t version = lead_->version + 1;
  session.store().Multi(std::move(ops), [this, policy, done, version, number = session.number(),
                                         epoch = lead_->epoch](const WriteResult& result) {
    context_.executor.Post([this, policy, done, version, number, epoch, result] {
      if (IsOf(number, epoch)) {
        if (result.status.ok()) {
          lead_->version = version;
          Know(std::make_shared<const v1::StoredPolicy>(policy));
        } else {
          Read();  // it may be there, or something else is
        }
      }
      if (absl::IsUnavailable(result.status)) return done(GrantUnknown());
      done(OutcomeOf(result, GrantUnknown(),
                     "somebody else changed the grants meanwhile; try again"));
    });
  });
}

}  // namespace shardmanager::orchestrator
