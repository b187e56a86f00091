#include "cli/command_line.h"

#include <CLI/CLI.hpp>
#include <algorithm>
#include <map>
#include <memory>
#include <sstream>
#include <utility>

#include "absl/strings/str_cat.h"
#include "cli/help_texts.h"
#include "cli/suggest.h"
#include "cli/time_text.h"

namespace shardmanager::cli {
namespace {

constexpr char kDefaultServer[] = "127.0.0.1:7400";
constexpr char kDefaultTimeout[] = "10s";

const std::map<std::string, Resource> kResources = {
    {"app", Resource::kApps},        {"apps", Resource::kApps},    {"server", Resource::kServers},
    {"servers", Resource::kServers}, {"shard", Resource::kShards}, {"shards", Resource::kShards}};
const std::map<std::string, Format> kFormats = {{"table", Format::kTable}, {"wide", Format::kWide},
                                                {"json", Format::kJson},   {"yaml", Format::kYaml},
                                                {"name", Format::kName},   {"spec", Format::kSpec}};

// --- What a flag's value may be; "" when it is fine ---------------------------------

std::string CheckTimeout(const std::string& text) {
  const auto timeout = ParseAge(text);
  if (timeout.has_value() && timeout->count() > 0) return "";
  return absl::StrCat("found \"", text, "\"; allowed: a time such as 500ms, 10s or 2m");
}

std::string CheckEndpoint(const std::string& text) {
  const size_t colon = text.rfind(':');
  const std::string port = colon == std::string::npos ? "" : text.substr(colon + 1);
  const bool digits =
      !port.empty() && port.size() <= 5 &&
      std::all_of(port.begin(), port.end(), [](char c) { return c >= '0' && c <= '9'; });
  if (colon != 0 && digits) return "";
  return absl::StrCat("found \"", text, "\"; allowed: HOST:PORT, as in ", kDefaultServer);
}

template <typename Value>
CLI::Validator OneOf(const std::map<std::string, Value>& words) {
  std::vector<std::string> names;
  for (const auto& [name, value] : words) names.push_back(name);
  return CLI::Validator(
      [names](const std::string& word) -> std::string {
        if (std::find(names.begin(), names.end(), word) != names.end()) return "";
        const std::string meant = Suggest(word, names);
        return absl::StrCat("found \"", word, "\"",
                            meant.empty() ? "" : absl::StrCat(" (did you mean \"", meant, "\"?)"),
                            "; allowed: ", CLI::detail::join(names, ", "));
      },
      "");
}

// --- The commands -------------------------------------------------------------------

// CLI11 fills these while it parses; `command` is the one that was given.
struct Words {
  std::string server = kDefaultServer;
  std::string timeout = kDefaultTimeout;
  std::string resource;
  std::string format = "table";
  ApplyCommand apply;
  GetCommand get;
  DescribeCommand describe;
  ExplainCommand explain;
  DrainCommand drain;
  DeleteCommand remove;
  ReleaseCommand release;
  WatchCommand watch;
  PlaceCommand place;
  std::string place_time = "10s";
  std::string place_format = "yaml";
  CompletionCommand completion;
};

void AddFormat(CLI::App& command, Words& words, std::map<std::string, Format> formats) {
  std::string names;
  for (const char* name : {"table", "wide", "json", "yaml", "name", "spec"}) {
    if (formats.contains(name)) absl::StrAppend(&names, names.empty() ? "" : "|", name);
  }
  command.add_option("-o,--output", words.format, absl::StrCat("Format: ", names))
      ->check(OneOf(formats))
      ->type_name("FORMAT")
      ->capture_default_str();
}

void AddResource(CLI::App& command, Words& words, const std::string& help) {
  command.add_option("RESOURCE", words.resource, help)
      ->required()
      ->check(OneOf(kResources))
      ->type_name("");
}

void AddApply(CLI::App& cli, Words& words) {
  CLI::App& command = *cli.add_subcommand("apply", "Create or change apps from YAML files");
  command.footer(kApplyFooter);
  command.add_option("-f,--filename", words.apply.files, "YAML files; - for the standard input")
      ->required()
      ->type_name("FILE");
  command.add_flag("--force", words.apply.force, "Accept the loss of shards or of key ranges");
  command.add_flag("--dry-run", words.apply.dry_run, "Check and report; change nothing");
}

void AddGet(CLI::App& cli, Words& words) {
  CLI::App& command = *cli.add_subcommand("get", "List apps, servers or shards");
  command.footer(kGetFooter);
  AddResource(command, words, "apps, servers or shards");
  command.add_option("NAME", words.get.name, "Only this one")->type_name("");
  command.add_option("-a,--app", words.get.app, "Of this app")->type_name("APP");
  AddFormat(command, words, kFormats);
}

void AddDescribe(CLI::App& cli, Words& words) {
  CLI::App& command =
      *cli.add_subcommand("describe", "Show all about one app, server or shard, with its events");
  command.footer(kDescribeFooter);
  AddResource(command, words, "app, server or shard");
  command.add_option("NAME", words.describe.name, "Which one")->required()->type_name("");
  command.add_option("-a,--app", words.describe.app, "Of this app")->type_name("APP");
}

void AddExplain(CLI::App& cli, Words& words) {
  CLI::App& command =
      *cli.add_subcommand("explain", "Show why a shard is where it is, and not elsewhere");
  command.footer(kExplainFooter);
  command.add_option("APP", words.explain.app, "Of which app")->required()->type_name("");
  command.add_option("SHARD", words.explain.shard, "Which shard")->required()->type_name("");
  // Not --server: that is where the control plane answers.
  command.add_option("--on", words.explain.server, "Only this server: why not there?")
      ->type_name("SERVER");
  command.add_option("--candidates", words.explain.most_candidates, "Most servers that are listed")
      ->check(CLI::Range(1, 100))
      ->type_name("NUMBER")
      ->capture_default_str();
  AddFormat(command, words,
            {{"table", Format::kTable}, {"json", Format::kJson}, {"yaml", Format::kYaml}});
}

void AddScope(CLI::App& command, Words& words) {
  command.add_option("LEVEL", words.drain.level, "server, rack, datacenter or region")
      ->required()
      ->check(OneOf(
          std::map<std::string, int>{{"server", 0}, {"rack", 0}, {"datacenter", 0}, {"region", 0}}))
      ->type_name("");
  command
      .add_option("NAME", words.drain.name, "Which one: a server, or the path of a fault domain")
      ->required()
      ->type_name("");
  command.add_option("-a,--app", words.drain.app, "Of this app only")->type_name("APP");
}

void AddDrain(CLI::App& cli, Words& words) {
  CLI::App& drain = *cli.add_subcommand("drain", "Empty servers ahead of planned work");
  drain.footer(kDrainFooter);
  AddScope(drain, words);
  drain.add_flag("--primaries-only", words.drain.primaries_only, "Secondaries may stay");
  drain.add_option("--reason", words.drain.reason, "For people; shown with the drain")
      ->type_name("TEXT");
  drain.add_flag("-w,--wait", words.drain.wait, "Show the progress, until all are empty");
  CLI::App& undrain = *cli.add_subcommand("undrain", "Take a drain back");
  undrain.footer(kDrainFooter);
  AddScope(undrain, words);
}

void AddDelete(CLI::App& cli, Words& words) {
  CLI::App& command = *cli.add_subcommand("delete", "Delete an app");
  command.footer(kDeleteFooter);
  command.add_option("RESOURCE", words.resource, "app")
      ->required()
      ->check(OneOf(std::map<std::string, int>{{"app", 0}}))
      ->type_name("");
  command.add_option("NAME", words.remove.app, "Which one")->required()->type_name("");
  command.add_flag("-y,--yes", words.remove.yes, "Do not ask");
}

void AddRelease(CLI::App& cli, Words& words) {
  CLI::App& command =
      *cli.add_subcommand("release", "Give up what an unreadable record of a server may grant");
  command.footer(kReleaseFooter);
  command.add_option("RESOURCE", words.resource, "server")
      ->required()
      ->check(OneOf(std::map<std::string, int>{{"server", 0}}))
      ->type_name("");
  command.add_option("NAME", words.release.server, "Which one")->required()->type_name("");
  command.add_option("-a,--app", words.release.app, "Of this app")->type_name("APP");
}

void AddWatch(CLI::App& cli, Words& words) {
  CLI::App& command =
      *cli.add_subcommand("watch", "Show what the control plane does and why, as it happens");
  command.footer(kWatchFooter);
  command.add_option("-a,--app", words.watch.app, "Only of this app")->type_name("APP");
  command.add_flag("--no-follow", words.watch.no_follow, "End after the events known now");
  AddFormat(command, words, {{"table", Format::kTable}, {"json", Format::kJson}});
}

void AddPlace(CLI::App& cli, Words& words) {
  CLI::App& command =
      *cli.add_subcommand("place", "Plan where shards should be, without a control plane");
  command.footer(kPlaceFooter);
  command.add_option("FILE", words.place.files, "The problem; - for the standard input")
      ->required()
      ->expected(1, 2)
      ->type_name("");
  command.add_option("--format", words.place_format, "Of the files: yaml|roadef")
      ->check(OneOf(std::map<std::string, int>{{"yaml", 0}, {"roadef", 0}}))
      ->type_name("FORMAT")
      ->capture_default_str();
  command.add_option("-o,--output", words.place.output, "text|json|yaml, or a file to write")
      ->type_name("OUTPUT")
      ->capture_default_str();
  command.add_option("--time", words.place_time, "How long to look for better plans")
      ->check(CLI::Validator(CheckTimeout, ""))
      ->type_name("TIME")
      ->capture_default_str();
  command.add_option("--seed", words.place.seed, "Of the search's random choices")
      ->type_name("NUMBER")
      ->capture_default_str();
  command.add_flag("--dry-run", words.place.dry_run, "Show every move; write no file");
}

void AddOthers(CLI::App& cli, Words& words) {
  CLI::App& status = *cli.add_subcommand("status", "Show who answers, and who leads");
  AddFormat(status, words,
            {{"table", Format::kTable}, {"json", Format::kJson}, {"yaml", Format::kYaml}});
  CLI::App& completion = *cli.add_subcommand("completion", "Print a completion script for a shell");
  completion.footer(kCompletionFooter);
  completion.add_option("SHELL", words.completion.shell, "bash, zsh or fish")
      ->required()
      ->check(OneOf(std::map<std::string, int>{{"bash", 0}, {"zsh", 0}, {"fish", 0}}))
      ->type_name("");
  cli.add_subcommand("version", "Print shardctl's version");
}

void AddAll(CLI::App& cli, Words& words) {
  cli.footer(kFooter);
  cli.get_formatter()->column_width(32);
  cli.require_subcommand(1);
  // Flags for all commands may stand before or after the command.
  cli.fallthrough();
  cli.add_option("-s,--server", words.server, "Where the control plane answers")
      ->envname("SHARDCTL_SERVER")
      ->check(CLI::Validator(CheckEndpoint, ""))
      ->type_name("HOST:PORT")
      ->capture_default_str();
  cli.add_option("--timeout", words.timeout, "How long to wait for one answer")
      ->check(CLI::Validator(CheckTimeout, ""))
      ->type_name("TIME")
      ->capture_default_str();
  AddApply(cli, words);
  AddGet(cli, words);
  AddDescribe(cli, words);
  AddExplain(cli, words);
  AddDrain(cli, words);
  AddDelete(cli, words);
  AddRelease(cli, words);
  AddWatch(cli, words);
  AddPlace(cli, words);
  AddOthers(cli, words);
}

CommandLine ToCommandLine(const std::string& command, Words words) {
  CommandLine line{.server = words.server, .timeout = *ParseAge(words.timeout)};
  const Format format = kFormats.at(words.format);
  if (command == "apply") {
    line.command = std::move(words.apply);
  } else if (command == "get") {
    words.get.resource = kResources.at(words.resource);
    words.get.format = format;
    line.command = std::move(words.get);
  } else if (command == "describe") {
    words.describe.resource = kResources.at(words.resource);
    line.command = std::move(words.describe);
  } else if (command == "explain") {
    words.explain.format = format;
    line.command = std::move(words.explain);
  } else if (command == "drain" || command == "undrain") {
    words.drain.undrain = command == "undrain";
    line.command = std::move(words.drain);
  } else if (command == "delete") {
    line.command = std::move(words.remove);
  } else if (command == "release") {
    line.command = std::move(words.release);
  } else if (command == "watch") {
    words.watch.json = format == Format::kJson;
    line.command = std::move(words.watch);
  } else if (command == "status") {
    line.command = StatusCommand{format};
  } else if (command == "place") {
    words.place.roadef = words.place_format == "roadef";
    words.place.time = *ParseAge(words.place_time);
    line.command = std::move(words.place);
  } else if (command == "completion") {
    line.command = std::move(words.completion);
  } else {
    line.command = VersionCommand{};
  }
  return line;
}

// --- What is wrong with a command line ------------------------------------------------

std::vector<std::string> CommandNames(const CLI::App& cli) {
  std::vector<std::string> names;
  for (const CLI::App* command : cli.get_subcommands({})) names.push_back(command->get_name());
  return names;
}

// The first word that stands where a command should but is none; "" if there is none.
std::string UnknownCommand(const CLI::App& cli, const std::vector<std::string>& arguments) {
  const std::vector<std::string> names = CommandNames(cli);
  for (size_t i = 0; i < arguments.size(); ++i) {
    const std::string& word = arguments[i];
    if (word == "-s" || word == "--server" || word == "--timeout") ++i;
    if (word.rfind('-', 0) == 0) continue;
    return std::find(names.begin(), names.end(), word) == names.end() ? word : "";
  }
  return "";
}

Answer WrongUsage(const CLI::App& cli, const std::vector<std::string>& arguments,
                  const std::string& problem) {
  const std::string unknown = UnknownCommand(cli, arguments);
  std::string text = absl::StrCat("error: ", problem, "\n");
  if (!unknown.empty()) {
    const std::string meant = Suggest(unknown, CommandNames(cli));
    text = absl::StrCat("error: unknown command \"", unknown, "\"",
                        meant.empty() ? "" : absl::StrCat(" (did you mean \"", meant, "\"?)"),
                        "; allowed: ", CLI::detail::join(CommandNames(cli), ", "), "\n");
  }
  const auto given = cli.get_subcommands();
  return {kUsage, absl::StrCat(text, "See `shardctl ",
                               given.empty() ? "" : given.front()->get_name() + " ", "--help`.\n")};
}

}  // namespace

std::variant<CommandLine, Answer> ParseCommandLine(std::vector<std::string> arguments) {
  Words words;
  CLI::App cli(kAbout, "shardctl");
  AddAll(cli, words);
  std::vector<std::string> reversed(arguments.rbegin(), arguments.rend());
  if (arguments.empty()) return Answer{kUsage, cli.help()};
  // The one place where CLI11's exceptions pass, and end.
  try {
    cli.parse(std::move(reversed));
  } catch (const CLI::Success& e) {
    std::ostringstream help, unused;
    cli.exit(e, help, unused);
    return Answer{kOk, help.str()};
  } catch (const CLI::ParseError& e) {
    return WrongUsage(cli, arguments, e.what());
  }
  return ToCommandLine(cli.get_subcommands().front()->get_name(), std::move(words));
}

}  // namespace shardmanager::cli
