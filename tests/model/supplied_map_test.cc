// Maps that applications supply: what is taken, and what is said of what is not.
#include "model/supplied_map.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

#include "absl/strings/str_cat.h"

namespace shardmanager {
namespace {

using ::testing::HasSubstr;

v1::SupplyMapRequest Valid() {
  v1::SupplyMapRequest request;
  request.set_app("kv");
  request.set_supplier_life(7);
  request.set_sequence(1);
  v1::SuppliedServer& server = *request.add_servers();
  server.set_server("kv-1");
  server.set_incarnation(3);
  server.set_process("host/1");
  server.mutable_fault_domain()->set_region("r1");
  server.mutable_fault_domain()->set_rack("rack-1");
  v1::SuppliedReplica& replica = *server.add_replicas();
  replica.set_shard("s-0");
  replica.set_role(v1::PRIMARY);
  replica.set_serving(true);
  return request;
}

template <typename Change>
std::string Error(Change change) {
  v1::SupplyMapRequest request = Valid();
  change(request, *request.mutable_servers(0));
  return std::string(ParseMap(request).status().message());
}

TEST(SuppliedMapTest, KeepsEachField) {
  v1::SupplyMapRequest request = Valid();
  request.mutable_servers(0)->set_down(true);
  request.mutable_servers(0)->mutable_fault_domain()->set_datacenter("dc-1");
  const auto map = ParseMap(request);
  ASSERT_TRUE(map.ok()) << map.status();
  EXPECT_EQ(map->life, 7u);
  EXPECT_EQ(map->sequence, 1u);
  EXPECT_FALSE(map->unchanged);
  ASSERT_EQ(map->servers.size(), 1u);
  const SuppliedServer& server = map->servers[0];
  EXPECT_EQ(server.name, "kv-1");
  EXPECT_EQ(server.incarnation, Incarnation(3));
  EXPECT_TRUE(server.down);
  EXPECT_EQ(server.process, "host/1");
  EXPECT_EQ(server.fault_domain, (FaultDomain{"r1", "dc-1", "rack-1"}));
  ASSERT_EQ(server.replicas.size(), 1u);
  EXPECT_EQ(server.replicas[0].shard, "s-0");
  EXPECT_EQ(server.replicas[0].role, v1::PRIMARY);
  EXPECT_TRUE(server.replicas[0].serving);
}

TEST(SuppliedMapTest, NamesEachWrongField) {
  EXPECT_EQ(Error([](auto& r, auto&) { r.set_supplier_life(0); }),
            "supplier_life: found 0; allowed: a number above 0");
  EXPECT_EQ(Error([](auto& r, auto&) { r.set_sequence(0); }),
            "sequence: found 0; allowed: a number above 0");
  EXPECT_EQ(Error([](auto&, auto& s) { s.set_server("a b"); }),
            "servers[0].server: found \"a b\"; allowed: 1 to 127 characters of [A-Za-z0-9._-]");
  EXPECT_EQ(Error([](auto& r, auto& s) { *r.add_servers() = s; }),
            "servers[1].server: found \"kv-1\" (a second time); allowed: each server once");
  EXPECT_EQ(Error([](auto&, auto& s) { s.set_incarnation(0); }),
            "servers[0].incarnation: found 0; allowed: 1 to 2147483647");
  EXPECT_EQ(Error([](auto&, auto& s) { s.set_incarnation(uint64_t{1} << 31); }),
            "servers[0].incarnation: found 2147483648; allowed: 1 to 2147483647");
  EXPECT_EQ(Error([](auto&, auto& s) { s.set_process(std::string(201, 'x')); }),
            "servers[0].process: found 201 bytes; allowed: at most 200");
  EXPECT_THAT(Error([](auto&, auto& s) { s.clear_fault_domain(); }),
              HasSubstr("servers[0].fault_domain.region: found nothing"));
  EXPECT_THAT(Error([](auto&, auto& s) { s.mutable_fault_domain()->set_rack("a/b"); }),
              HasSubstr("servers[0].fault_domain.rack: found \"a/b\""));
  EXPECT_THAT(Error([](auto&, auto& s) { s.mutable_replicas(0)->set_shard(""); }),
              HasSubstr("servers[0].replicas[0].shard: found nothing"));
  EXPECT_EQ(Error([](auto&, auto& s) { *s.add_replicas() = s.replicas(0); }),
            "servers[0].replicas[1].shard: found \"s-0\" (a second time); allowed: each shard once "
            "on a server");
  EXPECT_EQ(Error([](auto& r, auto&) { r.set_unchanged(true); }),
            "servers: found 1 server; allowed: nothing, if the map is unchanged");
}

TEST(SuppliedMapTest, IsBoundedBeforeItIsRead) {
  EXPECT_EQ(Error([](auto& r, auto&) {
              for (int i = 0; i < 100'000; ++i) r.add_servers();
            }),
            "servers: found 100001 servers; allowed: at most 100000");
}

TEST(SuppliedMapTest, RolesMustFitTheStrategy) {
  const auto fill = [](v1::ReplicationStrategy strategy, v1::Role role) {
    v1::SupplyMapRequest request = Valid();
    request.mutable_servers(0)->mutable_replicas(0)->set_role(role);
    SuppliedMap map = *ParseMap(request);
    const absl::Status fit = FillRolesIn(strategy, map);
    return fit.ok() ? v1::Role_Name(map.servers[0].replicas[0].role) : std::string(fit.message());
  };
  EXPECT_EQ(fill(v1::PRIMARY_ONLY, v1::ROLE_UNSPECIFIED), "PRIMARY");
  EXPECT_EQ(fill(v1::SECONDARY_ONLY, v1::ROLE_UNSPECIFIED), "SECONDARY");
  EXPECT_EQ(fill(v1::PRIMARY_SECONDARY, v1::SECONDARY), "SECONDARY");
  EXPECT_EQ(fill(v1::PRIMARY_SECONDARY, v1::ROLE_UNSPECIFIED),
            "servers[0].replicas[0].role: found nothing; allowed: primary, secondary");
  EXPECT_EQ(fill(v1::PRIMARY_ONLY, v1::SECONDARY),
            "servers[0].replicas[0].role: found secondary; allowed: primary, as the app's strategy "
            "is primary-only");
}

}  // namespace
}  // namespace shardmanager
