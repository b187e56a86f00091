// An upgrade and the way back, as docs/upgrading.md says: the order costs no call, and records of
// older and of newer builds are read. There is no released build to try it with yet, so the records
// are changed to what such builds write.
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "coordination/envelope.h"
#include "gmock/gmock.h"
#include "google/protobuf/unknown_field_set.h"
#include "shardmanager/v1/stored.pb.h"
#include "tests/integration/operating/kv_load.h"
#include "tests/integration/operating/stored_records.h"
#include "tests/support/cluster_fixture.h"

namespace shardmanager::testing {
namespace {

using google::protobuf::Message;
using local::MapView;
using ::testing::AllOf;
using ::testing::HasSubstr;

constexpr int kShards = 12;
constexpr int kServers = 3;

class UpgradeTest : public ClusterTest {
 protected:
  void SetUp() override {
    auto cluster = local::Cluster::Make({.managers = 2});
    SM_ASSERT_OK(cluster.status());
    cluster_ = *std::move(cluster);
    SM_ASSERT_OK(StartServing(kServers, kShards));
    records_ =
        std::make_unique<StoredRecords>(cluster_->zookeeper_endpoint(), cluster_->options().cell);
  }
  void TearDown() override {
    records_.reset();
    ClusterTest::TearDown();
  }

  void Succeeds(const std::vector<std::string>& command) {
    const auto result = cluster_->Shardctl(command);
    ASSERT_EQ(result.exit_code, 0) << command.front() << ": " << result.output;
  }
  void StopManagers() {
    for (size_t i : {0u, 1u}) EXPECT_EQ(cluster_->manager(i).Stop(), 0);
  }
  // The next leader serves all shards where they were.
  void TakesOverWithoutAMove(const MapView& before) {
    SM_ASSERT_OK(cluster_->StartManager(0));
    SM_ASSERT_OK(cluster_->admin().AwaitLeading(kPatience));
    ASSERT_TRUE(map_->WaitFor(
        [&](const MapView& v) { return v.version > before.version && v.all_served(); }, kPatience))
        << map_->view().Describe();
    EXPECT_EQ(map_->view().counts(), before.counts());
    const ProbeResult probe = ProbeShards(*client_, kShards, kPatience);
    EXPECT_TRUE(probe.ok()) << probe.unserved;
    EXPECT_EQ(cluster_->Shardctl({"status"}).exit_code, 0) << cluster_->Shardctl({"status"}).output;
  }

