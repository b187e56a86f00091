#include "transfer/transfer_messages.h"

#include <gtest/gtest.h>

#include <optional>
#include <string>

namespace shardmanager::transfer {
namespace {

TransferRow Row(size_t key_bytes, size_t value_bytes) {
  return {std::string(key_bytes, 'k'), std::string(value_bytes, 'v')};
}

TEST(TransferMessagesTest, RefusesToSendRowsThatAreTooLargeOrHaveNoKey) {
  constexpr size_t kKey = 64 << 10;
  constexpr size_t kValue = 2 << 20;
  ProtoRows rows;
  EXPECT_TRUE(ToProto({Row(1, 0), Row(kKey, kValue)}, &rows).ok());
  EXPECT_EQ(rows.size(), 2);
  for (const TransferRow& row : {Row(0, 1), Row(kKey + 1, 1), Row(1, kValue + 1)}) {
    EXPECT_TRUE(absl::IsFailedPrecondition(ToProto({row}, &rows)))
        << row.key.size() << " and " << row.value->size() << " bytes";
  }
}

TEST(TransferMessagesTest, RefusesRowsThatCameWithoutAKey) {
  ProtoRows rows;
  rows.Add()->set_value("v");
  EXPECT_TRUE(absl::IsDataLoss(FromProto(&rows, Checksum(rows)).status()));
}

// The rate limit and the progress go by these bytes.
TEST(TransferMessagesTest, CountsTheBytesOfKeysAndValues) {
  EXPECT_EQ(BytesOf({}), 0u);
  EXPECT_EQ(BytesOf({{"key", "value"}, {"gone", std::nullopt}, {"k", ""}}), 3u + 5u + 4u + 1u);
}

}  // namespace
}  // namespace shardmanager::transfer
