#include "cli/certs/certs_words.h"

namespace shardmanager::cli {
namespace {

using CertsAction = CertsCommand::Action;

constexpr char kCertsFooter[] = R"(
For trials and small sites; where you have an authority already, let it sign certificates with the
same names (docs/security.md). Each identity has a folder with ca.pem, cert.pem and key.pem: copy it
to the machine of the process, and name it with --certs.
Examples:
  shardctl certs init --cell prod
  shardctl certs issue control-plane/sm-1 relay/eu-1 server/kv/kv-1 admin/alice
  shardctl certs issue client/kv/checkout --days 30
  shardctl certs list
  shardctl certs renew
The folder is ./certs unless --folder says otherwise. ca-key.pem in it belongs on no server.)";

constexpr char kIssueFooter[] = R"(
Identities:
  control-plane/NAME       a shardmanagerd
  relay/NAME               a shard-discoveryd
  server/APP/NAME          a server of that app, and of that name (ServerOptions::name)
  client/APP[/APP...]/NAME a client of these apps
  operator/NAME            a person, or a program that does a person's work
  admin/NAME               a person who may do everything
Certificates end after 90 days, since nobody asks whether one was revoked: renew them in time.)";

constexpr char kRenewFooter[] = R"(
Without IDENTITY: those of whose time two thirds are over. Processes read their files again every few
seconds: copy the new ones over the old ones, and nothing is restarted.)";

constexpr char kCaFooter[] = R"(
In three steps, with all folders copied to their machines, and 10 seconds, between them, so that at
no time somebody is not believed:
  shardctl certs ca add    a second authority, which all believe beside the first
  shardctl certs ca use    all certificates are signed by the second one
  shardctl certs ca drop   the first one is not believed any more)";

// Each command sets what it is when it is parsed.
void Is(CLI::App& command, CertsCommand& words, CertsAction action) {
  command.callback([&words, action] { words.action = action; });
}

void AddFolder(CLI::App& command, CertsCommand& words) {
  command.add_option("--folder", words.folder, "Where the authority and all certificates are")
      ->type_name("FOLDER")
      ->capture_default_str();
}

CLI::App& Add(CLI::App& certs, CertsCommand& words, CertsAction action, const char* name,
              const char* about) {
  CLI::App& command = *certs.add_subcommand(name, about);
  Is(command, words, action);
  return command;
}

void AddIssue(CLI::App& certs, CertsCommand& words) {
  CLI::App& issue = Add(certs, words, CertsAction::kIssue, "issue", "Make certificates");
  issue.footer(kIssueFooter);
  issue.add_option("IDENTITY", words.identities, "Whose")->required()->type_name("");
  issue
      .add_option("--host", words.hosts,
                  "A host's name or address that is to be in the certificate, for programs that "
                  "look at these; may be repeated")
      ->type_name("HOST")
      ->allow_extra_args(false);
  issue.add_option("--days", words.days, "When it ends")
      ->check(CLI::Range(1, 3650))
      ->capture_default_str();
  AddFolder(issue, words);
}

void AddCa(CLI::App& certs, CertsCommand& words) {
  CLI::App& ca = *certs.add_subcommand("ca", "Replace the authority, without a break");
  ca.footer(kCaFooter);
  ca.require_subcommand(1);
  AddFolder(Add(ca, words, CertsAction::kAddCa, "add", "Have a second authority believed"), words);
  AddFolder(Add(ca, words, CertsAction::kUseCa, "use", "Sign all certificates with it"), words);
  AddFolder(Add(ca, words, CertsAction::kDropCa, "drop", "Believe the newest authority only"),
            words);
}

}  // namespace

void AddCerts(CLI::App& cli, CertsCommand& words) {
  CLI::App& certs = *cli.add_subcommand("certs", "Make certificates for the processes of a cell");
  certs.footer(kCertsFooter);
  certs.require_subcommand(1);
  CLI::App& init = Add(certs, words, CertsAction::kInit, "init", "Make an authority");
  init.add_option("--cell", words.cell, "The cell that its certificates are for")
      ->required()
      ->type_name("NAME");
  AddFolder(init, words);
  AddIssue(certs, words);
  CLI::App& list = Add(certs, words, CertsAction::kList, "list", "Which ones are there?");
  AddFolder(list, words);
  CLI::App& renew = Add(certs, words, CertsAction::kRenew, "renew", "Make them anew, in place");
  renew.footer(kRenewFooter);
  renew.add_option("IDENTITY", words.identities, "Whose")->type_name("");
  renew.add_flag("--all", words.all, "All of them");
  renew.add_flag("--new-key", words.new_key, "With new keys, too: an old one may have been seen");
  AddFolder(renew, words);
  CLI::App& check = Add(certs, words, CertsAction::kCheck, "check",
                        "Can a process use these files, and who is it then?");
  check
      .add_option("FOLDER", words.checked,
                  "With ca.pem, cert.pem and key.pem. Default: the "
                  "folder where a process looks that is told nothing")
      ->type_name("");
  AddCa(certs, words);
}

}  // namespace shardmanager::cli
