#include "cli/cell/cell.h"

#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "cli/cell/store_session.h"
#include "cli/commands/commands.h"
#include "coordination/access/secure_cell.h"
#include "coordination/cell.h"
#include "coordination/paths.h"
#include "coordination/raise_epochs.h"
#include "model/text.h"
#include "runtime/logging.h"
#include "runtime/process_name.h"

namespace shardmanager::cli {
namespace {

using CellAction = CellCommand::Action;

absl::StatusOr<Credentials> ReadCellCredentials(const std::string& file) {
  auto credentials = ReadCredentials(file);
  if (!credentials.ok() || credentials->kind == Credentials::Kind::kCell) return credentials;
  return absl::InvalidArgumentError(absl::StrCat(file, ": found ZooKeeper credentials of ",
                                                 PartyOf(*credentials),
                                                 "; allowed: those of a cell"));
}

// What the file is to have.
absl::StatusOr<Credentials> OfCell(const CellCommand& command) {
  const std::string& before = command.from.empty() ? command.newest_of : command.from;
  if (before.empty()) return NewCellCredentials(command.cell);
  auto old = ReadCellCredentials(before);
  if (!old.ok()) return old;
  if (old->cell != command.cell) {
    return absl::InvalidArgumentError(absl::StrCat(before, ": found credentials of cell \"",
                                                   old->cell, "\"; allowed: those of \"",
                                                   command.cell, "\""));
  }
  old->secrets.resize(1);
  if (command.from.empty()) return old;
  Credentials renewed = NewCellCredentials(command.cell);
  renewed.secrets.push_back(old->secrets[0]);
  return renewed;
}

absl::StatusOr<Credentials> Wanted(const CellCommand& command) {
  absl::StatusOr<Credentials> made;
  if (command.action == CellAction::kCellCredentials) {
    made = OfCell(command);
  } else {
    made = ReadCellCredentials(command.from);
    if (!made.ok()) return made;
    made = command.action == CellAction::kAppCredentials
               ? AppCredentials(*made, AppName(command.app))
               : ServerCredentials(*made, AppName(command.app), ServerName(command.name));
  }
  if (!made.ok()) return made;
  // Names that nobody could read back are refused here.
  return ParseCredentials(CredentialText(*made));
}

// No ZooKeeper: as no control plane.
ExitCode Failed(const absl::Status& status, Terminal& terminal) {
  const ExitCode code = Wrong(status, terminal);
  return absl::IsUnavailable(status) ? kUnreachable : code;
}

absl::StatusOr<std::unique_ptr<StoreSession>> Connect(const CellCommand& command,
                                                      const Credentials& cell,
                                                      std::chrono::milliseconds patience) {
  return StoreSession::Open(command.zookeeper, std::make_shared<StoreAccess>(cell), patience);
}

// A server may not make its own registration.
absl::Status RegisterServer(const CellCommand& command, std::chrono::milliseconds patience) {
  const auto credentials = ReadCellCredentials(command.from);
  if (!credentials.ok()) return credentials.status();
  auto session = Connect(command, *credentials, patience);
  if (!session.ok()) return session.status();
  CoordinationStore& store = (*session)->store();
  const auto config = (*session)->Await<absl::StatusOr<v1::CellConfig>>(
      [&](auto done) { LoadCell(store, credentials->cell, done); });
  if (!config.ok()) return config.status();
  const std::string path =
      Paths(credentials->cell)
          .server(AppName(command.app), ServerName(command.name), config->buckets());
  const auto made = (*session)->Await<WriteResult>([&](auto done) {
    store.Multi({CreateNode{path, ""}}, done);
  });
  if (absl::IsNotFound(made.status)) {
    return absl::NotFoundError(absl::StrCat("cell ", credentials->cell, " has no app \"",
                                            command.app,
                                            "\" in which to register the server: run `shardctl "
                                            "apply` first"));
  }
  return absl::IsAlreadyExists(made.status) ? absl::OkStatus() : made.status;
}

ExitCode MakeCredentials(const CellCommand& command, std::chrono::milliseconds patience,
                         Terminal& terminal) {
  const auto credentials = Wanted(command);
  if (!credentials.ok()) return Wrong(credentials.status(), terminal);
  if (!command.zookeeper.empty()) {
    const absl::Status registered = RegisterServer(command, patience);
    if (!registered.ok()) return Failed(registered, terminal);
  }
  if (absl::Status s = WriteCredentials(command.out, *credentials); !s.ok()) {
    return Wrong(s, terminal);
  }
  *terminal.out << "ZooKeeper credentials of " << PartyOf(*credentials) << " are in " << command.out
                << ".\n";
  return kOk;
}

// ---- Access lists.

const char* NameOf(CellSecurity security) {
  switch (security) {
    case CellSecurity::kOpen:
      return "open: everybody who reaches ZooKeeper may do everything";
    case CellSecurity::kSecuring:
      return "being secured: `shardctl cell secure` has not come to its end";
    case CellSecurity::kSecure:
      return "secure";
  }
  return "unknown";
}

SecureAction ActionOf(const CellCommand& command) {
  if (command.action == CellAction::kStatus) return SecureAction::kLook;
  return command.undo ? SecureAction::kOpen : SecureAction::kClose;
}

void List(const std::vector<std::string>& paths, uint64_t all, Terminal& terminal) {
  for (const std::string& path : paths) *terminal.out << "  " << path << "\n";
  if (all > paths.size()) *terminal.out << "  and " << all - paths.size() << " more\n";
}

ExitCode ShowStatus(const std::string& cell, const SecureReport& report, Terminal& terminal) {
  *terminal.out << "cell " << cell << " is " << NameOf(report.security) << "\n"
                << Counted(report.nodes, "node") << ", " << report.open
                << " of them open to strangers, " << report.differing - report.open
                << " with another list than it should be\n";
  List(report.differing_paths, report.differing, terminal);
  for (const std::string& who : report.without_credentials) {
    *terminal.out << "without credentials of the cell: " << who << "\n";
  }
  return report.security == CellSecurity::kSecure && report.differing == 0 &&
                 report.without_credentials.empty()
             ? kOk
             : kRefused;
}

// What no credentials of the cell open: junk of a process that was taken over, most likely.
ExitCode ShowDenied(const SecureReport& report, Terminal& terminal) {
  if (report.denied == 0) return kOk;
  *terminal.out << Counted(report.denied, "node")
                << " that the control plane may not look at: delete what is not yours with "
                   "ZooKeeper's own tools\n";
  List(report.denied_paths, report.denied, terminal);
  return kRefused;
}

ExitCode Secure(const CellCommand& command, std::chrono::milliseconds patience,
                Terminal& terminal) {
  const auto credentials = ReadCellCredentials(command.from);
  if (!credentials.ok()) return Wrong(credentials.status(), terminal);
  auto session = Connect(command, *credentials, patience);
  if (!session.ok()) return Failed(session.status(), terminal);
  SecureOptions options{
      .cell = credentials->cell, .action = ActionOf(command), .only_newest = command.only_newest};
  if (terminal.interactive) {
    options.on_progress = [&](uint64_t seen, uint64_t changed) {
      *terminal.err << seen << " nodes looked at, " << changed << " changed\n" << std::flush;
    };
  }
  const auto report = (*session)->Await<absl::StatusOr<SecureReport>>(
      [&](auto done) { SecureCell((*session)->store(), options, done); });
  if (!report.ok()) return Wrong(report.status(), terminal);
  ExitCode code = kOk;
  if (command.action == CellAction::kStatus) {
    code = ShowStatus(credentials->cell, *report, terminal);
  } else {
    *terminal.out << "cell " << credentials->cell << " is " << NameOf(report->security) << "; "
                  << Counted(report->nodes, "node") << ", " << report->changed << " changed\n";
  }
  return std::max(code, ShowDenied(*report, terminal));
}

// ---- After a restore.

ExitCode ShowRaised(const CellCommand& command, const RaisedEpochs& raised, Terminal& terminal) {
  *terminal.out << "cell " << command.cell << ": leader epochs "
                << (command.dry_run ? "would go on from " : "go on from ") << raised.to
                << (command.dry_run ? " (they are at " : " (were at ") << raised.from
                << "), and the cell counts as made at " << TimeText(raised.made_ms) << "\n";
  if (raised.waits_for) {
    *terminal.out << Shown(raised.waits_for->process()) << " at "
                  << Shown(raised.waits_for->endpoint())
                  << " leads, or did until now: the command would wait for it to stop\n";
  }
  if (command.dry_run) *terminal.out << "nothing was changed\n";
  return kOk;
}

ExitCode RaiseCellEpochs(const CellCommand& command, std::chrono::milliseconds patience,
                         Terminal& terminal) {
  auto access = AccessOfControlPlane(command.from, command.cell);
  if (!access.ok()) return Wrong(access.status(), terminal);
  auto session = StoreSession::Open(command.zookeeper, *std::move(access), patience);
  if (!session.ok()) return Failed(session.status(), terminal);
  RaiseEpochsOptions options{.cell = command.cell,
                             .by = command.by,
                             .now_ms = terminal.now_ms,
                             .dry_run = command.dry_run};
  options.self.set_process(HostAndPid() + " raise-epochs");
  options.on_wait = [&](const v1::LeaderRecord& holder) {
    *terminal.err << Shown(holder.process()) << " at " << Shown(holder.endpoint())
                  << " leads the cell, or did until now: waiting for it to stop, or for its "
                     "session to end\n"
                  << std::flush;
  };
  const auto raised = (*session)->Await<absl::StatusOr<RaisedEpochs>>(
      [&](auto done) { RaiseEpochs((*session)->store(), std::move(options), done); });
  if (!raised.ok()) return Failed(raised.status(), terminal);
  return ShowRaised(command, *raised, terminal);
}

}  // namespace

ExitCode RunCell(const CellCommand& command, std::chrono::milliseconds patience,
                 Terminal& terminal) {
  if (absl::Status s = InitLogging("shardctl"); !s.ok()) return Wrong(s, terminal);
  if (command.action == CellAction::kRaiseEpochs) {
    return RaiseCellEpochs(command, patience, terminal);
  }
  const bool secures =
      command.action == CellAction::kSecure || command.action == CellAction::kStatus;
  return secures ? Secure(command, patience, terminal)
                 : MakeCredentials(command, patience, terminal);
}

}  // namespace shardmanager::cli
