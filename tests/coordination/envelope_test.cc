#include "coordination/envelope.h"

#include <gtest/gtest.h>

#include "base/random.h"
#include "shardmanager/v1/stored.pb.h"

namespace shardmanager {
namespace {

using absl::StatusCode;

v1::AssignmentRecord Small() {
  v1::AssignmentRecord record;
  record.set_server("kv-1");
  return record;
}

v1::AssignmentRecord Large() {
  v1::AssignmentRecord record = Small();
  for (int i = 0; i < 1'000; ++i) {
    v1::AssignedReplica* replica = record.add_replicas();
    replica->set_shard("users-" + std::to_string(i));
    replica->set_epoch(uint64_t{7} << 32 | i);
    replica->set_phase(v1::GRANTED);
  }
  return record;
}

v1::Envelope Sealed(const google::protobuf::MessageLite& record) {
  v1::Envelope envelope;
  EXPECT_TRUE(envelope.ParseFromString(Seal(record)));
  return envelope;
}

StatusCode OpenCode(const v1::Envelope& envelope) {
  v1::AssignmentRecord record;
  return Open(envelope.SerializeAsString(), &record).code();
}

TEST(EnvelopeTest, OpensWhatItSealed) {
  for (const auto& record : {v1::AssignmentRecord(), Small(), Large()}) {
    v1::AssignmentRecord opened;
    ASSERT_TRUE(Open(Seal(record), &opened).ok());
    EXPECT_EQ(opened.SerializeAsString(), record.SerializeAsString());
  }
}

TEST(EnvelopeTest, CompressesLargeRecordsOnly) {
  EXPECT_EQ(Sealed(Small()).compression(), v1::COMPRESSION_NONE);
  const v1::Envelope large = Sealed(Large());
  EXPECT_EQ(large.compression(), v1::COMPRESSION_ZSTD);
  EXPECT_LT(large.record().size(), large.record_bytes() / 3);
}

TEST(EnvelopeTest, LeavesRecordsThatDoNotShrinkAsTheyAre) {
  Random random(1);
  v1::Envelope noise;
  for (int i = 0; i < 4'000; ++i) noise.mutable_record()->push_back(random.Below(256));
  EXPECT_EQ(Sealed(noise).compression(), v1::COMPRESSION_NONE);
  v1::Envelope opened;
  ASSERT_TRUE(Open(Seal(noise), &opened).ok());
  EXPECT_EQ(opened.record(), noise.record());
}

// One that is longer than a block of zstd's, as shorter ones never come out at their own size.
TEST(EnvelopeTest, CompressedRecordsAreShorterThanTheyWere) {
  Random random(1);
  std::string noise;
  for (int i = 0; i < (128 << 10) + 20; ++i) noise.push_back(static_cast<char>(random.Below(256)));
  for (size_t run = 0; run < 60; ++run) {
    v1::Envelope record;
    record.set_record(noise + std::string(run, 'x'));
    const v1::Envelope sealed = Sealed(record);
    if (sealed.compression() == v1::COMPRESSION_NONE) continue;
    EXPECT_LT(sealed.record().size(), sealed.record_bytes()) << "run of " << run;
  }
}

TEST(EnvelopeTest, RefusesRecordOfNewerVersionAndNamesIt) {
  v1::Envelope envelope = Sealed(Small());
  envelope.set_format_version(kFormatVersion + 1);
  v1::AssignmentRecord record;
  const absl::Status status = Open(envelope.SerializeAsString(), &record);
  EXPECT_EQ(status.code(), StatusCode::kUnimplemented);
  EXPECT_NE(status.message().find(std::to_string(kFormatVersion + 1)), std::string::npos);
}

TEST(EnvelopeTest, RefusesWhatIsNoRecord) {
  v1::AssignmentRecord record;
  EXPECT_EQ(Open("", &record).code(), StatusCode::kDataLoss);
  EXPECT_EQ(Open("rubbish", &record).code(), StatusCode::kDataLoss);
  EXPECT_EQ(Open(std::string(100, '\xff'), &record).code(), StatusCode::kDataLoss);
}

TEST(EnvelopeTest, RefusesEveryTruncation) {
  for (const auto& original : {Small(), Large()}) {
    const std::string bytes = Seal(original);
    for (size_t size = 0; size < bytes.size(); ++size) {
      v1::AssignmentRecord record;
      ASSERT_FALSE(Open(std::string_view(bytes).substr(0, size), &record).ok()) << size;
    }
  }
}

// A flipped bit never changes the record: either it is noticed, or it hit something
// that carries no meaning (a byte of an unknown field).
TEST(EnvelopeTest, NoFlippedBitGoesUnnoticed) {
  for (const auto& original : {Small(), Large()}) {
    const std::string bytes = Seal(original);
    for (size_t bit = 0; bit < bytes.size() * 8; ++bit) {
      std::string flipped = bytes;
      flipped[bit / 8] = static_cast<char>(flipped[bit / 8] ^ (1 << bit % 8));
      v1::AssignmentRecord record;
      if (!Open(flipped, &record).ok()) continue;
      ASSERT_EQ(record.SerializeAsString(), original.SerializeAsString()) << "bit " << bit;
    }
  }
}

TEST(EnvelopeTest, RefusesSizesThatItWouldNotAllocate) {
  v1::Envelope envelope = Sealed(Large());
  envelope.set_record_bytes(kMaxRecordBytes + 1);
  v1::AssignmentRecord record;
  const absl::Status status = Open(envelope.SerializeAsString(), &record);
  EXPECT_EQ(status.code(), StatusCode::kDataLoss);
  const std::string claims = "record claims " + std::to_string(kMaxRecordBytes + 1) + " bytes";
  EXPECT_NE(status.message().find(claims), std::string::npos) << status;
}

TEST(EnvelopeTest, RefusesWrongSizeBeforeCompression) {
  for (int off : {-1, 1}) {
    v1::Envelope envelope = Sealed(Large());
    envelope.set_record_bytes(envelope.record_bytes() + off);
    EXPECT_EQ(OpenCode(envelope), StatusCode::kDataLoss) << off;
  }
}

TEST(EnvelopeTest, RefusesCompressionThatItDoesNotKnow) {
  v1::Envelope envelope = Sealed(Small());
  envelope.set_compression(static_cast<v1::Compression>(99));
  EXPECT_EQ(OpenCode(envelope), StatusCode::kUnimplemented);
}

TEST(EnvelopeTest, RefusesRecordOfWrongChecksum) {
  v1::Envelope envelope = Sealed(Small());
  envelope.set_checksum(envelope.checksum() + 1);
  EXPECT_EQ(OpenCode(envelope), StatusCode::kDataLoss);
}

}  // namespace
}  // namespace shardmanager
