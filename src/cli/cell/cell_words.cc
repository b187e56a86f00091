#include "cli/cell/cell_words.h"

#include <string>

#include "cli/connection_words.h"

namespace shardmanager::cli {
namespace {

using CellAction = CellCommand::Action;

constexpr char kCellFooter[] = R"(
ZooKeeper lets anyone do anything unless its nodes have access lists. A secure cell has them:
the control plane may do everything, an application server only what it needs for itself.
docs/security-store.md has the whole table, and how to make a cell secure step by step.
Examples:
  shardctl cell credentials cell prod --out cell.zk
  shardctl cell credentials server kv kv-1 --from cell.zk --zookeeper zk-1:2181 --out kv-1.zk
  shardctl cell secure --from cell.zk --zookeeper zk-1:2181
  shardctl cell raise-epochs prod --zookeeper zk-1:2181 --dry-run
  shardctl cell status --from cell.zk --zookeeper zk-1:2181)";

constexpr char kCredentialsFooter[] = R"(
Makes a file of mode 0600. The passwords of apps and servers follow from the cell's secret: the
same command makes the same file, and nothing is stored anywhere. Keep the cell's file safe.
  cell    for shardmanagerd: may do everything
  server  for one server, of the name that is given. --zookeeper registers it, which it cannot do
          itself
  app     for servers whose names are not known before (containers): whoever has it can act as any
          server of the app)";

constexpr char kSecureFooter[] = R"(
Run it once all processes have credentials (see docs/security-store.md): servers and control plane
work on meanwhile. It refuses, and changes nothing, as long as the leader or a live server has none.
If it is stopped, run it again. Exit code 1: not (wholly) done.)";

constexpr char kStatusFooter[] = R"(
Exit code 0: the cell is secure, and each node has the access list that it should have; 1: not.)";

constexpr char kRaiseEpochsFooter[] = R"(
After ZooKeeper was restored from a backup, epochs that were issued since the backup would be issued
once more, and whoever remembers the first ones refuses the second ones as old: shards stay unserved
(EpochsBehind). First stop all processes of the control plane: if one leads, the command waits for
it to go. If it is stopped, run it again: epochs are raised, or not, and never lowered.
docs/operations.md has the whole way back from a backup.
Examples:
  shardctl cell raise-epochs prod --zookeeper zk-1:2181 --dry-run
  shardctl cell raise-epochs prod --zookeeper zk-1:2181 --zookeeper-credentials cell.zk)";

// Each command sets what it is when it is parsed.
void Is(CLI::App& command, CellCommand& words, CellAction action) {
  command.callback([&words, action] { words.action = action; });
}

void AddFrom(CLI::App& command, CellCommand& words) {
  command.add_option("--from,--zookeeper-credentials", words.from, "The cell's credentials")
      ->required()
      ->type_name("FILE");
}

CLI::Option* AddZookeeper(CLI::App& command, CellCommand& words, const char* help) {
  const auto check = [](const std::string& text) {  // (without the path that may follow)
    return CheckEndpoints(text.substr(0, text.find('/')), "zk-1:2181");
  };
  return command.add_option("--zookeeper", words.zookeeper, help)
      ->check(CLI::Validator(check, ""))
      ->type_name("HOST:PORT[,...]");
}

void AddOut(CLI::App& command, CellCommand& words) {
  command.add_option("--out", words.out, "The file to make; one that is there is left alone")
      ->required()
      ->type_name("FILE");
}

void AddCredentials(CLI::App& cell, CellCommand& words) {
  CLI::App& credentials =
      *cell.add_subcommand("credentials", "Make a file with ZooKeeper credentials");
  credentials.footer(kCredentialsFooter);
  credentials.require_subcommand(1);
  CLI::App& of_cell = *credentials.add_subcommand("cell", "For the control plane");
  Is(of_cell, words, CellAction::kCellCredentials);
  of_cell.add_option("CELL", words.cell, "The name of the cell")->required()->type_name("");
  of_cell
      .add_option("--replace", words.from,
                  "The cell's credentials so far: the new file has a new secret and the newest one "
                  "of this file")
      ->type_name("FILE");
  of_cell
      .add_option(
          "--only-newest-of", words.newest_of,
          "No new secret: only the newest one of this file, once nobody needs the older one")
      ->type_name("FILE")
      ->excludes("--replace");
  CLI::App& of_app = *credentials.add_subcommand("app", "For any server of an app");
  Is(of_app, words, CellAction::kAppCredentials);
  of_app.add_option("APP", words.app, "Which one")->required()->type_name("");
  CLI::App& of_server = *credentials.add_subcommand("server", "For one application server");
  Is(of_server, words, CellAction::kServerCredentials);
  of_server.add_option("APP", words.app, "The server's app")->required()->type_name("");
  of_server.add_option("NAME", words.name, "The server's name")->required()->type_name("");
  AddZookeeper(of_server, words, "Register the server there, if it is not yet");
  AddFrom(of_app, words);
  AddFrom(of_server, words);
  for (CLI::App* command : {&of_cell, &of_app, &of_server}) AddOut(*command, words);
}

void AddRaiseEpochs(CLI::App& cell, CellCommand& words) {
  CLI::App& raise = *cell.add_subcommand(
      "raise-epochs", "After a restore: raise leader epochs past all that were issued");
  raise.footer(kRaiseEpochsFooter);
  Is(raise, words, CellAction::kRaiseEpochs);
  raise.add_option("CELL", words.cell, "The name of the cell")->required()->type_name("");
  AddZookeeper(raise, words, "Where the cell's records are")->required();
  raise
      .add_option("--from,--zookeeper-credentials", words.from,
                  "The cell's credentials, if it is secure")
      ->type_name("FILE");
  raise
      .add_option("--by", words.by, "By how many; each change of leader since the backup took one")
      ->check(CLI::Range(1, 10'000'000))
      ->type_name("NUMBER")
      ->capture_default_str();
  raise.add_flag("--dry-run", words.dry_run, "Only say what would be changed");
}

}  // namespace

void AddCell(CLI::App& cli, CellCommand& words) {
  CLI::App& cell =
      *cli.add_subcommand("cell", "The cell's records in ZooKeeper: close them, restore them");
  cell.footer(kCellFooter);
  cell.require_subcommand(1);
  AddCredentials(cell, words);
  CLI::App& secure = *cell.add_subcommand("secure", "Give all nodes their access lists");
  secure.footer(kSecureFooter);
  Is(secure, words, CellAction::kSecure);
  secure.add_flag("--undo", words.undo, "The other way round: open all nodes to everybody");
  secure.add_flag("--only-newest", words.only_newest,
                  "Afterwards the older secret of the file opens nothing any more");
  AddRaiseEpochs(cell, words);
  CLI::App& status = *cell.add_subcommand("status", "Which nodes are open to strangers?");
  status.footer(kStatusFooter);
  Is(status, words, CellAction::kStatus);
  for (CLI::App* command : {&secure, &status}) {
    AddFrom(*command, words);
    AddZookeeper(*command, words, "Where the cell's records are")->required();
  }
}

}  // namespace shardmanager::cli
