// `shardctl snapshot`, `shardctl simulate` and `shardctl capacity`.
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "cli/commands/commands.h"
#include "cli/scope_text.h"
#include "cli/text_file.h"
#include "cli/what_if.h"
#include "cli/yaml/proto_to_text.h"
#include "cli/yaml/yaml_to_proto.h"
#include "model/text.h"
#include "whatif/capacity.h"
#include "whatif/what_if.h"

namespace shardmanager::cli {
namespace {

// ---- a snapshot ----

// The app, from three answers. They fit together if no map was published in between; an app that
// moves all the time gets the last of a few tries.
absl::StatusOr<v1::AppSnapshot> TakeSnapshot(const std::string& app, AdminClient& client,
                                             const Terminal& terminal) {
  constexpr int kTries = 3;
  v1::AppSnapshot snapshot;
  for (int i = 0; i < kTries; ++i) {
    snapshot.Clear();
    snapshot.set_taken_ms(terminal.now_ms);
    v1::GetAppsRequest apps_request;
    apps_request.set_app(app);
    auto apps = client.GetApps(apps_request);
    if (!apps.ok()) return apps.status();
    *snapshot.mutable_app() = std::move(*apps->mutable_apps(0));
    v1::GetServersRequest servers_request;
    servers_request.set_app(app);
    auto servers = client.GetServers(servers_request);
    if (!servers.ok()) return servers.status();
    snapshot.mutable_servers()->Swap(servers->mutable_servers());
    v1::GetShardsRequest shards_request;
    shards_request.set_app(app);
    auto shards = client.GetShards(shards_request);
    if (!shards.ok()) return shards.status();
    snapshot.mutable_shards()->Swap(shards->mutable_shards());
    apps = client.GetApps(apps_request);
    if (!apps.ok()) return apps.status();
    if (ToJsonLine(apps->apps(0).map_version()) == ToJsonLine(snapshot.app().map_version())) break;
  }
  return snapshot;
}

template <typename Message>
absl::StatusOr<Message> ReadOne(const std::string& name, const char* what, Terminal& terminal) {
  const auto file = ReadTextFile(name, terminal);
  if (!file.ok()) return file.status();
  auto documents = ReadYaml(file->text, file->name, Message());
  if (!documents.ok()) return documents.status();
  if (documents->size() != 1) {
    return absl::InvalidArgumentError(
        absl::StrCat(file->name, ": found ", documents->size(), " documents; allowed: one ", what));
  }
  Message message;
  message.GetReflection()->Swap(&message, documents->front().message.get());
  return message;
}

// The file; "": one is taken now. kOk, or the error is said.
ExitCode ReadSnapshot(const std::string& app, const std::string& file, AdminClient& client,
                      Terminal& terminal, v1::AppSnapshot& snapshot) {
  if (!file.empty()) {
    auto read = ReadOne<v1::AppSnapshot>(file, "snapshot", terminal);
    if (!read.ok()) return Wrong(read.status(), terminal);
    snapshot = *std::move(read);
    return kOk;
  }
  const auto chosen = ChooseApp(app, client);
  if (!chosen.ok()) return Fail(chosen.status(), client, terminal);
  auto taken = TakeSnapshot(*chosen, client, terminal);
  if (!taken.ok()) return Fail(taken.status(), client, terminal);
  snapshot = *std::move(taken);
  return kOk;
}

// ---- a change ----

// (That it is not too high is checked where it is used.)
absl::Status CheckLoadFactor(double factor) {
  if (factor > 0) return absl::OkStatus();
  return absl::InvalidArgumentError(
      absl::StrCat("--load-factor: found ", factor, "; allowed: above 0 to 1000"));
}

absl::Status AddScopes(const std::vector<std::string>& words, const char* flag,
                       google::protobuf::RepeatedPtrField<v1::DrainScope>& scopes) {
  for (const std::string& word : words) {
    const size_t sign = word.find('=');
    const std::string level = word.substr(0, sign);
    const bool known =
        level == "server" || level == "rack" || level == "datacenter" || level == "region";
    if (sign == std::string::npos || !known) {
      return absl::InvalidArgumentError(
          absl::StrCat("--", flag, ": found ", Quoted(word),
                       "; allowed: server=NAME, rack=REGION/DATACENTER/RACK, "
                       "datacenter=REGION/DATACENTER or region=NAME"));
    }
    auto scope = ParseScope(level, word.substr(sign + 1));
    if (!scope.ok()) {
      return absl::InvalidArgumentError(
          absl::StrCat("--", flag, ": ", std::string(scope.status().message())));
    }
    *scopes.Add() = *std::move(scope);
  }
  return absl::OkStatus();
}

absl::Status AddServers(const std::vector<std::string>& words, v1::ImaginedChange& change) {
  for (const std::string& word : words) {
    const size_t sign = word.find('@');
    uint32_t count = 0;
    const bool empty_region = sign != std::string::npos && sign + 1 == word.size();
    if (!absl::SimpleAtoi(word.substr(0, sign), &count) || count == 0 || empty_region) {
      return absl::InvalidArgumentError(absl::StrCat(
          "--add-servers: found ", Quoted(word), "; allowed: COUNT or COUNT@REGION, as 4@eu-west"));
    }
    v1::AddedServers& added = *change.add_add();
    added.set_count(count);
    if (sign != std::string::npos) added.set_region(word.substr(sign + 1));
  }
  return absl::OkStatus();
}

absl::StatusOr<v1::ImaginedChange> ChangeOf(const SimulateCommand& command, Terminal& terminal) {
  v1::ImaginedChange change;
  if (absl::Status s = AddScopes(command.lose, "lose", *change.mutable_lose()); !s.ok()) return s;
  if (absl::Status s = AddScopes(command.drain, "drain", *change.mutable_drain()); !s.ok()) {
    return s;
  }
  if (absl::Status s = AddServers(command.add, change); !s.ok()) return s;
  if (absl::Status s = CheckLoadFactor(command.load_factor); !s.ok()) return s;
  change.set_load_factor(command.load_factor);
  constexpr std::chrono::hours kMostLoadTime{24};
  if (command.load_time > kMostLoadTime) {
    return absl::InvalidArgumentError("--load-time: found more than a day; allowed: 1ms to 24h");
  }
  change.set_load_ms(static_cast<uint32_t>(command.load_time.count()));
  if (command.spec.empty()) return change;
  auto spec = ReadOne<v1::AppSpec>(command.spec, "app", terminal);
  if (!spec.ok()) return spec.status();
  *change.mutable_spec() = *std::move(spec);
  return change;
}

}  // namespace

ExitCode Snapshot(const SnapshotCommand& command, AdminClient& client, Terminal& terminal) {
  const auto app = ChooseApp(command.app, client);
  if (!app.ok()) return Fail(app.status(), client, terminal);
  const auto snapshot = TakeSnapshot(*app, client, terminal);
  if (!snapshot.ok()) return Fail(snapshot.status(), client, terminal);
  const std::string text = ToJsonLine(*snapshot);
  if (text.size() > kMostYamlBytes) {
    *terminal.err << "error: the snapshot has " << text.size() << " bytes; `simulate` reads up to "
                  << kMostYamlBytes << ": ask it without --snapshot\n";
    return kRefused;
  }
  if (command.file == "-") {
    *terminal.out << text << "\n";
    return kOk;
  }
  if (const absl::Status s = WriteTextFile(command.file, text); !s.ok()) return Wrong(s, terminal);
  *terminal.out << Shown(*app) << ": " << Counted(snapshot->shards_size(), "shard") << " on "
                << Counted(snapshot->servers_size(), "server") << " written to " << command.file
                << "\n";
  return kOk;
}

ExitCode Capacity(const CapacityCommand& command, AdminClient& client, Terminal& terminal) {
  if (absl::Status s = CheckLoadFactor(command.load_factor); !s.ok()) return Wrong(s, terminal);
  v1::AppSnapshot snapshot;
  const ExitCode code = ReadSnapshot(command.app, command.snapshot, client, terminal, snapshot);
  if (code != kOk) return code;
  v1::CapacityQuestion question;
  question.set_load_factor(command.load_factor);
  question.set_most_added(command.most_added);
  int losses = 0;
  const auto report = whatif::PlanCapacity(snapshot, question, [&] {
    if (terminal.interactive) *terminal.err << "\r" << ++losses << " losses played" << std::flush;
  });
  if (losses > 0) *terminal.err << "\r" << std::string(40, ' ') << "\r" << std::flush;
  if (!report.ok()) return Wrong(report.status(), terminal);
  if (ShowForPrograms(*report, command.format, terminal)) return kOk;
  *terminal.out << CapacityText(snapshot, question, *report, terminal.colour);
  return kOk;
}

ExitCode Simulate(const SimulateCommand& command, AdminClient& client, Terminal& terminal) {
  const auto change = ChangeOf(command, terminal);
  if (!change.ok()) return Wrong(change.status(), terminal);
  v1::AppSnapshot snapshot;
  const ExitCode code = ReadSnapshot(command.app, command.snapshot, client, terminal, snapshot);
  if (code != kOk) return code;
  auto report = whatif::Simulate(snapshot, *change);
  if (!report.ok()) return Wrong(report.status(), terminal);
  if (!command.placement) report->clear_placement();
  if (ShowForPrograms(*report, command.format, terminal)) return kOk;
  *terminal.out << WhatIfText(snapshot, *change, *report, terminal.colour);
  return kOk;
}

}  // namespace shardmanager::cli
