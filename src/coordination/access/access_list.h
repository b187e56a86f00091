// Who may do what with one node of the store, in ZooKeeper's terms. Lists are not inherited: each
// node has its own. To delete a node is a right on its parent. The end of a session deletes its
// ephemeral nodes whatever their lists say.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace shardmanager {

// Bits, as ZooKeeper has them.
enum Right : uint32_t {
  kMayRead = 1,    // get, list children, check a version
  kMayWrite = 2,   // set
  kMayCreate = 4,  // a child
  kMayDelete = 8,  // a child
  kMayAdmin = 16,  // change this list
};
inline constexpr uint32_t kAllRights = 31;

struct AccessEntry {
  // A digest identity, "<user>:<base64 of SHA-1 of user:password>". Empty: anyone.
  std::string who;
  uint32_t rights = 0;

  friend bool operator==(const AccessEntry&, const AccessEntry&) = default;
  friend auto operator<=>(const AccessEntry&, const AccessEntry&) = default;
};

// Ordered; no identity twice.
using AccessList = std::vector<AccessEntry>;

// What a store gives to the nodes of sessions without credentials.
inline AccessList OpenToAnyone() { return {{"", kAllRights}}; }
inline bool IsOpen(const AccessList& list) {
  for (const AccessEntry& entry : list) {
    if (entry.who.empty()) return true;
  }
  return false;
}

}  // namespace shardmanager
