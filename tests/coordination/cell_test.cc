#include "coordination/cell.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "coordination/envelope.h"
#include "coordination/paths.h"
#include "tests/coordination/store_test.h"

namespace shardmanager {
namespace {

using absl::StatusCode;
using testing::ElementsAre;
using testing::HasSubstr;
using Config = absl::StatusOr<v1::CellConfig>;

v1::CellConfig Wanted(const std::string& cell, uint32_t buckets = 64) {
  v1::CellConfig config;
  config.set_cell(cell);
  config.set_zookeeper_tick_ms(2'000);
  config.set_session_timeout_ms(10'000);
  config.set_buckets(buckets);
  return config;
}

template <typename Harness>
class CellTest : public StoreTest<Harness> {
 protected:
  using Session = typename StoreTest<Harness>::Session;

  Config Ensure(const Session& session, const v1::CellConfig& wanted) {
    Answer<Config> answer(this->harness);
    EnsureCell(*session, wanted, answer.callback());
    return this->Wait(answer);
  }
  // Of five sessions at once, each with what `wanted(i)` gives for it.
  template <typename F>
  std::vector<Config> EnsureAtOnce(F wanted) {
    std::vector<Session> sessions;
    std::vector<Answer<Config>> answers;
    for (uint32_t i = 0; i < 5; ++i) {
      sessions.push_back(this->Connect());
      answers.emplace_back(this->harness);
    }
    for (uint32_t i = 0; i < 5; ++i) EnsureCell(*sessions[i], wanted(i), answers[i].callback());
    std::vector<Config> configs;
    for (auto& answer : answers) configs.push_back(this->Wait(answer));
    return configs;
  }
  Config Load(const Session& session, const std::string& cell) {
    Answer<Config> answer(this->harness);
    LoadCell(*session, cell, answer.callback());
    return this->Wait(answer);
  }
};
TYPED_TEST_SUITE(CellTest, Harnesses, HarnessNames);

TYPED_TEST(CellTest, MakesTheCellsFoldersAndKeepsItsConfig) {
  auto s = this->Connect();
  const Config made = this->Ensure(s, Wanted("c", 16));
  ASSERT_TRUE(made.ok()) << made.status();
  EXPECT_EQ(made->buckets(), 16u);
  EXPECT_THAT(*this->List(s, "/c"), ElementsAre("apps", "config", "leader"));
  EXPECT_EQ(this->Get(s, Paths("c").leader_epoch())->stat.version, 0);
  EXPECT_EQ(this->Load(s, "c")->SerializeAsString(), made->SerializeAsString());
}

v1::CellConfig MadeAt(int64_t made_ms) {
  v1::CellConfig config = Wanted("c");
  config.set_made_ms(made_ms);
  return config;
}

TYPED_TEST(CellTest, KeepsTheIdentityThatItWasMadeWith) {
  auto s = this->Connect();
  EXPECT_EQ(this->Ensure(s, MadeAt(1'000))->made_ms(), 1'000);
  EXPECT_EQ(this->Ensure(s, MadeAt(2'000))->made_ms(), 1'000);
  EXPECT_EQ(this->Load(s, "c")->made_ms(), 1'000);
}

TYPED_TEST(CellTest, ACellWithoutAnIdentityGetsOneOnce) {
  auto s = this->Connect();
  ASSERT_EQ(this->Ensure(s, Wanted("c", 16))->made_ms(), 0);
  const Config given = this->Ensure(s, MadeAt(2'000));
  ASSERT_TRUE(given.ok()) << given.status();
  EXPECT_EQ(given->made_ms(), 2'000);
  EXPECT_EQ(given->buckets(), 16u) << "all else stays";
  EXPECT_EQ(this->Ensure(s, MadeAt(3'000))->made_ms(), 2'000);
  EXPECT_EQ(this->Load(s, "c")->SerializeAsString(), given->SerializeAsString());
}

TYPED_TEST(CellTest, StoredConfigWinsOverTheWantedOne) {
  auto s = this->Connect();
  ASSERT_TRUE(this->Ensure(s, Wanted("c", 16)).ok());
  const Config again = this->Ensure(s, Wanted("c", 32));
  ASSERT_TRUE(again.ok()) << again.status();
  EXPECT_EQ(again->buckets(), 16u);
}

TYPED_TEST(CellTest, AllWhoMakeItAtOnceGetTheSameConfig) {
  const std::vector<Config> configs =
      this->EnsureAtOnce([](uint32_t i) { return Wanted("c", i + 1); });
  ASSERT_TRUE(configs[0].ok()) << configs[0].status();
  for (const Config& config : configs) {
    ASSERT_TRUE(config.ok()) << config.status();
    EXPECT_EQ(config->buckets(), configs[0]->buckets());
  }
}

TYPED_TEST(CellTest, AllWhoGiveItAnIdentityAtOnceGetTheSame) {
  auto first = this->Connect();
  ASSERT_TRUE(this->Ensure(first, Wanted("c")).ok());
  for (const Config& config : this->EnsureAtOnce([](uint32_t i) { return MadeAt(1'000 + i); })) {
    ASSERT_TRUE(config.ok()) << config.status();
    EXPECT_EQ(config->made_ms(), this->Load(first, "c")->made_ms());
    EXPECT_NE(config->made_ms(), 0);
  }
}

TYPED_TEST(CellTest, RefusesFolderThatIsNoCell) {
  auto s = this->Connect();
  ASSERT_TRUE(this->Write(s, {CreateNode{"/c", ""}, CreateNode{"/c/mine", ""}}).status.ok());
  const Config config = this->Ensure(s, Wanted("c"));
  EXPECT_EQ(config.status().code(), StatusCode::kFailedPrecondition);
  EXPECT_THAT(std::string(config.status().message()), HasSubstr("/c"));
  EXPECT_THAT(*this->List(s, "/c"), ElementsAre("mine"));
}

TYPED_TEST(CellTest, RefusesConfigOfAnotherCell) {
  auto s = this->Connect();
  ASSERT_TRUE(this->Write(s, {CreateNode{"/c", ""}, CreateNode{"/c/config", Seal(Wanted("other"))}})
                  .status.ok());
  for (const Config& config : {this->Ensure(s, Wanted("c")), this->Load(s, "c")}) {
    EXPECT_EQ(config.status().code(), StatusCode::kFailedPrecondition);
    EXPECT_THAT(std::string(config.status().message()), HasSubstr("other"));
  }
}

TYPED_TEST(CellTest, RefusesConfigThatDoesNotParse) {
  auto s = this->Connect();
  ASSERT_TRUE(
      this->Write(s, {CreateNode{"/c", ""}, CreateNode{"/c/config", "rubbish"}}).status.ok());
  EXPECT_EQ(this->Ensure(s, Wanted("c")).status().code(), StatusCode::kFailedPrecondition);
  EXPECT_EQ(this->Get(s, "/c/config")->data, "rubbish");
}

TYPED_TEST(CellTest, RefusesConfigOfNewerVersion) {
  auto s = this->Connect();
  v1::Envelope newer;
  ASSERT_TRUE(newer.ParseFromString(Seal(Wanted("c"))));
  newer.set_format_version(kFormatVersion + 1);
  ASSERT_TRUE(
      this->Write(s, {CreateNode{"/c", ""}, CreateNode{"/c/config", newer.SerializeAsString()}})
          .status.ok());
  EXPECT_EQ(this->Ensure(s, Wanted("c")).status().code(), StatusCode::kUnimplemented);
  EXPECT_EQ(this->Load(s, "c").status().code(), StatusCode::kUnimplemented);
}

TYPED_TEST(CellTest, LoadOnlyReadsAndTellsWhenTheCellIsMade) {
  auto s = this->Connect();
  Answer<Config> answer(this->harness);
  Answer<bool> changed(this->harness);
  LoadCell(*s, "c", answer.callback(), [changed]() mutable { changed.Set(true); });
  EXPECT_EQ(this->Wait(answer).status().code(), StatusCode::kNotFound);
  EXPECT_THAT(*this->List(s, "/"), ElementsAre());
  ASSERT_TRUE(this->Ensure(s, Wanted("c")).ok());
  EXPECT_TRUE(this->Wait(changed));
}

TYPED_TEST(CellTest, IsMadeOnceTheConnectionIsBack) {
  auto s = this->Connect();
  this->harness.Disconnect(*s);
  ASSERT_TRUE(this->AwaitState(s, SessionState::kSuspended));
  Answer<Config> answer(this->harness);
  EnsureCell(*s, Wanted("c"), answer.callback());
  this->harness.Reconnect(*s);
  EXPECT_TRUE(this->Wait(answer).ok());
}

TEST(CellFaultTest, MakingWhoseAnswerIsLostIsFoundDone) {
  MemoryEnsemble ensemble;
  auto s = ensemble.NewSession({});
  ensemble.RunUntilIdle();
  ensemble.LoseNextAnswer(ensemble.last_session());
  std::optional<Config> config;
  EnsureCell(*s, Wanted("c"), [&](Config c) { config = c; });
  ensemble.RunUntilIdle();
  EXPECT_FALSE(config.has_value());
  ensemble.Reconnect(ensemble.last_session());
  ensemble.RunUntilIdle();
  ASSERT_TRUE(config.has_value());
  EXPECT_TRUE(config->ok()) << config->status();
}

}  // namespace
}  // namespace shardmanager
