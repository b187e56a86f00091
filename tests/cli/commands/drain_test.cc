// `shardctl drain` and `shardctl undrain`.
#include "gmock/gmock.h"
#include "tests/cli/shardctl_fixture.h"

namespace shardmanager::cli {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

class DrainCommandTest : public ShardctlTest {};

template <typename Response>
void AddDrained(Response& response) {
  v1::DrainedApp& app = *response.add_apps();
  app.set_app("kv");
  app.set_servers(1);
  app.set_replicas(12);
}

v1::GetServersResponse OneServer(const std::string& state, const std::string& reason) {
  v1::GetServersResponse response;
  v1::ServerStatus& server = *response.add_servers();
  server.set_app("kv");
  server.set_server("kv-3");
  server.set_state(state);
  server.set_reason(reason);
  return response;
}

TEST_F(DrainCommandTest, DrainsAServer) {
  AddDrained(admin_.drained);
  EXPECT_EQ(Run({"drain", "server", "kv-3", "--reason", "new disk"}), kOk);
  EXPECT_EQ(out_,
            "kv: server kv-3 is to be emptied: 12 replicas on 1 server\n"
            "what follows from it: shardctl history operation op-0000cafe\n");
  EXPECT_THAT(admin_.requests(),
              ElementsAre("Drain{drain { scope { server: \"kv-3\" } reason: \"new disk\" }}"));
}

TEST_F(DrainCommandTest, DrainsAFaultDomainByItsPath) {
  EXPECT_EQ(Run({"drain", "rack", "eu/dub1/r07", "--app", "kv", "--primaries-only"}), kOk);
  EXPECT_THAT(admin_.requests(),
              ElementsAre("Drain{app: \"kv\" drain { scope { domain { region: \"eu\" datacenter: "
                          "\"dub1\" rack: \"r07\" } } primaries_only: true }}"));
  EXPECT_EQ(Run({"drain", "datacenter", "dub1"}), kUsage);
  EXPECT_EQ(err_,
            "error: datacenter: found \"dub1\"; allowed: REGION/DATACENTER, as in eu-west/dub1\n");
  EXPECT_EQ(Run({"drain", "cluster", "eu"}), kUsage);
  EXPECT_EQ(admin_.requests().size(), 1u);
}

TEST_F(DrainCommandTest, WaitsUntilNothingIsLeftAndShowsTheProgress) {
  AddDrained(admin_.drained);
  admin_.earlier_servers = {OneServer("draining", "12 of 12 replicas left"),
                            OneServer("draining", "5 of 12 replicas left, about 3 s to go")};
  admin_.servers = OneServer("drained", "empty");
  EXPECT_EQ(Run({"drain", "server", "kv-3", "--wait"}), kOk);
  EXPECT_EQ(out_,
            "kv: server kv-3 is to be emptied: 12 replicas on 1 server\n"
            "what follows from it: shardctl history operation op-0000cafe\n"
            "kv: kv-3: 12 of 12 replicas left\n"
            "kv: kv-3: 5 of 12 replicas left, about 3 s to go\n"
            "nothing is left to move off server kv-3\n");
}

TEST_F(DrainCommandTest, WaitsForAServerThatIsLostMeanwhile) {
  AddDrained(admin_.drained);
  v1::GetServersResponse lost = OneServer("lost", "session expired 1.0 s ago; failover in 2.0 s");
  lost.mutable_servers(0)->set_replicas(12);
  admin_.earlier_servers = {lost};
  admin_.servers = OneServer("down", "");
  EXPECT_EQ(Run({"drain", "server", "kv-3", "--wait"}), kOk);
  EXPECT_THAT(out_, HasSubstr("kv: kv-3: session expired 1.0 s ago; failover in 2.0 s\n"));
}

TEST_F(DrainCommandTest, WaitsOnWhenAnAnswerIsMissing) {
  AddDrained(admin_.drained);
  admin_.first_servers_refusal = {grpc::StatusCode::UNAVAILABLE, "nobody leads now"};
  admin_.servers = OneServer("drained", "empty");
  EXPECT_EQ(Run({"drain", "server", "kv-3", "--wait"}), kOk) << err_;
  EXPECT_THAT(admin_.requests(), ElementsAre(HasSubstr("Drain{"), "GetServers{app: \"kv\"}",
                                             "GetServers{app: \"kv\"}"));
}

// As in `shardctl drain ... --wait | head -1`: nobody reads on, so nobody waits.
TEST_F(DrainCommandTest, StopsWaitingWhenItsOutputIsLost) {
  AddDrained(admin_.drained);
  admin_.earlier_servers = {OneServer("draining", "12 of 12 replicas left"),
                            OneServer("draining", "5 of 12 replicas left")};
  admin_.servers = OneServer("drained", "empty");
  output_is_lost_ = true;
  EXPECT_EQ(Run({"drain", "server", "kv-3", "--wait"}), kRefused);
  EXPECT_EQ(err_, "error: the output cannot be written\n");
  EXPECT_THAT(admin_.requests(), ElementsAre(HasSubstr("Drain{"), "GetServers{app: \"kv\"}"));
}

TEST_F(DrainCommandTest, TakesADrainBack) {
  AddDrained(admin_.undrained);
  EXPECT_EQ(Run({"undrain", "server", "kv-3"}), kOk);
  EXPECT_EQ(out_, "kv: server kv-3 may be used again: 12 replicas on 1 server\n");
  EXPECT_THAT(admin_.requests(), ElementsAre("Undrain{scope { server: \"kv-3\" }}"));
  admin_.refusal = {grpc::StatusCode::NOT_FOUND, "no drain of server kv-3; there are: none"};
  EXPECT_EQ(Run({"undrain", "server", "kv-3"}), kNotFound);
}

}  // namespace
}  // namespace shardmanager::cli
