// Who may do what with the nodes of a secure cell, on both stores.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "coordination/cell.h"
#include "coordination/envelope.h"
#include "coordination/paths.h"
#include "coordination/records.h"
#include "tests/coordination/access/access_test.h"

namespace shardmanager {
namespace {

using absl::StatusCode;
using testing::AllOf;
using testing::HasSubstr;

const AppName kDb{"db"};

template <typename Harness>
class AccessConformanceTest : public AccessTest<Harness> {
 protected:
  using Session = typename AccessTest<Harness>::Session;

  // A secure cell with two apps.
  Session MakeCell(std::shared_ptr<StoreAccess> access = ControlPlane()) {
    Session control = this->As(std::move(access));
    const auto made = this->Ensure(control);
    EXPECT_TRUE(made.ok()) << made.status();
    EXPECT_EQ(made->security(), control->access() == nullptr ? v1::CELL_OPEN : v1::CELL_SECURE);
    std::vector<WriteOp> ops;
    for (const AppName& app : {kKv, kDb}) {
      ops.push_back(CreateNode{kPaths.app(app), ""});
      ops.push_back(CreateNode{kPaths.spec(app), "spec"});
      for (const std::string& folder :
           {kPaths.servers(app), kPaths.live(app), kPaths.assignments(app)}) {
        ops.push_back(CreateNode{folder, ""});
        ops.push_back(CreateNode{Paths::bucket(folder, 0), ""});
      }
    }
    EXPECT_TRUE(this->Write(control, ops).status.ok());
    return control;
  }

  // Registered as the server library does it. What registered it for the first time is `control`.
  void Register(const Session& control, const Session& server, const char* name) {
    const std::string path = kPaths.server(kKv, ServerName(name), kBuckets);
    ASSERT_TRUE(this->Load(server).ok());
    ASSERT_TRUE(this->Write(control, {CreateNode{path, ""}}).status.ok());
    const WriteResult registered = this->Write(
        server, {SetNode{path, "here", 0}, CreateNode{Live(server, name), "live", true}});
    ASSERT_TRUE(registered.status.ok()) << registered.status;
    ASSERT_TRUE(this->Write(control, {CreateNode{kPaths.assignment(kKv, ServerName(name), kBuckets),
                                                 "shards"}})
                    .status.ok());
  }

  std::string Live(const Session& server, const char* name) {
    const std::string proof = server->access()->ProofOf(kKv, ServerName(name), Incarnation(1));
    return kPaths.live(kKv, LiveName{ServerName(name), Incarnation(1), proof}, kBuckets);
  }

  void Refused(const absl::Status& status, const std::string& path, const std::string& party) {
    EXPECT_EQ(status.code(), StatusCode::kPermissionDenied) << path << ": " << status;
    EXPECT_THAT(std::string(status.message()), AllOf(HasSubstr(path), HasSubstr(party)));
  }
  // Nothing at all may be done with the node.
  void AllRefused(const Session& session, const std::string& path, const std::string& party) {
    Refused(this->Get(session, path).status(), path, party);
    Refused(this->List(session, path).status(), path, party);
    for (const WriteOp& op : std::vector<WriteOp>{
             CheckVersion{path, kAnyVersion}, SetNode{path, "x"}, DeleteNode{path},
             CreateNode{path + "/below", ""}, CreateNode{path + "/below", "", true}}) {
      // The store's root is nobody's: what keeps the cell's root there are its children.
      const bool root = std::holds_alternative<DeleteNode>(op) && path == kPaths.root();
      const absl::Status written = this->Write(session, {op}).status;
      if (root) {
        EXPECT_EQ(written.code(), StatusCode::kFailedPrecondition);
      } else {
        Refused(written, path, party);
      }
    }
    Refused(Access(session, path).status(), path, party);
    Refused(SetAccess(session, path, OpenToAnyone()), path, party);
  }

  absl::StatusOr<AccessList> Access(const Session& session, const std::string& path) {
    Answer<absl::StatusOr<AccessList>> answer(this->harness);
    session->GetAccess(path, answer.callback());
    return this->Wait(answer);
  }
  absl::Status SetAccess(const Session& session, const std::string& path, AccessList list) {
    Answer<absl::Status> answer(this->harness);
    session->SetAccess(path, std::move(list), answer.callback());
    return this->Wait(answer);
  }

