#include "coordination/quarantine.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/coordination/store_test.h"

namespace shardmanager {
namespace {

using testing::ElementsAre;

const Paths kPaths("c");
const std::string kRecord = "/c/apps";

template <typename Harness>
class QuarantineTest : public StoreTest<Harness> {
 protected:
  using Session = typename StoreTest<Harness>::Session;

  Session WithRecord(const std::string& bytes) {
    Session s = this->Connect();
    EXPECT_TRUE(this->Write(s, {CreateNode{"/c", ""}, CreateNode{kRecord, bytes}}).status.ok());
    return s;
  }
  absl::Status Keep(const Session& s, std::vector<WriteOp> checks = {}) {
    const auto node = this->Get(s, kRecord);
    Answer<absl::Status> answer(this->harness);
    KeepBytes(*s, kPaths, kRecord, *node, std::move(checks), answer.callback());
    return this->Wait(answer);
  }
};
TYPED_TEST_SUITE(QuarantineTest, Harnesses, HarnessNames);

TYPED_TEST(QuarantineTest, KeepsTheBytesOfEachStateOnceAndLeavesTheRecord) {
  auto s = this->WithRecord("first");
  const std::string first = QuarantinePath(kPaths, kRecord, this->Get(s, kRecord)->stat);
  EXPECT_EQ(this->Keep(s), absl::OkStatus()) << "the folder is made";
  EXPECT_EQ(this->Keep(s), absl::OkStatus()) << "kept already";
  EXPECT_EQ(this->List(s, "/c/quarantine")->size(), 1u);
  EXPECT_EQ(this->Get(s, first)->data, "first");
  EXPECT_EQ(this->Get(s, kRecord)->data, "first");

  ASSERT_TRUE(this->Write(s, {SetNode{kRecord, "second"}}).status.ok());
  EXPECT_EQ(this->Keep(s), absl::OkStatus());
  EXPECT_EQ(this->List(s, "/c/quarantine")->size(), 2u);
  EXPECT_EQ(this->Get(s, first)->data, "first");
}

TYPED_TEST(QuarantineTest, WritesNothingWhenACheckFails) {
  auto s = this->WithRecord("bytes");
  EXPECT_TRUE(absl::IsFailedPrecondition(this->Keep(s, {CheckVersion{"/c", 9}})));
  EXPECT_THAT(*this->List(s, "/c"), ElementsAre("apps"));
}

TEST(QuarantinePathTest, NamesTheRecordAndItsState) {
  const NodeStat stat{.version = 9, .created_zxid = 4711};
  EXPECT_EQ(QuarantinePath(kPaths, "/c/apps/kv/assignments/012/kv-3", stat),
            "/c/quarantine/apps:kv:assignments:012:kv-3@4711.9");
}

}  // namespace
}  // namespace shardmanager
