// What a server with credentials does in the store of a secure cell.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "coordination/cell.h"
#include "coordination/envelope.h"
#include "coordination/memory/memory_ensemble.h"
#include "server/cell_link.h"
#include "tests/coordination/access/parties.h"
#include "tests/runtime/hand_executor.h"

namespace shardmanager::server {
namespace {

using testing::HasSubstr;

const Paths kPaths("c");
constexpr uint32_t kBuckets = 1;

// Sessions of one party.
class PartysStores final : public CoordinationStoreFactory {
 public:
  PartysStores(MemoryEnsemble& ensemble, std::shared_ptr<StoreAccess> access)
      : ensemble_(ensemble), access_(std::move(access)) {}
  std::unique_ptr<CoordinationStore> NewSession(SessionOptions options) override {
    options.access = access_;
    return ensemble_.NewSession(std::move(options));
  }

 private:
  MemoryEnsemble& ensemble_;
  const std::shared_ptr<StoreAccess> access_;
};

class SecureLinkTest : public testing::Test {
 protected:
  SecureLinkTest() { control_ = As(ControlPlane()); }

  // One process of server kv-1.
  struct Process {
    Process(SecureLinkTest& test, std::shared_ptr<StoreAccess> access)
        : stores(test.ensemble_, std::move(access)),
          link(Options(), "127.0.0.1:1", stores, test.executor_,
               {.event = [this](Membership::Event e) { events.push_back(std::move(e)); },
                .assigned = [](const Assigned&) {}}) {
      link.NewSession();
      test.RunUntilIdle();
      link.Do(ReadCell{1});
      test.RunUntilIdle();
      events.clear();
    }
    std::vector<Membership::Event> events;
    PartysStores stores;
    CellLink link;
  };

  static ServerOptions Options() {
    ServerOptions options;
    options.app = "kv";
    options.name = "kv-1";
    options.cell = "c";
    return options;
  }

