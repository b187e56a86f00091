#include "coordination/write_check.h"

#include <gtest/gtest.h>

namespace shardmanager {
namespace {

WriteResult Prepared(std::vector<WriteOp> ops) { return PrepareWrite(ops, nullptr); }

using absl::StatusCode;

TEST(WriteCheckTest, CountsPathsDataAndOverhead) {
  EXPECT_EQ(WriteBytes(CreateNode{"/abc", "12345"}), 9 + kWriteOpOverheadBytes);
  EXPECT_EQ(WriteBytes(SetNode{"/abc", "12345"}), 9 + kWriteOpOverheadBytes);
  EXPECT_EQ(WriteBytes(DeleteNode{"/abc"}), 4 + kWriteOpOverheadBytes);
  EXPECT_EQ(WriteBytes(CheckVersion{"/abc", 1}), 4 + kWriteOpOverheadBytes);
  EXPECT_EQ(WriteBytes({DeleteNode{"/a"}, DeleteNode{"/b"}}), 4 + 2 * kWriteOpOverheadBytes);
}

TEST(WriteCheckTest, TheLimitItselfIsAllowedAndOneByteMoreIsNot) {
  const std::string data(kMaxWriteBytes - 2 - kWriteOpOverheadBytes, 'x');
  EXPECT_TRUE(Prepared({SetNode{"/a", data}}).status.ok());
  EXPECT_EQ(Prepared({SetNode{"/a", data + "x"}}).status.code(), StatusCode::kResourceExhausted);
}

TEST(WriteCheckTest, ManySmallOpsAreTooLargeTogether) {
  const std::vector<WriteOp> ops(kMaxWriteBytes / kWriteOpOverheadBytes, DeleteNode{"/a"});
  EXPECT_EQ(Prepared(ops).status.code(), StatusCode::kResourceExhausted);
}

TEST(WriteCheckTest, RefusesMalformedPathsAndNamesTheOp) {
  for (const char* path : {"", "a", "/a/", "//a", "/a//b"}) {
    const WriteResult result = Prepared({DeleteNode{"/good"}, DeleteNode{path}});
    EXPECT_EQ(result.status.code(), StatusCode::kInvalidArgument) << path;
    EXPECT_EQ(result.failed_op, 1) << path;
  }
  EXPECT_TRUE(CheckPath("/").ok());
  EXPECT_TRUE(CheckPath("/a/b-1@2").ok());
}

}  // namespace
}  // namespace shardmanager
