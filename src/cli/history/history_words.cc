#include "cli/history/history_words.h"

#include "absl/strings/str_cat.h"
#include "cli/time_text.h"

namespace shardmanager::cli {
namespace {

constexpr char kHistoryFooter[] = R"(
Each shardmanagerd keeps what the control plane did and why, for two weeks unless it was told
otherwise, also what happened under leaders before. The process at --server answers, whether it
leads or stands by. Events of one kind that repeat are shown in one line, with their number.
`changes` is the audit: every change that somebody asked for, who it was, and what differs since
("-" as it was, "+" as it is); and what was denied.
Examples:
  shardctl history shard shard-007 --app kv       moves, failures and failovers of one shard
  shardctl history server kv-3 --since 2h         of one server, in the last two hours
  shardctl history app kv --kind MoveStarted      only events of this kind
  shardctl history operation rollout-42/kv-3      from the first report to the end
  shardctl history operation op-4f8a01c2          what followed from one of your commands
  shardctl history changes --since 2026-03-01T12:00Z
  shardctl history changes -o json | jq -r '.events[].by')";

std::string CheckSince(const std::string& text) {
  if (ParseAge(text).has_value() || ParseMoment(text).has_value()) return "";
  return absl::StrCat("found \"", text,
                      "\"; allowed: how long ago, such as 2h or 3d, or a moment such as "
                      "2026-03-01T12:00Z");
}

}  // namespace

void AddHistory(CLI::App& cli, const HistoryWords& words) {
  CLI::App& command =
      *cli.add_subcommand("history", "Show what happened, and who changed what, days back");
  command.footer(kHistoryFooter);
  words
      .limit(command.add_option("RESOURCE", words.command.resource,
                                "shard, server, app, operation or changes"),
             {"shard", "server", "app", "operation", "changes"})
      ->required()
      ->type_name("");
  command.add_option("NAME", words.command.name, "Which one; with changes: none")->type_name("");
  command.add_option("-a,--app", words.command.app, "Of this app")->type_name("APP");
  command.add_option("--since", words.command.since, "Since so long ago, or since then (all)")
      ->check(CLI::Validator(CheckSince, ""))
      ->type_name("TIME");
  command
      .add_option("--kind", words.command.kinds,
                  "Only events of this kind, as `watch` names it; may be repeated")
      ->allow_extra_args(false)
      ->type_name("KIND");
  command.add_option("-n,--limit", words.command.limit, "Most events, the newest")
      ->check(CLI::Range(1, 10'000))
      ->type_name("NUMBER")
      ->capture_default_str();
  words
      .limit(command.add_option("-o,--output", words.format, "Format: table|json|yaml"),
             {"table", "json", "yaml"})
      ->type_name("FORMAT")
      ->capture_default_str();
}

}  // namespace shardmanager::cli
