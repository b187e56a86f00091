// What /healthz and /readyz of the programs are made of.
#include "daemon/health.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <thread>
#include <vector>

#include "daemon/relay_health.h"

namespace shardmanager::daemon {
namespace {

using ::testing::HasSubstr;

// Answers at once, on another thread, as the control thread does.
class Answering {
 public:
  explicit Answering(v1::GetStatusResponse answer) : answer_(std::move(answer)) {}
  ControlHealth::Question question() {
    return [this](ControlHealth::Reply reply) {
      threads_.emplace_back([reply = std::move(reply), answer = answer_] { reply(answer); });
    };
  }

 private:
  const v1::GetStatusResponse answer_;
  std::vector<std::jthread> threads_;
};

std::string ReadyWith(const v1::GetStatusResponse& answer) {
  Answering thread(answer);
  ControlHealth health;
  health.Watch(thread.question());
  return std::string(health.Ready().message());
}

TEST(ControlHealthTest, IsReadyWhenItLeadsOrKnowsTheLeader) {
  v1::GetStatusResponse leads;
  leads.set_leading(true);
  EXPECT_EQ(ReadyWith(leads), "");
  v1::GetStatusResponse stands_by;
  stands_by.set_leader_endpoint("sm-1:7400");
  EXPECT_EQ(ReadyWith(stands_by), "");
}

TEST(ControlHealthTest, SaysWhyItIsNotReady) {
  EXPECT_EQ(ReadyWith({}), "no process is known to lead the cell");
  v1::GetStatusResponse cut_off;
  cut_off.set_leader_endpoint("sm-1:7400");
  cut_off.set_cut_off_ms(4'000);
  EXPECT_EQ(ReadyWith(cut_off), "ZooKeeper has not answered for 4000 ms");
}

TEST(ControlHealthTest, LivesAndIsNotReadyWhileItStartsAndStops) {
  ControlHealth health;
  EXPECT_TRUE(health.Lives().ok());
  EXPECT_EQ(health.Ready().message(), "starting");
  health.Forget();
  EXPECT_TRUE(health.Lives().ok());
  EXPECT_EQ(health.Ready().message(), "stopping");
}

TEST(ControlHealthTest, AThreadThatDoesNotAnswerIsAskedOnceAndDoesNotLive) {
  int asked = 0;
  ControlHealth health(/*most_silence=*/Milliseconds(500));
  ControlHealth::Reply late;
  health.Watch([&](ControlHealth::Reply reply) {
    ++asked;
    late = std::move(reply);
  });
  EXPECT_THAT(std::string(health.Ready().message()), HasSubstr("busy"));
  EXPECT_THAT(std::string(health.Lives().message()), HasSubstr("control thread has not answered"));
  EXPECT_EQ(asked, 1);
  late(v1::GetStatusResponse());  // it is heard again
  health.Watch([](const ControlHealth::Reply& reply) {
    std::thread([reply] { reply(v1::GetStatusResponse()); }).detach();
  });
  EXPECT_TRUE(health.Lives().ok());
}

TEST(RelayHealthTest, IsReadyWhenItServesWhatItHas) {
  RelayHealth health;
  EXPECT_EQ(health.Ready().message(), "starting");
  health.Look({});
  EXPECT_TRUE(health.Ready().ok()) << "nothing was asked for yet";
  health.Look({.apps = 2});
  EXPECT_EQ(health.Ready().message(), "nothing was heard from upstream yet of 2 apps");
  health.Look({.apps = 2, .apps_connected = 1, .updates = 1});
  EXPECT_TRUE(health.Ready().ok());
  health.Look({.apps = 2, .apps_connected = 0, .updates = 1});
  EXPECT_TRUE(health.Ready().ok()) << "it goes on with the last maps";
  health.Stop();
  EXPECT_EQ(health.Ready().message(), "stopping");
}

TEST(RelayHealthTest, LivesWhileItsLoopComesRound) {
  RelayHealth quick(/*most_silence=*/Duration(0));
  EXPECT_TRUE(quick.Lives().ok()) << "it has not begun";
  quick.Look({});
  EXPECT_THAT(std::string(quick.Lives().message()), HasSubstr("has not come round"));
  RelayHealth slow;
  slow.Look({});
  EXPECT_TRUE(slow.Lives().ok());
}

}  // namespace
}  // namespace shardmanager::daemon
