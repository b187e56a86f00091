#include "coordination/access/store_access.h"

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"

namespace shardmanager {
namespace {

using Kind = Credentials::Kind;

std::vector<StoreLogin> LoginsOf(const Credentials& c) {
  std::vector<StoreLogin> logins;
  for (const CredentialSecret& s : c.secrets) {
    if (c.kind == Kind::kCell) {
      logins.push_back(ControlPlaneLogin(c.cell, s.secret));
      continue;
    }
    logins.push_back(CellMemberLogin(c.cell, s.servers_password));
    if (c.kind == Kind::kApp) {
      logins.push_back(AppMemberLogin(c.cell, c.app, AppMemberPassword(s.secret)));
      logins.push_back(RegistrarLogin(c.cell, c.app, s.secret));
      if (c.server.empty()) continue;
      logins.push_back(ServerLogin(c.cell, c.app, c.server, ServerPassword(s.secret, c.server)));
    } else {
      logins.push_back(AppMemberLogin(c.cell, c.app, s.app_password));
      logins.push_back(ServerLogin(c.cell, c.app, c.server, s.secret));
    }
  }
  return logins;
}

absl::Status IsFor(const std::string& file, const char* what, const std::string& found,
                   const std::string& wanted) {
  if (found == wanted) return absl::OkStatus();
  return absl::InvalidArgumentError(absl::StrCat(file, ": found ZooKeeper credentials of ", what,
                                                 " \"", found, "\"; allowed: those of \"", wanted,
                                                 "\", which this process is for"));
}

}  // namespace

StoreAccess::StoreAccess(Credentials credentials)
    : credentials_(std::move(credentials)),
      party_(PartyOf(credentials_)),
      logins_(LoginsOf(credentials_)) {}

std::string StoreAccess::AppSecretOf(size_t i, const AppName& app) const {
  const std::string& secret = credentials_.secrets[i].secret;
  if (credentials_.kind == Kind::kCell) return AppSecret(secret, app);
  return credentials_.kind == Kind::kApp && app == credentials_.app ? secret : "";
}

std::string StoreAccess::PasswordOfServer(size_t i, const AppName& app,
                                          const ServerName& server) const {
  if (credentials_.kind == Kind::kServer) {
    const bool ours = app == credentials_.app && server == credentials_.server;
    return ours ? credentials_.secrets[i].secret : "";
  }
  const std::string app_secret = AppSecretOf(i, app);
  return app_secret.empty() ? "" : ServerPassword(app_secret, server);
}

// Empty: these credentials cannot tell.
std::string StoreAccess::DigestOfParty(size_t i, Party party, const NodePlace& place) const {
  const Credentials& c = credentials_;
  const CredentialSecret& s = c.secrets[i];
  switch (party) {
    case Party::kControlPlane:
      return c.kind == Kind::kCell ? DigestOf(ControlPlaneLogin(c.cell, s.secret))
                                   : s.control_plane;
    case Party::kAnyServer:
      return DigestOf(CellMemberLogin(
          c.cell, c.kind == Kind::kCell ? CellMemberPassword(s.secret) : s.servers_password));
    case Party::kServersOfApp: {
      std::string password = c.kind == Kind::kServer ? s.app_password : "";
      if (const std::string secret = AppSecretOf(i, place.app); !secret.empty()) {
        password = AppMemberPassword(secret);
      }
      return password.empty() ? "" : DigestOf(AppMemberLogin(c.cell, place.app, password));
    }
    case Party::kRegistrar: {
      const std::string secret = AppSecretOf(i, place.app);
      return secret.empty() ? "" : DigestOf(RegistrarLogin(c.cell, place.app, secret));
    }
    case Party::kServer: {
      const std::string password = PasswordOfServer(i, place.app, place.server);
      if (password.empty()) return "";
      return DigestOf(ServerLogin(c.cell, place.app, place.server, password));
    }
  }
  return "";
}

AccessList StoreAccess::OfNode(const std::string& path, bool secure) const {
  AccessList list;
  if (!secure) list = OpenToAnyone();
  const NodePlace place = PlaceOf(path, credentials_.cell);
  for (size_t p = 0; p < kParties; ++p) {
    const auto party = static_cast<Party>(p);
    const uint32_t rights = RightsOf(place.kind, party);
    for (size_t i = 0; rights != 0 && i < credentials_.secrets.size(); ++i) {
      std::string who = DigestOfParty(i, party, place);
      if (!who.empty()) list.push_back({std::move(who), rights});
    }
  }
  std::sort(list.begin(), list.end());
  return list;
}

AccessList StoreAccess::OfNewNode(const std::string& path) const {
  return OfNode(path, security_ != CellSecurity::kOpen);
}

std::vector<std::string> StoreAccess::ProofsOf(const AppName& app, const ServerName& server,
                                               Incarnation incarnation) const {
  std::vector<std::string> proofs;
  for (size_t i = 0; i < credentials_.secrets.size(); ++i) {
    const std::string password = PasswordOfServer(i, app, server);
    if (!password.empty()) proofs.push_back(LiveProof(password, incarnation));
  }
  return proofs;
}

std::string StoreAccess::ProofOf(const AppName& app, const ServerName& server,
                                 Incarnation incarnation) const {
  const std::string password = PasswordOfServer(0, app, server);
  return password.empty() ? "" : LiveProof(password, incarnation);
}

bool StoreAccess::IsProven(const AppName& app, const LiveName& name) const {
  const auto proofs = ProofsOf(app, name.server, name.incarnation);
  return std::find(proofs.begin(), proofs.end(), name.proof) != proofs.end();
}

absl::StatusOr<std::shared_ptr<StoreAccess>> AccessOfControlPlane(const std::string& file,
                                                                  const std::string& cell) {
  if (file.empty()) return std::shared_ptr<StoreAccess>();
  auto credentials = ReadCredentials(file);
  if (!credentials.ok()) return credentials.status();
  if (credentials->kind != Kind::kCell) {
    return absl::InvalidArgumentError(absl::StrCat(
        file, ": found ZooKeeper credentials of ", PartyOf(*credentials),
        "; allowed: those of the cell, as `shardctl cell credentials cell` makes them"));
  }
  if (absl::Status s = IsFor(file, "cell", credentials->cell, cell); !s.ok()) return s;
  return std::make_shared<StoreAccess>(*std::move(credentials));
}

absl::StatusOr<std::shared_ptr<StoreAccess>> AccessOfServer(const std::string& file,
                                                            const std::string& cell,
                                                            const AppName& app,
                                                            const ServerName& server) {
  if (file.empty()) return std::shared_ptr<StoreAccess>();
  auto credentials = ReadCredentials(file);
  if (!credentials.ok()) return credentials.status();
  if (credentials->kind == Kind::kCell) {
    return absl::InvalidArgumentError(absl::StrCat(
        file, ": found ZooKeeper credentials of ", PartyOf(*credentials),
        ", which no application server should have; allowed: those of app \"", app.value(),
        "\" or of server \"", server.value(), "\" (shardctl cell credentials server|app)"));
  }
  if (absl::Status s = IsFor(file, "cell", credentials->cell, cell); !s.ok()) return s;
  if (absl::Status s = IsFor(file, "app", credentials->app.value(), app.value()); !s.ok()) return s;
  if (credentials->kind == Kind::kServer) {
    const absl::Status s = IsFor(file, "server", credentials->server.value(), server.value());
    if (!s.ok()) return s;
  }
  credentials->server = server;  // with the app's credentials, it is the one that it says it is
  return std::make_shared<StoreAccess>(*std::move(credentials));
}

}  // namespace shardmanager
