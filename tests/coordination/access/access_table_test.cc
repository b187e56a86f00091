#include "coordination/access/access_table.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <fstream>
#include <iterator>
#include <string>

#include "coordination/paths.h"

namespace shardmanager {
namespace {

using testing::HasSubstr;

const Paths kPaths{"c"};
const AppName kApp{"kv"};
const ServerName kServer{"kv-1"};

NodeKind KindOf(const std::string& path) { return PlaceOf(path, "c").kind; }

TEST(AccessTableTest, KnowsEachPathThatIsMade) {
  EXPECT_EQ(KindOf(kPaths.root()), NodeKind::kCell);
  EXPECT_EQ(KindOf(kPaths.config()), NodeKind::kConfig);
  EXPECT_EQ(KindOf(kPaths.policy()), NodeKind::kPolicy);
  EXPECT_EQ(KindOf(kPaths.quarantine()), NodeKind::kQuarantine);
  EXPECT_EQ(KindOf(kPaths.quarantine() + "/apps:kv:spec@1.2"), NodeKind::kQuarantined);
  EXPECT_EQ(KindOf(kPaths.leader()), NodeKind::kLeader);
  EXPECT_EQ(KindOf(kPaths.leader_epoch()), NodeKind::kLeader);
  EXPECT_EQ(KindOf(kPaths.leader_holder()), NodeKind::kLeader);
  EXPECT_EQ(KindOf(kPaths.apps()), NodeKind::kApps);
  EXPECT_EQ(KindOf(kPaths.app(kApp)), NodeKind::kApp);
  EXPECT_EQ(KindOf(kPaths.spec(kApp)), NodeKind::kSpec);
  EXPECT_EQ(KindOf(kPaths.operations(kApp)), NodeKind::kOperations);
  for (const std::string& folder :
       {kPaths.servers(kApp), kPaths.live(kApp), kPaths.assignments(kApp)}) {
    EXPECT_EQ(KindOf(folder), NodeKind::kFolder);
  }
  EXPECT_EQ(KindOf(Paths::bucket(kPaths.servers(kApp), 7)), NodeKind::kServersBucket);
  EXPECT_EQ(KindOf(Paths::bucket(kPaths.live(kApp), 7)), NodeKind::kLiveBucket);
  EXPECT_EQ(KindOf(Paths::bucket(kPaths.assignments(kApp), 7)), NodeKind::kAssignmentsBucket);
  EXPECT_EQ(KindOf(kPaths.server(kApp, kServer, 64)), NodeKind::kRegistration);
  EXPECT_EQ(KindOf(kPaths.live(kApp, kServer, Incarnation(3), 64)), NodeKind::kLive);
  EXPECT_EQ(KindOf(kPaths.live(kApp, LiveName{kServer, Incarnation(3), "ab"}, 64)),
            NodeKind::kLive);
  EXPECT_EQ(KindOf(kPaths.assignment(kApp, kServer, 64)), NodeKind::kAssignment);
}

TEST(AccessTableTest, KnowsWhoseAPathIs) {
  const NodePlace place = PlaceOf(kPaths.live(kApp, kServer, Incarnation(3), 64), "c");
  EXPECT_EQ(place.app, kApp);
  EXPECT_EQ(place.server, kServer);
  EXPECT_EQ(PlaceOf(kPaths.spec(kApp), "c").app, kApp);
  EXPECT_EQ(PlaceOf(kPaths.spec(kApp), "c").server, ServerName(""));
}

TEST(AccessTableTest, WhatIsNotOfTheLayoutIsForTheControlPlaneAlone) {
  for (const char* path :
       {"/", "", "c", "/other", "/other/config", "/c/new", "/c/config/below", "/c/policy/below",
        "/c/leader/a/b", "/c/apps/kv/new", "/c/apps/kv/servers/001/kv-1/below",
        "/c/apps/kv/live/001/kv-1", "/c/apps/kv/spec/below"}) {
    EXPECT_EQ(KindOf(path), NodeKind::kOther) << path;
  }
  for (size_t p = 1; p < kParties; ++p) {
    EXPECT_EQ(RightsOf(NodeKind::kOther, static_cast<Party>(p)), 0u);
  }
}

// Nothing of what servers have lets one of them delete a node, change an access list, or write
// anything but its own registration.
TEST(AccessTableTest, ServersHaveTheLeastRight) {
  for (size_t k = 0; k < kNodeKinds; ++k) {
    const auto kind = static_cast<NodeKind>(k);
    EXPECT_EQ(RightsOf(kind, Party::kControlPlane), kAllRights);
    for (size_t p = 1; p < kParties; ++p) {
      const uint32_t rights = RightsOf(kind, static_cast<Party>(p));
      EXPECT_EQ(rights & (kMayDelete | kMayAdmin), 0u) << NameOf(kind);
      const bool own = kind == NodeKind::kRegistration && static_cast<Party>(p) == Party::kServer;
      EXPECT_EQ((rights & kMayWrite) != 0, own) << NameOf(kind);
    }
    // Names of live nodes are secret: nobody lists them.
    if (kind == NodeKind::kLiveBucket) {
      EXPECT_EQ(RightsOf(kind, Party::kServersOfApp), uint32_t{kMayCreate});
    }
  }
}

TEST(AccessTableTest, IsShownInTheDocs) {
  const char* source = std::getenv("SM_SOURCE_DIR");
  ASSERT_NE(source, nullptr);
  std::ifstream in(std::string(source) + "/docs/security-store.md");
  const std::string text{std::istreambuf_iterator<char>(in), {}};
  EXPECT_THAT(text, HasSubstr(AccessTableText()));
}

}  // namespace
}  // namespace shardmanager