  void RunUntilIdle() {
    while (ensemble_.RunOne() || executor_.RunOne()) {
    }
  }
  std::unique_ptr<CoordinationStore> As(std::shared_ptr<StoreAccess> access) {
    return ensemble_.NewSession({.access = std::move(access)});
  }
  // `by`: who makes it; with credentials it is secure.
  void MakeCell(CoordinationStore& by) {
    v1::CellConfig wanted;
    wanted.set_cell("c");
    wanted.set_buckets(kBuckets);
    wanted.set_session_timeout_ms(10'000);
    EnsureCell(by, wanted, [](const auto& made) { EXPECT_TRUE(made.ok()) << made.status(); });
    RunUntilIdle();
    std::vector<WriteOp> ops = {CreateNode{kPaths.app(kKv), ""},
                                CreateNode{kPaths.spec(kKv), Seal(v1::StoredSpec())}};
    for (const std::string& folder : {kPaths.servers(kKv), kPaths.live(kKv)}) {
      ops.push_back(CreateNode{folder, ""});
      ops.push_back(CreateNode{Paths::bucket(folder, 0), ""});
    }
    Write(by, std::move(ops));
  }
  void Write(CoordinationStore& store, std::vector<WriteOp> ops) {
    store.Multi(std::move(ops), [](const WriteResult& result) {
      EXPECT_TRUE(result.status.ok()) << result.status;
    });
    RunUntilIdle();
  }
  template <typename Answer, typename Action>
  Answer Ask(Process& process, Action action) {
    process.events.clear();
    process.link.Do(action);
    RunUntilIdle();
    EXPECT_EQ(process.events.size(), 1u);
    return process.events.empty() ? Answer() : std::get<Answer>(process.events.back());
  }
  std::vector<std::string> Lives() {
    return *ensemble_.tree().Children(Paths::bucket(kPaths.live(kKv), 0));
  }
  void MakeRegistration() {
    Write(*control_, {CreateNode{kPaths.server(kKv, ServerName("kv-1"), kBuckets), ""}});
  }

  MemoryEnsemble ensemble_;
  HandExecutor executor_;
  std::unique_ptr<CoordinationStore> control_;
};

TEST_F(SecureLinkTest, LivesOneLifeAfterTheOther) {
  MakeCell(*control_);
  MakeRegistration();
  Process first(*this, OneServer("kv-1"));
  EXPECT_EQ(Ask<AppAnswer>(first, ReadApp{1}).answer, Answer::kOk);
  auto standing = Ask<StandingAnswer>(first, ReadStanding{2}).standing;
  EXPECT_TRUE(standing.known);
  EXPECT_FALSE(standing.live);
  EXPECT_EQ(Ask<RegisterAnswer>(first, Register{3, true, 0, Incarnation(1)}).answer, Answer::kOk);
  EXPECT_THAT(Lives(), testing::ElementsAre(testing::StartsWith("kv-1@1.")));
  EXPECT_EQ(Ask<LeaseAnswer>(first, RenewLease{4, Incarnation(1), true}).answer, Answer::kOk);
  standing = Ask<StandingAnswer>(first, ReadStanding{5}).standing;
  EXPECT_TRUE(standing.live && standing.ours);

  // The next process sees the life of the one before until its session has ended.
  Process second(*this, ServerByApp("kv-1"));
  standing = Ask<StandingAnswer>(second, ReadStanding{6}).standing;
  EXPECT_TRUE(standing.live);
  EXPECT_FALSE(standing.ours);
  EXPECT_EQ(standing.incarnation, Incarnation(1));
  EXPECT_THAT(standing.who, HasSubstr("127.0.0.1:1 ("));
  Ask<LeaveAnswer>(first, SayGoodBye{7, Incarnation(1)});
  standing = Ask<StandingAnswer>(second, ReadStanding{8}).standing;
  EXPECT_EQ(standing.version, 2);
  EXPECT_TRUE(standing.live) << "it may not delete its live node";
  first.link.Close();
  RunUntilIdle();
  standing = Ask<StandingAnswer>(second, ReadStanding{9}).standing;
  EXPECT_FALSE(standing.live);
  EXPECT_EQ(Ask<RegisterAnswer>(second, Register{10, true, 2, Incarnation(3)}).answer, Answer::kOk);
  EXPECT_THAT(Lives(), testing::ElementsAre(testing::StartsWith("kv-1@3.")));
}

// Of the time before it had credentials; and in its name, by a thief, once the cell is secure.
TEST_F(SecureLinkTest, ALifeWithoutProofIsAFormerOneUntilTheCellIsSecure) {
  const auto old = ensemble_.NewSession({});
  MakeCell(*old);
  Write(*old,
        {CreateNode{kPaths.server(kKv, ServerName("kv-1"), kBuckets), ""},
         SetNode{kPaths.server(kKv, ServerName("kv-1"), kBuckets), ""},
         CreateNode{kPaths.live(kKv, ServerName("kv-1"), Incarnation(1), kBuckets), "", true}});
  Process process(*this, OneServer("kv-1"));
  EXPECT_TRUE(Ask<StandingAnswer>(process, ReadStanding{1}).standing.live);
  v1::CellConfig config;
  ASSERT_TRUE(Open(ensemble_.tree().Get(kPaths.config())->data, &config).ok());
  config.set_security(v1::CELL_SECURE);
  Write(*old, {SetNode{kPaths.config(), Seal(config)}});
  EXPECT_FALSE(Ask<StandingAnswer>(process, ReadStanding{2}).standing.live);
}

TEST_F(SecureLinkTest, WhoCannotRegisterIsToldWhatMakesIt) {
  MakeCell(*control_);
  Process process(*this, OneServer("kv-1"));
  const auto answer = Ask<RegisterAnswer>(process, Register{1, false, 0, Incarnation(1)});
  EXPECT_EQ(answer.answer, Answer::kUnknown);
  EXPECT_THAT(std::string(answer.why.message()),
              HasSubstr("run `shardctl cell credentials server` with --zookeeper"));
  Process by_app(*this, ServerByApp("kv-1"));
  EXPECT_EQ(Ask<RegisterAnswer>(by_app, Register{1, false, 0, Incarnation(1)}).answer, Answer::kOk);
}

TEST_F(SecureLinkTest, WhoMayNotReadIsToldWhy) {
  MakeCell(*control_);
  MakeRegistration();
  Process stranger(*this, OneServer("kv-1", kKv, NewCellCredentials("c")));
  const auto cell = Ask<CellAnswer>(stranger, ReadCell{1});
  EXPECT_EQ(cell.answer, Answer::kRefused);
  EXPECT_THAT(std::string(cell.why.message()), HasSubstr("those of the cell"));
  const auto app = Ask<AppAnswer>(stranger, ReadApp{2});
  EXPECT_EQ(app.answer, Answer::kUnknown);
  EXPECT_THAT(std::string(app.why.message()), HasSubstr("not allowed to server kv-1"));
  const auto standing = Ask<StandingAnswer>(stranger, ReadStanding{3});
  EXPECT_EQ(standing.answer, Answer::kUnknown);
  EXPECT_THAT(std::string(standing.why.message()), HasSubstr("not allowed to server kv-1"));
}

// It counts no longer which life it was; the record is the server's own.
TEST_F(SecureLinkTest, ADamagedRegistrationDoesNotKeepItOut) {
  MakeCell(*control_);
  Write(*control_, {CreateNode{kPaths.server(kKv, ServerName("kv-1"), kBuckets), "rubbish"}});
  Process process(*this, OneServer("kv-1"));
  EXPECT_EQ(Ask<StandingAnswer>(process, ReadStanding{1}).answer, Answer::kOk);
}

}  // namespace
}  // namespace shardmanager::server
