#include "model/drain.h"

#include "absl/strings/str_cat.h"
#include "model/text.h"

namespace shardmanager {
namespace {

constexpr size_t kMostReasonBytes = 200;

}  // namespace

absl::Status ValidateScope(const v1::DrainScope& scope) {
  const v1::FaultDomain& domain = scope.domain();
  if (scope.server().empty() == !scope.has_domain()) {
    return absl::InvalidArgumentError(
        absl::StrCat("scope: found ", scope.server().empty() ? "nothing" : "server and domain",
                     "; allowed: one of server and domain"));
  }
  if (!scope.has_domain()) return absl::OkStatus();
  if (domain.region().empty()) {
    return absl::InvalidArgumentError(
        "scope.domain.region: found \"\"; allowed: the name of a region");
  }
  if (domain.datacenter().empty() && !domain.rack().empty()) {
    return absl::InvalidArgumentError(
        "scope.domain.datacenter: found \"\"; allowed: the datacenter of the rack");
  }
  return absl::OkStatus();
}

absl::Status ValidateDrain(const v1::Drain& drain) {
  if (absl::Status scope = ValidateScope(drain.scope()); !scope.ok()) return scope;
  if (drain.who().size() > kMostReasonBytes) {
    return absl::InvalidArgumentError(absl::StrCat("who: found ", drain.who().size(),
                                                   " bytes; allowed: at most ", kMostReasonBytes));
  }
  if (drain.reason().size() <= kMostReasonBytes) return absl::OkStatus();
  return absl::InvalidArgumentError(absl::StrCat("reason: found ", drain.reason().size(),
                                                 " bytes; allowed: at most ", kMostReasonBytes));
}

bool Covers(const v1::DrainScope& scope, const std::string& server, const FaultDomain& at) {
  if (!scope.has_domain()) return scope.server() == server;
  const v1::FaultDomain& domain = scope.domain();
  return domain.region() == at.region &&
         (domain.datacenter().empty() || domain.datacenter() == at.datacenter) &&
         (domain.rack().empty() || domain.rack() == at.rack);
}

bool SameScope(const v1::DrainScope& a, const v1::DrainScope& b) {
  return ToString(a) == ToString(b);
}

std::string ToString(const v1::DrainScope& scope) {
  const v1::FaultDomain& domain = scope.domain();
  if (!scope.has_domain()) return absl::StrCat("server ", scope.server());
  if (domain.datacenter().empty()) return absl::StrCat("region ", domain.region());
  const std::string datacenter = absl::StrCat(domain.region(), "/", domain.datacenter());
  if (domain.rack().empty()) return absl::StrCat("datacenter ", datacenter);
  return absl::StrCat("rack ", datacenter, "/", domain.rack());
}

}  // namespace shardmanager
