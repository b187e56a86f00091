// The checkers of the chaos runs, on streams: they acquit sound servers, and convict those whose
// streams have a defect (defective_kvstore.cc).
#include <chrono>
#include <string>
#include <thread>
#include <vector>

#include "gmock/gmock.h"
#include "tests/integration/chaos/client_load.h"
#include "tests/integration/chaos/verdict.h"
#include "tests/support/cluster_fixture.h"

namespace shardmanager::testing {
namespace {

using local::MapView;
using ::testing::HasSubstr;

constexpr int kShards = 8;
constexpr std::chrono::milliseconds kWhile{700};

class StreamsTest : public ClusterTest {
 protected:
  // Two servers under load, streams among it. One is drained while no client hears of the new
  // owners, so clients go on with the streams that they have. What the checkers find.
  absl::Status Judged(std::vector<std::string> program) {
    program[0] = cluster_->Bin(program[0]);
    if (absl::Status s = Start(program); !s.ok()) return s;
    ClientLoad load({client_.get()}, {.shards = kShards, .streaming = 4});
    std::this_thread::sleep_for(kWhile);  // part of the experiment
    if (absl::Status s = DrainUnseen(); !s.ok()) return s;
    std::this_thread::sleep_for(kWhile);
    cluster_->discovery().Resume();
    size_t unread = 0;
    const std::vector<Operation> history = load.Finish(&unread);
    if (unread > 0) return absl::UnavailableError("keys cannot be read");
    streams_ = load.streams();
    for (const std::string& name : cluster_->server_names()) cluster_->server(name).Kill();
    return Judge(history, cluster_->data_folder(), {.stops = {}});
  }

  StreamCounts streams_;

 private:
  absl::Status Start(const std::vector<std::string>& program) {
    if (absl::Status s = cluster_->StartCore(); !s.ok()) return s;
    for (const std::string name : {"kv-1", "kv-2"}) {
      const absl::Status started =
          cluster_->StartServer({.name = name, .rack = name, .program = program});
      if (!started.ok()) return started;
    }
    if (absl::Status s = ServeShards(kShards); !s.ok()) return s;
    const auto balanced = [](const MapView& view) { return view.balanced(2); };
    if (map_->WaitFor(balanced, kPatience)) return absl::OkStatus();
    return absl::DeadlineExceededError(map_->view().Describe());
  }
  absl::Status DrainUnseen() {
    const auto direct = cluster_->WatchMap(cluster_->admin_endpoint());
    cluster_->discovery().Pause();
    v1::DrainScope scope;
    scope.set_server("kv-1");
    if (absl::Status s = cluster_->admin().Drain("kv", scope); !s.ok()) return s;
    const auto drained = [](const MapView& view) {
      return view.all_served() && !view.counts().contains("kv-1");
    };
    if (direct->WaitFor(drained, kPatience)) return absl::OkStatus();
    return absl::DeadlineExceededError(direct->view().Describe());
  }
};

TEST_F(StreamsTest, SoundServersAreAcquittedWhenTheyBlock) {
  const absl::Status verdict = Judged({"kvstore"});
  EXPECT_TRUE(verdict.ok()) << verdict;
  EXPECT_GT(streams_.acknowledged, 100u);
  EXPECT_GT(streams_.reopened, 0u);
  EXPECT_EQ(streams_.misnumbered, 0u);
}

TEST_F(StreamsTest, SoundServersAreAcquittedWhenTheyUseCallbacks) {
  const absl::Status verdict = Judged({"kvstore", "--callback"});
  EXPECT_TRUE(verdict.ok()) << verdict;
  EXPECT_GT(streams_.acknowledged, 100u);
  EXPECT_GT(streams_.reopened, 0u);
  EXPECT_EQ(streams_.misnumbered, 0u);
}

TEST_F(StreamsTest, AServerThatAcknowledgesAMessageBeforeItStoresItIsConvicted) {
  const absl::Status verdict = Judged({"defective_kvstore", "--acknowledges-first"});
  EXPECT_THAT(std::string(verdict.message()), HasSubstr("what clients saw: key"));
}

TEST_F(StreamsTest, AServerThatAdmitsTheStreamAloneIsConvicted) {
  const absl::Status verdict = Judged({"defective_kvstore"});
  EXPECT_THAT(std::string(verdict.message()), HasSubstr("had no right to it any more: fenced"));
}

}  // namespace
}  // namespace shardmanager::testing
