#include "cli/certs/certs.h"

#include <algorithm>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "cli/commands/commands.h"
#include "cli/table.h"
#include "security/cert_folder.h"
#include "security/files.h"

namespace shardmanager::cli {
namespace {

using CertsAction = CertsCommand::Action;
using security::CertFolder;
using security::Kept;
using security::UnixSeconds;

// What is to be done with the folder once a command has changed it.
constexpr char kCopy[] = "Copy the folders to the machines of their processes.\n";

UnixSeconds Now(const Terminal& terminal) { return terminal.now_ms / 1'000; }

void Say(const Kept& kept, Terminal& terminal) {
  *terminal.out << kept.identity << ": " << kept.folder << ", until "
                << security::ToText(kept.certificate.until) << "\n";
}

ExitCode Init(const CertsCommand& command, Terminal& terminal) {
  const auto folder = CertFolder::Make(command.folder, command.cell, Now(terminal));
  if (!folder.ok()) return Wrong(folder.status(), terminal);
  *terminal.out << "The authority of cell " << command.cell << " is in " << command.folder
                << ", until " << security::ToText(folder->authority().until)
                << ". Keep ca-key.pem safe: whoever has it can be anybody.\n";
  return kOk;
}

ExitCode Issue(const CertsCommand& command, const CertFolder& folder, Terminal& terminal) {
  for (const std::string& identity : command.identities) {
    const auto kept =
        folder.Issue(identity, command.hosts, command.days * security::kDay, Now(terminal));
    if (!kept.ok()) return Wrong(kept.status(), terminal);
    Say(*kept, terminal);
  }
  return kOk;
}

ExitCode List(const CertFolder& folder, Terminal& terminal) {
  const auto all = folder.List();
  if (!all.ok()) return Wrong(all.status(), terminal);
  Table table({"IDENTITY", "UNTIL", "STATE"});
  const auto add = [&](const std::string& who, const security::Certificate& certificate) {
    const bool ended = Now(terminal) >= certificate.until;
    const bool due = security::IsDue(certificate, Now(terminal));
    table.AddRow({{who},
                  {security::ToText(certificate.until)},
                  ended ? Cell{"ended", Tone::kBad}
                  : due ? Cell{"due for renewal", Tone::kWarning}
                        : Cell{"good", Tone::kGood}});
  };
  add(absl::StrCat("(authority of cell ", folder.cell(), ")"), folder.authority());
  for (const Kept& kept : *all) add(kept.identity, kept.certificate);
  *terminal.out << table.Render(terminal.colour);
  return kOk;
}

// Those that are named; NOT_FOUND: one is not there.
absl::StatusOr<std::vector<Kept>> Chosen(const CertsCommand& command, const CertFolder& folder,
                                         UnixSeconds now) {
  auto all = folder.List();
  if (!all.ok() || command.all) return all;
  if (command.identities.empty()) {
    std::erase_if(*all, [&](const Kept& kept) { return !IsDue(kept.certificate, now); });
    return all;
  }
  std::vector<Kept> chosen;
  for (const std::string& identity : command.identities) {
    const auto found = std::find_if(all->begin(), all->end(),
                                    [&](const Kept& kept) { return kept.identity == identity; });
    if (found == all->end()) {
      return absl::NotFoundError(absl::StrCat("IDENTITY: found \"", identity,
                                              "\"; allowed: one of `shardctl certs list`"));
    }
    chosen.push_back(*found);
  }
  return chosen;
}

ExitCode Renew(const CertsCommand& command, const CertFolder& folder, Terminal& terminal) {
  const auto chosen = Chosen(command, folder, Now(terminal));
  if (!chosen.ok()) return Wrong(chosen.status(), terminal);
  for (const Kept& kept : *chosen) {
    const auto renewed = folder.Renew(kept, command.new_key, Now(terminal));
    if (!renewed.ok()) return Wrong(renewed.status(), terminal);
    Say(*renewed, terminal);
  }
  *terminal.out << (chosen->empty() ? "None is due: --all renews them nevertheless.\n" : kCopy);
  return kOk;
}

ExitCode Check(const CertsCommand& command, Terminal& terminal) {
  const auto paths = security::PathsOf({.certs = command.checked});
  if (!paths.ok()) return Wrong(paths.status(), terminal);
  const auto own = security::CheckFiles(**paths, Now(terminal));
  if (!own.ok()) return Wrong(own.status(), terminal);
  *terminal.out << "A process with " << (*paths)->cert << " is " << security::ToUri(own->identity)
                << " until " << security::ToText(own->certificate.until) << ".\n";
  for (const std::string& warning : own->warnings) *terminal.err << "warning: " << warning << "\n";
  return kOk;
}

ExitCode ChangeCa(const CertsCommand& command, CertFolder& folder, Terminal& terminal) {
  absl::Status status;
  const char* next = nullptr;
  if (command.action == CertsAction::kAddCa) {
    status = folder.AddAuthority(Now(terminal));
    next = "Then: shardctl certs ca use\n";
  } else if (command.action == CertsAction::kUseCa) {
    status = folder.UseAuthority(Now(terminal));
    next = "Then: shardctl certs ca drop\n";
  } else {
    status = folder.DropAuthority();
    next = "";
  }
  if (!status.ok()) return Wrong(status, terminal);
  *terminal.out << "Done. " << kCopy << next;
  return kOk;
}

}  // namespace

ExitCode RunCerts(const CertsCommand& command, Terminal& terminal) {
  if (command.action == CertsAction::kInit) return Init(command, terminal);
  if (command.action == CertsAction::kCheck) return Check(command, terminal);
  auto folder = CertFolder::Open(command.folder);
  if (!folder.ok()) return Wrong(folder.status(), terminal);
  switch (command.action) {
    case CertsAction::kIssue:
      return Issue(command, *folder, terminal);
    case CertsAction::kList:
      return List(*folder, terminal);
    case CertsAction::kRenew:
      return Renew(command, *folder, terminal);
    default:
      return ChangeCa(command, *folder, terminal);
  }
}

}  // namespace shardmanager::cli
