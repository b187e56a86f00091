// What the partition hears of servers that come and go while nobody looks.
#include "orchestrator/shell/server_watch.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <spdlog/spdlog.h>

#include "absl/strings/str_cat.h"
#include "coordination/envelope.h"
#include "coordination/memory/memory_ensemble.h"
#include "orchestrator/shell/damaged_records.h"
#include "shardmanager/v1/stored.pb.h"
#include "tests/coordination/passing_store.h"

namespace shardmanager::orchestrator {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

constexpr uint32_t kBuckets = 4;
const Paths kPaths("cell");
const AppName kApp("kv");
const ServerName kServer("kv-1");

// Passes everything on, and lets the test act just before a node is read.
class HookedStore final : public PassingStore {
 public:
  using PassingStore::PassingStore;
  std::function<void(const std::string& path)> before_get;

  void Get(const std::string& path, NodeCallback done, Watch watch) override {
    if (before_get) before_get(path);
    PassingStore::Get(path, std::move(done), std::move(watch));
  }
};

class ServerWatchTest : public testing::Test {
 protected:
  ServerWatchTest() : store_(ensemble_.NewSession({})), session_(ensemble_.last_session()) {
    spdlog::set_level(spdlog::level::off);
    others_ = ensemble_.NewSession({});
    std::vector<WriteOp> ops;
    for (const std::string& path : {kPaths.root(), kPaths.leader(), kPaths.leader_epoch(),
                                    kPaths.apps(), kPaths.app(kApp), kPaths.quarantine()}) {
      ops.push_back(CreateNode{path, ""});
    }
    for (const std::string& folder : {kPaths.servers(kApp), kPaths.live(kApp)}) {
      ops.push_back(CreateNode{folder, ""});
      for (uint32_t b = 0; b < kBuckets; ++b) {
        ops.push_back(CreateNode{Paths::bucket(folder, b), ""});
      }
    }
    Write(std::move(ops));
    Write({CreateNode{Registration(), Record(false)}});
  }

  void Begin() {
    watch_.Begin([this](absl::StatusOr<std::vector<ServerLife>> lives) {
      ASSERT_TRUE(lives.ok());
      for (const ServerLife& life : *lives) heard_.push_back(UpText(life));
    });
    ensemble_.RunUntilIdle();
  }
  std::vector<std::string> Heard() { return std::exchange(heard_, {}); }

  // ---- what servers do ----
  static std::string Registration() { return kPaths.server(kApp, kServer, kBuckets); }
  static std::string Live(uint64_t life) {
    return kPaths.live(kApp, kServer, Incarnation(life), kBuckets);
  }
  static std::string Record(bool departed) {
    v1::ServerRecord record;
    record.set_server(kServer.value());
    record.set_departed(departed);
    return Seal(record);
  }
  static std::string LiveRecord(uint64_t life) {
    v1::LiveRecord record;
    record.set_server(kServer.value());
    record.set_incarnation(life);
    record.set_endpoint(absl::StrCat("host:", life));
    return Seal(record);
  }
  // Queued; applied with whatever waits.
  void Write(std::vector<WriteOp> ops) {
    others_->Multi(std::move(ops), [](const WriteResult& result) {
      EXPECT_TRUE(result.status.ok()) << result.status;
    });
  }
  void Register(uint64_t life) {
    Write({SetNode{Registration(), Record(false)}, CreateNode{Live(life), LiveRecord(life)}});
  }
  void SayGoodBye(uint64_t life) {
    Write({SetNode{Registration(), Record(true)}, DeleteNode{Live(life)}});
  }
  void Crash(uint64_t life) { Write({DeleteNode{Live(life)}}); }

  static std::string UpText(const ServerLife& life) {
    return absl::StrCat("up ", life.incarnation.value(), life.unread ? " unread" : "");
  }
  void Hear(const Event& event) {
    if (const auto* up = std::get_if<ServerUp>(&event)) heard_.push_back(UpText(up->life));
    if (const auto* down = std::get_if<ServerDown>(&event)) {
      heard_.push_back(absl::StrCat("down ", down->incarnation.value(), " registered ",
                                    down->registration_version, down->departed ? " departed" : ""));
    }
  }

