#include "cli/yaml/yaml_to_proto.h"

#include <string>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "model/keys/key_text.h"
#include "shardmanager/v1/app_spec.pb.h"
#include "shardmanager/v1/discovery.pb.h"
#include "shardmanager/v1/shard_server.pb.h"
#include "shardmanager/v1/stored.pb.h"

namespace shardmanager::cli {
namespace {

using ::testing::ElementsAre;
using ::testing::EndsWith;
using ::testing::HasSubstr;
using ::testing::Not;
using ::testing::StartsWith;

// The message as protobuf's one-line text; or the error.
std::string Read(const std::string& yaml, const google::protobuf::Message& prototype) {
  const auto documents = ReadYaml(yaml, "kv.yaml", prototype);
  if (!documents.ok()) {
    EXPECT_EQ(documents.status().code(), absl::StatusCode::kInvalidArgument);
    return std::string(documents.status().message());
  }
  std::string text;
  for (const YamlDocument& document : *documents) {
    absl::StrAppend(&text, text.empty() ? "" : " | ", document.message->ShortDebugString());
  }
  return text;
}

std::string ReadSpec(const std::string& yaml) { return Read(yaml, v1::AppSpec()); }

// --- What is right -----------------------------------------------------------------

TEST(ReadYamlTest, ReadsFieldsByTheirProtoNames) {
  EXPECT_EQ(ReadSpec(R"(
# A comment.
name: kv
key_space:
  shards:
    - id: "low"
      range: {end: m}
    - id: high
      range: {start: 'm'}
replication: {strategy: secondary-only, replicas: 3}
placement:
  regions: [eu-west, us-east]
)"),
            R"(name: "kv" key_space { shards { id: "low" range { end: "m" } } )"
            R"(shards { id: "high" range { start: "m" } } } )"
            R"(replication { strategy: SECONDARY_ONLY replicas: 3 } )"
            R"(placement { regions: "eu-west" regions: "us-east" })");
}

TEST(ReadYamlTest, ReadsJson) {
  EXPECT_EQ(ReadSpec(R"({"name": "kv", "replication": {"strategy": "PRIMARY_ONLY"}})"),
            R"(name: "kv" replication { strategy: PRIMARY_ONLY })");
}

TEST(ReadYamlTest, TakesEnumValuesInAnyCaseWithDashesOrUnderscores) {
  for (const std::string value :
       {"primary-only", "PRIMARY_ONLY", "Primary_Only", "'primary-only'"}) {
    EXPECT_EQ(ReadSpec("replication: {strategy: " + value + "}"),
              "replication { strategy: PRIMARY_ONLY }");
  }
}

TEST(ReadYamlTest, TakesWordsThatYamlWouldTakeForSomethingElseAsText) {
  EXPECT_EQ(
      ReadSpec("key_space: {split_points: ['007', '1e3', no, off, true, 'null', 2001-01-01]}"),
      R"(key_space { split_points: "007" split_points: "1e3" split_points: "no" )"
      R"(split_points: "off" split_points: "true" split_points: "null" )"
      R"(split_points: "2001-01-01" })");
}

TEST(ReadYamlTest, KeepsKeysByteForByte) {
  EXPECT_EQ(ReadSpec("key_space: {split_points: [\"a\\x00b\", \"\\u00e9\", \u4e2d, ' ']}"),
            R"(key_space { split_points: "a\000b" split_points: "\303\251" )"
            R"(split_points: "\344\270\255" split_points: " " })");
}

TEST(ReadYamlTest, TakesAnEmptySectionForAnAbsentOne) {
  EXPECT_EQ(ReadSpec("name: kv\nplacement:\n  # regions: []\nmetrics:\n"), "name: \"kv\"");
  EXPECT_EQ(ReadSpec("placement:\n  regions:\n"), "placement { }") << "an empty list of text";
  EXPECT_EQ(ReadSpec("failover: {}"), "failover { }") << "said, though without a field";
}

TEST(ReadYamlTest, ReadsSeveralDocumentsAndSkipsEmptyOnes) {
  EXPECT_EQ(ReadSpec("---\nname: a\n---\n# nothing\n---\nname: b\n...\n"),
            "name: \"a\" | name: \"b\"");
}

TEST(ReadYamlTest, ReadsEveryKindOfNumber) {
  EXPECT_EQ(
      Read("{epoch: 18446744073709551615, progress: 0.25, state: loading}", v1::ShardResult()),
      "epoch: 18446744073709551615 state: LOADING progress: 0.25");
  EXPECT_EQ(Read("{threshold: -.inf}", v1::Metric()), "threshold: -inf");
  EXPECT_EQ(Read("{threshold: .nan}", v1::Metric()), "threshold: nan");
  EXPECT_EQ(Read("{deleting: true}", v1::StoredSpec()), "deleting: true");
  EXPECT_EQ(Read("{deleting: False, spec: {name: a}}", v1::StoredSpec()), "spec { name: \"a\" }");
}

// --- Keys ---------------------------------------------------------------------------

std::vector<std::string> ReadPoints(const std::string& list) {
  const auto documents =
      ReadYaml("key_space: {split_points: " + list + "}", "kv.yaml", v1::AppSpec());
  if (!documents.ok()) return {std::string(documents.status().message())};
  const auto& spec = static_cast<const v1::AppSpec&>(*documents->front().message);
  return {spec.key_space().split_points().begin(), spec.key_space().split_points().end()};
}

TEST(ReadYamlKeyTest, TakesAnEscapeForOneByteInAllQuotes) {
  EXPECT_THAT(ReadPoints(R"(["\x80", '\x80', \x80, "\\x80", "a\x7f\xFfz"])"),
              ElementsAre("\x80", "\x80", "\x80", "\x80", "a\x7f\xffz"));
  EXPECT_THAT(ReadPoints("[&here \"\\x80\"]"), ElementsAre("\x80"));
}

TEST(ReadYamlKeyTest, LeavesCharactersWhatTheyAre) {
  EXPECT_THAT(ReadPoints("[\"\u00e9\", \u00e9, \"\\u00e9\", \"\\\\\\\\\", '\\\\']"),
              ElementsAre("\u00e9", "\u00e9", "\u00e9", "\\", "\\"));
  EXPECT_THAT(ReadPoints("[\"\\xe9\", '\"\\x80\"']"), ElementsAre("\xe9", "\"\x80\""));
}

TEST(ReadYamlKeyTest, ReadsFormsByTheirTags) {
  using std::string_literals::operator""s;
  EXPECT_THAT(ReadPoints("[!hex 80ff, !hex \"\", !!binary gA==, !u64 1000, !u16 \"258\"]"),
              ElementsAre("\x80\xff", "", "\x80", "\0\0\0\0\0\0\x03\xe8"s, "\x01\x02"));
}

TEST(ReadYamlKeyTest, SaysWhatIsWrongWithAKey) {
  EXPECT_THAT(ReadPoints("[1000]").front(),
              StartsWith("kv.yaml:1:28: key_space.split_points[0]: found the number 1000 without "
                         "quotes; allowed: text, in which"));
  EXPECT_THAT(ReadPoints("['C:\\users']").front(), HasSubstr("found \"C:\\\\users\"; allowed"));
  EXPECT_THAT(ReadPoints("[!u16 70000]").front(), HasSubstr("found !u16 \"70000\"; allowed"));
  EXPECT_THAT(ReadPoints("[!!str \"\\x80\"]").front(), HasSubstr("found !!str "));
  EXPECT_THAT(ReadPoints("[!rot13 a]").front(), HasSubstr("found !rot13 \"a\"; allowed"));
}

TEST(ReadYamlKeyTest, RefusesAKeysFormWhereTextIsExpected) {
  EXPECT_EQ(ReadSpec("name: !hex 6b76"), "kv.yaml:1:7: name: found !hex \"6b76\"; allowed: text");
}

TEST(ReadYamlKeyTest, IsNotMisledByAByteOrderMark) {
  EXPECT_EQ(ReadSpec("\xef\xbb\xbfkey_space: {split_points: [\"\\x80\"]}"),
            "key_space { split_points: \"\\200\" }");
}

// --- What is wrong -----------------------------------------------------------------

TEST(ReadYamlErrorTest, SuggestsTheFieldThatWasMeant) {
  EXPECT_EQ(ReadSpec("name: kv\nreplication:\n  replcas: 3\n"),
            "kv.yaml:3:3: replication: found unknown field \"replcas\" (did you mean "
            "\"replicas\"?); allowed: strategy, replicas, quorum");
}

TEST(ReadYamlErrorTest, ListsTheFieldsWhenNothingIsNear) {
  EXPECT_EQ(ReadSpec("key_space:\n  shards:\n  - id: a\n    colour: red\n"),
            "kv.yaml:4:5: key_space.shards[0]: found unknown field \"colour\"; allowed: id, range, "
            "preferred_region");
}

TEST(ReadYamlErrorTest, RefusesANegativeNumberWhereNoneCanBe) {
  EXPECT_EQ(
      ReadSpec("placement:\n  max_replicas_per_server: -1\n"),
      "kv.yaml:2:28: placement.max_replicas_per_server: found \"-1\"; allowed: a whole number "
      "from 0 to 4294967295");
}

TEST(ReadYamlErrorTest, RefusesNumbersOutOfRange) {
  EXPECT_EQ(ReadSpec("failover: {delay_ms: 4294967296}"),
            "kv.yaml:1:22: failover.delay_ms: found \"4294967296\"; allowed: a whole number from 0 "
            "to 4294967295");
  EXPECT_THAT(Read("epoch: 18446744073709551616", v1::ShardResult()),
              EndsWith("allowed: a whole number from 0 to 18446744073709551615"));
}

TEST(ReadYamlErrorTest, RefusesWhatIsNoWholeNumber) {
  for (const std::string value :
       {"three", "3.5", "3s", "0x10", "''", "1e3", "+3", "' 3'", "true"}) {
    EXPECT_THAT(ReadSpec("replication: {replicas: " + value + "}"),
                StartsWith("kv.yaml:1:25: replication.replicas: found \""))
        << value;
  }
}

TEST(ReadYamlErrorTest, ListsTheEnumValues) {
  EXPECT_EQ(ReadSpec("replication:\n  strategy: primary\n"),
            "kv.yaml:2:13: replication.strategy: found \"primary\"; allowed: primary-only, "
            "secondary-only, primary-secondary");
  EXPECT_THAT(ReadSpec("replication: {strategy: 1}"), HasSubstr("found \"1\"; allowed: primary-"));
}

TEST(ReadYamlErrorTest, RefusesWhatIsNeitherTrueNorFalse) {
  EXPECT_EQ(ReadSpec("replication: {quorum: yes}"),
            "kv.yaml:1:23: replication.quorum: found \"yes\"; allowed: true, false");
}

TEST(ReadYamlErrorTest, RefusesWhatIsNoNumber) {
  EXPECT_EQ(ReadSpec("metrics: [{name: cpu, threshold: high}]"),
            "kv.yaml:1:34: metrics[0].threshold: found \"high\"; allowed: a number");
}

TEST(ReadYamlErrorTest, RefusesTheWrongShape) {
  EXPECT_EQ(ReadSpec("name: [a, b]"), "kv.yaml:1:7: name: found a list; allowed: text");
  EXPECT_EQ(ReadSpec("name: {a: b}"), "kv.yaml:1:7: name: found fields; allowed: text");
  EXPECT_EQ(ReadSpec("failover: 30"),
            "kv.yaml:1:11: failover: found \"30\"; allowed: fields (delay_ms, max_concurrent, "
            "on_partition, max_concurrent_per_server, max_concurrent_per_shard, mass_failure, "
            "region_order)");
  EXPECT_EQ(ReadSpec("key_space: {split_points: m}"),
            "kv.yaml:1:27: key_space.split_points: found \"m\"; allowed: a list of " + KeyRule());
  EXPECT_EQ(ReadSpec("key_space: {shards: {id: a}}"),
            "kv.yaml:1:21: key_space.shards: found fields; allowed: a list of fields (id, range, "
            "preferred_region)");
  EXPECT_EQ(ReadSpec("key_space: {shards: [a]}"),
            "kv.yaml:1:22: key_space.shards[0]: found \"a\"; allowed: fields (id, range, "
            "preferred_region)");
  EXPECT_EQ(ReadSpec("key_space: {split_points: [[m]]}"),
            "kv.yaml:1:28: key_space.split_points[0]: found a list; allowed: " + KeyRule());
}

TEST(ReadYamlErrorTest, RefusesAValueThatIsNotThere) {
  EXPECT_EQ(ReadSpec("name:\n"), "kv.yaml:1:1: name: found nothing; allowed: text");
  EXPECT_THAT(ReadSpec("key_space: {split_points: [m, ~]}"),
              HasSubstr("key_space.split_points[1]: found nothing; allowed: text"));
}

TEST(ReadYamlErrorTest, RefusesAFieldNamedTwice) {
  EXPECT_EQ(ReadSpec("name: a\nreplication: {}\nname: b\n"),
            "kv.yaml:3:1: name: found the field a second time; allowed: each field once");
  EXPECT_EQ(ReadSpec("key_space:\n  shards: []\n  shards: []\n"),
            "kv.yaml:3:3: key_space.shards: found the field a second time; allowed: each field "
            "once");
}

TEST(ReadYamlErrorTest, RefusesADocumentThatIsNotASetOfFields) {
  const std::string rule =
      "; allowed: fields (name, key_space, replication, placement, failover, "
      "moves, drain, metrics, commands, availability, orchestrator, client_reports, scaling)";
  EXPECT_EQ(ReadSpec("hello"), "kv.yaml:1:1: found \"hello\"" + rule);
  EXPECT_EQ(ReadSpec("- name: a"), "kv.yaml:1:1: found a list" + rule);
  EXPECT_EQ(ReadSpec("? [a, b]\n: c\n"), "kv.yaml:1:3: found a list" + rule);
  EXPECT_THAT(ReadSpec("~: c\n"), HasSubstr("found unknown field \"null\"; allowed: name"));
}

TEST(ReadYamlErrorTest, RefusesATextWithoutADocument) {
  for (const std::string empty : {"", "\n\n", "# only a comment\n", "---\n", "---\n---\n"}) {
    EXPECT_EQ(ReadSpec(empty), "kv.yaml:1:1: found no document; allowed: at least one") << empty;
  }
}

TEST(ReadYamlErrorTest, RefusesAliases) {
  EXPECT_EQ(ReadSpec("name: &n kv\nkey_space:\n  shard_prefix: *n\n"),
            "kv.yaml:3:17: key_space.shard_prefix: found an alias; allowed: the value itself, "
            "written out");
}

TEST(ReadYamlErrorTest, RefusesMapFieldsWhichAreOutOfItsReach) {
  EXPECT_EQ(Read("load: {cpu: 1}", v1::HeldShard()),
            "kv.yaml:1:7: load: found fields; allowed: nothing: this field cannot be written in "
            "YAML");
}

TEST(ReadYamlErrorTest, ListsAllProblemsAtOnceWithTheirPlaces) {
  EXPECT_EQ(
      ReadSpec(R"(nam: kv
replication:
  strategy: paxos
  replicas: -1
placement:
  regions: eu
---
failover: []
)"),
      "kv.yaml:1:1: found unknown field \"nam\" (did you mean \"name\"?); allowed: name, "
      "key_space, replication, placement, failover, moves, drain, metrics, commands, availability, "
      "orchestrator, client_reports, scaling\n"
      "kv.yaml:3:13: replication.strategy: found \"paxos\"; allowed: primary-only, "
      "secondary-only, primary-secondary\n"
      "kv.yaml:4:13: replication.replicas: found \"-1\"; allowed: a whole number from 0 to "
      "4294967295\n"
      "kv.yaml:6:12: placement.regions: found \"eu\"; allowed: a list of text\n"
      "kv.yaml:8:11: failover: found a list; allowed: fields (delay_ms, max_concurrent, "
      "on_partition, max_concurrent_per_server, max_concurrent_per_shard, mass_failure, "
      "region_order)");
}

TEST(ReadYamlErrorTest, PassesOverWhatBelongsToAnUnknownField) {
  EXPECT_EQ(ReadSpec("colours: {red: [1, {x: [y]}], name: 3}\nname: kv\n"),
            "kv.yaml:1:1: found unknown field \"colours\"; allowed: name, key_space, replication, "
            "placement, failover, moves, drain, metrics, commands, availability, orchestrator, "
            "client_reports, scaling");
}

TEST(ReadYamlErrorTest, ListsTwentyProblemsAndCountsTheRest) {
  std::string yaml = "key_space:\n  split_points:\n";
  for (int i = 0; i < 25; ++i) yaml += "  - []\n";
  EXPECT_THAT(ReadSpec(yaml), EndsWith("key_space.split_points[19]: found a list; allowed: " +
                                       KeyRule() + "\nkv.yaml: (and 5 more problems)"));
}

TEST(ReadYamlErrorTest, SaysWhereTheSyntaxIsWrong) {
  EXPECT_THAT(ReadSpec("name: kv\n\treplication: {}\n"),
              StartsWith("kv.yaml:2:1: this is not YAML: "));
  EXPECT_THAT(ReadSpec("metrics: [\n"), HasSubstr("kv.yaml:2:1: this is not YAML: "));
  EXPECT_THAT(ReadSpec("name: 'a"), HasSubstr("this is not YAML: "));
  EXPECT_THAT(ReadSpec("name: \"a\n"), HasSubstr("this is not YAML: "));
  EXPECT_THAT(ReadSpec("name: 'a\n"), StartsWith("kv.yaml:2:1: this is not YAML: "));
  EXPECT_THAT(ReadSpec("name: *nothing\n"), StartsWith("kv.yaml:1:7: this is not YAML: "));
  EXPECT_THAT(ReadSpec("name: kv\n  strategy: x\n"), HasSubstr("this is not YAML: "));
  EXPECT_THAT(ReadSpec("name: a\n- b\n"), HasSubstr("this is not YAML: "));
  EXPECT_THAT(ReadSpec("]"), HasSubstr("this is not YAML: "));
  EXPECT_THAT(ReadSpec("name: a\n]\n"), HasSubstr("this is not YAML: "));
  EXPECT_THAT(ReadSpec("name: \"\\q\""), HasSubstr("this is not YAML: "));
}

TEST(ReadYamlErrorTest, BoundsNesting) {
  const std::string deep = "found more than 32 levels of nesting; allowed: fewer";
  EXPECT_THAT(ReadSpec("x: " + std::string(31, '[') + std::string(31, ']')), Not(HasSubstr(deep)));
  EXPECT_THAT(ReadSpec("x: " + std::string(32, '[') + std::string(32, ']')), HasSubstr(deep));
  const std::string said = ReadSpec("x: " + std::string(40, '[') + std::string(40, ']'));
  EXPECT_THAT(said, HasSubstr(deep));
  EXPECT_EQ(said.find(deep), said.rfind(deep)) << "once, not for each level: " << said;
  EXPECT_THAT(ReadSpec(std::string(100'000, '[')), HasSubstr(deep));
  EXPECT_THAT(ReadSpec(std::string(100'000, '{')), HasSubstr(deep));
  std::string indented;
  for (int i = 0; i < 1000; ++i) indented += std::string(static_cast<size_t>(i), ' ') + "a:\n";
  EXPECT_THAT(ReadSpec(indented), HasSubstr(deep));
}

TEST(ReadYamlErrorTest, BoundsTheSize) {
  const std::string large(kMostYamlBytes + 1, '#');
  EXPECT_EQ(ReadSpec(large), "kv.yaml:1:1: found 268435457 bytes; allowed: at most 268435456");
}

TEST(ReadYamlErrorTest, RefusesBytesThatAreNotUtf8) {
  EXPECT_EQ(ReadSpec("name: kv\nkey_space: {split_points: [\xff]}\n"),
            "kv.yaml:2:28: found a byte that is not UTF-8; allowed: UTF-8");
}

TEST(ReadYamlErrorTest, RefusesEscapesThatMakeSuchBytes) {
  EXPECT_EQ(ReadSpec("name: \"a\\_\""), "kv.yaml:1:7: name: found \"a\\xa0\"; allowed: text");
}

TEST(ReadYamlErrorTest, ShowsNoControlCharactersOfTheFile) {
  EXPECT_THAT(ReadSpec("replication: {strategy: \"\\e[31m\"}"), HasSubstr("found \"\\x1b[31m\""));
  EXPECT_THAT(ReadSpec("\"\\e[31m\": 1"), HasSubstr("unknown field \"\\x1b[31m\""));
}

// --- Places ------------------------------------------------------------------------

TEST(LocateFieldsTest, FindsTheFieldOrTheInnermostOneAroundIt) {
  const std::string yaml = R"(name: kv
key_space:
  shards:
    - id: a
      range: {end: m}
    - id: b
---
name: other
)";
  EXPECT_THAT(LocateFields(yaml, "kv.yaml", v1::AppSpec(), 0,
                           {"name", "key_space.shards[0].range.end", "key_space.shards[1].range",
                            "key_space.shards[10].id", "replication.strategy", ""}),
              ElementsAre("kv.yaml:1:1", "kv.yaml:5:15", "kv.yaml:6:7", "kv.yaml:3:3",
                          "kv.yaml:1:1", "kv.yaml:1:1"));
  EXPECT_THAT(LocateFields(yaml, "kv.yaml", v1::AppSpec(), 1, {"name", "failover"}),
              ElementsAre("kv.yaml:8:1", "kv.yaml:8:1"));
}

}  // namespace
}  // namespace shardmanager::cli
