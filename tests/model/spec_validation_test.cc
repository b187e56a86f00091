// The rules of AppSpec outside of its key space, one by one.
#include "model/spec/spec_validation.h"

#include <string>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "model/layout.h"
#include "tests/model/spec_builder.h"

namespace shardmanager {
namespace {

using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::EndsWith;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::SizeIs;
using ::testing::StartsWith;

std::vector<std::string> Problems(const std::string& more) { return ProblemsOf(SpecWith(more)); }

TEST(SpecValidationTest, RefusesAnUnknownWayToMovePrimaries) {
  v1::AppSpec spec = SpecWith("");
  spec.mutable_moves()->set_primary_move(static_cast<v1::PrimaryMove>(9));
  EXPECT_THAT(ProblemsOf(spec), ElementsAre("moves.primary_move: found 9; allowed: handover, "
                                            "drop-then-add"));
}

TEST(SpecValidationTest, AcceptsTheSmallestSpec) { EXPECT_THAT(Problems(""), IsEmpty()); }

TEST(SpecValidationTest, AcceptsAFullSpec) {
  EXPECT_THAT(Problems(R"(
      replication { replicas: 3 }
      placement { regions: ['eu-west', 'us-east', 'ap-south'] preferred_region: 'eu-west'
                  spread: REGION max_replicas_per_server: 1000 }
      failover { delay_ms: 3600000 max_concurrent: 500 on_partition: STOP_ALL }
      moves { max_concurrent: 100000 max_concurrent_per_server: 2 balance_interval_ms: 100 }
      commands { timeout_ms: 86400000 })"),
              IsEmpty());
}

TEST(SpecValidationTest, RefusesWrongAppNames) {
  const std::string rule = "; allowed: 1 to 63 characters of [a-z0-9-], starting with a letter";
  EXPECT_THAT(ProblemsOf(SpecFromText("key_space { split_points: 'm' } "
                                      "replication { strategy: PRIMARY_ONLY }")),
              ElementsAre("name: found nothing" + rule));
  for (const std::string name : {"Kv", "7kv", "-kv", "k_v", "k v", "k/v", "..", "k\\303\\251"}) {
    EXPECT_THAT(Problems("name: '" + name + "'"), ElementsAre(EndsWith(rule))) << name;
  }
  EXPECT_THAT(Problems("name: '" + std::string(63, 'k') + "'"), IsEmpty());
  EXPECT_THAT(Problems("name: '" + std::string(64, 'k') + "'"), SizeIs(1));
}

TEST(SpecValidationTest, RequiresAStrategy) {
  EXPECT_THAT(ProblemsOf(SpecFromText("name: 'kv' key_space { split_points: 'm' }")),
              ElementsAre("replication.strategy: found nothing; allowed: primary-only, "
                          "secondary-only, primary-secondary"));
}

TEST(SpecValidationTest, RequiresASecondaryBesideEachPrimary) {
  EXPECT_THAT(Problems("replication { strategy: PRIMARY_SECONDARY replicas: 2 }"), IsEmpty());
  EXPECT_THAT(Problems("replication { strategy: PRIMARY_SECONDARY replicas: 1 }"),
              ElementsAre("replication.replicas: found 1; allowed: 2 to 15 with strategy "
                          "primary-secondary"));
}

TEST(SpecValidationTest, RefusesStrategiesOfANewerVersion) {
  v1::AppSpec spec = SpecWith("");
  spec.mutable_replication()->set_strategy(static_cast<v1::ReplicationStrategy>(9));
  EXPECT_THAT(ProblemsOf(spec),
              ElementsAre("replication.strategy: found 9; allowed: primary-only, secondary-only, "
                          "primary-secondary"));
}

TEST(SpecValidationTest, RefusesMoreThanOneReplicaWithoutSecondaries) {
  EXPECT_THAT(Problems("replication { strategy: PRIMARY_ONLY replicas: 2 }"),
              ElementsAre("replication.replicas: found 2; allowed: 1 with strategy primary-only"));
  EXPECT_THAT(Problems("replication { strategy: PRIMARY_ONLY replicas: 1 }"), IsEmpty());
}

TEST(SpecValidationTest, BoundsReplicas) {
  EXPECT_THAT(Problems("replication { replicas: 15 }"), IsEmpty());
  EXPECT_THAT(Problems("replication { replicas: 16 }"),
              ElementsAre("replication.replicas: found 16; allowed: 1 to 15, or 0: the default"));
}

TEST(SpecValidationTest, RefusesMoreReplicasThanRegionsToSpreadOver) {
  EXPECT_THAT(
      Problems("replication { replicas: 3 } placement { regions: ['a', 'b'] spread: REGION }"),
      ElementsAre("replication.replicas: found 3; allowed: at most 2: placement allows 1 in "
                  "each of 2 regions (placement.regions)"));
  EXPECT_THAT(Problems("replication { replicas: 3 } placement { spread: REGION }"), IsEmpty())
      << "how many regions there are is not known";
  EXPECT_THAT(Problems("replication { replicas: 3 } placement { regions: 'a' spread: RACK }"),
              IsEmpty());
}

TEST(SpecValidationTest, AllowsQuorumWhereThereAreBothRolesOnly) {
  EXPECT_THAT(Problems("replication { quorum: true }"),
              ElementsAre("replication.quorum: found true; allowed: false, but with strategy "
                          "primary-secondary"));
  EXPECT_THAT(Problems("replication { strategy: PRIMARY_SECONDARY replicas: 3 quorum: true }"),
              IsEmpty());
}

TEST(SpecValidationTest, RefusesRegionsThatAreNotNamesOrNamedTwice) {
  EXPECT_THAT(Problems("placement { regions: ['a', '', 'e u', 'a'] }"),
              ElementsAre("placement.regions[1]: found \"\"; allowed: 1 to 63 characters of "
                          "[A-Za-z0-9._-]",
                          "placement.regions[2]: found \"e u\"; allowed: 1 to 63 characters of "
                          "[A-Za-z0-9._-]",
                          "placement.regions[3]: found \"a\" (already placement.regions[0]); "
                          "allowed: each region once"));
}

TEST(SpecValidationTest, RefusesAnUnknownPreferredRegion) {
  EXPECT_THAT(
      Problems("placement { regions: ['a', 'b'] preferred_region: 'c' }"),
      ElementsAre("placement.preferred_region: found \"c\" (unknown region); allowed: one of "
                  "placement.regions: \"a\", \"b\""));
  EXPECT_THAT(Problems("placement { preferred_region: 'c' }"), IsEmpty());
  EXPECT_THAT(Problems("placement { preferred_region: 'c d' }"), SizeIs(1));
}

TEST(SpecValidationTest, ListsOnlySomeOfManyRegions) {
  v1::AppSpec spec = SpecWith("placement { preferred_region: 'z' }");
  for (int i = 0; i < 9; ++i) spec.mutable_placement()->add_regions(absl::StrCat("r", i));
  EXPECT_THAT(ProblemsOf(spec), ElementsAre(EndsWith("\"r6\", \"r7\", ...")));
}

TEST(SpecValidationTest, RefusesEnumValuesOfANewerVersion) {
  v1::AppSpec spec = SpecWith("");
  spec.mutable_placement()->set_spread(static_cast<v1::FaultDomainLevel>(9));
  spec.mutable_failover()->set_on_partition(static_cast<v1::OnPartition>(9));
  EXPECT_THAT(ProblemsOf(spec),
              ElementsAre("placement.spread: found 9; allowed: server, rack, datacenter, region",
                          "failover.on_partition: found 9; allowed: stop-primaries, stop-all, "
                          "keep-serving"));
}

TEST(SpecValidationTest, RefusesFieldsOfANewerVersionWherever) {
  v1::AppSpec spec = SpecWith("failover {} moves {} commands {} placement {}");
  spec.mutable_key_space()->clear_split_points();
  spec.mutable_key_space()->add_shards()->set_id("s");
  spec.mutable_key_space()->mutable_shards(0)->mutable_range();
  const auto set_newer_field = [](google::protobuf::Message* message) {
    message->GetReflection()->MutableUnknownFields(message)->AddVarint(999, 1);
  };
  set_newer_field(&spec);
  set_newer_field(spec.mutable_key_space());
  set_newer_field(spec.mutable_key_space()->mutable_shards(0));
  set_newer_field(spec.mutable_key_space()->mutable_shards(0)->mutable_range());
  set_newer_field(spec.mutable_replication());
  set_newer_field(spec.mutable_placement());
  set_newer_field(spec.mutable_failover());
  set_newer_field(spec.mutable_moves());
  set_newer_field(spec.mutable_commands());
  const std::string what =
      ": found unknown field number 999; allowed: the fields that this "
      "version of the control plane knows";
  EXPECT_THAT(
      ProblemsOf(spec),
      ElementsAre("the spec" + what, "key_space" + what, "key_space.shards[0]" + what,
                  "key_space.shards[0].range" + what, "replication" + what, "placement" + what,
                  "failover" + what, "moves" + what, "commands" + what));
}

TEST(SpecValidationTest, BoundsTheFailoverDelay) {
  EXPECT_THAT(Problems("failover { delay_ms: 3600001 }"),
              ElementsAre("failover.delay_ms: found 3600001; allowed: 0 to 3600000"));
}

TEST(SpecValidationTest, KeepServingIsForAnyStrategyWithoutAQuorum) {
  for (const char* replication : {"", "replication { strategy: SECONDARY_ONLY replicas: 2 }",
                                  "replication { strategy: PRIMARY_SECONDARY replicas: 3 }"}) {
    EXPECT_THAT(Problems(absl::StrCat(replication, " failover { on_partition: KEEP_SERVING }")),
                IsEmpty());
  }
  EXPECT_THAT(Problems("replication { strategy: PRIMARY_SECONDARY replicas: 3 quorum: true } "
                       "failover { on_partition: KEEP_SERVING }"),
              ElementsAre("failover.on_partition: found keep-serving, with replication.quorum; "
                          "allowed: stop-primaries, stop-all"));
}

TEST(SpecValidationTest, BoundsTheMoveLimits) {
  EXPECT_THAT(
      Problems("moves { max_concurrent: 100001 max_concurrent_per_server: 100001 "
               "balance_interval_ms: 99 }"),
      ElementsAre("moves.max_concurrent: found 100001; allowed: 1 to 100000, or 0: the "
                  "default",
                  "moves.max_concurrent_per_server: found 100001; allowed: 1 to 100000, or "
                  "0: the default",
                  "moves.balance_interval_ms: found 99; allowed: 100 to 86400000, or 0: the "
                  "default"));
  EXPECT_THAT(Problems("moves { balance_interval_ms: 86400001 }"), SizeIs(1));
}

TEST(SpecValidationTest, TakesADrainPolicyAndLimitsOfAvailability) {
  EXPECT_THAT(Problems("drain { primaries: false secondaries: true "
                       "        rules { kinds: RESTART up_to_ms: 5000 primaries: false } } "
                       "availability { max_unavailable_servers: '25%' max_unavailable_replicas: 1 "
                       "               approval_ms: 10000 most_wait_ms: 3600000 }"),
              IsEmpty());
  EXPECT_THAT(Problems("availability { max_unavailable_servers: '7' }"), IsEmpty());
}

TEST(SpecValidationTest, RefusesAPolicyThatCanNeverApproveAnything) {
  const std::string allowed = "; allowed: 1 to 1000000, or 1% to 100%";
  for (const std::string wrong : {"0", "0%", "101%", "-1", "10 %", "many", "%", "1000001"}) {
    EXPECT_THAT(
        Problems("availability { max_unavailable_servers: '" + wrong + "' }"),
        ElementsAre("availability.max_unavailable_servers: found \"" + wrong + "\"" + allowed));
  }
  const std::string two = "replication { strategy: PRIMARY_SECONDARY replicas: 2 quorum: true } ";
  const std::string rule =
      ": found false; allowed: true: with replication.quorum and 2 replicas none may be away, so "
      "no "
      "operation could ever begin";
  EXPECT_THAT(Problems(two), IsEmpty());
  EXPECT_THAT(Problems(two + "drain { secondaries: false }"),
              ElementsAre("drain.secondaries" + rule));
  EXPECT_THAT(Problems(two + "drain { rules { secondaries: false } }"),
              ElementsAre("drain.rules[0].secondaries" + rule));
}

TEST(SpecValidationTest, RefusesRulesOfDrainsThatSayNothing) {
  EXPECT_THAT(Problems("drain { rules { up_to_ms: 5 } }"),
              ElementsAre("drain.rules[0]: found neither primaries nor secondaries; allowed: at "
                          "least one of them"));
  EXPECT_THAT(Problems("drain { rules { kinds: OPERATION_KIND_UNSPECIFIED primaries: true } }"),
              ElementsAre("drain.rules[0].kinds[0]: found operation-kind-unspecified; allowed: "
                          "start, stop, restart, move"));
  EXPECT_THAT(Problems("drain { rules { impacts: [NETWORK_LOSS, 9] primaries: true } }"),
              ElementsAre("drain.rules[0].impacts[1]: found 9; allowed: network-loss, "
                          "runtime-state-loss, full-state-loss, machine-loss"));
  EXPECT_THAT(Problems("drain { prepare_ms: 999 }"),
              ElementsAre("drain.prepare_ms: found 999; allowed: 1000 to 86400000, or 0: the "
                          "default"));
  EXPECT_THAT(Problems("drain { rules { up_to_ms: 86400001 primaries: true } }"),
              ElementsAre("drain.rules[0].up_to_ms: found 86400001; allowed: 0 to 86400000"));
}

TEST(SpecValidationTest, BoundsWhatMayBeAway) {
  EXPECT_THAT(Problems("availability { max_unavailable_replicas: 2 }"),
              ElementsAre("availability.max_unavailable_replicas: found 2; allowed: 1 to 1 "
                          "(replication.replicas), or 0: the default"));
  EXPECT_THAT(
      Problems("availability { approval_ms: 999 most_wait_ms: 86400001 }"),
      ElementsAre("availability.approval_ms: found 999; allowed: 1000 to 3600000, or 0: the "
                  "default",
                  "availability.most_wait_ms: found 86400001; allowed: 1000 to 86400000, or "
                  "0: the default"));
}

TEST(SpecValidationTest, TakesRulesForClientReports) {
  EXPECT_THAT(Problems("client_reports { action: SHOW min_clients: 1000 patience_ms: 20000 "
                       "                 max_servers: '2' }"),
              IsEmpty());
  EXPECT_THAT(Problems("client_reports { max_servers: '100%' }"), IsEmpty());
}

TEST(SpecValidationTest, RefusesRulesForClientReportsThatAreOutOfRange) {
  EXPECT_THAT(
      Problems("client_reports { min_clients: 1001 patience_ms: 19999 max_servers: '0' }"),
      ElementsAre("client_reports.min_clients: found 1001; allowed: 1 to 1000, or 0: the default",
                  "client_reports.patience_ms: found 19999; allowed: 20000 to 3600000, or 0: the "
                  "default",
                  "client_reports.max_servers: found \"0\"; allowed: a number from 1 to 1000000, "
                  "or a percentage from 1% to 100%"));
  v1::AppSpec unknown = SpecWith("");
  unknown.mutable_client_reports()->set_action(static_cast<v1::ClientReportPolicy::Action>(9));
  EXPECT_THAT(ProblemsOf(unknown),
              ElementsAre(HasSubstr("client_reports.action: found 9; allowed: ")));
}

const std::string kTwo = "replication { strategy: SECONDARY_ONLY replicas: 2 } ";
const std::string kCpu = "metrics { name: 'cpu' } metrics { name: 'disk' } ";

TEST(SpecValidationTest, TakesScaling) {
  EXPECT_THAT(Problems(kTwo + kCpu + "scaling { metric: 'disk' target: 50 max_replicas: 6 }"),
              IsEmpty());
  EXPECT_THAT(Problems(kTwo + kCpu +
                       "scaling { metric: 'cpu' target: 1e12 max_replicas: 15 "
                       "mode: RECOMMEND tolerance: 0.9 down_after_ms: 1000 "
                       "max_changes_per_minute: '7' }"),
              IsEmpty());
}

TEST(SpecValidationTest, RefusesScalingByWhatIsNotThere) {
  EXPECT_THAT(Problems(kTwo + "scaling { metric: 'cpu' target: 1 max_replicas: 2 }"),
              ElementsAre("scaling.metric: found \"cpu\"; allowed: the name of one of `metrics`, "
                          "which is empty"));
  EXPECT_THAT(Problems(kTwo + kCpu + "scaling { target: 1 max_replicas: 2 }"),
              ElementsAre("scaling.metric: found nothing; allowed: one of `metrics`: cpu, disk"));
}

TEST(SpecValidationTest, RefusesScalingOutOfRange) {
  EXPECT_THAT(Problems(kTwo + kCpu +
                       "scaling { metric: 'cpu' max_replicas: 1 tolerance: 1.5 "
                       "down_after_ms: 999 max_changes_per_minute: '0%' }"),
              ElementsAre("scaling.max_replicas: found 1; allowed: 2 (replication.replicas) to 15",
                          "scaling.target: found 0; allowed: above 0, at most 1e12",
                          "scaling.tolerance: found 1.5; allowed: 0 to 0.9; 0 is the default",
                          "scaling.down_after_ms: found 999; allowed: 1000 to 86400000, or 0: the "
                          "default",
                          "scaling.max_changes_per_minute: found \"0%\"; allowed: a number from 1 "
                          "to 1000000, or a percentage from 1% to 100%"));
  EXPECT_THAT(Problems(kTwo + kCpu + "scaling { metric: 'cpu' target: 1 max_replicas: 16 } "),
              ElementsAre(HasSubstr("allowed: 2 (replication.replicas) to 15")));
  EXPECT_THAT(Problems(kTwo + kCpu +
                       "scaling { metric: 'cpu' target: 1 max_replicas: 3 } "
                       "placement { spread: REGION regions: 'a' regions: 'b' }"),
              ElementsAre(HasSubstr("allowed: 2 (replication.replicas) to 2 (placement.regions)")));
  EXPECT_THAT(Problems(kTwo + kCpu + "scaling { metric: 'cpu' target: nan max_replicas: 3 } "),
              ElementsAre(HasSubstr("scaling.target: found nan")));
}

TEST(SpecValidationTest, RefusesScalingWhereTheNumberOfReplicasIsFixed) {
  const std::string scaling = "scaling { metric: 'cpu' target: 1 max_replicas: 3 } ";
  EXPECT_THAT(Problems(kCpu + scaling + "replication { strategy: PRIMARY_ONLY }"),
              Contains(HasSubstr("strategy PRIMARY_ONLY; allowed: nothing")));
  EXPECT_THAT(Problems(kCpu + scaling +
                       "replication { strategy: PRIMARY_SECONDARY replicas: 3 quorum: true } "),
              ElementsAre(HasSubstr("with replication.quorum; allowed: nothing")));
}

TEST(SpecValidationTest, TakesReplicasOfRegions) {
  EXPECT_THAT(Problems(kTwo + "placement { region_replicas { region: 'a' replicas: 1 } "
                              "region_replicas { region: 'b' replicas: 1 } }"),
              IsEmpty());
}

TEST(SpecValidationTest, RefusesReplicasOfRegionsThatCannotBe) {
  EXPECT_THAT(
      Problems(kTwo + "placement { regions: 'a' region_replicas { region: 'c' replicas: 1 } "
                      "region_replicas { replicas: 1 } }"),
      ElementsAre("placement.region_replicas[0].region: found \"c\" (unknown region); "
                  "allowed: one of placement.regions: \"a\"",
                  HasSubstr("placement.region_replicas[1].region: found nothing")));
  EXPECT_THAT(Problems(kTwo + "placement { region_replicas { region: 'a' replicas: 2 } "
                              "region_replicas { region: 'a' replicas: 0 } "
                              "region_replicas { region: 'b' replicas: 1 } }"),
              ElementsAre("placement.region_replicas[1].region: found \"a\" (already "
                          "placement.region_replicas[0]); allowed: each region once",
                          "placement.region_replicas[1].replicas: found 0; allowed: 1 to 15",
                          "placement.region_replicas: found 3 replicas in all; allowed: at most 2, "
                          "as replication.replicas has"));
  EXPECT_THAT(Problems(kTwo + "placement { spread: REGION "
                              "region_replicas { region: 'a' replicas: 2 } }"),
              ElementsAre("placement.region_replicas[0].replicas: found 2; allowed: 1 with "
                          "placement.spread region"));
}

TEST(SpecValidationTest, TakesLimitsOfSpread) {
  EXPECT_THAT(Problems(kTwo + "placement { spread: RACK "
                              "spread_limits { level: REGION replicas: 1 } "
                              "spread_limits { level: DATACENTER replicas: 1 soft: true } }"),
              IsEmpty());
}

TEST(SpecValidationTest, RefusesLimitsOfSpreadThatCannotBe) {
  EXPECT_THAT(
      Problems(kTwo + "placement { spread: RACK spread_limits { replicas: 2 } "
                      "spread_limits { level: SERVER replicas: 2 } "
                      "spread_limits { level: RACK replicas: 2 } "
                      "spread_limits { level: REGION } "
                      "spread_limits { level: REGION replicas: 16 } }"),
      ElementsAre(
          "placement.spread_limits[0].level: found nothing; allowed: rack, datacenter, region",
          "placement.spread_limits[1].level: found server; allowed: rack, datacenter, region",
          "placement.spread_limits[2].level: found rack; allowed: a level above rack, which "
          "placement.spread has: one replica in each",
          "placement.spread_limits[3].replicas: found 0; allowed: 1 to 15",
          "placement.spread_limits[4].replicas: found 16; allowed: 1 to 15",
          "placement.spread_limits[4].level: found region (already placement.spread_limits[3]); "
          "allowed: each level once"));
}

TEST(SpecValidationTest, RefusesMoreReplicasThanLimitsOfSpreadHaveRoomFor) {
  const std::string five = "replication { strategy: SECONDARY_ONLY replicas: 5 } ";
  const std::string regions = "regions: ['a', 'b'] ";
  EXPECT_THAT(
      Problems(five + "placement { " + regions + "spread_limits { level: REGION replicas: 2 } }"),
      ElementsAre("replication.replicas: found 5; allowed: at most 4: placement allows 2 "
                  "in each of 2 regions (placement.regions)"));
  EXPECT_THAT(Problems(five + "placement { " + regions +
                       "spread_limits { level: REGION replicas: 2 soft: true } }"),
              IsEmpty());
  EXPECT_THAT(Problems(five + "placement { spread_limits { level: REGION replicas: 2 } "
                              "region_replicas { region: 'a' replicas: 3 } }"),
              ElementsAre("placement.region_replicas[0].replicas: found 3; allowed: 1 to 2, as "
                          "placement.spread_limits has for a region"));
  EXPECT_THAT(Problems(kTwo + kCpu + "scaling { metric: 'cpu' target: 1 max_replicas: 5 } " +
                       "placement { " + regions + "spread_limits { level: REGION replicas: 2 } }"),
              ElementsAre(HasSubstr("allowed: 2 (replication.replicas) to 4 (placement.regions)")));
}

TEST(SpecValidationTest, TakesCareInMassFailures) {
  EXPECT_THAT(Problems("placement { regions: ['a', 'b'] } failover { region_order: ['b', 'a'] "
                       "mass_failure { servers: '40%' patience_ms: 604800000 } }"),
              IsEmpty());
}

TEST(SpecValidationTest, RefusesCareInMassFailuresThatMeansNothing) {
  EXPECT_THAT(
      Problems("failover { mass_failure { max_concurrent: 100001 patience_ms: 604800001 } }"),
      ElementsAre("failover.mass_failure.servers: found nothing; allowed: a number from 1 to "
                  "1000000, or a percentage from 1% to 100%",
                  "failover.mass_failure.max_concurrent: found 100001; allowed: 1 to 100000, "
                  "or 0: the default",
                  "failover.mass_failure.patience_ms: found 604800001; allowed: 1 to "
                  "604800000, or 0: the default"));
  EXPECT_THAT(Problems("failover { mass_failure { servers: '0%' } }"),
              ElementsAre(HasSubstr("mass_failure.servers: found \"0%\"")));
  EXPECT_THAT(Problems("placement { regions: ['a', 'b'] } "
                       "failover { region_order: ['a', 'a', 'c', ''] }"),
              ElementsAre("failover.region_order[1]: found \"a\" (already "
                          "failover.region_order[0]); allowed: each region once",
                          "failover.region_order[2]: found \"c\" (unknown region); allowed: one of "
                          "placement.regions: \"a\", \"b\"",
                          HasSubstr("failover.region_order[3]: found \"\"")));
}

TEST(SpecValidationTest, MassFailureHasDefaults) {
  v1::AppSpec spec;
  spec.mutable_failover()->mutable_mass_failure()->set_servers("40%");
  const v1::MassFailurePolicy policy = WithDefaults(spec).failover().mass_failure();
  EXPECT_EQ(policy.max_concurrent(), 20u);
  EXPECT_EQ(policy.patience_ms(), 3'600'000u);
  EXPECT_FALSE(WithDefaults(v1::AppSpec()).failover().has_mass_failure());
}

TEST(SpecValidationTest, TakesMetrics) {
  EXPECT_THAT(Problems("metrics { name: 'cpu' } "
                       "metrics { name: 'disk_gb' threshold: 0.5 capacity: 1e12 tolerance: 10 }"),
              IsEmpty());
}

TEST(SpecValidationTest, RefusesMetricsOfABadNameAndTwice) {
  const std::string rule = "1 to 63 characters of [A-Za-z0-9._-]";
  EXPECT_THAT(Problems("metrics { threshold: 1 }"),
              ElementsAre("metrics[0].name: found nothing; allowed: " + rule));
  EXPECT_THAT(Problems("metrics { name: 'c p' }"),
              ElementsAre("metrics[0].name: found \"c p\"; allowed: " + rule));
  EXPECT_THAT(Problems("metrics { name: 'replicas' }"),
              ElementsAre("metrics[0].name: found \"replicas\"; allowed: another name: the number "
                          "of replicas is counted in any case"));
  EXPECT_THAT(Problems("metrics { name: 'cpu' } metrics { name: 'cpu' }"),
              ElementsAre("metrics[1].name: found \"cpu\" (already metrics[0]); allowed: each "
                          "metric once"));
}

TEST(SpecValidationTest, BoundsTheNumberOfMetrics) {
  std::string metrics;
  for (char c = 'a'; c <= 'i'; ++c) metrics += std::string("metrics { name: '") + c + "' } ";
  EXPECT_THAT(Problems(metrics), ElementsAre("metrics: found 9 metrics; allowed: at most 8"));
}

TEST(SpecValidationTest, RefusesAmountsOfMetricsThatAreOutOfRange) {
  for (const std::string bad : {"nan", "inf", "-0.1", "2e+12"}) {
    EXPECT_THAT(Problems("metrics { name: 'cpu' threshold: " + bad + " }"),
                ElementsAre("metrics[0].threshold: found " + bad + "; allowed: 0 to 1"));
    EXPECT_THAT(Problems("metrics { name: 'cpu' capacity: " + bad + " }"),
                ElementsAre("metrics[0].capacity: found " + bad + "; allowed: 0 to 1e12"));
    EXPECT_THAT(Problems("metrics { name: 'cpu' tolerance: " + bad + " }"),
                ElementsAre("metrics[0].tolerance: found " + bad + "; allowed: 0 to 10"));
  }
}

TEST(SpecValidationTest, BoundsTheMovesUnderWay) {
  EXPECT_THAT(Problems("moves { max_concurrent: 100001 }"),
              ElementsAre("moves.max_concurrent: found 100001; allowed: 1 to 100000, or 0: the "
                          "default"));
  EXPECT_THAT(Problems("moves { drain { max_concurrent_per_server: 100001 } }"),
              ElementsAre("moves.drain.max_concurrent_per_server: found 100001; allowed: 1 to "
                          "100000, or 0: the default"));
}

TEST(SpecValidationTest, BoundsThePauseBetweenLooks) {
  EXPECT_THAT(Problems("moves { collect_interval_ms: 999 }"),
              ElementsAre("moves.collect_interval_ms: found 999; allowed: 1000 to 3600000, or 0: "
                          "the default"));
  EXPECT_THAT(Problems("moves { steady_after_ms: 999 }"),
              ElementsAre("moves.steady_after_ms: found 999; allowed: 1000 to 900000, or 0: "
                          "the default"));
}

TEST(SpecValidationTest, BoundsTheCommandTimeOut) {
  EXPECT_THAT(Problems("commands { timeout_ms: 99 }"),
              ElementsAre("commands.timeout_ms: found 99; allowed: 100 to 86400000, or 0: the "
                          "default"));
}

TEST(SpecValidationTest, FindsAllProblemsAtOnceInFieldOrder) {
  EXPECT_THAT(Problems("name: 'KV' replication { replicas: 99 } failover { delay_ms: 4000000 }"),
              ElementsAre(StartsWith("name: "), StartsWith("replication.replicas: "),
                          StartsWith("failover.delay_ms: ")));
}

TEST(SpecValidationTest, AnAppThatDecidesItselfSaysNothingOfPlaces) {
  const std::string own =
      "name: 'kv' orchestrator: APPLICATION replication { strategy: PRIMARY_ONLY } ";
  EXPECT_THAT(ProblemsOf(SpecFromText(own + "drain { primaries: true } "
                                            "availability { max_unavailable_servers: '3' }")),
              IsEmpty());
  EXPECT_THAT(ProblemsOf(WithDefaults(SpecFromText(own))), IsEmpty());
  for (const std::string more :
       {"key_space { split_points: 'm' }", "placement { regions: 'r' }", "failover { delay_ms: 1 }",
        "moves { max_concurrent: 1 }", "metrics { name: 'cpu' }", "commands { timeout_ms: 500 }",
        "client_reports { min_clients: 5 }", "scaling { target: 1 }"}) {
    EXPECT_THAT(ProblemsOf(SpecFromText(own + more)),
                ElementsAre(HasSubstr("found a value; allowed: nothing, with orchestrator")))
        << more;
  }
  v1::AppSpec unknown = SpecWith("");
  unknown.set_orchestrator(static_cast<v1::Orchestrator>(9));
  EXPECT_THAT(ProblemsOf(unknown), ElementsAre(HasSubstr("orchestrator: found 9; allowed: ")));
}

TEST(SpecValidationTest, StopsAtTwentyProblems) {
  v1::AppSpec spec = SpecWith("");
  spec.mutable_key_space()->clear_split_points();
  for (int i = 0; i < 1000; ++i) spec.mutable_key_space()->add_shards();
  EXPECT_THAT(ValidateSpec(spec), SizeIs(20));
  EXPECT_THAT(std::string(ToStatus(ValidateSpec(spec)).message()),
              EndsWith("\n(only the first 20 problems are listed)"));
}

TEST(SpecValidationTest, SaysAllInOneStatusALineEach) {
  EXPECT_TRUE(ToStatus({}).ok());
  const absl::Status status = ToStatus({{"a", "1", "2"}, {"b", "3", "4"}});
  EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument);
  EXPECT_EQ(status.message(), "a: found 1; allowed: 2\nb: found 3; allowed: 4");
}

TEST(SpecValidationTest, KeepsTheStatusSmallEnoughForATrailer) {
  const SpecProblem wide = {"path", std::string(300, '\xc3'), "rule"};
  const std::string message(ToStatus(std::vector<SpecProblem>(20, wide)).message());
  EXPECT_LT(message.size() * 3, 8192u);
  EXPECT_THAT(message, HasSubstr("(only the first 6 problems are listed)"));
}

}  // namespace
}  // namespace shardmanager