  std::unique_ptr<StoredRecords> records_;
};

// Fields that records have got since the first builds.
struct Later {
  const google::protobuf::Descriptor* record;
  std::vector<int> fields;
};
const std::vector<Later>& LaterFields() {
  static const auto* later = new std::vector<Later>{
      {v1::CellConfig::descriptor(), {5, 6}},          {v1::LeaderRecord::descriptor(), {3}},
      {v1::StoredSpec::descriptor(), {4, 6, 7, 8, 9}}, {v1::LiveRecord::descriptor(), {7}},
      {v1::AssignedReplica::descriptor(), {5}},
  };
  return *later;
}

void AsAnOlderBuildWrites(Message& message) {
  for (const Later& later : LaterFields()) {
    if (message.GetDescriptor() != later.record) continue;
    for (const int number : later.fields) {
      const auto* field = later.record->FindFieldByNumber(number);
      ASSERT_NE(field, nullptr) << later.record->full_name() << " " << number;
      message.GetReflection()->ClearField(&message, field);
    }
  }
}

constexpr int kUnknown = 4'000;
constexpr char kUnknownText[] = "what only a newer build understands";

void AsANewerBuildWrites(Message& message) {
  auto* unknown = message.GetReflection()->MutableUnknownFields(&message);
  unknown->AddLengthDelimited(kUnknown, kUnknownText);
  unknown->AddVarint(kUnknown + 1, 7);
}

TEST_F(UpgradeTest, RecordsOfAnOlderBuildAreReadAndNothingMoves) {
  StopManagers();
  const MapView before = map_->view();
  SM_ASSERT_OK(records_->ChangeAll(AsAnOlderBuildWrites));
  TakesOverWithoutAMove(before);
  // The cell has got its identity again, and the relay and the clients follow it.
  const auto config = records_->Read("/local/config");
  SM_ASSERT_OK(config.status());
  EXPECT_GT(static_cast<v1::CellConfig&>(**config).made_ms(), before.cell_made_ms);
  // Servers that restart read them, too.
  EXPECT_EQ(cluster_->server("kv-2").Stop(), 0);
  SM_ASSERT_OK(cluster_->RestartServer("kv-2"));
  const ProbeResult probe = ProbeShards(*client_, kShards, kPatience);
  EXPECT_TRUE(probe.ok()) << probe.unserved;
}

// What an older build, this one, does with records of a newer one that kept the format.
TEST_F(UpgradeTest, FieldsOfANewerBuildAreIgnoredAndNothingMoves) {
  StopManagers();
  const MapView before = map_->view();
  SM_ASSERT_OK(records_->ChangeAll(AsANewerBuildWrites));
  TakesOverWithoutAMove(before);
  Succeeds({"drain", "server", "kv-1", "--wait"});  // writes assignments and the spec
  EXPECT_EQ(cluster_->server("kv-2").Stop(), 0);
  SM_ASSERT_OK(cluster_->RestartServer("kv-2"));
  const ProbeResult probe = ProbeShards(*client_, kShards, kPatience);
  EXPECT_TRUE(probe.ok()) << probe.unserved;
}

// A newer build changed the format, and this one is back: it refuses, keeps the bytes, and says so.
TEST_F(UpgradeTest, RecordOfANewerFormatIsKeptForTheBuildThatWroteIt) {
  StopManagers();
  const MapView before = map_->view();
  const std::string path = "/local/apps/kv/spec";
  const auto ours = records_->Bytes(path);
  SM_ASSERT_OK(ours.status());
  v1::Envelope newer;
  ASSERT_TRUE(newer.ParseFromString(*ours));
  newer.set_format_version(kFormatVersion + 1);
  SM_ASSERT_OK(records_->Write(path, newer.SerializeAsString()));

  SM_ASSERT_OK(cluster_->StartManager(0));
  SM_ASSERT_OK(cluster_->admin().AwaitLeading(kPatience));
  EXPECT_THAT(cluster_->Shardctl({"get", "apps"}).output,
              HasSubstr(absl::StrCat("format version ", kFormatVersion + 1)));
  const auto applied = cluster_->Shardctl({"drain", "server", "kv-1", "--app", "kv"});
  EXPECT_NE(applied.exit_code, 0) << applied.output;
  EXPECT_EQ(*records_->Bytes(path), newer.SerializeAsString());
  // Applications serve on without it.
  const ProbeResult probe = ProbeShards(*client_, kShards, kPatience);
  EXPECT_TRUE(probe.ok()) << probe.unserved;

  // The build that wrote it goes on (here: the record is one of ours again).
  EXPECT_EQ(cluster_->manager(0).Stop(), 0);
  SM_ASSERT_OK(records_->Write(path, *ours));
  TakesOverWithoutAMove(before);
}

TEST_F(UpgradeTest, InTheOrderOfTheDocumentNoCallIsLost) {
  KvLoad load(*cluster_, cluster_->security(),
              absl::StrCat(cluster_->discovery_endpoint(), ",", cluster_->admin_endpoint(0), ",",
                           cluster_->admin_endpoint(1)));
  SM_ASSERT_OK(load.Start());
  // 1. The control plane: who stands by, then the leader.
  EXPECT_EQ(cluster_->manager(1).Stop(), 0);
  SM_ASSERT_OK(cluster_->StartManager(1));
  EXPECT_EQ(cluster_->manager(0).Stop(), 0);
  SM_ASSERT_OK(cluster_->admin(1).AwaitLeading(kPatience));
  SM_ASSERT_OK(cluster_->StartManager(0));
  // 2. Relays.
  EXPECT_EQ(cluster_->relay(0).Stop(), 0);
  SM_ASSERT_OK(cluster_->StartRelay(0));
  // 3. Servers, each emptied before.
  for (int i = 1; i <= kServers; ++i) {
    const std::string name = absl::StrCat("kv-", i);
    Succeeds({"drain", "server", name, "--wait"});
    EXPECT_EQ(cluster_->server(name).Stop(), 0);
    SM_ASSERT_OK(cluster_->RestartServer(name));
    Succeeds({"undrain", "server", name});
  }
  EXPECT_EQ(load.End(), 0) << load.Said();
  EXPECT_THAT(load.Said(), AllOf(HasSubstr(" 0 failed\n"),
                                 HasSubstr("acknowledged puts that a get did not find: 0")));
}

}  // namespace
}  // namespace shardmanager::testing
