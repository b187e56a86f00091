#include "daemon/console_wiring.h"

#include <spdlog/spdlog.h>

#include "absl/status/status.h"

namespace shardmanager::daemon {
namespace {

constexpr char kDevListen[] = "127.0.0.1:7480";
constexpr char kFreePort[] = "127.0.0.1:0";
constexpr char kOff[] = "off";

}  // namespace

void AddConsoleFlags(CLI::App& cli, ConsoleFlags& flags) {
  cli.add_option(
         "--console-listen", flags.listen,
         "Serve the console, for browsers, at http://HOST:PORT: it only reads. HOST: "
         "127.0.0.1 or [::1]; \"off\": no console. Default: off; with --dev 127.0.0.1:7480, "
         "or a free port if that is taken")
      ->group("Console");
  cli.add_option("--console-host", flags.hosts,
                 "Another name by which browsers call the console, as behind a reverse proxy. May "
                 "be given several times. Default: none but localhost and the address")
      ->type_name("NAME")
      ->group("Console");
  cli.add_flag("--console-open-to-network", flags.open_to_network,
               "--console-listen may be an address that other machines reach. The console has "
               "neither TLS nor a login: whoever reaches it reads all that the cell does")
      ->group("Console");
}

absl::StatusOr<std::unique_ptr<OwnConsole>> OwnConsole::Start(const ConsoleFlags& flags, bool dev,
                                                              orchestrator::Controller& controller,
                                                              HistoryKeeper* history,
                                                              const std::string& version) {
  if (flags.listen == kOff || (flags.listen.empty() && !dev)) return nullptr;
  std::unique_ptr<OwnConsole> own(
      new OwnConsole(controller, history == nullptr ? nullptr : &history->history(), version));
  console::Console::Options options{.listen = flags.listen.empty() ? kDevListen : flags.listen,
                                    .hosts = flags.hosts,
                                    .open_to_network = flags.open_to_network};
  auto console = console::Console::Start(options, own->source_);
  if (flags.listen.empty() && absl::IsUnavailable(console.status())) {
    options.listen = kFreePort;
    console = console::Console::Start(options, own->source_);
  }
  if (!console.ok()) return console.status();
  own->console_ = *std::move(console);
  spdlog::info("the console is at {}", own->console_->url());
  return own;
}

}  // namespace shardmanager::daemon
