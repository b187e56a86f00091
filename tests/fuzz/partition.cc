// One partition of the orchestrator: joins, deaths, spec changes, lost answers, failed
// writes, new leaders, and answers that nobody expected. At most one primary of a shard at
// any time; and when peace comes, every shard is served and moves cease.
#include <gtest/gtest.h>

#include <string>

#include "tests/fuzz/fuzz_target.h"
#include "tests/orchestrator/world.h"

namespace shardmanager::orchestrator {
namespace {

constexpr uint32_t kServers = 4;

// The world looks at its invariants by EXPECT; here, each failure ends the process.
class EndAtOnce : public testing::EmptyTestEventListener {
  void OnTestPartResult(const testing::TestPartResult& result) override {
    SM_CHECK(!result.failed(), result.message());
  }
};
void PrepareOnce() {
  static const bool prepared = [] {
    if (testing::UnitTest::GetInstance()->current_test_info() != nullptr) return true;
    testing::UnitTest::GetInstance()->listeners().Append(new EndAtOnce);
    return true;
  }();
  (void)prepared;
}

class Trial {
 public:
  explicit Trial(fuzz::FuzzInput& input)
      : input_(input), primary_(input.Flag()), world_(NextSpec()) {
    world_.Start();
  }

  void Step() {
    if (world_.stepped_down) world_.Restart();
    const std::string name = Name(input_.Below(kServers));
    World::AppServer& server = world_.servers[name];
    switch (input_.Below(14)) {
      case 0:
      case 1:
        if (!server.live) world_.Join(name, input_.Flag() ? "r1" : "r2", input_.Below(6));
        return;
      case 2:
        if (server.live) world_.Die(name);
        return;
      case 3:
        if (server.live) world_.Depart(name);
        return;
      case 4:
        return world_.Apply(NextSpec(), input_.Below(8) == 0);
      case 5:
        server.answers = input_.Flag();
        return;
      case 6:
        world_.hold_writes = input_.Flag();
        return;
      case 7:
        if (!world_.writes.empty()) world_.FinishWrite(NextOutcome());
        return;
      case 8:
        world_.hold_plans = input_.Flag();
        if (!world_.plans.empty()) world_.FinishPlan();
        return;
      case 9:
        if (input_.Below(4) == 0) world_.Restart();
        return;
      case 10:
        server.refuses = {"s-" + std::to_string(input_.Below(4))};
        return;
      case 11:
        return Stray();
      default:
        world_.Advance(Milliseconds(20 * input_.Byte()));
    }
  }

  void Settle() {
    if (world_.stepped_down) world_.Restart();
    world_.hold_writes = world_.hold_plans = false;
    while (!world_.writes.empty()) world_.FinishWrite(WriteOutcome::kOk);
    while (!world_.plans.empty()) world_.FinishPlan();
    for (uint32_t i = 0; i < kServers; ++i) {
      World::AppServer& server = world_.servers[Name(i)];
      server.answers = true;
      server.refuses.clear();
      if (server.live) world_.Die(Name(i));
      world_.Join(Name(i));
    }
    world_.Apply(TestSpec(5, Strategy(), primary_ ? 1 : 2));
    world_.Advance(Seconds(300));
    SM_CHECK(world_.Served() == world_.partition().layout().size(), "every shard is served");
    world_.commands.clear();
    world_.Advance(Seconds(120));
    SM_CHECK(world_.commands.empty(), "moves cease");
  }

 private:
  static std::string Name(uint32_t i) { return "kv-" + std::to_string(i); }
  v1::ReplicationStrategy Strategy() const {
    return primary_ ? v1::PRIMARY_ONLY : v1::SECONDARY_ONLY;
  }
  v1::AppSpec NextSpec() {
    return TestSpec(static_cast<int>(1 + input_.Below(8)), Strategy(),
                    primary_ ? 1 : 1 + input_.Below(3));
  }
  // Mostly written; a leader is seldom deposed.
  WriteOutcome NextOutcome() {
    using enum WriteOutcome;
    constexpr WriteOutcome kOften[] = {kOk, kOk, kOk, kOk, kFailed, kFailed, kTooLarge, kDeposed};
    return kOften[input_.Below(8)];
  }

  // Answers of former questions, and of servers that say what they like.
  void Stray() {
    const Tables& tables = world_.partition().tables();
    if (tables.server_count() == 0 || tables.shard_count() == 0) return;
    const ServerIndex server(input_.Byte() % tables.server_count());
    const Incarnation life(tables.server(server).incarnation.value() - input_.Below(2));
    if (input_.Flag()) {
      ServerReport report{.server = server, .incarnation = life, .ok = input_.Below(4) != 0};
      for (uint32_t i = input_.Below(4); i > 0; --i) {
        report.held.push_back(
            {"s-" + std::to_string(input_.Below(10)), ShardEpoch(input_.Number()), input_.Flag()});
      }
      if (life == tables.server(server).incarnation) return;  // only a liar would
      return world_.Send(std::move(report));
    }
    world_.Send(CommandResult{.kind = static_cast<CommandKind>(input_.Below(4)),
                              .outcome = static_cast<CommandOutcome>(input_.Below(6)),
                              .server = server,
                              .incarnation = life,
                              .shard = ShardIndex(input_.Byte() % tables.shard_count()),
                              .epoch = ShardEpoch(input_.Number()),
                              .progress = static_cast<float>(input_.Byte()),
                              .error = "stray"});
  }

  fuzz::FuzzInput& input_;
  const bool primary_;
  World world_;
};

}  // namespace

SM_FUZZ_TARGET(partition) {
  PrepareOnce();
  Trial trial(input);
  while (!input.empty()) trial.Step();
  trial.Settle();
}

}  // namespace shardmanager::orchestrator
