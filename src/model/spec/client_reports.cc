#include "model/spec/client_reports.h"

#include <algorithm>
#include <string>

#include "absl/strings/str_cat.h"
#include "model/text.h"

namespace shardmanager {

size_t ClientReportRules::Most(size_t live) const {
  if (live == 0) return 0;
  return std::min<size_t>(max_servers.Of(static_cast<uint32_t>(live)), live - 1);
}

ClientReportRules RulesOf(const v1::ClientReportPolicy& policy) {
  ClientReportRules rules;
  rules.drain = policy.action() != v1::ClientReportPolicy::SHOW;
  if (policy.min_clients() > 0) rules.min_clients = policy.min_clients();
  if (policy.patience_ms() > 0) rules.patience = Milliseconds(policy.patience_ms());
  if (const auto most = ParseCountOrPercent(policy.max_servers())) rules.max_servers = *most;
  return rules;
}

void CheckClientReports(const v1::ClientReportPolicy& policy, SpecProblems* problems) {
  constexpr uint32_t kMostClients = 1'000;
  constexpr uint32_t kLeastPatienceMs = 20'000;
  constexpr uint32_t kMostPatienceMs = 3'600'000;
  problems->CheckKnown("client_reports", policy);
  if (!v1::ClientReportPolicy::Action_IsValid(policy.action())) {
    problems->Add("client_reports.action", absl::StrCat(static_cast<int>(policy.action())),
                  EnumLabels(*v1::ClientReportPolicy::Action_descriptor()));
  }
  if (policy.min_clients() > kMostClients) {
    problems->Add("client_reports.min_clients", absl::StrCat(policy.min_clients()),
                  absl::StrCat("1 to ", kMostClients, ", or 0: the default"));
  }
  const uint32_t patience = policy.patience_ms();
  if (patience != 0 && (patience < kLeastPatienceMs || patience > kMostPatienceMs)) {
    problems->Add("client_reports.patience_ms", absl::StrCat(patience),
                  absl::StrCat(kLeastPatienceMs, " to ", kMostPatienceMs, ", or 0: the default"));
  }
  CheckCountOrPercent("client_reports.max_servers", policy.max_servers(), /*required=*/false,
                      problems);
}

}  // namespace shardmanager