  // Every node that a cell has, but those of servers.
  static std::vector<std::string> CellNodes() {
    std::vector<std::string> paths = {kPaths.root(), kPaths.config(), kPaths.leader(),
                                      kPaths.leader_epoch(), kPaths.apps()};
    for (const AppName& app : {kKv, kDb}) {
      paths.push_back(kPaths.app(app));
      paths.push_back(kPaths.spec(app));
      for (const std::string& folder :
           {kPaths.servers(app), kPaths.live(app), kPaths.assignments(app)}) {
        paths.push_back(folder);
        paths.push_back(Paths::bucket(folder, 0));
      }
    }
    return paths;
  }
  static std::vector<std::string> NodesOf(const std::string& live, const char* name) {
    return {kPaths.server(kKv, ServerName(name), kBuckets), live,
            kPaths.assignment(kKv, ServerName(name), kBuckets)};
  }
};
TYPED_TEST_SUITE(AccessConformanceTest, Harnesses, HarnessNames);

TYPED_TEST(AccessConformanceTest, AStrangerMayDoNothing) {
  auto control = this->MakeCell();
  auto server = this->As(OneServer("kv-1"));
  this->Register(control, server, "kv-1");
  auto stranger = this->As(nullptr);
  for (const std::string& path : this->CellNodes()) {
    this->AllRefused(stranger, path, "a process without ZooKeeper credentials");
  }
  for (const std::string& path : this->NodesOf(this->Live(server, "kv-1"), "kv-1")) {
    this->AllRefused(stranger, path, "a process without ZooKeeper credentials");
  }
}

TYPED_TEST(AccessConformanceTest, AWrongSecretMakesAStranger) {
  auto control = this->MakeCell();
  auto server = this->As(OneServer("kv-1"));
  this->Register(control, server, "kv-1");
  const Credentials wrong = NewCellCredentials("c");
  for (const auto& access : {ControlPlane(wrong), OneServer("kv-1", kKv, wrong)}) {
    auto stranger = this->As(access);
    for (const std::string& path : this->CellNodes()) {
      this->AllRefused(stranger, path, access->party());
    }
    for (const std::string& path : this->NodesOf(this->Live(server, "kv-1"), "kv-1")) {
      this->AllRefused(stranger, path, access->party());
    }
  }
}

TYPED_TEST(AccessConformanceTest, AServerMayDoWhatItNeeds) {
  auto control = this->MakeCell();
  auto server = this->As(OneServer("kv-1"));
  this->Register(control, server, "kv-1");
  const std::string live = this->Live(server, "kv-1");
  EXPECT_TRUE(this->Load(server).ok());
  EXPECT_EQ(this->Get(server, kPaths.spec(kKv))->data, "spec");
  EXPECT_EQ(this->Get(server, kPaths.assignment(kKv, ServerName("kv-1"), kBuckets))->data,
            "shards");
  EXPECT_EQ(this->Get(server, kPaths.server(kKv, ServerName("kv-1"), kBuckets))->data, "here");
  EXPECT_EQ(this->Get(server, live)->data, "live");
  EXPECT_TRUE(this->Write(server, {CheckVersion{live, kAnyVersion}}).status.ok());
  EXPECT_TRUE(
      this->Write(server, {SetNode{kPaths.server(kKv, ServerName("kv-1"), kBuckets), "left"}})
          .status.ok());
  server->Close();
  EXPECT_TRUE(this->AwaitGone(control, live));
}

TYPED_TEST(AccessConformanceTest, AServerMayDoNothingWithAnothersNodes) {
  auto control = this->MakeCell();
  auto victim = this->As(OneServer("kv-1"));
  this->Register(control, victim, "kv-1");
  const std::string live = this->Live(victim, "kv-1");
  for (const auto& access : {OneServer("kv-2"), OneServer("kv-1", kDb), ServerByApp("kv-1", kDb)}) {
    auto thief = this->As(access);
    for (const std::string& path : this->NodesOf(live, "kv-1")) {
      this->AllRefused(thief, path, access->party());
    }
  }
}

// What a server may do with the cell's own nodes is what it needs, and no more.
TYPED_TEST(AccessConformanceTest, AServerMayChangeNothingOfTheCell) {
  auto control = this->MakeCell();
  const auto access = OneServer("kv-1");
  auto server = this->As(access);
  ASSERT_TRUE(this->Load(server).ok());
  for (const std::string& path : this->CellNodes()) {
    const bool reads = path == kPaths.config() || path == kPaths.spec(kKv);
    if (!reads && path != Paths::bucket(kPaths.live(kKv), 0)) {
      this->AllRefused(server, path, access->party());
      continue;
    }
    EXPECT_EQ(this->Get(server, path).ok(), reads) << path;
    for (const WriteOp& op : std::vector<WriteOp>{SetNode{path, "x"}, DeleteNode{path}}) {
      this->Refused(this->Write(server, {op}).status, path, access->party());
    }
    this->Refused(this->SetAccess(server, path, OpenToAnyone()), path, access->party());
  }
  // It may make nodes beside live ones, and neither see the others nor take any away.
  const std::string bucket = Paths::bucket(kPaths.live(kKv), 0);
  this->Refused(this->List(server, bucket).status(), bucket, access->party());
  ASSERT_TRUE(this->Write(server, {CreateNode{bucket + "/kv-2@1", "", true}}).status.ok());
  this->Refused(this->Write(server, {DeleteNode{bucket + "/kv-2@1"}}).status, bucket,
                access->party());
}

TYPED_TEST(AccessConformanceTest, OnlyTheAppsCredentialsRegisterNewServers) {
  auto control = this->MakeCell();
  auto by_app = this->As(ServerByApp("kv-9"));
  auto named = this->As(OneServer("kv-8"));
  ASSERT_TRUE(this->Load(by_app).ok());
  ASSERT_TRUE(this->Load(named).ok());
  const auto path = [](const char* name) { return kPaths.server(kKv, ServerName(name), kBuckets); };
  EXPECT_TRUE(this->Write(by_app, {CreateNode{path("kv-9"), ""}}).status.ok());
  this->Refused(this->Write(named, {CreateNode{path("kv-8"), ""}}).status, path("kv-8"),
                named->access()->party());
  // As the named server would have it.
  EXPECT_EQ(*this->Access(control, path("kv-9")), ControlPlane()->OfNode(path("kv-9"), true));
}

TYPED_TEST(AccessConformanceTest, IdentitiesAreMaskedForThoseWhoMayNotChangeThem) {
  auto control = this->MakeCell();
  auto server = this->As(OneServer("kv-1"));
  this->Register(control, server, "kv-1");
  const std::string path = kPaths.server(kKv, ServerName("kv-1"), kBuckets);
  EXPECT_EQ(*this->Access(control, path), ControlPlane()->OfNode(path, true));
  const auto masked = this->Access(server, path);
  ASSERT_TRUE(masked.ok()) << masked.status();
  for (const AccessEntry& entry : *masked) {
    EXPECT_EQ(entry.who.substr(entry.who.find(':')), ":x");
  }
}

TYPED_TEST(AccessConformanceTest, SaysWhoItIsOnEachConnection) {
  auto control = this->MakeCell();
  for (int i = 0; i < 3; ++i) {
    this->harness.Disconnect(*control);
    ASSERT_TRUE(this->AwaitState(control, SessionState::kSuspended));
    this->harness.Reconnect(*control);
    ASSERT_TRUE(this->AwaitState(control, SessionState::kConnected));
    EXPECT_TRUE(this->Get(control, kPaths.spec(kKv)).ok());
    EXPECT_TRUE(this->Write(control, {SetNode{kPaths.spec(kKv), "again"}}).status.ok());
  }
}

TYPED_TEST(AccessConformanceTest, AccessIsSetAndGot) {
  auto control = this->MakeCell();
  const std::string path = kPaths.spec(kKv);
  EXPECT_EQ(this->SetAccess(control, path, {}).code(), StatusCode::kInvalidArgument);
  EXPECT_EQ(this->SetAccess(control, "/c/none", OpenToAnyone()).code(), StatusCode::kNotFound);
  EXPECT_EQ(this->Access(control, "/c/none").status().code(), StatusCode::kNotFound);
  ASSERT_TRUE(this->SetAccess(control, path, OpenToAnyone()).ok());
  EXPECT_EQ(*this->Access(control, path), OpenToAnyone());
  auto stranger = this->As(nullptr);
  EXPECT_EQ(this->Get(stranger, path)->data, "spec");
}

// ---- What processes are told.

TYPED_TEST(AccessConformanceTest, AProcessWithoutCredentialsIsToldWhatToDo) {
  auto control = this->MakeCell();
  auto stranger = this->As(nullptr);
  const auto config = this->Load(stranger);
  EXPECT_EQ(config.status().code(), StatusCode::kPermissionDenied);
  EXPECT_THAT(std::string(config.status().message()),
              AllOf(HasSubstr("--zookeeper-credentials FILE"), HasSubstr("/c/config"),
                    HasSubstr("cell \"c\" is secure")));
  auto wrong = this->As(OneServer("kv-1", kKv, NewCellCredentials("c")));
  const auto refused = this->Load(wrong);
  EXPECT_EQ(refused.status().code(), StatusCode::kPermissionDenied);
  EXPECT_THAT(std::string(refused.status().message()),
              HasSubstr("credentials of server kv-1 of app kv, cell c are not"));
}

TYPED_TEST(AccessConformanceTest, ProcessesFollowTheConfig) {
  auto control = this->MakeCell();
  auto server = this->As(OneServer("kv-1"));
  ASSERT_TRUE(this->Load(server).ok());
  EXPECT_EQ(server->access()->security(), CellSecurity::kSecure);
  for (const auto security : {v1::CELL_SECURING, v1::CELL_OPEN, v1::CELL_SECURE}) {
    v1::CellConfig config = *this->Load(control);
    config.set_security(security);
    ASSERT_TRUE(this->Write(control, {SetNode{kPaths.config(), Seal(config)}}).status.ok());
    // What its session is told later, it is told after that.
    while (static_cast<int>(server->access()->security()) != security) {
      ASSERT_TRUE(this->Get(server, kPaths.config()).ok());
    }
  }
}

}  // namespace
}  // namespace shardmanager
