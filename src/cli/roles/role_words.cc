#include "cli/roles/role_words.h"

#include "cli/roles/verbs.h"

namespace shardmanager::cli {
namespace {

using Action = RoleCommand::Action;

constexpr char kGrantFooter[] = R"(
Who somebody is a certificate says; what an operator may do is granted here. Roles:
  viewer     reads everything
  operator   drains, pauses, pins, maintenances, retries, approvals: of all apps
  app-owner  of the apps that are named: apply, delete, split and merge, and what an operator may
  admin      everything, and gives roles to others
An admin certificate is an admin without a grant, and stays one: nobody can be locked out. Roles of
servers, clients, relays and the control plane are in their certificates. docs/security-roles.md has
the table of all calls. IDENTITY is what `shardctl whoami` shows.
Examples:
  shardctl grant operator/alice viewer
  shardctl grant operator/alice app-owner --app kv --app search
  shardctl revoke operator/alice app-owner --app search
  shardctl revoke operator/alice viewer
  shardctl get grants)";

constexpr char kWhoamiFooter[] = R"(
Examples:
  shardctl whoami
  shardctl whoami -o json | jq -r .identity)";

constexpr char kCanIFooter[] = R"(
VERB is a command of shardctl, or report, supply-map or watch-maps. Without --app: for all apps.
Whoever may see all grants may ask with --as about others.
Examples:
  shardctl can-i drain --app kv
  shardctl can-i apply --app kv --as operator/alice
Exit code 0: yes; 1: no, and why.)";

void AddGrant(CLI::App& cli, const RoleWords& words) {
  CLI::App& grant = *cli.add_subcommand("grant", "Give a role to somebody");
  CLI::App& revoke = *cli.add_subcommand("revoke", "Take a role back that was granted");
  grant.callback([&command = words.command] { command.action = Action::kGrant; });
  revoke.callback([&command = words.command] { command.action = Action::kRevoke; });
  for (CLI::App* command : {&grant, &revoke}) {
    command->footer(kGrantFooter);
    command
        ->add_option("IDENTITY", words.command.identity,
                     "Of a certificate: operator/NAME, client/APP/NAME, ...")
        ->required()
        ->type_name("");
    words
        .limit(
            command->add_option("ROLE", words.command.role, "viewer, operator, app-owner or admin"),
            {"viewer", "operator", "app-owner", "admin"})
        ->required()
        ->type_name("");
    command
        ->add_option("-a,--app", words.command.apps,
                     command == &grant ? "Of app-owner: for this app; may be repeated"
                                       : "Of app-owner: only for this app; may be repeated")
        ->allow_extra_args(false)
        ->type_name("APP");
  }
}

}  // namespace

void AddRoles(CLI::App& cli, const RoleWords& words) {
  AddGrant(cli, words);
  CLI::App& whoami = *cli.add_subcommand("whoami", "Show who you are, and which roles you have");
  whoami.footer(kWhoamiFooter);
  whoami.callback([&command = words.command] { command.action = Action::kWhoAmI; });
  words
      .limit(whoami.add_option("-o,--output", words.format, "Format: table|json|yaml"),
             {"table", "json", "yaml"})
      ->type_name("FORMAT")
      ->capture_default_str();
  CLI::App& can_i = *cli.add_subcommand("can-i", "Ask whether you may do something");
  can_i.footer(kCanIFooter);
  can_i.callback([&command = words.command] { command.action = Action::kCanI; });
  words.limit(can_i.add_option("VERB", words.command.verb, "What to do"), VerbWords())
      ->required()
      ->type_name("");
  can_i.add_option("-a,--app", words.command.app, "Of this app")->type_name("APP");
  can_i.add_option("--as", words.command.as, "Not you, but this identity")->type_name("IDENTITY");
}

}  // namespace shardmanager::cli
