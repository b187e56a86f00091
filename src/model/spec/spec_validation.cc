#include "model/spec/spec_validation.h"

#include <string>

#include "absl/container/flat_hash_map.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "model/load.h"
#include "model/spec/availability.h"
#include "model/spec/client_reports.h"
#include "model/spec/failover.h"
#include "model/spec/key_space_validation.h"
#include "model/spec/placement.h"
#include "model/spec/scaling.h"
#include "model/spec/spec_names.h"
#include "model/spec/spec_problems.h"
#include "model/text.h"

namespace shardmanager {
namespace {

constexpr uint32_t kMostMoves = 100'000;
constexpr int kMostMetrics = 8;
constexpr size_t kMostMetricNameBytes = 63;

void CheckStrategy(const v1::Replication& replication, SpecProblems* problems) {
  const std::string allowed =
      absl::StrCat(EnumLabel(v1::PRIMARY_ONLY), ", ", EnumLabel(v1::SECONDARY_ONLY), ", ",
                   EnumLabel(v1::PRIMARY_SECONDARY));
  const std::string path = "replication.strategy";
  switch (replication.strategy()) {
    case v1::PRIMARY_ONLY:
    case v1::SECONDARY_ONLY:
    case v1::PRIMARY_SECONDARY:
      return;
    case v1::REPLICATION_STRATEGY_UNSPECIFIED:
      return problems->Add(path, "nothing", allowed);
    default:
      return problems->Add(path, EnumLabel(replication.strategy()), allowed);
  }
}

void CheckReplicas(const v1::AppSpec& spec, SpecProblems* problems) {
  const uint32_t replicas = spec.replication().replicas();
  const std::string path = "replication.replicas";
  if (replicas > kMostReplicas) {
    problems->CheckBounds(path, replicas, {1, kMostReplicas, true});
  } else if (replicas > 1 && spec.replication().strategy() == v1::PRIMARY_ONLY) {
    problems->Add(path, absl::StrCat(replicas), "1 with strategy primary-only");
  } else if (replicas < 2 && spec.replication().strategy() == v1::PRIMARY_SECONDARY) {
    problems->Add(path, absl::StrCat(replicas),
                  absl::StrCat("2 to ", kMostReplicas, " with strategy primary-secondary"));
  } else if (const uint32_t most = MostInAllRegions(spec.placement()); replicas > most) {
    const auto regions = static_cast<size_t>(spec.placement().regions_size());
    problems->Add(
        path, absl::StrCat(replicas),
        absl::StrCat("at most ", most, ": placement allows ", MostInOneRegion(spec.placement()),
                     " in each of ", Counted(regions, "region"), " (placement.regions)"));
  }
}

void CheckReplication(const v1::AppSpec& spec, SpecProblems* problems) {
  problems->CheckKnown("replication", spec.replication());
  CheckStrategy(spec.replication(), problems);
  CheckReplicas(spec, problems);
  const bool secondaries = spec.replication().strategy() == v1::PRIMARY_SECONDARY;
  if (spec.replication().quorum() && !secondaries) {
    problems->Add("replication.quorum", "true", "false, but with strategy primary-secondary");
  }
}

// MoveLimits and MoveBudget have these in common.
template <typename Limits>
void CheckMoveBudget(const std::string& path, const Limits& limits, SpecProblems* problems) {
  problems->CheckKnown(path, limits);
  problems->CheckBounds(absl::StrCat(path, ".max_concurrent"), limits.max_concurrent(),
                        {1, kMostMoves, true});
  problems->CheckBounds(absl::StrCat(path, ".max_concurrent_per_server"),
                        limits.max_concurrent_per_server(), {1, kMostMoves, true});
}

void CheckMoves(const v1::MoveLimits& moves, SpecProblems* problems) {
  CheckMoveBudget("moves", moves, problems);
  CheckMoveBudget("moves.drain", moves.drain(), problems);
  problems->CheckBounds("moves.balance_interval_ms", moves.balance_interval_ms(),
                        {100, kDayMs, true});
  problems->CheckBounds("moves.collect_interval_ms", moves.collect_interval_ms(),
                        {1'000, kHourMs, true});
  problems->CheckBounds("moves.steady_after_ms", moves.steady_after_ms(),
                        {1'000, kHourMs / 4, true});
  if (!v1::PrimaryMove_IsValid(moves.primary_move())) {
    problems->Add("moves.primary_move", EnumLabel(moves.primary_move()),
                  EnumLabels(*v1::PrimaryMove_descriptor()));
  }
}

void CheckMetric(const std::string& path, const v1::Metric& metric, SpecProblems* problems) {
  problems->CheckKnown(path, metric);
  if (metric.name() == kReplicaCountMetric) {
    problems->Add(path + ".name", Quoted(metric.name()),
                  "another name: the number of replicas is counted in any case");
  } else if (!IsPlainName(metric.name(), kMostMetricNameBytes)) {
    problems->Add(path + ".name", metric.name().empty() ? "nothing" : Quoted(metric.name()),
                  PlainNameRule(kMostMetricNameBytes));
  }
  // Written so that NaN, which compares with nothing, is refused.
  const auto check = [&](const char* field, double value, double most, const char* allowed) {
    if (value >= 0 && value <= most) return;
    problems->Add(absl::StrCat(path, ".", field), absl::StrFormat("%g", value), allowed);
  };
  check("threshold", metric.threshold(), 1, "0 to 1");
  check("capacity", metric.capacity(), kMostLoad, "0 to 1e12");
  check("tolerance", metric.tolerance(), 10, "0 to 10");
}

void CheckMetrics(const v1::AppSpec& spec, SpecProblems* problems) {
  if (spec.metrics_size() > kMostMetrics) {
    problems->Add("metrics", Counted(static_cast<size_t>(spec.metrics_size()), "metric"),
                  absl::StrCat("at most ", kMostMetrics));
  }
  absl::flat_hash_map<std::string, int> seen;
  for (int i = 0; i < spec.metrics_size() && !problems->full(); ++i) {
    const std::string path = absl::StrCat("metrics[", i, "]");
    CheckMetric(path, spec.metrics(i), problems);
    if (auto [first, is_new] = seen.emplace(spec.metrics(i).name(), i); !is_new) {
      problems->Add(
          path + ".name",
          absl::StrCat(Quoted(spec.metrics(i).name()), " (already metrics[", first->second, "])"),
          "each metric once");
    }
  }
}

void CheckCommands(const v1::CommandPolicy& commands, SpecProblems* problems) {
  problems->CheckKnown("commands", commands);
  problems->CheckBounds("commands.timeout_ms", commands.timeout_ms(), {100, kDayMs, true});
}

void CheckOrchestrator(v1::Orchestrator orchestrator, SpecProblems* problems) {
  if (v1::Orchestrator_IsValid(orchestrator)) return;
  problems->Add("orchestrator", EnumLabel(orchestrator),
                EnumLabels(*v1::Orchestrator_descriptor()));
}

// What the control plane would decide by, if it decided where replicas are.
void CheckNothingForPlacement(const v1::AppSpec& spec, SpecProblems* problems) {
  for (const char* name : {"key_space", "placement", "failover", "moves", "metrics", "commands",
                           "client_reports", "scaling"}) {
    const auto* field = v1::AppSpec::descriptor()->FindFieldByName(name);
    const auto* fields = spec.GetReflection();
    const bool is_set =
        field->is_repeated()
            ? fields->FieldSize(spec, field) > 0
            : fields->HasField(spec, field) && fields->GetMessage(spec, field).ByteSizeLong() > 0;
    if (!is_set) continue;
    problems->Add(name, "a value",
                  "nothing, with orchestrator application: the application decides about that");
  }
}

// A gRPC status message travels in the trailing metadata, of which receivers take 8 KiB
// in all by default; past that the caller would see RESOURCE_EXHAUSTED instead.
constexpr size_t kMostTrailerBytes = 6000;

// gRPC writes bytes outside of printable ASCII as %XX.
size_t BytesInTrailer(const std::string& text) {
  size_t bytes = text.size();
  for (const char c : text) bytes += c < 0x20 || c > 0x7e || c == '%' ? 2 : 0;
  return bytes;
}

}  // namespace

std::string SpecProblem::ToString() const {
  return absl::StrCat(path, ": found ", found, "; allowed: ", allowed);
}

std::vector<SpecProblem> ValidateSpec(const v1::AppSpec& spec) {
  SpecProblems problems;
  const KnownRegions regions(spec.placement());
  problems.CheckKnown("the spec", spec);
  CheckAppName(spec.name(), &problems);
  CheckOrchestrator(spec.orchestrator(), &problems);
  if (spec.orchestrator() == v1::APPLICATION) {
    CheckNothingForPlacement(spec, &problems);
  } else {
    CheckKeySpace(spec, regions, &problems);
  }
  CheckReplication(spec, &problems);
  CheckPlacement(spec, &problems);
  CheckFailover(spec, &problems);
  CheckMoves(spec.moves(), &problems);
  CheckDrainPolicy(spec, &problems);
  CheckMetrics(spec, &problems);
  CheckCommands(spec.commands(), &problems);
  CheckAvailability(spec, &problems);
  CheckClientReports(spec.client_reports(), &problems);
  if (spec.orchestrator() != v1::APPLICATION) CheckScaling(spec, &problems);
  return problems.Take();
}

absl::Status ToStatus(const std::vector<SpecProblem>& problems) {
  if (problems.empty()) return absl::OkStatus();
  std::string lines;
  size_t listed = 0;
  for (const SpecProblem& problem : problems) {
    const std::string line = problem.ToString();
    if (listed > 0 && BytesInTrailer(lines) + BytesInTrailer(line) > kMostTrailerBytes) break;
    absl::StrAppend(&lines, listed > 0 ? "\n" : "", line);
    ++listed;
  }
  if (listed < problems.size() || listed >= SpecProblems::kMost) {
    absl::StrAppend(&lines, "\n(only the first ", listed, " problems are listed)");
  }
  return absl::InvalidArgumentError(lines);
}

}  // namespace shardmanager
