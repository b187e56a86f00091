#include "cli/yaml/proto_to_text.h"

#include <google/protobuf/text_format.h>
#include <google/protobuf/util/message_differencer.h>

#include "cli/yaml/yaml_to_proto.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "shardmanager/v1/admin.pb.h"
#include "shardmanager/v1/app_spec.pb.h"

namespace shardmanager::cli {
namespace {

v1::AppSpec Spec(const std::string& text) {
  v1::AppSpec spec;
  EXPECT_TRUE(google::protobuf::TextFormat::ParseFromString(text, &spec)) << text;
  return spec;
}

void ExpectRoundTrip(const google::protobuf::Message& message) {
  const std::string yaml = ToYaml(message);
  const auto documents = ReadYaml(yaml, "out.yaml", message);
  ASSERT_TRUE(documents.ok()) << documents.status() << "\n" << yaml;
  ASSERT_EQ(documents->size(), 1u) << yaml;
  EXPECT_TRUE(
      google::protobuf::util::MessageDifferencer::Equals(*documents->front().message, message))
      << yaml << documents->front().message->DebugString();
}

const char kFullSpec[] = R"(
    name: "kv"
    key_space { shards { id: "low" range { end: "m" } }
                shards { id: "high" range { start: "m" } preferred_region: "eu-west" } }
    replication { strategy: PRIMARY_ONLY replicas: 1 }
    placement { regions: ["eu-west", "us-east"] spread: REGION }
    failover {}
    metrics { name: "cpu" threshold: 0.1 })";

v1::AppSpec SpecOfAllBytes() {
  v1::AppSpec spec;
  for (int byte = 0; byte < 256; ++byte) {
    spec.mutable_key_space()->add_split_points(std::string("k") + static_cast<char>(byte));
    spec.mutable_key_space()->add_split_points(std::string(1, static_cast<char>(byte)));
  }
  auto* range = spec.mutable_key_space()->add_shards()->mutable_range();
  range->set_start("'\\x80");
  range->set_end("\xc2\x80");
  return spec;
}

TEST(KeysAsTextTest, YamlReadsBackAsTheSameBytes) { ExpectRoundTrip(SpecOfAllBytes()); }

TEST(KeysAsTextTest, JsonReadsBackAsTheSameBytes) {
  const v1::AppSpec spec = SpecOfAllBytes();
  const auto read = ReadYaml(ToJson(spec), "out.json", v1::AppSpec());
  ASSERT_TRUE(read.ok()) << read.status();
  const auto& again = static_cast<const v1::AppSpec&>(*read->front().message);
  EXPECT_EQ(ToYaml(again.key_space()), ToYaml(spec.key_space()));
}

TEST(KeysAsTextTest, IsReadable) {
  const v1::AppSpec spec = Spec(R"(key_space { split_points: ["m", "4", "a\200", "\\"] })");
  EXPECT_EQ(ToYaml(spec), R"(key_space:
  split_points:
    - m
    - "4"
    - 'a\x80'
    - '\\'
)");
  EXPECT_THAT(ToJsonLine(spec),
              ::testing::HasSubstr(R"("split_points":["m","4","a\\x80","\\\\"])"));
}

TEST(ToYamlTest, WritesTheFieldsThatAreSet) {
  EXPECT_EQ(ToYaml(Spec(kFullSpec)), R"(name: kv
key_space:
  shards:
    - id: low
      range:
        end: m
    - id: high
      range:
        start: m
      preferred_region: eu-west
replication:
  strategy: primary-only
  replicas: 1
placement:
  regions:
    - eu-west
    - us-east
  spread: region
failover: {}
metrics:
  - name: cpu
    threshold: 0.1
)");
}

TEST(ToYamlTest, WritesAnEmptyMessage) { EXPECT_EQ(ToYaml(v1::AppSpec()), "{}\n"); }

TEST(ToYamlTest, QuotesWhatAYamlReaderWouldTakeForSomethingElse) {
  EXPECT_EQ(ToYaml(Spec(R"(key_space { split_points: [
      'no', 'Null', '7', '1e3', '', ' a', 'a b', '- a', 'a: b', '#', '~', 'say "hi"', 'a\\b', '\n',
      '\000', '\033', '\302\205', '\303\251', 'plain' ] })")),
            R"(key_space:
  split_points:
    - "no"
    - "Null"
    - "7"
    - "1e3"
    - ""
    - " a"
    - "a b"
    - "- a"
    - "a: b"
    - "#"
    - "~"
    - 'say \"hi\"'
    - 'a\\b'
    - '\n'
    - '\x00'
    - '\x1b'
    - '\xc2\x85'
    - "é"
    - plain
)");
}

TEST(ToYamlTest, ReadsBackAsTheSameMessage) {
  ExpectRoundTrip(Spec(kFullSpec));
  ExpectRoundTrip(
      Spec("metrics { threshold: inf } metrics { threshold: -inf } "
           "metrics { threshold: 1e300 } metrics {}"));
  v1::ShardStatus shard;
  shard.set_shard("s");
  shard.add_replicas()->set_epoch(~uint64_t{0});
  shard.add_replicas()->set_role(v1::SECONDARY);
  ExpectRoundTrip(shard);
}

// Every byte and every pair of bytes that UTF-8 has below U+0800, as keys.
TEST(ToYamlTest, ReadsEveryCharacterBack) {
  v1::AppSpec spec;
  for (int c = 0; c < 0x80; ++c) {
    spec.mutable_key_space()->add_split_points(std::string(1, static_cast<char>(c)));
    spec.mutable_key_space()->add_split_points(std::string("x") + static_cast<char>(c) + "y");
  }
  for (int c = 0x80; c < 0x800; ++c) {
    spec.mutable_key_space()->add_split_points(
        {static_cast<char>(0xc0 | c >> 6), static_cast<char>(0x80 | (c & 0x3f))});
  }
  spec.mutable_key_space()->add_split_points("\u2028\u4e2d\ufeff\U0001f600");
  ExpectRoundTrip(spec);
}

TEST(ToJsonTest, WritesAllFieldsUnderTheirProtoNames) {
  v1::EventPosition position;
  position.set_sequence(5);
  EXPECT_EQ(ToJsonLine(position), R"({"leader_epoch":"0","sequence":"5"})");
  EXPECT_EQ(ToJson(position), R"({
 "leader_epoch": "0",
 "sequence": "5"
}
)");
}

TEST(ToJsonTest, ReadsBackAsTheSameMessage) {
  const v1::AppSpec spec = Spec(kFullSpec);
  const auto documents = ReadYaml(ToJson(spec), "out.json", spec);
  ASSERT_TRUE(documents.ok()) << documents.status();
  EXPECT_EQ(documents->front().message->DebugString(), spec.DebugString());
}

}  // namespace
}  // namespace shardmanager::cli
