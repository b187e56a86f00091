#include "coordination/access/access_table.h"

#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "coordination/paths.h"

namespace shardmanager {
namespace {

struct Row {
  NodeKind kind;
  std::string_view name;
  // By Party.
  std::array<uint32_t, kParties> rights;
};

constexpr uint32_t kNone = 0;

// A server's right to create in a bucket of live nodes is not bound to its own name, as ZooKeeper
// knows no such right. So live nodes of secure cells carry a proof in their names (LiveProof()):
// others are ignored. For the same reason nobody but the control plane lists that bucket: names
// that were seen could be made again. And no server deletes in it: sessions end instead.
constexpr std::array<Row, kNodeKinds> kTable = {{
    //                                                     control     any         servers registrar
    //                                                     the
    //                                                     plane       server      of the app server
    {NodeKind::kCell, "/CELL", {kAllRights, kNone, kNone, kNone, kNone}},
    {NodeKind::kConfig, "config", {kAllRights, kMayRead, kNone, kNone, kNone}},
    {NodeKind::kPolicy, "policy", {kAllRights, kNone, kNone, kNone, kNone}},
    {NodeKind::kQuarantine, "quarantine", {kAllRights, kNone, kNone, kNone, kNone}},
    {NodeKind::kQuarantined, "quarantine/RECORD", {kAllRights, kNone, kNone, kNone, kNone}},
    {NodeKind::kLeader, "leader, leader/*", {kAllRights, kNone, kNone, kNone, kNone}},
    {NodeKind::kApps, "apps", {kAllRights, kNone, kNone, kNone, kNone}},
    {NodeKind::kApp, "apps/APP", {kAllRights, kNone, kNone, kNone, kNone}},
    {NodeKind::kSpec, "apps/APP/spec", {kAllRights, kNone, kMayRead, kNone, kNone}},
    {NodeKind::kOperations, "apps/APP/operations", {kAllRights, kNone, kNone, kNone, kNone}},
    {NodeKind::kFolder, "apps/APP/FOLDER", {kAllRights, kNone, kNone, kNone, kNone}},
    {NodeKind::kServersBucket,
     "apps/APP/servers/BUCKET",
     {kAllRights, kNone, kNone, kMayCreate, kNone}},
    {NodeKind::kLiveBucket, "apps/APP/live/BUCKET", {kAllRights, kNone, kMayCreate, kNone, kNone}},
    {NodeKind::kAssignmentsBucket,
     "apps/APP/assignments/BUCKET",
     {kAllRights, kNone, kNone, kNone, kNone}},
    {NodeKind::kRegistration,
     "apps/APP/servers/BUCKET/SERVER",
     {kAllRights, kNone, kNone, kNone, kMayRead | kMayWrite}},
    {NodeKind::kLive,
     "apps/APP/live/BUCKET/SERVER@LIFE.PROOF",
     {kAllRights, kNone, kNone, kNone, kMayRead}},
    {NodeKind::kAssignment,
     "apps/APP/assignments/BUCKET/SERVER",
     {kAllRights, kNone, kNone, kNone, kMayRead}},
    {NodeKind::kOther, "anything else below /CELL", {kAllRights, kNone, kNone, kNone, kNone}},
}};

constexpr bool InOrder() {
  for (size_t i = 0; i < kNodeKinds; ++i) {
    if (kTable[i].kind != static_cast<NodeKind>(i)) return false;
    if (kTable[i].rights[static_cast<size_t>(Party::kControlPlane)] != kAllRights) return false;
  }
  return true;
}
static_assert(InOrder(), "one row for each kind, in order; the control plane may do everything");

const Row& RowOf(NodeKind kind) { return kTable[static_cast<size_t>(kind)]; }

// `parts` are those behind the app's name.
NodePlace PlaceInApp(AppName app, const std::vector<std::string_view>& parts) {
  if (parts.empty()) return {NodeKind::kApp, std::move(app), {}};
  const std::string_view folder = parts[0];
  if (parts.size() == 1) {
    if (folder == "spec") return {NodeKind::kSpec, std::move(app), {}};
    if (folder == "operations") return {NodeKind::kOperations, std::move(app), {}};
  }
  const bool servers = folder == "servers", live = folder == "live";
  if (!servers && !live && folder != "assignments") return {};
  if (parts.size() == 1) return {NodeKind::kFolder, std::move(app), {}};
  if (parts.size() == 2) {
    return {servers ? NodeKind::kServersBucket
            : live  ? NodeKind::kLiveBucket
                    : NodeKind::kAssignmentsBucket,
            std::move(app),
            {}};
  }
  if (parts.size() > 3) return {};
  if (!live) {
    return {servers ? NodeKind::kRegistration : NodeKind::kAssignment, std::move(app),
            ServerName(parts[2])};
  }
  auto name = ParseLiveName(parts[2]);
  if (!name) return {};
  return {NodeKind::kLive, std::move(app), std::move(name->server)};
}

}  // namespace

NodePlace PlaceOf(std::string_view path, std::string_view cell) {
  std::vector<std::string_view> parts;
  while (!path.empty() && path.front() == '/') {
    path.remove_prefix(1);
    parts.push_back(path.substr(0, path.find('/')));
    path.remove_prefix(parts.back().size());
  }
  if (parts.empty() || parts[0] != cell) return {};
  parts.erase(parts.begin());
  if (parts.empty()) return {NodeKind::kCell, {}, {}};
  const std::string_view first = parts[0];
  if (first == "leader" && parts.size() <= 2) return {NodeKind::kLeader, {}, {}};
  if (first == "quarantine" && parts.size() == 2) return {NodeKind::kQuarantined, {}, {}};
  if (parts.size() == 1) {
    if (first == "config") return {NodeKind::kConfig, {}, {}};
    if (first == "policy") return {NodeKind::kPolicy, {}, {}};
    if (first == "quarantine") return {NodeKind::kQuarantine, {}, {}};
    if (first == "apps") return {NodeKind::kApps, {}, {}};
    return {};
  }
  if (first != "apps") return {};
  return PlaceInApp(AppName(parts[1]), {parts.begin() + 2, parts.end()});
}

uint32_t RightsOf(NodeKind kind, Party party) {
  return RowOf(kind).rights[static_cast<size_t>(party)];
}

std::string_view NameOf(NodeKind kind) { return RowOf(kind).name; }

std::string_view NameOf(Party party) {
  constexpr std::array<std::string_view, kParties> kNames = {
      "control plane", "any server", "servers of APP", "registrar of APP", "SERVER"};
  return kNames[static_cast<size_t>(party)];
}

std::string RightsText(uint32_t rights) {
  if (rights == kNone) return "-";
  if (rights == kAllRights) return "all";
  std::vector<std::string> words;
  if (rights & kMayRead) words.push_back("read");
  if (rights & kMayWrite) words.push_back("write");
  if (rights & kMayCreate) words.push_back("create");
  if (rights & kMayDelete) words.push_back("delete");
  if (rights & kMayAdmin) words.push_back("admin");
  return absl::StrJoin(words, ", ");
}

std::string AccessTableText() {
  std::string text = "| node |";
  std::string line = "|---|";
  for (size_t p = 0; p < kParties; ++p) {
    absl::StrAppend(&text, " ", std::string(NameOf(static_cast<Party>(p))), " |");
    line += "---|";
  }
  absl::StrAppend(&text, "\n", line, "\n");
  for (const Row& row : kTable) {
    const bool path = row.kind != NodeKind::kOther;
    absl::StrAppend(&text, "| ", path ? "`" : "", std::string(row.name), path ? "`" : "", " |");
    for (const uint32_t rights : row.rights) absl::StrAppend(&text, " ", RightsText(rights), " |");
    text += "\n";
  }
  return text;
}

}  // namespace shardmanager
