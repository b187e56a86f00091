// The command line of shardctl as values. `shardctl --help` is its manual.
#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "shardmanager/security.h"

namespace shardmanager::cli {

// What scripts can rely on.
enum ExitCode {
  kOk = 0,
  kRefused = 1,      // the control plane said no, or failed; no plan keeps all constraints
  kUsage = 2,        // a wrong command line or a bad file
  kUnreachable = 3,  // the control plane does not answer
  kNotFound = 4,     // no such app, server or shard
  kProblems = 5,     // of `status`: it answers, and something is wrong or not known
};

enum class Resource { kApps, kServers, kShards, kOperations, kGrants };
enum class Format { kTable, kWide, kJson, kYaml, kName, kSpec };

struct ApplyCommand {
  std::vector<std::string> files;  // "-": standard input
  bool force = false;
  bool dry_run = false;
};
struct GetCommand {
  Resource resource = Resource::kApps;
  std::string name;  // "": all
  std::string app;
  std::vector<std::string> states;  // of shards; empty: all
  std::string server;               // of shards: with a replica there
  Format format = Format::kTable;

  bool selects_shards() const { return !states.empty() || !server.empty(); }
};
struct DescribeCommand {
  Resource resource = Resource::kApps;
  std::string name;
  std::string app;
};
struct ExplainCommand {
  std::string app;  // "operation": `shard` is the id of one
  std::string shard;
  std::string of_app;            // of an operation; "": all
  std::string manager;           // likewise
  std::string server;            // "": the best candidates
  uint32_t most_candidates = 5;  // 1 to 100
  Format format = Format::kTable;
};
struct DrainCommand {
  bool undrain = false;
  std::string level;  // server, rack, datacenter or region
  std::string name;   // of the server, or "region/datacenter/rack" as far as the level goes
  std::string app;    // "": all
  bool primaries_only = false;
  std::string reason;
  bool wait = false;
  bool dry_run = false;
};
struct DeleteCommand {
  std::string app;
  bool yes = false;
};
struct ReleaseCommand {
  std::string server;
  std::string app;
};
struct LeverCommand {
  enum class Kind : uint8_t { kRetry, kMove, kUnquarantine, kForget };
  Kind kind = Kind::kRetry;
  std::string name;  // of the shard; with kUnquarantine and kForget: of the server
  std::string app;   // "": the only one that there is
  std::string to;    // with kMove
  std::string from;  // likewise; "": any of those that have the shard
  bool dry_run = false;
};
struct ApproveCommand {
  std::string operation;
  std::string app;
  std::string manager;  // "": the only one that has such an operation
  bool force = false;
};
struct EndCommand {
  std::string operation;
  std::string app;
  std::string manager;  // "": the only one that has begun such an operation
};
struct PauseCommand {
  bool resume = false;
  std::string app;
  bool failover = false;
  bool only_balance = false;
  std::string reason;
  bool dry_run = false;
};
struct PinCommand {
  bool unpin = false;
  std::string shard;
  std::string app;  // "": the only one that there is
  std::string reason;
  bool dry_run = false;
};
struct PreferCommand {
  // One shard and its region, or the name of a file of them ("-": the standard input).
  std::string shard;
  std::string region;   // "-": the spec's
  uint32_t weight = 0;  // 0: none was given
  std::string file;
  bool replace = false;  // with a file: what it does not name is taken back
  bool dry_run = false;
  std::string app;  // "": the only one that there is
};
struct ReshapeCommand {
  std::vector<std::string> shards;  // one to split, several to merge
  std::vector<std::string> cuts;    // in `form`
  std::string form = "text";        // or one of kKeyForms
  std::vector<std::string> into;
  bool dry_run = false;
  bool wait = false;  // until it is done
  std::string app;    // "": the only one that there is
};
struct MaintenanceCommand {
  enum class Action { kAdd, kList, kCancel };
  Action action = Action::kList;
  std::string id;      // with kList: "" for all
  std::string level;   // with kAdd, as in DrainCommand
  std::string name;    // likewise
  std::string impact;  // with kAdd: as EnumLabel() writes it
  // With kAdd: one of the two, or neither: it begins now.
  std::optional<std::chrono::milliseconds> begins_in;
  std::optional<int64_t> start_ms;  // since 1970
  // With kAdd: one of the two; neither only with machine-loss.
  std::optional<std::chrono::milliseconds> length;
  std::optional<int64_t> end_ms;
  std::string reason;
  std::string app;  // with kList; "": all
  Format format = Format::kTable;
};
struct RolloutCommand {
  std::string app;    // "": all
  bool wait = false;  // until nothing is left
  Format format = Format::kTable;
};
struct SnapshotCommand {
  std::string app;   // "": the only one that there is
  std::string file;  // "-": the standard output
};
struct SimulateCommand {
  std::string app;                 // "": the only one that there is
  std::string snapshot;            // a file; "": one is taken now
  std::vector<std::string> lose;   // "LEVEL=NAME", as in DrainCommand
  std::vector<std::string> drain;  // likewise
  std::vector<std::string> add;    // "COUNT" or "COUNT@REGION"
  double load_factor = 1;
  std::string spec;  // a file; "": as it is
  std::chrono::milliseconds load_time{1'000};
  bool placement = false;  // of the answer for programs: where everything is then
  Format format = Format::kTable;
};
struct CapacityCommand {
  std::string app;       // "": the only one that there is
  std::string snapshot;  // a file; "": one is taken now
  double load_factor = 1;
  uint32_t most_added = 0;  // to one region; 0: as many as the app has
  Format format = Format::kTable;
};
struct TopCommand {
  bool keys = false;  // else shards
  std::string app;
  uint32_t most = 10;  // 1 to 1,000
  Format format = Format::kTable;
};
struct WatchCommand {
  std::string app;
  bool no_follow = false;
  bool json = false;
};
struct HistoryCommand {
  std::string resource;  // shard, server, app, operation or changes
  std::string name;      // of it; "": with changes
  std::string app;       // "": all
  std::string since;     // an age or a moment; "": all
  std::vector<std::string> kinds;
  uint32_t limit = 1'000;
  Format format = Format::kTable;
};
struct RoleCommand {
  enum class Action { kGrant, kRevoke, kWhoAmI, kCanI };
  Action action = Action::kWhoAmI;
  std::string identity;           // with kGrant and kRevoke
  std::string role;               // likewise
  std::vector<std::string> apps;  // likewise
  std::string verb;               // with kCanI: of VerbWords()
  std::string app;                // with kCanI; "": all
  std::string as;                 // with kCanI: an identity; "": who asks
  Format format = Format::kTable;
};
struct StatusCommand {
  Format format = Format::kTable;
};
struct PlaceCommand {
  std::vector<std::string> files;  // one of YAML, or the two of the ROADEF challenge
  bool roadef = false;
  std::string output = "text";  // text, json, yaml or the name of a file
  // What is spent first ends the search; 0: no such limit.
  std::chrono::milliseconds time{0};
  std::chrono::milliseconds cpu_time{0};
  uint64_t steps = 0;
  uint64_t seed = 1;
  uint32_t threads = 0;  // 0: one a core where only `time` ends the search, else one
  bool progress = false;
  bool dry_run = false;
};
struct CellCommand {
  enum class Action {
    kCellCredentials,
    kAppCredentials,
    kServerCredentials,
    kSecure,
    kStatus,
    kRaiseEpochs
  };
  Action action = Action::kStatus;
  std::string cell;       // with kCellCredentials and kRaiseEpochs
  std::string app;        // with kAppCredentials and kServerCredentials
  std::string name;       // with kServerCredentials: the server's
  std::string from;       // a file with the cell's credentials; kCellCredentials: those to replace
  std::string newest_of;  // with kCellCredentials: likewise, without a new secret
  std::string out;        // the file to make
  std::string zookeeper;  // "host:port[,host:port...]"
  bool undo = false;      // with kSecure
  bool only_newest = false;  // with kSecure
  uint32_t by = 10'000;      // with kRaiseEpochs
  bool dry_run = false;      // likewise
};
struct CertsCommand {
  enum class Action { kInit, kIssue, kList, kRenew, kCheck, kAddCa, kUseCa, kDropCa };
  Action action = Action::kList;
  std::string folder = "certs";
  std::string cell;                     // with kInit
  std::vector<std::string> identities;  // with kIssue and kRenew; kRenew: empty, those that are due
  std::vector<std::string> hosts;       // with kIssue
  int days = 90;                        // likewise
  bool all = false;                     // with kRenew
  bool new_key = false;                 // likewise
  std::string checked;                  // with kCheck: a folder; "": where processes look
};
struct CompletionCommand {
  std::string shell;
};
struct VersionCommand {};

struct CommandLine {
  // Of the control plane: "host:port[,host:port...]", tried in order.
  std::string server;
  // For one call.
  std::chrono::milliseconds timeout{0};
  // By which id what is changed is followed; "": by a new one.
  std::string operation;
  // How the control plane is connected to.
  Security security;
  std::variant<ApplyCommand, GetCommand, DescribeCommand, ExplainCommand, DrainCommand,
               DeleteCommand, ReleaseCommand, LeverCommand, ApproveCommand, EndCommand,
               PauseCommand, PinCommand, PreferCommand, ReshapeCommand, MaintenanceCommand,
               RolloutCommand, SnapshotCommand, SimulateCommand, CapacityCommand, TopCommand,
               WatchCommand, HistoryCommand, RoleCommand, StatusCommand, PlaceCommand, CellCommand,
               CertsCommand, CompletionCommand, VersionCommand>
      command;
};

// Instead of a command: help (kOk, to the standard output) or what is wrong (kUsage,
// to the standard error).
struct Answer {
  ExitCode code = kOk;
  std::string text;
};

// `arguments` without the program's name. The environment's SHARDCTL_SERVER is read.
std::variant<CommandLine, Answer> ParseCommandLine(std::vector<std::string> arguments);

}  // namespace shardmanager::cli
