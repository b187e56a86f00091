// Secrets of the store's parties: what is derived from what, and how ZooKeeper names an identity.
// Nothing here is stored or logged.
//
//   cell secret --+-- control plane's password
//                 +-- password that all servers of the cell share
//                 +-- secret of an app --+-- passwords that its servers share
//                                        +-- password of each server -- names of its live nodes
//
// An arrow is HMAC-SHA-256, so what stands lower tells nothing of what stands higher.
#pragma once

#include <string>
#include <string_view>

#include "shardmanager/types.h"

namespace shardmanager {

// What a session says to prove who it is. `user` has no ':'.
struct StoreLogin {
  std::string user;
  std::string password;
};

// "<user>:<base64(SHA-1(user:password))>": how ZooKeeper's digest scheme calls it in access lists.
std::string DigestOf(const StoreLogin& login);

// 64 hexadecimal digits each.
std::string NewSecret();  // 32 random bytes of the operating system
std::string DeriveSecret(std::string_view secret, std::string_view what);

// ---- What a cell's secret opens.
StoreLogin ControlPlaneLogin(std::string_view cell, std::string_view cell_secret);
StoreLogin CellMemberLogin(std::string_view cell, std::string_view password);
std::string CellMemberPassword(std::string_view cell_secret);
std::string AppSecret(std::string_view cell_secret, const AppName& app);

// ---- What an app's secret opens.
StoreLogin RegistrarLogin(std::string_view cell, const AppName& app, std::string_view app_secret);
std::string AppMemberPassword(std::string_view app_secret);
StoreLogin AppMemberLogin(std::string_view cell, const AppName& app, std::string_view password);
std::string ServerPassword(std::string_view app_secret, const ServerName& server);
StoreLogin ServerLogin(std::string_view cell, const AppName& app, const ServerName& server,
                       std::string_view password);

// The part of a live node's name that only the server itself and the control plane can know: 32
// hexadecimal digits.
std::string LiveProof(std::string_view server_password, Incarnation incarnation);

}  // namespace shardmanager
