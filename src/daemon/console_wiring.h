// shardmanagerd's flags of the console in the browser, and the console by them.
#pragma once

#include <CLI/CLI.hpp>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "console/console.h"
#include "console/controller_source.h"
#include "daemon/history_keeper.h"
#include "history/history.h"
#include "orchestrator/control/controller.h"

namespace shardmanager::daemon {

struct ConsoleFlags {
  std::string listen;  // empty: off; with --dev: kDevListen, or a free port
  std::vector<std::string> hosts;
  bool open_to_network = false;
};

void AddConsoleFlags(CLI::App& cli, ConsoleFlags& flags);

// The console of this process. Goes before the controller and the history, which may be null.
class OwnConsole {
 public:
  // Null: there is to be none. Errors: as of console::Console::Start.
  static absl::StatusOr<std::unique_ptr<OwnConsole>> Start(const ConsoleFlags& flags, bool dev,
                                                           orchestrator::Controller& controller,
                                                           HistoryKeeper* history,
                                                           const std::string& version);

 private:
  OwnConsole(orchestrator::Controller& controller, history::History* history,
             const std::string& version)
      : source_(controller, history, version) {}

  console::ControllerSource source_;
  std::unique_ptr<console::Console> console_;
};

}  // namespace shardmanager::daemon