  MemoryEnsemble ensemble_;
  HookedStore store_;
  const SessionNumber session_;
  std::unique_ptr<CoordinationStore> others_;
  EventLog events_;
  std::vector<std::string> heard_;
  WriterOptions options_{.store = &store_,
                         .paths = kPaths,
                         .app = kApp,
                         .buckets = kBuckets,
                         .leader_epoch = LeaderEpoch(),
                         .post = [](auto task) { task(); }};
  DamagedRecords damaged_{options_, events_, [](const DamagedRecord&) {}};
  ServerWatch watch_{[this] {
                       options_.damaged = &damaged_;
                       return options_;
                     }(),
                     [this](const Event& event) { Hear(event); }};
};

TEST_F(ServerWatchTest, TellsOfLivesThatBeginAndEnd) {
  Register(1);
  Begin();
  EXPECT_THAT(Heard(), ElementsAre("up 1"));
  Crash(1);
  ensemble_.RunUntilIdle();
  EXPECT_THAT(Heard(), ElementsAre("down 1 registered 1"));
  Register(2);
  ensemble_.RunUntilIdle();
  EXPECT_THAT(Heard(), ElementsAre("up 2"));
  SayGoodBye(2);
  ensemble_.RunUntilIdle();
  EXPECT_THAT(Heard(), ElementsAre("down 2 registered 3 departed"));
  watch_.Relist();
  ensemble_.RunUntilIdle();
  EXPECT_THAT(Heard(), IsEmpty());
}

TEST_F(ServerWatchTest, TellsWhereALifeIsAndWhatItCanCarry) {
  v1::LiveRecord record;
  record.set_server(kServer.value());
  record.set_incarnation(1);
  record.set_endpoint("host:1");
  record.mutable_fault_domain()->set_region("eu");
  record.mutable_fault_domain()->set_datacenter("eu-1");
  record.mutable_fault_domain()->set_rack("r7");
  record.set_capacity(300);
  (*record.mutable_metric_capacity())["cpu"] = 16;
  Write({SetNode{Registration(), Record(false)}, CreateNode{Live(1), Seal(record)}});
  std::vector<ServerLife> found;
  watch_.Begin([&](absl::StatusOr<std::vector<ServerLife>> lives) { found = lives.value(); });
  ensemble_.RunUntilIdle();
  ASSERT_EQ(found.size(), 1u);
  EXPECT_EQ(found[0].name, kServer.value());
  EXPECT_EQ(found[0].endpoint, "host:1");
  EXPECT_EQ(found[0].fault_domain.region, "eu");
  EXPECT_EQ(found[0].fault_domain.datacenter, "eu-1");
  EXPECT_EQ(found[0].fault_domain.rack, "r7");
  EXPECT_EQ(found[0].capacity, 300u);
  ASSERT_EQ(found[0].metric_capacity.size(), 1u);
  EXPECT_EQ(found[0].metric_capacity[0].metric, "cpu");
  EXPECT_EQ(found[0].metric_capacity[0].amount, 16);
}

// Finding 6 of the attack: the end of life 1 was never told, and the dead server stayed live.
TEST_F(ServerWatchTest, ALifeThatEndsBeforeItIsReadDoesNotHideTheEndOfTheOneBefore) {
  Register(1);
  Begin();
  Heard();
  ensemble_.Disconnect(session_);
  Crash(1);
  Register(2);
  ensemble_.RunUntilIdle();
  store_.before_get = [this](const std::string& path) {
    if (path != Live(2)) return;
    store_.before_get = nullptr;
    SayGoodBye(2);
  };
  ensemble_.Reconnect(session_);
  watch_.Relist();
  ensemble_.RunUntilIdle();
  EXPECT_EQ(store_.before_get, nullptr) << "life 2 was not seen";
  ASSERT_EQ(Heard().size(), 1u);
}

// The life was read, and gone when its answer came: it is not told as up after its end.
TEST_F(ServerWatchTest, WhatIsReadAfterItsEndWasListedIsNotTold) {
  Begin();
  Register(1);
  store_.before_get = [this](const std::string& path) {
    if (path != Live(1)) return;
    store_.before_get = nullptr;
    // The listing that shows its end overtakes nothing, but comes in the same breath.
    store_.Get(
        path, [](const auto&) {}, nullptr);
    SayGoodBye(1);
  };
  ensemble_.RunUntilIdle();
  watch_.Relist();
  ensemble_.RunUntilIdle();
  const std::vector<std::string> heard = Heard();
  EXPECT_TRUE(heard.empty() || heard.back().starts_with("down 1")) << heard.back();
}

// A write found that the server is back, and the connection broke before anybody looked.
TEST_F(ServerWatchTest, ARecheckGoesOnAfterABreakOfTheConnection) {
  Register(1);
  Begin();
  Heard();
  ensemble_.HoldAnswers(session_, true);  // it does not see what follows
  Crash(1);
  Register(2);
  SayGoodBye(2);
  ensemble_.RunUntilIdle();
  watch_.Recheck("kv-1");
  ensemble_.Disconnect(session_);
  ensemble_.RunUntilIdle();
  ensemble_.Reconnect(session_);
  ensemble_.RunUntilIdle();
  EXPECT_THAT(Heard(), testing::Contains("down 3 registered 3 departed"));
}

// The connection broke while the watch was being set: who believes that it is set hears of what
// comes only with the next regular listing, seconds later.
TEST_F(ServerWatchTest, AWatchThatCouldNotBeSetIsSetByTheNextListing) {
  Begin();
  for (int breaks = 0; breaks < 2; ++breaks) {  // the first fires the watches, which are set anew
    ensemble_.Disconnect(session_);
    ensemble_.RunUntilIdle();
    ensemble_.Reconnect(session_);
    if (breaks == 1) ensemble_.RunUntilIdle();
  }
  watch_.Relist();
  ensemble_.RunUntilIdle();
  EXPECT_THAT(Heard(), IsEmpty());
  Register(1);
  ensemble_.RunUntilIdle();
  EXPECT_THAT(Heard(), ElementsAre("up 1"));
}

// Finding 14: it was ignored without a word, until a new leader took it for a server.
TEST_F(ServerWatchTest, ALifeInAWrongBucketIsIgnoredAndSaid) {
  const uint32_t wrong = (BucketOf(kServer.value(), kBuckets) + 1) % kBuckets;
  const std::string path = Paths::bucket(kPaths.live(kApp), wrong) + "/kv-1@1";
  Write({CreateNode{path, LiveRecord(1)}});
  Begin();
  EXPECT_THAT(Heard(), IsEmpty());
  EXPECT_THAT(damaged_.Describe(),
              ElementsAre(HasSubstr(absl::StrCat(path, " is ignored: its place is ", Live(1)))));
  uint64_t cursor = 0;
  const auto events = events_.Read(&cursor, Duration(0));
  ASSERT_EQ(events.size(), 1u);
  EXPECT_EQ(events[0].kind(), "RecordMisplaced");
  watch_.Relist();
  Write({DeleteNode{path}});
  ensemble_.RunUntilIdle();
  damaged_.Relook();
  ensemble_.RunUntilIdle();
  EXPECT_THAT(damaged_.Describe(), IsEmpty());
  EXPECT_THAT(events_.Read(&cursor, Duration(0)), IsEmpty());
}

// Nobody can tell whether it said good-bye: it counts as lost, and operators hear why.
TEST_F(ServerWatchTest, ARegistrationThatCannotBeReadWhenALifeEndsIsSaid) {
  Register(1);
  Begin();
  Heard();
  Write({SetNode{Registration(), "what a disk made of it"}, DeleteNode{Live(1)}});
  ensemble_.RunUntilIdle();
  EXPECT_THAT(Heard(), ElementsAre("down 1 registered 1"));
  EXPECT_THAT(damaged_.Describe(),
              ElementsAre(HasSubstr("the registration record of kv-1 cannot be read")));
  uint64_t cursor = 0;
  const auto events = events_.Read(&cursor, Duration(0));
  ASSERT_EQ(events.size(), 1u);
  EXPECT_EQ(events[0].kind(), "RecordDamaged");
  EXPECT_EQ(events[0].app(), "kv");
  EXPECT_EQ(events[0].server(), "kv-1");
}

}  // namespace
}  // namespace shardmanager::orchestrator
