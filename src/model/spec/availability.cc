#include "model/spec/availability.h"

#include <string>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/strip.h"
#include "model/text.h"

namespace shardmanager {
namespace {

constexpr uint32_t kMostServers = 1'000'000;
constexpr int kMostRules = 10;

// Secondaries that stay on the server are away with it: no shard could ever allow that.
void CheckStay(const std::string& path, const v1::AppSpec& spec, SpecProblems* problems) {
  const uint32_t replicas = std::max(1U, spec.replication().replicas());
  const uint32_t most = std::max(1U, spec.availability().max_unavailable_replicas());
  if (MostUnavailable(most, replicas, spec.replication().quorum()) > 0) return;
  problems->Add(path, "false",
                absl::StrCat("true: with replication.quorum and ", Counted(replicas, "replica"),
                             " none may be away, so no operation could ever begin"));
}

template <typename Rule>
void CheckRoles(const std::string& path, const Rule& rule, const v1::AppSpec& spec,
                SpecProblems* problems) {
  if (rule.has_secondaries() && !rule.secondaries()) {
    CheckStay(path + ".secondaries", spec, problems);
  }
}

// Each is a value with a name, and not the one that says nothing.
template <typename Enum, typename Values>
void CheckLabels(const std::string& path, const Values& values, SpecProblems* problems) {
  const auto& type = *google::protobuf::GetEnumDescriptor<Enum>();
  for (int i = 0; i < values.size(); ++i) {
    if (values.Get(i) != 0 && type.FindValueByNumber(values.Get(i)) != nullptr) continue;
    problems->Add(absl::StrCat(path, "[", i, "]"), EnumLabel(type, values.Get(i)),
                  EnumLabels(type));
  }
}

void CheckRule(const std::string& path, const v1::DrainRule& rule, const v1::AppSpec& spec,
               SpecProblems* problems) {
  problems->CheckKnown(path, rule);
  CheckLabels<v1::OperationKind>(path + ".kinds", rule.kinds(), problems);
  CheckLabels<v1::MaintenanceImpact>(path + ".impacts", rule.impacts(), problems);
  if (rule.up_to_ms() > kDayMs) {
    problems->Add(path + ".up_to_ms", absl::StrCat(rule.up_to_ms()), absl::StrCat("0 to ", kDayMs));
  }
  if (!rule.has_primaries() && !rule.has_secondaries()) {
    problems->Add(path, "neither primaries nor secondaries", "at least one of them");
  }
  // (A maintenance takes place in any case: to stay through it may be the lesser evil.)
  const bool for_operations = !rule.kinds().empty() || rule.impacts().empty();
  if (for_operations) CheckRoles(path, rule, spec, problems);
}

void CheckMs(const char* path, uint32_t value, uint32_t most, SpecProblems* problems) {
  if (value == 0 || (value >= 1'000 && value <= most)) return;
  problems->Add(path, absl::StrCat(value), absl::StrCat("1000 to ", most, ", or 0: the default"));
}

}  // namespace

std::optional<CountOrPercent> ParseCountOrPercent(std::string_view text) {
  absl::string_view digits(text.data(), text.size());
  CountOrPercent parsed;
  parsed.percent = absl::ConsumeSuffix(&digits, "%");
  const bool plain = !digits.empty() && digits.find_first_not_of("0123456789") == digits.npos;
  if (!plain || !absl::SimpleAtoi(digits, &parsed.value)) return std::nullopt;
  if (parsed.value == 0 || parsed.value > (parsed.percent ? 100 : kMostServers))
    return std::nullopt;
  return parsed;
}

void CheckCountOrPercent(const std::string& path, const std::string& text, bool required,
                         SpecProblems* problems) {
  if (ParseCountOrPercent(text) || (text.empty() && !required)) return;
  problems->Add(
      path, text.empty() ? "nothing" : Quoted(text),
      absl::StrCat("a number from 1 to ", kMostServers, ", or a percentage from 1% to 100%"));
}

void CheckAvailability(const v1::AppSpec& spec, SpecProblems* problems) {
  const v1::AvailabilityPolicy& policy = spec.availability();
  problems->CheckKnown("availability", policy);
  const std::string& servers = policy.max_unavailable_servers();
  if (!servers.empty() && !ParseCountOrPercent(servers)) {
    problems->Add("availability.max_unavailable_servers", Quoted(servers),
                  absl::StrCat("1 to ", kMostServers, ", or 1% to 100%"));
  }
  const uint32_t replicas = std::max(1U, spec.replication().replicas());
  if (policy.max_unavailable_replicas() > replicas) {
    problems->Add("availability.max_unavailable_replicas",
                  absl::StrCat(policy.max_unavailable_replicas()),
                  absl::StrCat("1 to ", replicas, " (replication.replicas), or 0: the default"));
  }
  CheckMs("availability.approval_ms", policy.approval_ms(), kHourMs, problems);
  CheckMs("availability.most_wait_ms", policy.most_wait_ms(), kDayMs, problems);
}

void CheckDrainPolicy(const v1::AppSpec& spec, SpecProblems* problems) {
  const v1::DrainPolicy& drain = spec.drain();
  problems->CheckKnown("drain", drain);
  CheckRoles("drain", drain, spec, problems);
  CheckMs("drain.prepare_ms", drain.prepare_ms(), kDayMs, problems);
  if (drain.rules_size() > kMostRules) {
    problems->Add("drain.rules", Counted(static_cast<size_t>(drain.rules_size()), "rule"),
                  absl::StrCat("at most ", kMostRules));
  }
  for (int i = 0; i < drain.rules_size() && !problems->full(); ++i) {
    CheckRule(absl::StrCat("drain.rules[", i, "]"), drain.rules(i), spec, problems);
  }
}

}  // namespace shardmanager
