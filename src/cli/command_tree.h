// The commands of shardctl and their flags, for CLI11.
#pragma once

#include <CLI/CLI.hpp>
#include <map>
#include <string>
#include <vector>

#include "cli/command_line.h"
#include "cli/connection_words.h"

namespace shardmanager::cli {

// Of a maintenance: as they were typed; "": not.
struct MaintenanceTimes {
  std::string begins_in;
  std::string start;
  std::string length;
  std::string end;
};

struct PlaceTexts {
  std::string time;      // "": 10s if nothing else limits the search
  std::string cpu_time;  // "": no limit
  std::string format = "yaml";
};

// Of the commands that ask no control plane.
struct OfflineWords {
  PlaceCommand place;
  PlaceTexts place_texts;
  CellCommand cell;
  CertsCommand certs;
};

// What CLI11 fills while it parses.
struct Words {
  ConnectionWords connection;
  std::string resource;
  std::string format = "table";
  ApplyCommand apply;
  GetCommand get;
  DescribeCommand describe;
  ExplainCommand explain;
  DrainCommand drain;
  DeleteCommand remove;
  ReleaseCommand release;
  LeverCommand lever;
  ApproveCommand approve;
  EndCommand end;
  PauseCommand pause;
  PinCommand pin;
  PreferCommand prefer;
  ReshapeCommand reshape;
  MaintenanceCommand maintenance;
  MaintenanceTimes maintenance_times;
  RolloutCommand rollout;
  SnapshotCommand snapshot{.file = "-"};
  SimulateCommand simulate;
  std::string simulate_load_time = "1s";
  CapacityCommand capacity;
  TopCommand top;
  WatchCommand watch;
  HistoryCommand history;
  RoleCommand roles;
  OfflineWords offline;
  CompletionCommand completion;
};

class CommandTree {
 public:
  CommandTree();
  CommandTree(const CommandTree&) = delete;  // the flags point into it
  CommandTree& operator=(const CommandTree&) = delete;

  CLI::App& cli() { return cli_; }
  Words& words() { return words_; }
  // The words of which a flag's or an argument's value is one; empty: it may be anything.
  const std::vector<std::string>& ValuesOf(const CLI::Option& option) const;

 private:
  using Values = std::vector<std::string>;
  // Only these words are allowed. `also`: and these, which are not offered.
  CLI::Option* Limit(CLI::Option* option, Values values, const Values& also = {});
  void AddFormat(CLI::App& command, const Values& formats);
  void AddResource(CLI::App& command, const Values& values, const Values& also = {});
  void AddScope(CLI::App& command, std::string& level, std::string& name);
  void AddApply();
  void AddGet();
  void AddDescribe();
  void AddExplain();
  void AddDrain();
  void AddDelete();
  void AddRelease();
  void AddApprove();
  void AddEnd();
  void AddPause();
  void AddPin();
  void AddPrefer();
  void AddMaintenance();
  void AddMaintenanceTimes(CLI::App& add);
  void AddRollout();
  void AddSnapshot();
  void AddSimulate();
  void AddCapacity();
  template <typename Command>
  void AddSnapshotSource(CLI::App& command, Command& words);
  void AddWatch();
  void AddPlace();
  void AddOthers();

  Words words_;
  CLI::App cli_;
  std::map<const CLI::Option*, Values> values_;
};

}  // namespace shardmanager::cli
