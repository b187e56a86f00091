// What a spec means where it says nothing.
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "model/layout.h"
#include "model/spec/spec_validation.h"
#include "tests/model/spec_builder.h"

namespace shardmanager {
namespace {

using ::testing::IsEmpty;

TEST(SpecDefaultsTest, FillsWhatIsNotSaid) {
  const v1::AppSpec spec = WithDefaults(SpecWith(""));
  EXPECT_EQ(spec.DebugString(), SpecWith(R"(
      key_space { shard_prefix: 'shard-' }
      replication { replicas: 1 }
      placement { spread: SERVER }
      failover { on_partition: STOP_PRIMARIES }
      moves { max_concurrent: 20 max_concurrent_per_server: 5 balance_interval_ms: 10000
              collect_interval_ms: 30000 primary_move: HANDOVER steady_after_ms: 60000
              drain { max_concurrent: 20 max_concurrent_per_server: 5 } }
      drain { prepare_ms: 600000 }
      commands { timeout_ms: 60000 }
      availability { max_unavailable_servers: '10%' max_unavailable_replicas: 1
                     approval_ms: 60000 most_wait_ms: 600000 })")
                                    .DebugString());
}

TEST(SpecDefaultsTest, KeepsWhatIsSaid) {
  const v1::AppSpec said = SpecWith(R"(
      key_space { shard_prefix: 'p-' }
      replication { replicas: 3 }
      placement { spread: RACK max_replicas_per_server: 9 }
      failover { delay_ms: 1 max_concurrent: 2 on_partition: STOP_ALL }
      moves { max_concurrent: 3 max_concurrent_per_server: 4 balance_interval_ms: 500
              collect_interval_ms: 2000 primary_move: DROP_THEN_ADD steady_after_ms: 7000
              drain { max_concurrent: 7 max_concurrent_per_server: 6 } }
      metrics { name: 'cpu' threshold: 0.5 tolerance: 0.2 }
      drain { primaries: false prepare_ms: 5000 }
      commands { timeout_ms: 600 }
      availability { max_unavailable_servers: '3' max_unavailable_replicas: 2
                     approval_ms: 2000 most_wait_ms: 3000 })");
  EXPECT_EQ(WithDefaults(said).DebugString(), said.DebugString());
}

TEST(SpecDefaultsTest, FillsAnEmptyPolicyOfDemand) {
  const v1::AppSpec spec = WithDefaults(SpecWith("placement { follow_demand {} }"));
  EXPECT_EQ(spec.placement().follow_demand().mode(), v1::DemandPolicy::FOLLOW);
  EXPECT_EQ(spec.placement().follow_demand().after_ms(), 300'000U);
}

TEST(SpecDefaultsTest, AFilledSpecIsValidAndMeansTheSame) {
  const v1::AppSpec spec = SpecWith("");
  EXPECT_THAT(ProblemsOf(WithDefaults(spec)), IsEmpty());
  EXPECT_THAT(CompareSpecs(spec, WithDefaults(spec)).differences, IsEmpty());
  EXPECT_EQ(ExpandLayout(spec)[1].id, ExpandLayout(WithDefaults(spec))[1].id);
}

}  // namespace
}  // namespace shardmanager
