// Who may do what with each kind of node: the whole policy of a secure cell, as data.
// docs/operations.md shows it; a test compares.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <string_view>

#include "coordination/access/access_list.h"
#include "shardmanager/types.h"

namespace shardmanager {

// As drawn in proto/shardmanager/v1/stored.proto.
enum class NodeKind : uint8_t {
  kCell,  // the cell's root
  kConfig,
  kPolicy,
  kQuarantine,  // the folder
  kQuarantined,
  kLeader,  // the folder, its epoch and its holder
  kApps,
  kApp,
  kSpec,
  kOperations,
  kFolder,         // servers, live or assignments: what holds the buckets
  kServersBucket,  // what holds registrations
  kLiveBucket,
  kAssignmentsBucket,
  kRegistration,
  kLive,
  kAssignment,
  kOther,  // nothing of ours: for the control plane alone
};
inline constexpr size_t kNodeKinds = static_cast<size_t>(NodeKind::kOther) + 1;

// Who a right is given to. One process may be several of them.
enum class Party : uint8_t {
  kControlPlane,  // every shardmanagerd of the cell, and its operators' shardctl cell
  kAnyServer,     // each application server of the cell
  kServersOfApp,  // each application server of the app
  kRegistrar,     // who has the app's own credentials: may register servers that were not known
  kServer,        // the one server whose name is in the path
};
inline constexpr size_t kParties = static_cast<size_t>(Party::kServer) + 1;

// What a path below a cell's root names. `app` and `server` are empty where the kind has none.
struct NodePlace {
  NodeKind kind = NodeKind::kOther;
  AppName app;
  ServerName server;
};
// `path` as Paths makes it. Whatever is not of this layout is kOther.
NodePlace PlaceOf(std::string_view path, std::string_view cell);

// 0: none.
uint32_t RightsOf(NodeKind kind, Party party);

// ---- For people.
std::string_view NameOf(NodeKind kind);  // its path: "apps/APP/spec"
std::string_view NameOf(Party party);
std::string RightsText(uint32_t rights);  // "all", "read, write", "-"
// Lines of a table in Markdown: node kinds by party.
std::string AccessTableText();

}  // namespace shardmanager
