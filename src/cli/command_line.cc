#include "cli/command_line.h"

#include <algorithm>
#include <map>
#include <sstream>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "cli/command_tree.h"
#include "cli/suggest.h"
#include "cli/time_text.h"

namespace shardmanager::cli {
namespace {

const std::map<std::string, Resource> kResources = {{"app", Resource::kApps},
                                                    {"apps", Resource::kApps},
                                                    {"server", Resource::kServers},
                                                    {"servers", Resource::kServers},
                                                    {"shard", Resource::kShards},
                                                    {"shards", Resource::kShards},
                                                    {"operation", Resource::kOperations},
                                                    {"operations", Resource::kOperations},
                                                    {"grant", Resource::kGrants},
                                                    {"grants", Resource::kGrants}};
const std::map<std::string, Format> kFormats = {{"table", Format::kTable}, {"wide", Format::kWide},
                                                {"json", Format::kJson},   {"yaml", Format::kYaml},
                                                {"name", Format::kName},   {"spec", Format::kSpec}};

// The times as they are meant.
MaintenanceCommand WithTimes(const Words& words) {
  MaintenanceCommand command = words.maintenance;
  if (!words.maintenance_times.begins_in.empty())
    command.begins_in = ParseAge(words.maintenance_times.begins_in);
  if (!words.maintenance_times.length.empty())
    command.length = ParseAge(words.maintenance_times.length);
  command.start_ms = ParseMoment(words.maintenance_times.start);
  command.end_ms = ParseMoment(words.maintenance_times.end);
  return command;
}

SimulateCommand ToSimulate(const Words& words, Format format) {
  SimulateCommand command = words.simulate;
  command.format = format;
  command.load_time = *ParseAge(words.simulate_load_time);
  return command;
}

void SetWhatIf(const std::string& command, Words& words, Format format, CommandLine& line) {
  words.capacity.format = format;
  if (command == "snapshot") {
    line.command = std::move(words.snapshot);
  } else if (command == "simulate") {
    line.command = ToSimulate(words, format);
  } else {
    line.command = std::move(words.capacity);
  }
}

TopCommand ToTop(const Words& words, Format format) {
  TopCommand command = words.top;
  command.keys = words.resource == "keys";
  command.format = format;
  return command;
}

// What happens now, and what happened. False: the command is another one.
bool SetWatch(const std::string& command, Words& words, Format format, CommandLine& line) {
  if (command == "top") {
    line.command = ToTop(words, format);
  } else if (command == "watch") {
    words.watch.json = format == Format::kJson;
    line.command = std::move(words.watch);
  } else if (command == "history") {
    words.history.format = format;
    line.command = std::move(words.history);
  } else {
    return false;
  }
  return true;
}

constexpr std::chrono::seconds kUsualPlaceTime{10};

PlaceCommand ToPlace(const Words& words) {
  PlaceCommand command = words.offline.place;
  command.roadef = words.offline.place_texts.format == "roadef";
  const PlaceTexts& texts = words.offline.place_texts;
  if (!texts.cpu_time.empty()) command.cpu_time = *ParseAge(texts.cpu_time);
  const bool limited = command.steps > 0 || !texts.cpu_time.empty();
  if (!texts.time.empty()) {
    command.time = *ParseAge(texts.time);
  } else if (!limited) {
    command.time = kUsualPlaceTime;
  }
  return command;
}

// An order that stands until it is taken back, or is carried out. False: the command is another
// one.
bool SetOrder(const std::string& command, Words& words, CommandLine& line) {
  if (command == "pause" || command == "resume") {
    words.pause.resume = command == "resume";
    line.command = std::move(words.pause);
  } else if (command == "pin" || command == "unpin") {
    words.pin.unpin = command == "unpin";
    line.command = std::move(words.pin);
  } else if (command == "prefer") {
    line.command = std::move(words.prefer);
  } else if (command == "split" || command == "merge") {
    line.command = std::move(words.reshape);
  } else {
    return false;
  }
  return true;
}

// What operators do by hand about one shard or server. False: the command is another one.
bool SetLever(const std::string& command, Words& words, CommandLine& line) {
  using Kind = LeverCommand::Kind;
  if (command == "retry") {
    words.lever.kind = Kind::kRetry;
  } else if (command == "move") {
    words.lever.kind = Kind::kMove;
  } else if (command == "unquarantine") {
    words.lever.kind = Kind::kUnquarantine;
  } else if (command == "forget") {
    words.lever.kind = Kind::kForget;
  } else {
    return false;
  }
  line.command = std::move(words.lever);
  return true;
}

// Of those that ask no control plane. False: it is none of them.
bool SetOffline(const std::string& command, Words& words, CommandLine& line) {
  if (command == "place") {
    line.command = ToPlace(words);
  } else if (command == "certs") {
    line.command = std::move(words.offline.certs);
  } else if (command == "cell") {
    line.command = std::move(words.offline.cell);
  } else {
    return false;
  }
  return true;
}

CommandLine ToCommandLine(const std::string& command, Words words) {
  CommandLine line{.server = words.connection.server,
                   .timeout = *ParseAge(words.connection.timeout),
                   .operation = words.connection.operation,
                   .security = words.connection.security};
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
  } else if (SetLever(command, words, line)) {
    return line;
  } else if (command == "approve") {
    line.command = std::move(words.approve);
  } else if (command == "end") {
    line.command = std::move(words.end);
  } else if (SetOrder(command, words, line)) {
    return line;
  } else if (command == "maintenance") {
    words.maintenance.format = format;
    line.command = WithTimes(words);
  } else if (command == "rollout") {
    words.rollout.format = format;
    line.command = std::move(words.rollout);
  } else if (command == "snapshot" || command == "simulate" || command == "capacity") {
    SetWhatIf(command, words, format, line);
  } else if (SetWatch(command, words, format, line)) {
    return line;
  } else if (command == "grant" || command == "revoke" || command == "whoami" ||
             command == "can-i") {
    words.roles.format = format;
    line.command = std::move(words.roles);
  } else if (command == "status") {
    line.command = StatusCommand{format};
  } else if (SetOffline(command, words, line)) {
    return line;
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
    if (word == "-s" || word == "--server" || word == "--timeout" || word == "--certs" ||
        word == "--operation-id" || word.rfind("--tls-", 0) == 0) {
      ++i;
    }
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
                        "; allowed: ", absl::StrJoin(CommandNames(cli), ", "), "\n");
  }
  absl::StrAppend(&text, "See `shardctl ");
  for (auto given = cli.get_subcommands(); !given.empty();
       given = given.front()->get_subcommands()) {
    absl::StrAppend(&text, given.front()->get_name(), " ");
  }
  return {kUsage, text + "--help`.\n"};
}

}  // namespace

std::variant<CommandLine, Answer> ParseCommandLine(std::vector<std::string> arguments) {
  CommandTree tree;
  CLI::App& cli = tree.cli();
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
  return ToCommandLine(cli.get_subcommands().front()->get_name(), std::move(tree.words()));
}

}  // namespace shardmanager::cli
