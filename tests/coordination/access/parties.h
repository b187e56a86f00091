// The parties of a secure cell "c", for tests.
#pragma once

#include <memory>

#include "coordination/access/store_access.h"

namespace shardmanager {

inline const AppName kKv{"kv"};

inline const Credentials& CellOfTests() {
  static const Credentials cell = NewCellCredentials("c");
  return cell;
}

inline std::shared_ptr<StoreAccess> ControlPlane(const Credentials& cell = CellOfTests()) {
  return std::make_shared<StoreAccess>(cell);
}
inline std::shared_ptr<StoreAccess> OneServer(const char* name, const AppName& app = kKv,
                                              const Credentials& cell = CellOfTests()) {
  return std::make_shared<StoreAccess>(ServerCredentials(cell, app, ServerName(name)));
}
// With its app's credentials, as AccessOfServer() makes it.
inline std::shared_ptr<StoreAccess> ServerByApp(const char* name, const AppName& app = kKv,
                                                const Credentials& cell = CellOfTests()) {
  Credentials credentials = AppCredentials(cell, app);
  credentials.server = ServerName(name);
  return std::make_shared<StoreAccess>(std::move(credentials));
}

}  // namespace shardmanager
