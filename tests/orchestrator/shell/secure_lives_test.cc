// Which live nodes count in a secure cell.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <spdlog/spdlog.h>

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "coordination/envelope.h"
#include "coordination/memory/memory_ensemble.h"
#include "orchestrator/shell/damaged_records.h"
#include "orchestrator/shell/server_watch.h"
#include "shardmanager/v1/stored.pb.h"
#include "tests/coordination/access/parties.h"

namespace shardmanager::orchestrator {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::SizeIs;

constexpr uint32_t kBuckets = 1;
const Paths kPaths("c");
const ServerName kServer("kv-1");

class SecureLivesTest : public ::testing::Test {
 protected:
  SecureLivesTest() : control_(ControlPlane()), store_(ensemble_.NewSession({.access = control_})) {
    spdlog::set_level(spdlog::level::off);
    control_->SetSecurity(CellSecurity::kSecure);
    std::vector<WriteOp> ops;
    for (const std::string& path :
         {kPaths.root(), kPaths.apps(), kPaths.app(kKv), kPaths.servers(kKv), kPaths.live(kKv),
          Paths::bucket(kPaths.servers(kKv), 0), Paths::bucket(kPaths.live(kKv), 0),
          kPaths.server(kKv, kServer, kBuckets)}) {
      ops.push_back(CreateNode{path, ""});
    }
    Write(*store_, std::move(ops));
  }

  void Write(CoordinationStore& store, std::vector<WriteOp> ops) {
    store.Multi(std::move(ops), [](const WriteResult& result) {
      EXPECT_TRUE(result.status.ok()) << result.status;
    });
    ensemble_.RunUntilIdle();
  }
  std::unique_ptr<CoordinationStore> As(std::shared_ptr<StoreAccess> access) {
    access->SetSecurity(CellSecurity::kSecure);
    return ensemble_.NewSession({.access = std::move(access)});
  }
  static std::string Live(uint64_t life, std::string proof) {
    return kPaths.live(kKv, LiveName{kServer, Incarnation(life), std::move(proof)}, kBuckets);
  }
  static std::string Proof(uint64_t life) {
    return OneServer("kv-1")->ProofOf(kKv, kServer, Incarnation(life));
  }
  static std::string LiveRecord(uint64_t life) {
    v1::LiveRecord record;
    record.set_server(kServer.value());
    record.set_incarnation(life);
    return Seal(record);
  }
  void Begin() {
    watch_.Begin([this](absl::StatusOr<std::vector<ServerLife>> lives) {
      ASSERT_TRUE(lives.ok()) << lives.status();
      for (const ServerLife& life : *lives) heard_.push_back(UpText(life));
    });
    ensemble_.RunUntilIdle();
  }
  static std::string UpText(const ServerLife& life) {
    return absl::StrCat("up ", life.incarnation.value(), life.unread ? " unread" : "");
  }
  std::vector<std::string> Heard() { return std::exchange(heard_, {}); }

  MemoryEnsemble ensemble_;
  std::shared_ptr<StoreAccess> control_;
  std::unique_ptr<CoordinationStore> store_;
  EventLog events_;
  std::vector<std::string> heard_;
  WriterOptions options_{.store = store_.get(),
                         .paths = kPaths,
                         .app = kKv,
                         .buckets = kBuckets,
                         .leader_epoch = LeaderEpoch(),
                         .post = [](auto task) { task(); }};
  DamagedRecords damaged_{options_, events_, [](const DamagedRecord&) {}};
  ServerWatch watch_{[this] {
                       options_.damaged = &damaged_;
                       return options_;
                     }(),
                     [this](const Event& event) {
                       if (const auto* up = std::get_if<ServerUp>(&event)) {
                         heard_.push_back(UpText(up->life));
                       } else {
                         heard_.push_back("down");
                       }
                     }};
};

TEST_F(SecureLivesTest, TheServersOwnLifeCounts) {
  const auto server = As(OneServer("kv-1"));
  Write(*server, {CreateNode{Live(1, Proof(1)), LiveRecord(1), true}});
  Begin();
  EXPECT_THAT(Heard(), ElementsAre("up 1"));
  server->Close();
  ensemble_.RunUntilIdle();
  EXPECT_THAT(Heard(), ElementsAre("down"));
}

TEST_F(SecureLivesTest, ALifeThatItsServerCannotHaveMadeIsIgnoredAndSaid) {
  const auto server = As(OneServer("kv-1"));
  Write(*server, {CreateNode{Live(1, Proof(1)), LiveRecord(1), true}});
  const auto thief = As(OneServer("kv-2"));
  Write(*thief, {CreateNode{Live(2, ""), LiveRecord(2), true},
                 CreateNode{Live(3, Proof(1)), LiveRecord(3), true}});
  Begin();
  EXPECT_THAT(Heard(), ElementsAre("up 1"));
  EXPECT_THAT(damaged_.Describe(),
              ElementsAre(HasSubstr("kv-1@2 has a name that none of the app's servers gives"),
                          HasSubstr("kv-1@3")));
  Write(*thief, {CreateNode{Live(4, ""), LiveRecord(4), true}});
  EXPECT_THAT(Heard(), IsEmpty());
}

// As long as a server may run without credentials, its life counts.
TEST_F(SecureLivesTest, ALifeWithoutProofCountsUntilTheCellIsSecure) {
  control_->SetSecurity(CellSecurity::kSecuring);
  const auto server = As(OneServer("kv-2"));
  Write(*server, {CreateNode{Live(1, ""), LiveRecord(1), true}});
  Begin();
  EXPECT_THAT(Heard(), ElementsAre("up 1"));
}

// Who may not read it must not take it for over.
TEST_F(SecureLivesTest, ALifeThatMayNotBeReadCountsAsUnread) {
  const auto server = As(OneServer("kv-1"));
  const auto mine = AccessList{{DigestOf(OneServer("kv-1")->logins().back()), kAllRights}};
  Write(*server, {CreateNode{Live(1, Proof(1)), LiveRecord(1), true, mine}});
  Begin();
  EXPECT_THAT(Heard(), ElementsAre("up 1 unread"));
  Write(*server, {CreateNode{Live(2, Proof(2)), LiveRecord(2), true, mine}});
  EXPECT_THAT(Heard(), ElementsAre("up 2 unread"));
}

TEST_F(SecureLivesTest, JunkNamesAreToldUpToALimit) {
  const auto thief = As(OneServer("kv-2"));
  for (uint64_t life = 1; life <= 150; ++life) {
    Write(*thief, {CreateNode{Live(life, ""), "", true}});
  }
  Begin();
  EXPECT_THAT(Heard(), IsEmpty());
  EXPECT_THAT(damaged_.Describe(), SizeIs(100));
}

}  // namespace
}  // namespace shardmanager::orchestrator
