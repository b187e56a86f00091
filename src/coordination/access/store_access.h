// Who a process is to the store (its credentials at work), and the access lists of what it makes.
// One for each process, shared by all of its sessions: SessionOptions::access.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "coordination/access/access_list.h"
#include "coordination/access/access_table.h"
#include "coordination/access/credentials.h"
#include "coordination/access/digest.h"
#include "coordination/paths.h"

namespace shardmanager {

// How far a cell is closed to processes without credentials; CellConfig.security.
enum class CellSecurity : uint8_t {
  kOpen,      // anyone may do everything, those with credentials, too
  kSecuring,  // new nodes are closed, old ones are being closed
  kSecure,    // all are closed; live nodes without a proof in their name are nobody's
};

// Thread-safe.
class StoreAccess {
 public:
  explicit StoreAccess(Credentials credentials);

  // "server kv-1 of app kv, cell prod": for messages.
  const std::string& party() const { return party_; }
  bool is_control_plane() const { return credentials_.kind == Credentials::Kind::kCell; }
  const Credentials& credentials() const { return credentials_; }
  // What each session says first. For a server with its app's credentials, `server` is its name.
  const std::vector<StoreLogin>& logins() const { return logins_; }

  // As the cell's config says; learnt by LoadCell() (cell.h). At first kOpen: what a process makes
  // before it knows is accessible to those that have no credentials yet.
  CellSecurity security() const { return security_; }
  void SetSecurity(CellSecurity security) { security_ = security; }

  // The list of a node to be made at `path`: as OfNode(), and anyone's, too, in an open cell.
  AccessList OfNewNode(const std::string& path) const;
  // What the list of a node should be in a cell that is secure, or that is not. As far as these
  // credentials can tell: all parties for the control plane; itself and the control plane for a
  // server.
  AccessList OfNode(const std::string& path, bool secure) const;

  // The proof that this process puts into the name of a server's live node: of the newest secret.
  // Empty: it has none to give.
  std::string ProofOf(const AppName& app, const ServerName& server, Incarnation incarnation) const;
  // All proofs that such a name may have, the newest secret's first.
  std::vector<std::string> ProofsOf(const AppName& app, const ServerName& server,
                                    Incarnation incarnation) const;
  // Whether the server itself made the live node of that name, as far as its name tells.
  bool IsProven(const AppName& app, const LiveName& name) const;
  // Whether the node counts: it is proven, or the cell is not secure.
  bool Counts(const AppName& app, const LiveName& name) const {
    return security_ != CellSecurity::kSecure || IsProven(app, name);
  }

 private:
  // Of secret i; without a password if these credentials do not have it.
  std::string PasswordOfServer(size_t i, const AppName& app, const ServerName& server) const;
  std::string DigestOfParty(size_t i, Party party, const NodePlace& place) const;
  std::string AppSecretOf(size_t i, const AppName& app) const;

  const Credentials credentials_;
  const std::string party_;
  std::vector<StoreLogin> logins_;
  std::atomic<CellSecurity> security_{CellSecurity::kOpen};
};

// For processes that read their credentials from a file; null for no file. `party`, if given, is
// what the file must be for. Errors: as ReadCredentials(), and INVALID_ARGUMENT: the file is for
// another cell, app or server (says which).
absl::StatusOr<std::shared_ptr<StoreAccess>> AccessOfControlPlane(const std::string& file,
                                                                  const std::string& cell);
absl::StatusOr<std::shared_ptr<StoreAccess>> AccessOfServer(const std::string& file,
                                                            const std::string& cell,
                                                            const AppName& app,
                                                            const ServerName& server);

}  // namespace shardmanager
