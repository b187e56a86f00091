#include "coordination/access/store_access.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "coordination/paths.h"
#include "tests/coordination/access/parties.h"

namespace shardmanager {
namespace {

using testing::IsEmpty;
using testing::Not;
using testing::SizeIs;

const Paths kPaths{"c"};
const ServerName kServer{"kv-1"};

// The server and the control plane have to make the same list for the same node, as `shardctl cell
// secure` would change it otherwise.
TEST(StoreAccessTest, AServerAndTheControlPlaneMakeTheSameLists) {
  const std::string registration = kPaths.server(kKv, kServer, 64);
  const std::string live = kPaths.live(kKv, kServer, Incarnation(1), 64);
  for (const bool secure : {true, false}) {
    for (const std::string& path : {registration, live}) {
      const AccessList list = ControlPlane()->OfNode(path, secure);
      EXPECT_THAT(list, SizeIs(secure ? 2 : 3));
      EXPECT_EQ(IsOpen(list), !secure);
      EXPECT_EQ(OneServer("kv-1")->OfNode(path, secure), list);
      EXPECT_EQ(ServerByApp("kv-1")->OfNode(path, secure), list);
    }
  }
}

TEST(StoreAccessTest, NewNodesAreOpenAsLongAsTheCellIs) {
  const auto access = ControlPlane();
  const std::string path = kPaths.spec(kKv);
  EXPECT_TRUE(IsOpen(access->OfNewNode(path)));
  access->SetSecurity(CellSecurity::kSecuring);
  EXPECT_FALSE(IsOpen(access->OfNewNode(path)));
  access->SetSecurity(CellSecurity::kSecure);
  EXPECT_FALSE(IsOpen(access->OfNewNode(path)));
}

TEST(StoreAccessTest, OnlyTheServerItselfCanProveItsLives) {
  const auto control = ControlPlane();
  const Incarnation life(7);
  const auto by = [&](const StoreAccess& access) {
    return LiveName{kServer, life, access.ProofOf(kKv, kServer, life)};
  };
  EXPECT_TRUE(control->IsProven(kKv, by(*OneServer("kv-1"))));
  EXPECT_TRUE(control->IsProven(kKv, by(*ServerByApp("kv-1"))));
  EXPECT_THAT(OneServer("kv-2")->ProofOf(kKv, kServer, life), IsEmpty());
  EXPECT_THAT(OneServer("kv-1", AppName("db"))->ProofOf(kKv, kServer, life), IsEmpty());
  EXPECT_FALSE(control->IsProven(kKv, by(*OneServer("kv-2"))));
  EXPECT_FALSE(control->IsProven(kKv, by(*OneServer("kv-1", kKv, NewCellCredentials("c")))));
  // Neither for another life nor in another app.
  LiveName other = by(*OneServer("kv-1"));
  other.incarnation = Incarnation(8);
  EXPECT_FALSE(control->IsProven(kKv, other));
  EXPECT_FALSE(control->IsProven(AppName("db"), by(*OneServer("kv-1"))));
}

TEST(StoreAccessTest, LivesWithoutProofCountUntilTheCellIsSecure) {
  const auto control = ControlPlane();
  const LiveName plain{kServer, Incarnation(7)};
  EXPECT_TRUE(control->Counts(kKv, plain));
  control->SetSecurity(CellSecurity::kSecuring);
  EXPECT_TRUE(control->Counts(kKv, plain));
  control->SetSecurity(CellSecurity::kSecure);
  EXPECT_FALSE(control->Counts(kKv, plain));
}

// While a secret is replaced, processes with the old one, with both, and with the new one work
// together.
TEST(StoreAccessTest, BothSecretsAreGoodWhileOneIsReplaced) {
  const Credentials old = CellOfTests();
  Credentials both = NewCellCredentials("c");
  both.secrets.push_back(old.secrets[0]);
  Credentials renewed = both;
  renewed.secrets.pop_back();
  const std::string path = kPaths.assignment(kKv, kServer, 64);
  const auto list = ControlPlane(both)->OfNode(path, true);
  EXPECT_THAT(list, SizeIs(4));
  for (const Credentials& one : {old, renewed}) {
    for (const AccessEntry& entry : ControlPlane(one)->OfNode(path, true)) {
      EXPECT_THAT(list, testing::Contains(entry));
    }
  }
  const auto proof = OneServer("kv-1", kKv, old)->ProofOf(kKv, kServer, Incarnation(3));
  EXPECT_TRUE(ControlPlane(both)->IsProven(kKv, {kServer, Incarnation(3), proof}));
  EXPECT_FALSE(ControlPlane(renewed)->IsProven(kKv, {kServer, Incarnation(3), proof}));
  EXPECT_THAT(OneServer("kv-1", kKv, both)->ProofsOf(kKv, kServer, Incarnation(3)),
              testing::Contains(proof));
}

}  // namespace
}  // namespace shardmanager
