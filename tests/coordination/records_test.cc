// Records of each kind: what is damaged, belongs elsewhere or is newer is told apart, and
// never half-read.
#include "coordination/records.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "coordination/envelope.h"

namespace shardmanager {
namespace {

using testing::HasSubstr;

const AppName kApp("kv");
const ServerName kServer("kv-1");
const LiveName kLife{kServer, Incarnation(3)};

v1::AssignmentRecord Assignment() {
  v1::AssignmentRecord record;
  record.set_server("kv-1");
  v1::AssignedReplica& replica = *record.add_replicas();
  replica.set_shard("s-1");
  replica.set_role(v1::PRIMARY);
  replica.set_phase(v1::GRANTED);
  return record;
}
v1::LiveRecord Live() {
  v1::LiveRecord record;
  record.set_server("kv-1");
  record.set_incarnation(3);
  return record;
}

TEST(RecordsTest, OpensWhatBelongsToItsPath) {
  v1::StoredSpec spec;
  spec.mutable_spec()->set_name("kv");
  EXPECT_EQ(OpenSpec(Seal(spec), kApp, &spec), absl::OkStatus());
  v1::ServerRecord server;
  server.set_server("kv-1");
  EXPECT_EQ(OpenServer(Seal(server), kServer, &server), absl::OkStatus());
  EXPECT_EQ(OpenServer("", kServer, &server), absl::OkStatus()) << "registering right now";
  v1::LiveRecord live;
  EXPECT_EQ(OpenLive(Seal(Live()), kLife, &live), absl::OkStatus());
  v1::AssignmentRecord assignment;
  EXPECT_EQ(OpenAssignment(Seal(Assignment()), kServer, &assignment), absl::OkStatus());
  EXPECT_EQ(assignment.replicas_size(), 1);
}

TEST(RecordsTest, RefusesWhatBelongsElsewhere) {
  v1::StoredSpec spec;
  spec.mutable_spec()->set_name("mail");
  const absl::Status status = OpenSpec(Seal(spec), kApp, &spec);
  EXPECT_TRUE(absl::IsDataLoss(status));
  EXPECT_THAT(std::string(status.message()), HasSubstr("belongs to \"mail\", not to \"kv\""));
  v1::ServerRecord server;
  server.set_server("kv-2");
  EXPECT_TRUE(absl::IsDataLoss(OpenServer(Seal(server), kServer, &server)));
  v1::LiveRecord live = Live();
  live.set_server("kv-2");
  EXPECT_TRUE(absl::IsDataLoss(OpenLive(Seal(live), kLife, &live)));
  live = Live();
  live.set_incarnation(2);
  EXPECT_TRUE(absl::IsDataLoss(OpenLive(Seal(live), kLife, &live)));
  v1::AssignmentRecord assignment = Assignment();
  assignment.set_server("kv-2");
  EXPECT_TRUE(absl::IsDataLoss(OpenAssignment(Seal(assignment), kServer, &assignment)));
}

TEST(RecordsTest, RefusesValuesOfANewerVersionAndNamesThem) {
  v1::AssignmentRecord record = Assignment();
  record.mutable_replicas(0)->set_phase(static_cast<v1::Phase>(77));
  absl::Status status = OpenAssignment(Seal(record), kServer, &record);
  EXPECT_TRUE(absl::IsUnimplemented(status));
  EXPECT_THAT(std::string(status.message()), HasSubstr("phase 77 of shard \"s-1\""));
  record = Assignment();
  record.mutable_replicas(0)->set_role(static_cast<v1::Role>(78));
  status = OpenAssignment(Seal(record), kServer, &record);
  EXPECT_TRUE(absl::IsUnimplemented(status));
  EXPECT_THAT(std::string(status.message()), HasSubstr("role 78"));
}

TEST(RecordsTest, RefusesReplicasWithoutAPhaseOrARole) {
  v1::AssignmentRecord record = Assignment();
  record.mutable_replicas(0)->clear_phase();
  EXPECT_TRUE(absl::IsDataLoss(OpenAssignment(Seal(record), kServer, &record)));
  record = Assignment();
  record.mutable_replicas(0)->clear_role();
  EXPECT_TRUE(absl::IsDataLoss(OpenAssignment(Seal(record), kServer, &record)));
}

TEST(RecordsTest, RefusesAnAssignmentWithoutAByte) {
  v1::AssignmentRecord record;
  EXPECT_TRUE(absl::IsDataLoss(OpenAssignment("", kServer, &record)));
}

}  // namespace
}  // namespace shardmanager
