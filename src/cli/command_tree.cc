#include "cli/command_tree.h"

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "cli/cell/cell_words.h"
#include "cli/certs/certs_words.h"
#include "cli/commands/reshape_words.h"
#include "cli/help_texts.h"
#include "cli/history/history_words.h"
#include "cli/levers/lever_words.h"
#include "cli/roles/role_words.h"
#include "cli/suggest.h"
#include "cli/time_text.h"
#include "model/region_preferences.h"
#include "model/text.h"
#include "shardmanager/v1/types.pb.h"

namespace shardmanager::cli {
namespace {

// --- What a flag's value may be; "" when it is fine ---------------------------------

// Nobody waits for more; and the numbers that follow from it fit.
constexpr uint64_t kMostPlaceSteps = 1'000'000'000'000'000;
constexpr uint32_t kMostPlaceThreads = 64;

std::string CheckMoment(const std::string& text) {
  if (ParseMoment(text).has_value()) return "";
  return absl::StrCat("found \"", text, "\"; allowed: a moment such as 2026-03-01T12:00Z");
}

CLI::Validator OneOf(const std::vector<std::string>& names) {
  return CLI::Validator(
      [names](const std::string& word) -> std::string {
        if (std::find(names.begin(), names.end(), word) != names.end()) return "";
        const std::string meant = Suggest(word, names);
        return absl::StrCat("found \"", word, "\"",
                            meant.empty() ? "" : absl::StrCat(" (did you mean \"", meant, "\"?)"),
                            "; allowed: ", absl::StrJoin(names, ", "));
      },
      "");
}

}  // namespace

CommandTree::CommandTree() : cli_(kAbout, "shardctl") {
  cli_.footer(kFooter);
  cli_.get_formatter()->column_width(32);
  cli_.require_subcommand(1);
  // Flags for all commands may stand before or after the command.
  cli_.fallthrough();
  AddConnection(cli_, words_.connection);
  AddApply();
  AddGet();
  AddDescribe();
  AddExplain();
  AddDrain();
  AddDelete();
  AddRelease();
  AddLevers(cli_, {words_.lever, [this](CLI::App& command, const Values& values) {
                     AddResource(command, values);
                   }});
  AddApprove();
  AddEnd();
  AddPause();
  AddPin();
  AddPrefer();
  AddReshape(cli_, words_.reshape);
  AddMaintenance();
  AddRollout();
  AddSnapshot();
  AddSimulate();
  AddCapacity();
  AddWatch();
  AddHistory(cli_,
             {words_.history, words_.format,
              [this](CLI::Option* option, const Values& values) { return Limit(option, values); }});
  AddRoles(cli_, {words_.roles, words_.format, [this](CLI::Option* option, const Values& values) {
                    return Limit(option, values);
                  }});
  AddPlace();
  AddCell(cli_, words_.offline.cell);
  AddCerts(cli_, words_.offline.certs);
  AddOthers();
}

const std::vector<std::string>& CommandTree::ValuesOf(const CLI::Option& option) const {
  static const Values kAnything;
  const auto found = values_.find(&option);
  return found == values_.end() ? kAnything : found->second;
}

CLI::Option* CommandTree::Limit(CLI::Option* option, Values values, const Values& also) {
  Values allowed = values;
  allowed.insert(allowed.end(), also.begin(), also.end());
  std::sort(allowed.begin(), allowed.end());
  values_[option] = std::move(values);
  return option->check(OneOf(allowed));
}

// --- The commands -------------------------------------------------------------------

void CommandTree::AddFormat(CLI::App& command, const Values& formats) {
  CLI::Option* option = command.add_option("-o,--output", words_.format,
                                           absl::StrCat("Format: ", absl::StrJoin(formats, "|")));
  Limit(option, formats)->type_name("FORMAT")->capture_default_str();
}

void CommandTree::AddResource(CLI::App& command, const Values& values, const Values& also) {
  Values all = values;
  const std::string last = all.back();
  all.pop_back();
  const std::string help =
      all.empty() ? last : absl::StrCat(absl::StrJoin(all, ", "), " or ", last);
  Limit(command.add_option("RESOURCE", words_.resource, help), values, also)
      ->required()
      ->type_name("");
}

void CommandTree::AddApply() {
  CLI::App& command = *cli_.add_subcommand("apply", "Create or change apps from YAML files");
  command.footer(kApplyFooter);
  command.add_option("-f,--filename", words_.apply.files, "YAML files; - for the standard input")
      ->required()
      ->type_name("FILE");
  command.add_flag("--force", words_.apply.force, "Accept the loss of shards or of key ranges");
  command.add_flag("--dry-run", words_.apply.dry_run, "Check and report; change nothing");
}

void CommandTree::AddGet() {
  CLI::App& command =
      *cli_.add_subcommand("get", "List apps, servers, shards, container operations or grants");
  command.footer(kGetFooter);
  AddResource(command, {"apps", "servers", "shards", "operations", "grants"},
              {"app", "server", "shard", "operation", "grant"});
  command.add_option("NAME", words_.get.name, "Only this one")->type_name("");
  command.add_option("-a,--app", words_.get.app, "Of this app")->type_name("APP");
  Limit(command.add_option("--state", words_.get.states, "Of shards: only those in this state"),
        {"serving", "degraded", "unserved"})
      ->type_name("STATE");
  command.add_flag_callback(
      "--unserved", [this] { words_.get.states.emplace_back("unserved"); },
      "Of shards: only those that are not served");
  // Not --server: that is where the control plane answers.
  command.add_option("--on", words_.get.server, "Of shards: only those with a replica there")
      ->type_name("SERVER");
  AddFormat(command, {"table", "wide", "json", "yaml", "name", "spec"});
}

void CommandTree::AddDescribe() {
  CLI::App& command =
      *cli_.add_subcommand("describe", "Show all about one app, server, shard or operation");
  command.footer(kDescribeFooter);
  AddResource(command, {"app", "server", "shard", "operation"},
              {"apps", "servers", "shards", "operations"});
  command.add_option("NAME", words_.describe.name, "Which one")->required()->type_name("");
  command.add_option("-a,--app", words_.describe.app, "Of this app")->type_name("APP");
}

void CommandTree::AddExplain() {
  CLI::App& command = *cli_.add_subcommand(
      "explain", "Show why a shard is where it is, or what an operation waits for");
  command.footer(kExplainFooter);
  command.add_option("APP", words_.explain.app, "Of which app; or the word operation")
      ->required()
      ->type_name("");
  command.add_option("SHARD", words_.explain.shard, "Which shard; or the id of an operation")
      ->required()
      ->type_name("");
  command.add_option("-a,--app", words_.explain.of_app, "Of an operation: of this app")
      ->type_name("APP");
  command.add_option("--manager", words_.explain.manager, "Of an operation: of this manager")
      ->type_name("MANAGER");
  // Not --server: that is where the control plane answers.
  command.add_option("--on", words_.explain.server, "Only this server: why not there?")
      ->type_name("SERVER");
  command
      .add_option("--candidates", words_.explain.most_candidates, "Most servers that are listed")
      ->check(CLI::Range(1, 100))
      ->type_name("NUMBER")
      ->capture_default_str();
  AddFormat(command, {"table", "json", "yaml"});
}

void CommandTree::AddScope(CLI::App& command, std::string& level, std::string& name) {
  Limit(command.add_option("LEVEL", level, "server, rack, datacenter or region"),
        {"server", "rack", "datacenter", "region"})
      ->required()
      ->type_name("");
  command.add_option("NAME", name, "Which one: a server, or the path of a fault domain")
      ->required()
      ->type_name("");
}

void CommandTree::AddDrain() {
  CLI::App& drain = *cli_.add_subcommand("drain", "Empty servers ahead of planned work");
  drain.footer(kDrainFooter);
  AddScope(drain, words_.drain.level, words_.drain.name);
  drain.add_option("-a,--app", words_.drain.app, "Of this app only")->type_name("APP");
  drain.add_flag("--primaries-only", words_.drain.primaries_only, "Secondaries may stay");
  drain.add_option("--reason", words_.drain.reason, "For people; shown with the drain")
      ->type_name("TEXT");
  CLI::Option* wait =
      drain.add_flag("-w,--wait", words_.drain.wait, "Show the progress, until all are empty");
  AddDryRun(drain, words_.drain.dry_run)->excludes(wait);
  CLI::App& undrain = *cli_.add_subcommand("undrain", "Take a drain back");
  undrain.footer(kUndrainFooter);
  AddScope(undrain, words_.drain.level, words_.drain.name);
  undrain.add_option("-a,--app", words_.drain.app, "Of this app only")->type_name("APP");
  AddDryRun(undrain, words_.drain.dry_run);
}

void CommandTree::AddDelete() {
  CLI::App& command = *cli_.add_subcommand("delete", "Delete an app");
  command.footer(kDeleteFooter);
  AddResource(command, {"app"});
  command.add_option("NAME", words_.remove.app, "Which one")->required()->type_name("");
  command.add_flag("-y,--yes", words_.remove.yes, "Do not ask");
}

void CommandTree::AddRelease() {
  CLI::App& command =
      *cli_.add_subcommand("release", "Give up what an unreadable record of a server may grant");
  command.footer(kReleaseFooter);
  AddResource(command, {"server"});
  command.add_option("NAME", words_.release.server, "Which one")->required()->type_name("");
  command.add_option("-a,--app", words_.release.app, "Of this app")->type_name("APP");
}

void CommandTree::AddApprove() {
  CLI::App& command = *cli_.add_subcommand(
      "approve", "Let a container operation go ahead, whatever the limits say");
  command.footer(kApproveFooter);
  AddResource(command, {"operation"});
  command.add_option("NAME", words_.approve.operation, "Which one")->required()->type_name("");
  command.add_option("-a,--app", words_.approve.app, "Of this app")->type_name("APP");
  command.add_option("--manager", words_.approve.manager, "Of this cluster manager")
      ->type_name("MANAGER");
  command
      .add_flag("--force", words_.approve.force,
                "Needed: shards may lose more replicas than their spec allows")
      ->required();
}

void CommandTree::AddEnd() {
  CLI::App& command = *cli_.add_subcommand(
      "end", "Count a container operation as finished whose manager never comes back");
  command.footer(kEndFooter);
  AddResource(command, {"operation"});
  command.add_option("NAME", words_.end.operation, "Which one")->required()->type_name("");
  command.add_option("-a,--app", words_.end.app, "Of this app")->type_name("APP");
  command.add_option("--manager", words_.end.manager, "Of this cluster manager")
      ->type_name("MANAGER");
}

void CommandTree::AddPause() {
  CLI::App& pause = *cli_.add_subcommand("pause", "Leave an app as it is, until it is resumed");
  pause.footer(kPauseFooter);
  AddResource(pause, {"app"});
  pause.add_option("NAME", words_.pause.app, "Which one")->required()->type_name("");
  pause.add_flag("--failover", words_.pause.failover,
                 "What has no server, or whose server is lost, is given another one all the same");
  pause.add_flag("--only-balance", words_.pause.only_balance,
                 "Only balance stops: drains, failovers and container operations go on");
  AddDryRun(pause, words_.pause.dry_run);
  pause.add_option("--reason", words_.pause.reason, "For people; shown with the pause")
      ->type_name("TEXT");
  CLI::App& resume = *cli_.add_subcommand("resume", "Take a pause back");
  resume.footer(kPauseFooter);
  AddResource(resume, {"app"});
  resume.add_option("NAME", words_.pause.app, "Which one")->required()->type_name("");
  AddDryRun(resume, words_.pause.dry_run);
}

void CommandTree::AddPin() {
  CLI::App& pin = *cli_.add_subcommand("pin", "Leave a shard where it is, until it is unpinned");
  pin.add_option("--reason", words_.pin.reason, "For people; shown with the pin")
      ->type_name("TEXT");
  CLI::App& unpin = *cli_.add_subcommand("unpin", "Take a pin back");
  for (CLI::App* command : {&pin, &unpin}) {
    command->footer(kPinFooter);
    AddResource(*command, {"shard"});
    command->add_option("NAME", words_.pin.shard, "Which one")->required()->type_name("");
    command->add_option("-a,--app", words_.pin.app, "Of this app")->type_name("APP");
    AddDryRun(*command, words_.pin.dry_run);
  }
}

void CommandTree::AddPrefer() {
  PreferCommand& words = words_.prefer;
  CLI::App& command = *cli_.add_subcommand("prefer", "Say in which region shards should be");
  command.footer(kPreferFooter);
  CLI::Option* shard = command.add_option("SHARD", words.shard, "Which one")->type_name("");
  CLI::Option* region =
      command.add_option("REGION", words.region, "Where; - for what the spec says")->type_name("");
  CLI::Option* weight = command.add_option(
      "-w,--weight", words.weight,
      "Those that weigh more go first where the region has not room for all; 1 without it");
  weight->type_name("NUMBER")->needs(region);
  weight->check(CLI::Range(kLeastPreferenceWeight, kMostPreferenceWeight));
  CLI::Option* file = command.add_option("-f,--file", words.file,
                                         "Instead: a file with a shard, its region and perhaps a "
                                         "weight in each line; - for the standard input");
  file->type_name("FILE")->excludes(shard)->excludes(region);
  shard->needs(region);
  command.add_flag("--replace", words.replace, "What the file does not name is taken back")
      ->needs(file);
  command.add_flag("--dry-run", words.dry_run, "Check and report; change nothing");
  command.add_option("-a,--app", words.app, "Of this app")->type_name("APP");
}

void CommandTree::AddMaintenance() {
  using Action = MaintenanceCommand::Action;
  MaintenanceCommand& words = words_.maintenance;
  CLI::App& command = *cli_.add_subcommand(
      "maintenance", "Give notice of planned events that nobody can delay, list or cancel them");
  command.footer(kMaintenanceFooter);
  command.require_subcommand(1);
  command.fallthrough();

  CLI::App& add = *command.add_subcommand("add", "Give notice of one, or change it");
  add.footer(kMaintenanceFooter);
  add.fallthrough();
  add.parse_complete_callback([&words] { words.action = Action::kAdd; });
  add.add_option("ID", words.id, "A name for it; of one that is known already: changes it")
      ->required()
      ->type_name("");
  AddScope(add, words.level, words.name);
  AddMaintenanceTimes(add);
  add.add_option("--reason", words.reason, "For people; shown with the maintenance")
      ->type_name("TEXT");

  CLI::App& list = *command.add_subcommand("list", "Show them, and what they will hit");
  list.footer(kMaintenanceFooter);
  list.fallthrough();
  list.add_option("ID", words.id, "All about this one")->type_name("");
  list.add_option("-a,--app", words.app, "Of this app only")->type_name("APP");
  AddFormat(list, {"table", "json", "yaml"});

  CLI::App& cancel =
      *command.add_subcommand("cancel", "It does not take place, or is over before its time");
  cancel.footer(kMaintenanceFooter);
  cancel.fallthrough();
  cancel.parse_complete_callback([&words] { words.action = Action::kCancel; });
  cancel.add_option("ID", words.id, "Which one")->required()->type_name("");
}

void CommandTree::AddMaintenanceTimes(CLI::App& add) {
  Limit(
      add.add_option("--impact", words_.maintenance.impact,
                     "What is lost: the network; what processes keep in memory; also their disks; "
                     "the machines for good"),
      absl::StrSplit(EnumLabels(*v1::MaintenanceImpact_descriptor()), ", "))
      ->required()
      ->type_name("IMPACT");
  const auto add_either = [](CLI::Option* span, CLI::Option* moment) {
    span->check(CLI::Validator(CheckTimeout, ""))->type_name("TIME");
    moment->check(CLI::Validator(CheckMoment, ""))->excludes(span)->type_name("MOMENT");
  };
  add_either(
      add.add_option("--in", words_.maintenance_times.begins_in, "It begins in so long (now)"),
      add.add_option("--start", words_.maintenance_times.start, "Or: it begins then"));
  add_either(add.add_option("--for", words_.maintenance_times.length, "It lasts so long"),
             add.add_option("--end", words_.maintenance_times.end, "Or: it is over then"));
}

void CommandTree::AddRollout() {
  CLI::App& command = *cli_.add_subcommand(
      "rollout", "Show how far changes of containers are, and when they will be over");
  command.footer(kRolloutFooter);
  command.require_subcommand(1);
  command.fallthrough();
  CLI::App& status = *command.add_subcommand("status", "How far they are, and what holds them up");
  status.footer(kRolloutFooter);
  status.fallthrough();
  status.add_option("APP", words_.rollout.app, "Of this app only")->type_name("");
  status.add_flag("-w,--wait", words_.rollout.wait, "Show the progress, until all are over");
  AddFormat(status, {"table", "wide", "json", "yaml"});
}

void CommandTree::AddSnapshot() {
  CLI::App& command =
      *cli_.add_subcommand("snapshot", "Write down all of an app as it is, for `simulate`");
  command.footer(kSnapshotFooter);
  command.add_option("-a,--app", words_.snapshot.app, "Of this app")->type_name("APP");
  command.add_option("-o,--output", words_.snapshot.file, "A file; - for the standard output")
      ->type_name("FILE")
      ->capture_default_str();
}

// What is played is the app as it is now, or as it was.
template <typename Command>
void CommandTree::AddSnapshotSource(CLI::App& command, Command& words) {
  command.add_option("-a,--app", words.app, "Of this app")->type_name("APP");
  command
      .add_option("--snapshot", words.snapshot,
                  "A file of `snapshot`, instead of the app as it is now; - for the "
                  "standard input")
      ->type_name("FILE");
  command.add_option("--load-factor", words.load_factor, "All loads are so many times as high")
      ->type_name("NUMBER")
      ->capture_default_str();
}

void CommandTree::AddSimulate() {
  SimulateCommand& words = words_.simulate;
  CLI::App& command = *cli_.add_subcommand("simulate", "Show what would follow from a change");
  command.footer(kSimulateFooter);
  AddSnapshotSource(command, words);
  command.add_option("--lose", words.lose, "These servers are gone at once")
      ->type_name("LEVEL=NAME");
  command.add_option("--drain", words.drain, "These servers are emptied")->type_name("LEVEL=NAME");
  command
      .add_option("--add-servers", words.add,
                  "So many servers join, in this region or in all of them in turn")
      ->type_name("COUNT[@REGION]");
  command.add_option("--spec", words.spec, "The app has this spec")->type_name("FILE");
  command
      .add_option("--load-time", words_.simulate_load_time,
                  "How long a server takes to load a shard")
      ->check(CLI::Validator(CheckTimeout, ""))
      ->type_name("TIME")
      ->capture_default_str();
  command.add_flag("--placement", words.placement, "With json and yaml: all shards, too");
  AddFormat(command, {"table", "json", "yaml"});
}

void CommandTree::AddCapacity() {
  CapacityCommand& words = words_.capacity;
  CLI::App& command = *cli_.add_subcommand(
      "capacity", "Show how many servers each region needs, if one region may be lost");
  command.footer(kCapacityFooter);
  AddSnapshotSource(command, words);
  command
      .add_option("--most-added", words.most_added,
                  "Servers to add to one region at most (as many as the app has)")
      ->type_name("NUMBER");
  AddFormat(command, {"table", "json", "yaml"});
}

void CommandTree::AddWatch() {
  CLI::App& top = *cli_.add_subcommand("top", "Show which shards and keys get the most requests");
  top.footer(kTopFooter);
  AddResource(top, {"shards", "keys"});
  top.add_option("APP", words_.top.app, "Of which app")->required()->type_name("");
  top.add_option("-n,--most", words_.top.most, "Most lines")
      ->check(CLI::Range(1, 1'000))
      ->type_name("NUMBER")
      ->capture_default_str();
  AddFormat(top, {"table", "json", "yaml"});
  CLI::App& command =
      *cli_.add_subcommand("watch", "Show what the control plane does and why, as it happens");
  command.footer(kWatchFooter);
  command.add_option("-a,--app", words_.watch.app, "Only of this app")->type_name("APP");
  command.add_flag("--no-follow", words_.watch.no_follow, "End after the events known now");
  AddFormat(command, {"table", "json"});
}

void CommandTree::AddPlace() {
  CLI::App& command =
      *cli_.add_subcommand("place", "Plan where shards should be, without a control plane");
  command.footer(kPlaceFooter);
  command.add_option("FILE", words_.offline.place.files, "The problem; - for the standard input")
      ->required()
      ->expected(1, 2)
      ->type_name("");
  Limit(command.add_option("--format", words_.offline.place_texts.format,
                           "Of the files: yaml|roadef"),
        {"yaml", "roadef"})
      ->type_name("FORMAT")
      ->capture_default_str();
  command
      .add_option("-o,--output", words_.offline.place.output, "text|json|yaml, or a file to write")
      ->type_name("OUTPUT")
      ->capture_default_str();
  const auto limit = [&](const char* flag, std::string& text, const char* meaning) {
    command.add_option(flag, text, meaning)
        ->check(CLI::Validator(CheckTimeout, ""))
        ->type_name("TIME");
  };
  limit("--time", words_.offline.place_texts.time,
        "How long to look for better plans (10s unless another limit is given)");
  limit("--cpu-time", words_.offline.place_texts.cpu_time, "So long, in processor time");
  command
      .add_option("--steps", words_.offline.place.steps,
                  "So many steps: if alone, the run repeats exactly for a seed")
      ->check(CLI::Range(uint64_t{1}, kMostPlaceSteps))
      ->type_name("NUMBER");
  command.add_option("--seed", words_.offline.place.seed, "Of the search's random choices")
      ->type_name("NUMBER")
      ->capture_default_str();
  command
      .add_option("--threads", words_.offline.place.threads,
                  "Searches side by side, the best of which counts (one a core, up to 8; with "
                  "--steps or --cpu-time, which they share, one)")
      ->check(CLI::Range(uint32_t{1}, kMostPlaceThreads))
      ->type_name("NUMBER");
  command.add_flag("--progress", words_.offline.place.progress,
                   "Tell cost and moves of the best plan so far, on the standard error");
  command.add_flag("--dry-run", words_.offline.place.dry_run, "Show every move; write no file");
}

void CommandTree::AddOthers() {
  CLI::App& status = *cli_.add_subcommand("status", "Show how the cell is, and what is wrong");
  status.footer(kCellStatusHelp);
  AddFormat(status, {"table", "json", "yaml"});
  CLI::App& completion =
      *cli_.add_subcommand("completion", "Print a completion script for a shell");
  completion.footer(kCompletionFooter);
  Limit(completion.add_option("SHELL", words_.completion.shell, "bash, zsh or fish"),
        {"bash", "zsh", "fish"})
      ->required()
      ->type_name("");
  cli_.add_subcommand("version", "Print shardctl's version");
}

}  // namespace shardmanager::cli
