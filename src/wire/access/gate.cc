#include "wire/access/gate.h"

#include <google/protobuf/descriptor.h>

#include <utility>

#include "absl/strings/str_cat.h"
#include "runtime/clock.h"
#include "security/policy.h"

namespace shardmanager::wire {
namespace {

using google::protobuf::FieldDescriptor;
using google::protobuf::Message;
using security::Caller;
using security::Identity;
using security::Refusal;

// Of fields that say who asks, in bytes; as ValidateNote() has it.
constexpr size_t kLongestWho = 200;

// Null: the message has none.
const FieldDescriptor* WhoOf(const google::protobuf::Descriptor& message) {
  const FieldDescriptor* field = message.FindFieldByName("who");
  const bool is_text = field != nullptr && field->type() == FieldDescriptor::TYPE_STRING;
  return is_text && !field->is_repeated() ? field : nullptr;
}

}  // namespace

Gate::Gate(std::shared_ptr<const Transport> transport, Policies policies,
           std::shared_ptr<security::Limits> limits)
    : transport_(std::move(transport)),
      policies_(std::move(policies)),
      limits_(std::move(limits)),
      refusals_(std::make_shared<Repeater>()) {}

bool Gate::IsUnknown(const grpc::ServerContextBase* context) const {
  if (!transport_->is_secure()) return true;
  return !transport_->CallerOf(*context).ok() &&
         transport_->CheckCaller(*context, {security::Anybody()}).ok();
}

absl::StatusOr<Gate::Open> Gate::BeginCall(const grpc::ServerContextBase* context) const {
  return Begin(context,
               [this](const std::string& who) { return limits_->BeginCall(who, MonotonicNow()); });
}

absl::StatusOr<Gate::Open> Gate::BeginStream(const grpc::ServerContextBase* context) const {
  return Begin(context, [this](const std::string& who) { return limits_->BeginStream(who); });
}

absl::StatusOr<Gate::Open> Gate::Begin(
    const grpc::ServerContextBase* context,
    const std::function<absl::StatusOr<Open>(const std::string& who)>& begin) const {
  if (limits_ == nullptr || IsUnknown(context)) return Open();
  const auto identity = IdentityOf(*context);
  if (!identity.ok()) return identity.status();
  if (identity->kind == security::Kind::kTrial) return Open();
  auto begun = begin(security::ToPath(*identity));
  if (!begun.ok()) refusals_->Say(std::string(begun.status().message()));
  return begun;
}

void Gate::Refused(security::Refusal why, const std::string& text) const {
  if (limits_ != nullptr) limits_->Count(why);
  refusals_->Say(text);
}

absl::StatusOr<Identity> Gate::IdentityOf(const grpc::ServerContextBase& context) const {
  auto identity = transport_->CallerOf(context);
  if (!identity.ok()) return identity;
  // Of this cell, or both for trials.
  const absl::Status status =
      security::CheckAny(transport_->self(), *identity, {security::Anybody()});
  if (!status.ok()) return status;
  return identity;
}

absl::StatusOr<Caller> Gate::CallerOf(const grpc::ServerContextBase& context) const {
  auto identity = IdentityOf(context);
  if (!identity.ok()) return identity.status();
  if (!policies_) return Caller{*identity, security::RolesOf(*identity)};
  const auto policy = policies_();
  if (!policy.ok()) return policy.status();
  return Caller{*identity, security::RolesOf(*identity, **policy)};
}

absl::Status Gate::Check(const grpc::ServerContextBase* context, const security::Rule* rule,
                         std::string_view app) const {
  if (IsUnknown(context)) return absl::OkStatus();
  absl::Status may = Judge(*context, rule, app);
  const bool no_identity = absl::IsUnauthenticated(may);
  if (no_identity || absl::IsPermissionDenied(may)) {
    Refused(no_identity ? Refusal::kNoIdentity : Refusal::kNoRole,
            absl::StrCat(rule == nullptr ? "a call" : security::CallOf(*rule),
                         " is refused: ", std::string(may.message())));
  }
  return may;
}

absl::Status Gate::Judge(const grpc::ServerContextBase& context, const security::Rule* rule,
                         std::string_view app) const {
  auto identity = IdentityOf(context);
  if (!identity.ok()) return identity.status();
  if (rule == nullptr) return absl::PermissionDeniedError("nobody may make this call");
  // First by the certificate alone: that needs no policy.
  const absl::Status by_kind =
      security::MayCall({*identity, security::RolesOf(*identity)}, *rule, app);
  if (by_kind.ok()) return by_kind;
  if (!policies_) {
    return absl::PermissionDeniedError(
        absl::StrCat(std::string(by_kind.message()),
                     ", which counts at the control plane: this process knows no grants"));
  }
  const auto policy = policies_();
  if (!policy.ok()) return policy.status();
  return security::MayCall({*identity, security::RolesOf(*identity, **policy)}, *rule, app);
}

std::string Gate::WhoCalls(const grpc::ServerContextBase* context) const {
  if (IsUnknown(context)) return "unknown (insecure)";
  const auto identity = transport_->CallerOf(*context);
  return identity.ok() ? security::ToPath(*identity) : "unknown";
}

std::string AppOf(const v1::PreviewRequest& request) {
  const google::protobuf::Reflection& reflection = *request.GetReflection();
  const FieldDescriptor* set =
      reflection.GetOneofFieldDescriptor(request, request.GetDescriptor()->oneof_decl(0));
  if (set == nullptr) return "";
  const Message& change = reflection.GetMessage(request, set);
  const FieldDescriptor* app = change.GetDescriptor()->FindFieldByName("app");
  return app == nullptr ? "" : change.GetReflection()->GetString(change, app);
}

void PutWho(const std::string& who, Message& request) {
  const std::string text = who.substr(0, kLongestWho);
  const google::protobuf::Descriptor& type = *request.GetDescriptor();
  const google::protobuf::Reflection& reflection = *request.GetReflection();
  if (const FieldDescriptor* field = WhoOf(type)) reflection.SetString(&request, field, text);
  for (int i = 0; i < type.field_count(); ++i) {
    const FieldDescriptor* field = type.field(i);
    if (field->is_repeated() || field->cpp_type() != FieldDescriptor::CPPTYPE_MESSAGE) continue;
    const FieldDescriptor* inner = WhoOf(*field->message_type());
    if (inner == nullptr) continue;
    Message* message = reflection.MutableMessage(&request, field);
    message->GetReflection()->SetString(message, inner, text);
  }
}

}  // namespace shardmanager::wire
