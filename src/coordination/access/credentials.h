// A file of ZooKeeper credentials: who a process is to the store, and the secrets that prove it.
//
//   # ZooKeeper credentials of Shard Manager. Whoever reads this file is ...
//   kind: server
//   cell: prod
//   app: kv
//   server: kv-1
//   secret: 9f86d081884c7d65...            one line for each secret, the newest first
//   servers-password: 60303ae22b998861...  as many; of app and server
//   app-password: ...                      as many; of server
//   control-plane: prod/control-plane:wQ...=   as many; of app and server. Not secret
//
// `shardctl cell credentials` writes such files. Several secrets are there while they are being
// replaced (docs/operations.md).
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "absl/status/statusor.h"
#include "coordination/access/access_list.h"
#include "coordination/access/digest.h"
#include "shardmanager/types.h"

namespace shardmanager {

// What one secret of a file opens. Which members are set depends on the kind.
struct CredentialSecret {
  // Of the cell, of the app, or the server's password.
  std::string secret;
  // App and server: what all servers of the cell share.
  std::string servers_password;
  // Server: what all servers of the app share.
  std::string app_password;
  // App and server: how access lists name the control plane.
  std::string control_plane;

  friend bool operator==(const CredentialSecret&, const CredentialSecret&) = default;
};

struct Credentials {
  enum class Kind { kCell, kApp, kServer };
  Kind kind = Kind::kCell;
  std::string cell;
  AppName app;        // app and server
  ServerName server;  // server
  // One at least, the newest first. Nodes are accessible to all of them, so that processes with the
  // old secret and with the new one work together while they are replaced.
  std::vector<CredentialSecret> secrets;

  friend bool operator==(const Credentials&, const Credentials&) = default;
};

// 1 to so many secrets in a file, and bytes of it.
inline constexpr size_t kMostSecrets = 2;
inline constexpr size_t kMostCredentialBytes = 16 * 1024;

// Of a new cell, or with `before`'s secrets behind a new one.
Credentials NewCellCredentials(std::string cell);
// REQUIRES: `cell` is of kind kCell.
Credentials AppCredentials(const Credentials& cell, const AppName& app);
Credentials ServerCredentials(const Credentials& cell, const AppName& app,
                              const ServerName& server);

// The text of a file, and back. Errors: INVALID_ARGUMENT with line, what was found and what is
// allowed; never with a secret.
std::string CredentialText(const Credentials& credentials);
absl::StatusOr<Credentials> ParseCredentials(std::string_view text);

// Reads a file. Errors: NOT_FOUND; PERMISSION_DENIED, others than its owner may read or write it
// (names the mode that was found and those that are allowed); INVALID_ARGUMENT, as above, or too
// large. All name the file.
absl::StatusOr<Credentials> ReadCredentials(const std::string& file);
// Makes a file of mode 0600. ALREADY_EXISTS: it is there, and stays as it is.
absl::Status WriteCredentials(const std::string& file, const Credentials& credentials);

// For messages: "the control plane of cell prod", "server kv-1 of app kv, cell prod".
std::string PartyOf(const Credentials& credentials);

}  // namespace shardmanager
