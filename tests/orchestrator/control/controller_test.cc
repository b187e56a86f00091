// A control-plane process that joins its cell, is stopped, or is deposed: what still comes of a
// session that is over changes nothing.
#include "orchestrator/control/controller.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <chrono>
#include <cstdint>
#include <string>
#include <utility>

#include "tests/orchestrator/control/controller_fixture.h"

namespace shardmanager::orchestrator {
namespace {

using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::Not;

TEST_F(ControllerTest, ChecksWhichSessionsTheStoreGrantsBeforeItMakesTheCell) {
  ensemble_.RunUntilIdle();
  control_->Run();
  EXPECT_EQ(ensemble_.last_session(), session_ + 2) << "as servers ask for, and the shortest one";
}

// Its lease is computed with the cell's tick, so its session must be the cell's, too.
TEST_F(ControllerTest, AProcessWhoseFlagsAreNotTheCellsAsksForTheCellsTimeOut) {
  v1::CellConfig cell = Cell();
  cell.set_zookeeper_tick_ms(5'000);
  cell.set_session_timeout_ms(30'000);
  MakeCell(cell);
  RunAll();
  ASSERT_THAT(told_, ElementsAre("")) << "it leads";
  EXPECT_TRUE(controller_->leads()) << "and can prove it";
  // Its own, and two probes; each for the flags first, then for the cell.
  EXPECT_THAT(stores_.asked_ms, ElementsAre(4'000, 4'000, 400, 30'000, 30'000, 10'000));
  control_->timers.clear();
  ensemble_.Disconnect(ensemble_.last_session() - 2);
  ensemble_.Reconnect(ensemble_.last_session() - 2);
  RunAll();
  EXPECT_THAT(control_->timers, Contains(TimePoint() + Seconds(5))) << "it is renewed each tick";
  EXPECT_THAT(control_->timers, Not(Contains(TimePoint() + Milliseconds(200)))) << "of the cell";
}

// All of ZooKeeper's members are started anew, one after the other, with a larger tickTime: every
// session lives on.
TEST_F(ControllerTest, LooksAgainAtWhatIsGrantedWheneverTheStoreIsReachedAgain) {
  absl::Status fatal;
  controller_->on_fatal = [&fatal](absl::Status status) { fatal = std::move(status); };
  MakeCell();
  RunAll();
  ASSERT_TRUE(controller_->leads());
  const auto reconnect = [this] {
    ensemble_.Disconnect(session_);
    RunAll();
    ensemble_.Reconnect(session_);
    RunAll();
  };
  reconnect();
  EXPECT_EQ(fatal, absl::OkStatus());
  EXPECT_TRUE(controller_->leads());
  EXPECT_EQ(CountOf("LeaderProven"), 0U) << "it was never without its lease";
  EXPECT_EQ(CountOf("LeaderCutOff"), 0U) << "likewise";
  stores_.shortest = std::chrono::milliseconds(2'000);
  reconnect();
  EXPECT_THAT(fatal.message(), HasSubstr("its tickTime is 1000 ms, not the 200 ms of the cell"));
}

TEST_F(ControllerTest, SaysWhatANewSpecChanges) {
  MakeCell();
  RunAll();
  v1::ApplyAppRequest request;
  request.set_dry_run(true);
  request.mutable_spec()->set_name(kApp.value());
  for (const char* shard : {"s-0", "s-1"}) {
    request.mutable_spec()->mutable_key_space()->add_shards()->set_id(shard);
  }
  request.mutable_spec()->mutable_replication()->set_strategy(v1::PRIMARY_ONLY);
  absl::StatusOr<v1::ApplyAppResponse> answer = absl::UnknownError("no answer");
  controller_->operations().ApplyApp(request,
                                     [&answer](const auto& response) { answer = response; });
  RunAll();
  ASSERT_TRUE(answer.ok()) << answer.status();
  EXPECT_EQ(answer->outcome(), v1::ApplyAppResponse::CONFIGURED);
  EXPECT_THAT(answer->changes(), Contains(HasSubstr("s-1")));
}

TEST_F(ControllerTest, RetriesOnlyShardsThatThereAre) {
  MakeCell();
  RunAll();
  absl::Status answer = absl::UnknownError("no answer");
  const auto retry = [&](const std::string& app, const std::string& shard) {
    v1::RetryShardRequest request;
    request.set_app(app);
    request.set_shard(shard);
    controller_->levers().RetryShard(
        request, [&answer](const auto& response) { answer = response.status(); });
    RunAll();
    return answer;
  };
  EXPECT_EQ(retry("kv", "s-0"), absl::OkStatus());
  EXPECT_EQ(CountOf("RetryAsked"), 1U);
  EXPECT_EQ(retry("kv", "s-9").code(), absl::StatusCode::kNotFound);
  EXPECT_EQ(retry("other", "s-0").code(), absl::StatusCode::kNotFound);
}

TEST_F(ControllerTest, APauseIsStoredAndTakenBackOnce) {
  MakeCell();
  RunAll();
  absl::Status answer = absl::UnknownError("no answer");
  const auto told = [&answer](const auto& response) { answer = response.status(); };
  v1::PauseAppRequest pause;
  pause.set_app("kv");
  pause.mutable_pause()->set_who("jo");
  pause.mutable_pause()->set_reason(std::string(201, 'x'));
  controller_->operations().PauseApp(pause, told);
  RunAll();
  EXPECT_EQ(answer,
            absl::InvalidArgumentError("pause.reason: found 201 bytes; allowed: at most 200"));
  EXPECT_FALSE(Stored().has_pause());
  pause.mutable_pause()->set_reason("network work");
  controller_->operations().PauseApp(pause, told);
  RunAll();
  EXPECT_EQ(answer, absl::OkStatus());
  EXPECT_EQ(Stored().pause().reason(), "network work");
  EXPECT_EQ(CountOf("Paused"), 1U);
  v1::ResumeAppRequest resume;
  resume.set_app("kv");
  controller_->operations().ResumeApp(resume, told);
  RunAll();
  EXPECT_EQ(answer, absl::OkStatus());
  EXPECT_FALSE(Stored().has_pause());
  EXPECT_EQ(CountOf("Resumed"), 1U);
  controller_->operations().ResumeApp(resume, told);
  RunAll();
  EXPECT_EQ(answer.code(), absl::StatusCode::kFailedPrecondition) << "it is not paused";
}

TEST_F(ControllerTest, APinIsStoredAndTakenBackOnce) {
  MakeCell();
  RunAll();
  absl::Status answer = absl::UnknownError("no answer");
  const auto told = [&answer](const auto& response) { answer = response.status(); };
  v1::PinShardRequest pin;
  pin.set_app("kv");
  pin.mutable_pin()->set_shard("s-9");
  controller_->operations().PinShard(pin, told);
  RunAll();
  EXPECT_EQ(answer, absl::NotFoundError("app \"kv\" has no shard \"s-9\""));
  pin.mutable_pin()->set_shard("s-0");
  pin.mutable_pin()->set_who(std::string(201, 'x'));
  controller_->operations().PinShard(pin, told);
  RunAll();
  EXPECT_EQ(answer, absl::InvalidArgumentError("pin.who: found 201 bytes; allowed: at most 200"));
  EXPECT_TRUE(Stored().pins().empty());
  pin.mutable_pin()->set_who("jo");
  controller_->operations().PinShard(pin, told);
  RunAll();
  const int64_t since_ms = Stored().pins(0).since_ms();
  EXPECT_GT(since_ms, 0);
  now_ms_ += 5'000;
  pin.mutable_pin()->set_reason("repair");
  controller_->operations().PinShard(pin, told);
  RunAll();
  EXPECT_EQ(answer, absl::OkStatus());
  ASSERT_EQ(Stored().pins_size(), 1) << "in place of the one before";
  EXPECT_EQ(Stored().pins(0).since_ms(), since_ms);
  EXPECT_EQ(Stored().pins(0).reason(), "repair");
  v1::UnpinShardRequest unpin;
  unpin.set_app("kv");
  unpin.set_shard("s-0");
  controller_->operations().UnpinShard(unpin, told);
  RunAll();
  EXPECT_EQ(answer, absl::OkStatus());
  EXPECT_TRUE(Stored().pins().empty());
  EXPECT_EQ(CountOf("UnpinAsked"), 1U);
  controller_->operations().UnpinShard(unpin, told);
  RunAll();
  EXPECT_EQ(answer, absl::FailedPreconditionError("shard \"s-0\" of app \"kv\" is not pinned"));
}

TEST_F(ControllerTest, PreferencesAreStoredBesideTheSpecAllOrNone) {
  MakeCell();
  RunAll();
  absl::Status answer = absl::UnknownError("no answer");
  v1::PreferRegionsResponse response;
  const auto told = [&](const absl::StatusOr<v1::PreferRegionsResponse>& told_of) {
    answer = told_of.status();
    if (told_of.ok()) response = *told_of;
  };
  v1::PreferRegionsRequest request;
  request.set_app("kv");
  const auto prefer = [&] {
    controller_->operations().PreferRegions(request, told);
    RunAll();
    return answer;
  };
  EXPECT_EQ(prefer().code(), absl::StatusCode::kInvalidArgument) << "nothing is asked for";
  request.add_preferences()->set_shard("s-0");
  request.mutable_preferences(0)->set_region("mars");
  request.add_preferences()->set_shard("s-99");
  EXPECT_THAT(std::string(prefer().message()), ::testing::StartsWith("preferences[1].shard"));
  EXPECT_FALSE(Stored().has_preferences());
  request.mutable_preferences()->RemoveLast();
  request.set_who("jo");
  request.set_dry_run(true);
  EXPECT_EQ(prefer(), absl::OkStatus());
  EXPECT_EQ(response.changed(), 1u);
  EXPECT_FALSE(Stored().has_preferences()) << "it only says what would change";
  request.set_dry_run(false);
  EXPECT_EQ(prefer(), absl::OkStatus());
  EXPECT_THAT(response.regions_without_servers(), ::testing::ElementsAre("mars"));
  ASSERT_EQ(Stored().preferences().regions_size(), 1);
  EXPECT_EQ(Stored().preferences().regions(0).region(), "mars");
  EXPECT_EQ(Stored().preferences().who(), "jo");
  EXPECT_GT(Stored().preferences().since_ms(), 0);
  now_ms_ += 5'000;
  const int64_t since_ms = Stored().preferences().since_ms();
  EXPECT_EQ(prefer(), absl::OkStatus());
  EXPECT_EQ(response.unchanged(), 1u);
  EXPECT_EQ(Stored().preferences().since_ms(), since_ms) << "a repeat writes nothing";
  request.clear_preferences();
  request.set_replace(true);
  EXPECT_EQ(prefer(), absl::OkStatus());
  EXPECT_EQ(response.changed(), 1u);
  EXPECT_FALSE(Stored().has_preferences());
}

TEST_F(ControllerTest, ANoticeIsStoredWithEachAppThatHasServersThere) {
  MakeCell();
  RunAll();
  absl::Status answer = absl::UnknownError("no answer");
  const auto told = [&answer](const auto& response) { answer = response.status(); };
  const auto add = [&](const v1::Maintenance& notice) {
    v1::AddMaintenanceRequest request;
    *request.mutable_maintenance() = notice;
    controller_->operations().AddMaintenance(request, told);
    RunAll();
    return answer;
  };
  v1::Maintenance notice;
  notice.set_id("change-1");
  notice.mutable_scope()->set_server(kServer.value());
  notice.set_impact(v1::MACHINE_LOSS);
  EXPECT_EQ(add(notice), absl::OkStatus());
  ASSERT_EQ(Stored().maintenances_size(), 1);
  EXPECT_EQ(Stored().maintenances(0).start_ms(), now_ms_) << "it begins now";
  EXPECT_EQ(CountOf("MaintenanceBegun"), 1U);
  notice.set_start_ms(now_ms_ + 3'600'000);
  EXPECT_EQ(add(notice), absl::OkStatus()) << "it begins later";
  ASSERT_EQ(Stored().maintenances_size(), 1) << "the one of that id is replaced";
  EXPECT_EQ(Stored().maintenances(0).start_ms(), now_ms_ + 3'600'000);

  v1::Maintenance wrong = notice;
  wrong.set_impact(v1::NETWORK_LOSS);
  wrong.clear_end_ms();
  EXPECT_THAT(std::string(add(wrong).message()), HasSubstr("end_ms: found nothing"));
  wrong = notice;
  wrong.mutable_scope()->set_server("kv-9");
  EXPECT_EQ(add(wrong).code(), absl::StatusCode::kNotFound);
  EXPECT_EQ(Stored().maintenances(0).scope().server(), kServer.value()) << "nothing has changed";

  v1::CancelMaintenanceRequest cancel;
  cancel.set_id("change-2");
  controller_->operations().CancelMaintenance(cancel, told);
  RunAll();
  EXPECT_EQ(answer, absl::NotFoundError("no maintenance \"change-2\"; there are: change-1"));
  cancel.set_id("change-1");
  controller_->operations().CancelMaintenance(cancel, told);
  RunAll();
  EXPECT_EQ(answer, absl::OkStatus());
  EXPECT_EQ(Stored().maintenances_size(), 0);
  EXPECT_EQ(CountOf("MaintenanceCancelled"), 1U);
}

TEST_F(ControllerTest, AMaintenanceFollowsAWallClockThatIsSet) {
  MakeCell();
  RunAll();
  v1::AddMaintenanceRequest request;
  v1::Maintenance& notice = *request.mutable_maintenance();
  notice.set_id("m");
  notice.mutable_scope()->set_server(kServer.value());
  notice.set_impact(v1::NETWORK_LOSS);
  notice.set_start_ms(now_ms_ + 3'600'000);
  notice.set_end_ms(now_ms_ + 7'200'000);
  controller_->operations().AddMaintenance(
      request, [](const auto& response) { EXPECT_TRUE(response.ok()) << response.status(); });
  RunAll();
  ASSERT_EQ(CountOf("MaintenanceBegun"), 0U);
  const auto look_again = [this] {
    ensemble_.Disconnect(session_);
    RunAll();
    ensemble_.Reconnect(session_);
    RunAll();
  };
  look_again();
  EXPECT_EQ(CountOf("MaintenanceBegun"), 0U);
  now_ms_ += 3'600'000;
  look_again();
  EXPECT_EQ(CountOf("MaintenanceBegun"), 1U);
}

TEST_F(ControllerTest, OfAServerThatIsDownANewLeaderKnowsTheLastLifeAndWhereItStood) {
  MakeCell();
  v1::ServerRecord record;
  record.set_server(kServer.value());
  record.mutable_fault_domain()->set_region("r1");
  record.mutable_fault_domain()->set_rack("k1");
  const std::string path = kPaths.server(kApp, kServer, kBuckets);
  Write({SetNode{path, Seal(record), 0}});  // its first life
  record.set_departed(true);
  Write({SetNode{path, Seal(record), 1}});  // which said good-bye
  RunAll();
  const auto servers = GetServers();
  ASSERT_TRUE(servers.ok() && servers->servers_size() == 1) << servers.status();
  EXPECT_EQ(servers->servers(0).incarnation(), 1U);
  EXPECT_EQ(servers->servers(0).fault_domain().region(), "r1");
  EXPECT_EQ(servers->servers(0).fault_domain().rack(), "k1");
}

TEST_F(ControllerTest, AnAppHasNoticeOfAHundredMaintenancesAndForgetsThoseThatAreOver) {
  MakeCell();
  RunAll();
  absl::Status answer = absl::UnknownError("no answer");
  const auto add = [&](int i, int64_t start_ms) {
    v1::AddMaintenanceRequest request;
    v1::Maintenance& notice = *request.mutable_maintenance();
    notice.set_id(absl::StrCat("m-", i));
    notice.mutable_scope()->set_server(kServer.value());
    notice.set_impact(v1::NETWORK_LOSS);
    notice.set_start_ms(start_ms);
    notice.set_end_ms(start_ms + 60'000);
    controller_->operations().AddMaintenance(
        request, [&answer](const auto& response) { answer = response.status(); });
    RunAll();
  };
  for (int i = 0; i < 100; ++i) add(i, now_ms_ + 60'000);
  EXPECT_EQ(answer, absl::OkStatus());
  add(100, now_ms_ + 60'000);
  EXPECT_EQ(answer.code(), absl::StatusCode::kResourceExhausted) << answer;
  now_ms_ += 2 * 3'600'000;
  add(100, now_ms_ + 60'000);
  EXPECT_EQ(answer, absl::OkStatus());
  EXPECT_EQ(Stored().maintenances_size(), 1);
}

TEST_F(ControllerTest, OnlyAnOperationThatHasBegunIsEnded) {
  MakeCell();
  RunAll();
  v1::EndOperationRequest request;
  request.set_app("kv");
  request.set_id("restart-kv-1");
  absl::Status answer = absl::UnknownError("no answer");
  controller_->operations().EndOperation(
      request, [&answer](const auto& response) { answer = response.status(); });
  RunAll();
  EXPECT_EQ(answer, absl::NotFoundError("no operation \"restart-kv-1\" of app \"kv\" has begun"));
}

// Seed 479 of the simulation: the process crashed.
TEST_F(ControllerTest, WhileTheRecordsOfAnAppCannotBeReadARetryIsRefused) {
  stores_.hooks.listings_fail = true;
  MakeCell();
  RunAll();
  v1::RetryShardRequest request;
  request.set_app("kv");
  request.set_shard("s-0");
  absl::Status answer = absl::UnknownError("no answer");
  controller_->levers().RetryShard(request,
                                   [&answer](const auto& response) { answer = response.status(); });
  RunAll();
  EXPECT_EQ(answer.code(), absl::StatusCode::kUnavailable) << answer;
  EXPECT_THAT(std::string(answer.message()), HasSubstr("the connection broke"));
}

// `shardctl drain --wait` would take "none" for "nothing is left".
TEST_F(ControllerTest, WhileTheRecordsOfAnAppCannotBeReadNobodyIsToldThatItHasNoServers) {
  stores_.hooks.listings_fail = true;
  MakeCell();
  RunAll();
  const absl::Status answer = GetServers("kv").status();
  EXPECT_EQ(answer.code(), absl::StatusCode::kUnavailable) << answer;
  EXPECT_THAT(std::string(answer.message()), HasSubstr("the connection broke"));
  EXPECT_EQ(GetServers().status(), absl::OkStatus());  // of all apps that are known
}

// Else maps of the second cell would not be newer than those of the first one.
TEST_F(ControllerTest, ACellThatAProcessMakesAnewInAnEmptiedStoreIsYounger) {
  const auto made_ms = [this] {
    v1::CellConfig config;
    EXPECT_TRUE(Open(ensemble_.tree().Get(kPaths.config())->data, &config).ok());
    return config.made_ms();
  };
  RunAll();
  EXPECT_EQ(made_ms(), 1'000);
  now_ms_ = 2'000;
  ensemble_.Empty();
  RunAll();
  EXPECT_EQ(made_ms(), 2'000);
}

// As on a thread of its own: the answer is there just before the session is closed.
TEST_F(ControllerTest, AnAnswerThatComesWhileItStopsBeginsNothing) {
  stores_.hooks.before_close = [this] { ensemble_.RunUntilIdle(); };
  controller_->Stop();
  EXPECT_EQ(stores_.hooks.before_close, nullptr);
  EXPECT_EQ(ensemble_.last_session(), session_);
}

// It has begun a new session by then, which tells it soon enough.
TEST_F(ControllerTest, WhomADeposedOneSeesThroughItsOldSessionIsNotTakenForTheLeader) {
  MakeCell();
  for (int i = 0; told_.empty() && i < 100; ++i) {
    ensemble_.RunUntilIdle();
    control_->Run();
  }
  ASSERT_THAT(told_, ElementsAre("")) << "it leads";
  bool refused = false;
  stores_.hooks.refused = [&refused] { refused = true; };
  others_->Multi({SetNode{kPaths.leader_epoch(), ""}}, [](const WriteResult&) {});
  for (int i = 0; !refused && i < 10'000; ++i) {
    if (!ensemble_.RunOne()) control_->Run();
  }
  ASSERT_TRUE(refused) << "its next write is";
  control_->RunPosted();
  v1::LeaderRecord leader;
  leader.set_process("control-1");
  leader.set_endpoint("host:1");
  Write({DeleteNode{kPaths.leader_holder()}, CreateNode{kPaths.leader_holder(), Seal(leader)}});
  control_->Run();
  EXPECT_THAT(told_, ElementsAre(""));
  RunAll();
  EXPECT_THAT(told_, ElementsAre("", "host:1"));
}

// The cell was restored from a backup, and only clients have seen what was lost.
TEST_F(ControllerTest, SaysThatItsEpochsAreBehindWhenASubscriberHasTheMapOfALaterLeader) {
  MakeCell();
  RunAll();
  ASSERT_THAT(told_, ElementsAre("")) << "it leads";
  controller_->SubscriberIsAhead(kApp, {.leader_epoch = 1, .sequence = 99});
  RunAll();
  EXPECT_EQ(CountOf("EpochsBehind"), 0u) << "that is its own epoch";
  controller_->SubscriberIsAhead(kApp, {.leader_epoch = 57, .sequence = 1});
  controller_->SubscriberIsAhead(kApp, {.leader_epoch = 58, .sequence = 1});
  RunAll();
  EXPECT_EQ(CountOf("EpochsBehind"), 1u);
}

// It has lost its connection, and the subscriber has heard of its successor.
TEST_F(ControllerTest, ALeaderThatIsDeposedDoesNotTakeItsSuccessorForALostFuture) {
  MakeCell();
  RunAll();
  ASSERT_THAT(told_, ElementsAre("")) << "it leads";
  ensemble_.Disconnect(session_);
  RunAll();
  controller_->SubscriberIsAhead(kApp, {.leader_epoch = 2, .sequence = 1});
  RunAll();
  EXPECT_EQ(CountOf("EpochsBehind"), 0u) << "before it knows that it is deposed";
  ensemble_.Expire(session_);
  v1::LeaderRecord successor;
  successor.set_process("control-1");
  successor.set_endpoint("host:1");
  Write({SetNode{kPaths.leader_epoch(), ""}, CreateNode{kPaths.leader_holder(), Seal(successor)}});
  ensemble_.Reconnect(session_);
  RunAll();
  ASSERT_THAT(told_, ElementsAre("", "host:1"));
  EXPECT_EQ(CountOf("EpochsBehind"), 0u);
}

TEST_F(ControllerTest, ClientsAreToldWhichAppsThereAreAsLongAsItLeads) {
  MakeCell();
  EXPECT_EQ(clients_.told_apps, "") << "nothing is known yet";
  RunAll();
  EXPECT_EQ(clients_.told_apps, "cell@1000: kv");
  v1::ApplyAppRequest request;
  request.mutable_spec()->set_name("mail");
  request.mutable_spec()->mutable_key_space()->add_shards()->set_id("s-0");
  request.mutable_spec()->mutable_replication()->set_strategy(v1::PRIMARY_ONLY);
  absl::Status answer = absl::UnknownError("no answer");
  std::string told_at_answer;
  controller_->operations().ApplyApp(request, [&](const auto& response) {
    answer = response.status();
    told_at_answer = clients_.told_apps;
  });
  RunAll();
  EXPECT_EQ(answer, absl::OkStatus());
  EXPECT_EQ(told_at_answer, "cell@1000: kv mail") << "who made the app finds it at once";
  v1::DeleteAppRequest deletion;
  deletion.set_app("mail");
  controller_->operations().DeleteApp(deletion, [](const auto&) {});
  RunAll();
  EXPECT_EQ(clients_.told_apps, "cell@1000: kv");
  ensemble_.Disconnect(session_);
  ensemble_.Expire(session_);
  ensemble_.Reconnect(session_);
  control_->Run();
  ensemble_.RunUntilIdle();
  control_->Run();
  EXPECT_EQ(clients_.told_apps, "") << "it does not lead any more";
}

}  // namespace
}  // namespace shardmanager::orchestrator
