#include "cli/explain.h"

#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"
#include "cli/render.h"
#include "model/text.h"

namespace shardmanager::cli {
namespace {

std::string Amount(double amount) { return absl::StrFormat("%.6g", amount); }

// "replicas 4/10, cpu 12": what is used, of what there is.
std::string LoadText(const google::protobuf::RepeatedPtrField<v1::MetricUse>& loads) {
  std::vector<std::string> parts;
  for (const v1::MetricUse& load : loads) {
    parts.push_back(
        absl::StrCat(Shown(load.metric()), " ", Amount(load.used()),
                     load.capacity() > 0 ? absl::StrCat("/", Amount(load.capacity())) : ""));
  }
  return absl::StrJoin(parts, ", ");
}

Cell VerdictCell(const std::string& verdict) {
  const Tone tone = verdict == "better"    ? Tone::kGood
                    : verdict == "refused" ? Tone::kBad
                    : verdict == "worse"   ? Tone::kWarning
                                           : Tone::kPlain;
  return {Shown(verdict), tone};
}

std::string Waits(const v1::ExplainShardResponse& explained) {
  if (explained.waits().empty()) return "\nWaits for:  nothing\n";
  std::string text = "\nWaits for:\n";
  for (const v1::Wait& wait : explained.waits()) {
    absl::StrAppend(&text, kIndent, Shown(wait.message()), "\n");
  }
  return text;
}

std::string ForAndAgainst(const v1::ExplainedReplica& replica) {
  if (replica.server().empty()) return "it has no place yet";
  std::vector<std::string> parts;
  for (const v1::ShardArgument& argument : replica.arguments()) {
    parts.push_back(absl::StrCat(Shown(argument.goal()), ": ", Shown(argument.rule()), " ",
                                 argument.cost() > 0 ? "+" : "", Amount(argument.cost())));
  }
  return parts.empty() ? "nothing" : absl::StrJoin(parts, "; ");
}

std::string StateOf(const v1::ExplainedReplica& replica, const v1::ShardStatus& shard) {
  for (const v1::ReplicaStatus& status : shard.replicas()) {
    if (status.server() == replica.server()) return status.state();
  }
  return "missing";
}

std::string Replicas(const v1::ExplainShardResponse& explained, bool colour) {
  if (explained.replicas().empty()) return "\nIts replicas:  none\n";
  Table table({"SERVER", "STATE", "LOAD", "FOR (-) AND AGAINST (+) ITS PLACE"});
  for (const v1::ExplainedReplica& replica : explained.replicas()) {
    table.AddRow({{Shown(replica.server())},
                  StateCell(StateOf(replica, explained.shard())),
                  {LoadText(replica.loads())},
                  {ForAndAgainst(replica)}});
  }
  return absl::StrCat("\nIts replicas:\n", table.Render(colour, kIndent));
}

std::string Candidates(const v1::ExplainShardResponse& explained, bool colour) {
  if (explained.candidates().empty()) return "\nElsewhere:  no other live server\n";
  Table table({"SERVER", "REGION", "CARRIES", "FROM", "VERDICT", "WHY"});
  for (const v1::ExplainedCandidate& candidate : explained.candidates()) {
    table.AddRow({{Shown(candidate.server())},
                  {Shown(candidate.fault_domain().region())},
                  {LoadText(candidate.loads())},
                  {Shown(candidate.from())},
                  VerdictCell(candidate.verdict()),
                  {Shown(candidate.reason())}});
  }
  return absl::StrCat("\nElsewhere (", explained.candidates_size(), " of ",
                      Counted(explained.servers_considered(), "live server"),
                      ", the best first):\n", table.Render(colour, kIndent));
}

// Rule by rule, for one candidate.
std::string Details(const v1::ExplainedCandidate& candidate, bool colour) {
  if (candidate.arguments().empty()) return "";
  Table table({"GOAL", "RULE", "COST NOW", "COST THERE", "SPEAKS"});
  for (const v1::ShardArgument& argument : candidate.arguments()) {
    const bool in_favour = argument.cost() < argument.cost_now();
    table.AddRow({{Shown(argument.goal())},
                  {Shown(argument.rule())},
                  {Amount(argument.cost_now())},
                  {Amount(argument.cost())},
                  {in_favour ? "for it" : "against it", in_favour ? Tone::kGood : Tone::kWarning}});
  }
  return absl::StrCat("\nFor and against ", Shown(candidate.server()),
                      ", the most important first:\n", table.Render(colour, kIndent));
}

std::string RuledOut(const v1::ExplainShardResponse& explained) {
  std::string text;
  for (const v1::RefusedCount& refused : explained.refused()) {
    absl::StrAppend(&text, kIndent, Counted(refused.servers(), "server"), " by ",
                    Shown(refused.rule()), "\n");
  }
  return text.empty() ? "" : absl::StrCat("\nRuled out:\n", text);
}

}  // namespace

std::string ExplainText(const std::string& app, const v1::ExplainShardResponse& explained,
                        bool one_server, bool colour) {
  const v1::ShardStatus& shard = explained.shard();
  FieldList fields(colour);
  fields.Add("Shard", Shown(shard.shard()));
  fields.Add("App", Shown(app));
  fields.Add("State", StateCell(shard.state()));
  fields.Add("Reason", Shown(shard.reason()));
  fields.Add("Replicas",
             absl::StrCat(shard.replicas_size(), "; ", explained.replicas_wanted(), " wanted"));
  if (shard.has_scaling()) fields.Add("Scaling", Shown(shard.scaling().message()));
  if (shard.has_demand()) fields.Add("Demand", Shown(shard.demand().message()));
  fields.Add("Balance", Shown(explained.balance()));
  std::string text = absl::StrCat(fields.Render(), Waits(explained), Replicas(explained, colour),
                                  Candidates(explained, colour));
  if (one_server && explained.candidates_size() == 1) {
    return text + Details(explained.candidates(0), colour);
  }
  text += RuledOut(explained);
  if (explained.candidates().empty()) return text;
  return absl::StrCat(text, "\nWhy not on another one: shardctl explain ", Shown(app), " ",
                      Shown(shard.shard()), " --on SERVER\n");
}

}  // namespace shardmanager::cli
