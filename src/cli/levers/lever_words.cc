#include "cli/levers/lever_words.h"

namespace shardmanager::cli {
namespace {

constexpr char kRetryFooter[] = R"(
What fails is tried again after a pause that grows, up to half an hour for a move. When
you have mended the cause, this ends the pauses of one shard: its commands, its moves and
the search for its places. Harmless when nothing failed.
Examples:
  shardctl explain kv shard-3               why it waits
  shardctl retry shard shard-3 --app kv     when that is mended)";

constexpr char kMoveFooter[] = R"(
One replica moves, once, as a planned move does: no request fails, and it counts for the move
budgets of the app (moves). It is refused, with the reason, where a constraint of the placement
would be broken, while the shard is pinned or its app paused, and while another step of the
shard is under way. Balance may move it back if the goals of the placement lose by it: pin it
then. With several replicas, --from says which one; else the one whose move costs least.
Examples:
  shardctl move shard shard-3 --to kv-7 --dry-run     may it, and what would the goals say?
  shardctl move shard shard-3 --to kv-7 --app kv
  shardctl move shard shard-3 --from kv-1 --to kv-7
  shardctl pin shard shard-3 --reason "kept apart"    and it stays there)";

constexpr char kUnquarantineFooter[] = R"(
A server on which shards failed one after the other is given nothing new, but for a trial at
growing intervals, up to 16 minutes. When you have mended the cause, this ends its quarantine
at once. If shards fail on it again, it is quarantined again.
Examples:
  shardctl describe server kv-3               why is it quarantined, until when?
  shardctl unquarantine server kv-3 --app kv  when that is mended)";

constexpr char kForgetFooter[] = R"(
For a server that does not come back: it is listed, counted and looked for no more. It must be
down, and what it had with other servers: drain it, stop it, take the drain back. Should a server
of that name register again, it is a server like any other, and its life has a later number.
Examples:
  shardctl drain server kv-3 --wait           it is empty; stop it then
  shardctl undrain server kv-3                the order went with the server
  shardctl forget server kv-3 --app kv)";

void AddName(CLI::App& command, const LeverWords& words, const std::string& resource) {
  words.add_resource(command, {resource});
  command.add_option("NAME", words.command.name, "Which one")->required()->type_name("");
  command.add_option("-a,--app", words.command.app, "Of this app")->type_name("APP");
  AddDryRun(command, words.command.dry_run);
}

}  // namespace

CLI::Option* AddDryRun(CLI::App& command, bool& dry_run) {
  return command.add_flag("--dry-run", dry_run, "Say what would be; change nothing");
}

void AddLevers(CLI::App& cli, const LeverWords& words) {
  CLI::App& retry = *cli.add_subcommand("retry", "Try now what failed, when its cause is mended");
  retry.footer(kRetryFooter);
  AddName(retry, words, "shard");
  CLI::App& move = *cli.add_subcommand("move", "Move a shard to a server that you name");
  move.footer(kMoveFooter);
  AddName(move, words, "shard");
  move.add_option("--to", words.command.to, "The server that is to have it")
      ->required()
      ->type_name("SERVER");
  move.add_option("--from", words.command.from, "The server whose replica moves")
      ->type_name("SERVER");
  CLI::App& unquarantine =
      *cli.add_subcommand("unquarantine", "Give a server shards again, when its cause is mended");
  unquarantine.footer(kUnquarantineFooter);
  AddName(unquarantine, words, "server");
  CLI::App& forget = *cli.add_subcommand("forget", "List a server no more that does not come back");
  forget.footer(kForgetFooter);
  AddName(forget, words, "server");
}

}  // namespace shardmanager::cli
