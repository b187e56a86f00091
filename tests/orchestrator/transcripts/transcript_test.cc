// What the partition hears and asks for in the scenarios that explain it, as text to be read:
// transcripts/*.txt (its README says how). Written anew by scripts/record.
#include "tests/orchestrator/transcripts/transcript.h"

#include <gtest/gtest.h>

#include <string>

#include "absl/strings/str_cat.h"
#include "tests/golden/golden.h"
#include "tests/orchestrator/world.h"

namespace shardmanager::orchestrator {
namespace {

// A world whose partition is written down, from the first remark on.
class Scenario {
 public:
  explicit Scenario(const v1::AppSpec& spec)
      : world(spec), transcript_(Transcript::Detail::kBrief), spec_(spec) {
    world.watcher.hears = [this](const Event& event) {
      if (!off_) transcript_.Hears(world.now, event, world.partition().tables());
    };
    world.watcher.asks = [this](const Action& action) {
      if (!off_) transcript_.Asks(world.now, action, world.partition().tables());
    };
    world.Start();
  }
  // The app is up and at rest on these servers, the first of them alone at first.
  void Settle(int servers) {
    for (int i = 0; i < servers; ++i) {
      world.Join(absl::StrCat("kv-", i));
      if (i == 0) world.Gather();
    }
    world.Advance(Seconds(31));  // the next reports are due in 30 s
  }
  void Say(const std::string& text) {
    off_ = false;
    transcript_.Remark(text);
  }
  void Drain(const std::string& server, bool primaries_only = false) {
    v1::Drain drain;
    drain.mutable_scope()->set_server(server);
    drain.set_primaries_only(primaries_only);
    world.ordered.drains = {drain};
    world.Apply(spec_);
  }
  // Writes go out and are not answered yet: the next fault comes in between.
  void HoldWrites() { world.hold_writes = true; }
  void GoOn() {
    world.hold_writes = false;
    while (!world.writes.empty()) world.FinishWrite(WriteOutcome::kOk);
  }
  void Keep(const std::string& name) {
    ExpectGolden("tests/orchestrator/transcripts/" + name + ".txt", transcript_.text());
  }

  World world;

 private:
  Transcript transcript_;
  const v1::AppSpec spec_;
  bool off_ = true;
};

v1::AppSpec Primaries(int shards) { return TestSpec(shards); }
v1::AppSpec Both(int shards, uint32_t replicas) {
  return TestSpec(shards, v1::PRIMARY_SECONDARY, replicas);
}

TEST(TranscriptTest, FirstPlacement) {
  Scenario s(Primaries(4));
  s.Say("Two servers register. Shards that never had a place wait 0.2 s for further servers.");
  s.world.Join("kv-0");
  s.world.Join("kv-1");
  s.world.Advance(Seconds(1));
  s.Keep("first-placement");
}

TEST(TranscriptTest, AServerIsLost) {
  Scenario s(Primaries(2));
  s.Settle(2);
  s.Say(
      "The session of kv-0 ends, so its lease has lapsed: nothing is served there. The write "
      "checks "
      "that kv-0 has not registered again.");
  s.world.Die("kv-0");
  s.world.Advance(Seconds(1));
  s.Keep("failover");
}

TEST(TranscriptTest, AServerIsBackBeforeItsShardsAreGiven) {
  Scenario s(Primaries(2));
  s.Settle(2);
  s.HoldWrites();
  s.Say("The session of kv-0 ends.");
  s.world.Die("kv-0");
  s.Say(
      "kv-0 registers again before the failover is written. The write finds that, and changes "
      "nothing: kv-0 keeps its shard.");
  s.world.servers.at("kv-0").incarnation = Incarnation(2);
  s.world.servers.at("kv-0").live = true;
  s.GoOn();
  s.world.Advance(Seconds(1));
  s.Keep("failover-refused");
}

TEST(TranscriptTest, AHandover) {
  Scenario s(Primaries(1));
  s.Settle(2);
  s.Say("kv-0 is to be emptied. Each step is durable before the next one is asked for.");
  s.Drain("kv-0");
  s.world.Advance(Seconds(1));
  s.Keep("handover");
}

TEST(TranscriptTest, APinnedShard) {
  const v1::AppSpec spec = Primaries(2);
  Scenario s(spec);
  s.Settle(1);
  s.Say("kv-0 has both shards, and s-0 is pinned to it.");
  s.world.ordered.pins.emplace_back().set_shard("s-0");
  s.world.Apply(spec);
  s.Say("kv-0 is to be emptied. When kv-1 joins, s-1 goes there, and s-0 stays.");
  s.Drain("kv-0");
  s.world.Join("kv-1");
  s.world.Advance(Seconds(1));
  s.Say("s-0 is unpinned: now it goes, too.");
  s.world.ordered.pins.clear();
  s.Drain("kv-0");
  s.world.Advance(Seconds(1));
  s.Keep("pinned");
}

v1::Maintenance NoticeOf(const std::string& server, int64_t begins_in_ms, int64_t length_ms) {
  v1::Maintenance notice;
  notice.set_id("switches");
  notice.mutable_scope()->set_server(server);
  notice.set_impact(v1::NETWORK_LOSS);
  notice.set_start_ms(begins_in_ms);
  notice.set_end_ms(begins_in_ms + length_ms);
  return notice;
}

TEST(TranscriptTest, AMaintenance) {
  v1::AppSpec spec = Both(1, 2);
  spec.mutable_drain()->set_prepare_ms(5'000);
  Scenario s(spec);
  s.Settle(3);
  s.Say(
      "Notice: from 10 s on, nobody reaches kv-0 for 10 s. What has to leave it, the role of "
      "primary, leaves 5 s before.");
  s.world.ordered.maintenances = {OnClock(NoticeOf("kv-0", 10'000, 10'000), s.world.now, 0)};
  s.world.Apply(spec);
  s.world.Advance(Seconds(11));
  s.Say("The session of kv-0 ends. It is away as planned: its replica is not given to kv-2.");
  s.world.Die("kv-0");
  s.world.Advance(Seconds(7));
  s.Say("It is back.");
  s.world.Join("kv-0");
  s.world.Advance(Seconds(3));
  s.Keep("maintenance");
}

TEST(TranscriptTest, AHandoverToAServerThatCannot) {
  Scenario s(Primaries(1));
  s.Settle(2);
  s.Say("kv-0 is to be emptied, but kv-1 cannot load the shard: kv-0 goes on serving.");
  s.world.servers.at("kv-1").sick = true;
  s.world.servers.at("kv-1").refuses = {"s-0"};
  s.Drain("kv-0");
  s.world.Advance(Seconds(3));
  s.Keep("handover-new-owner-fails");
}

TEST(TranscriptTest, AHandoverThatIsCalledOff) {
  Scenario s(Primaries(1));
  s.Settle(2);
  s.Say(
      "kv-0 is to be emptied, but a request there outlives drain_timeout. kv-0 answers that the "
      "shard stays, and serves on under the grant that it has.");
  s.world.servers.at("kv-0").cannot_let_go = true;
  s.Drain("kv-0");
  s.world.Advance(Seconds(3));
  s.Keep("handover-called-off");
}

TEST(TranscriptTest, ALeaderChangesDuringAHandover) {
  Scenario s(Primaries(1));
  s.Settle(2);
  s.HoldWrites();
  s.Drain("kv-0");
  s.world.FinishWrite(WriteOutcome::kOk);  // prepared
  s.world.FinishWrite(WriteOutcome::kOk);  // forwards
  s.Say("The leader ends here. Its successor reads what is stored, and goes on from that alone.");
  s.world.hold_writes = false;
  s.world.Restart();
  s.world.Advance(Seconds(1));
  s.Keep("handover-leader-changes");
}

TEST(TranscriptTest, AMoveThatStopsFirst) {
  v1::AppSpec spec = Primaries(1);
  spec.mutable_moves()->set_primary_move(v1::DROP_THEN_ADD);
  Scenario s(spec);
  s.Settle(2);
  s.Say("moves.primary_move: drop-then-add. The old owner stops before the new one is granted.");
  v1::Drain drain;
  drain.mutable_scope()->set_server("kv-0");
  s.world.ordered.drains = {drain};
  s.world.Apply(spec);
  s.world.Advance(Seconds(1));
  s.Keep("drop-then-add");
}

TEST(TranscriptTest, AShardWithPrimaryAndSecondaryIsPlaced) {
  Scenario s(Both(1, 2));
  s.Say(
      "The first server gets the primary, the second one the secondary, which the primary then "
      "brings into step: only afterwards is it written down as a member.");
  s.world.Join("kv-0");
  s.world.Gather();
  s.world.Join("kv-1");
  s.world.Advance(Seconds(1));
  s.Keep("members-first-placement");
}

TEST(TranscriptTest, APrimaryIsLost) {
  Scenario s(Both(1, 2));
  s.Settle(3);
  s.Say(
      "The server with the primary is lost. The secondary in step is promoted in the write that "
      "makes the lost one a secondary; then a new secondary is made.");
  s.world.Die("kv-0");
  s.world.Advance(Seconds(1));
  s.Keep("promotion");
}

TEST(TranscriptTest, ThePrimaryChangesAsPlanned) {
  Scenario s(Both(1, 2));
  s.Settle(2);
  s.Say(
      "kv-0 is to have no primaries (shardctl drain --primaries-only). It lets its requests end "
      "and holds new ones; then it forwards these to the new primary.");
  s.Drain("kv-0", /*primaries_only=*/true);
  s.world.Advance(Seconds(1));
  s.Keep("change-of-primary");
}

TEST(TranscriptTest, AMemberIsLost) {
  Scenario s(Both(1, 2));
  s.Settle(3);
  s.Say(
      "The server with the secondary is lost. That it is no member is written before the primary "
      "is told: from then on the primary acknowledges without it.");
  s.world.Die("kv-1");
  s.world.Advance(Seconds(1));
  s.Keep("member-lost");
}

TEST(TranscriptTest, AMemberCannotComeIntoStep) {
  Scenario s(Both(1, 2));
  s.Settle(1);
  s.Say("The primary cannot bring the secondary on kv-1 into step, and goes on without it.");
  s.world.servers["kv-0"].cannot_bring = {"kv-1"};
  s.world.Join("kv-1");
  s.world.Advance(Seconds(1));
  s.Keep("member-cannot-come");
}

TEST(TranscriptTest, AShardThatNobodyCanAdd) {
  Scenario s(Primaries(1));
  for (const char* name : {"kv-0", "kv-1", "kv-2"}) s.world.servers[name].refuses = {"s-0"};
  s.Say(
      "No server can add s-0: after three tries at each of three servers it stays with the last.");
  for (const char* name : {"kv-0", "kv-1", "kv-2"}) s.world.Join(name);
  s.world.Advance(Seconds(4));
  s.Keep("poison-shard");
}

TEST(TranscriptTest, AServerThatCanAddNothing) {
  Scenario s(Primaries(6));
  s.Settle(2);
  s.Say(
      "kv-2 joins and can add nothing. Shards that fail there return to where they came from, and "
      "kv-2 gets nothing new.");
  s.world.servers["kv-2"].sick = true;
  s.world.Join("kv-2");
  s.world.Advance(Seconds(3));
  s.Keep("sick-server");
}

TEST(TranscriptTest, AWriteFails) {
  Scenario s(Primaries(1));
  s.HoldWrites();
  s.Say("The coordination store does not take the write. Nothing is commanded; it is tried again.");
  s.world.Join("kv-0");
  s.world.Gather();
  s.world.FinishWrite(WriteOutcome::kFailed);
  s.world.hold_writes = false;
  s.world.Advance(Seconds(1));
  s.Keep("write-fails");
}

TEST(TranscriptTest, ALeaderIsDeposed) {
  Scenario s(Primaries(1));
  s.HoldWrites();
  s.Say("The store answers that another leader has been elected: this one stops at once.");
  s.world.Join("kv-0");
  s.world.Gather();
  s.world.FinishWrite(WriteOutcome::kDeposed);
  s.Keep("deposed");
}

TEST(TranscriptTest, ANewLeaderAtRest) {
  Scenario s(Primaries(2));
  s.Settle(2);
  s.Say("A new leader asks live servers what they hold before it publishes; it commands nothing.");
  s.world.Restart();
  s.world.Advance(Seconds(1));
  s.Keep("new-leader");
}

TEST(TranscriptTest, ARecordCannotBeRead) {
  Scenario s(Primaries(2));
  s.Settle(2);
  s.Say(
      "A new leader cannot read the assignment of kv-0. kv-0 serves on; when it is lost, its shard "
      "is given to nobody until the record is mended or released.");
  s.world.servers.at("kv-0").record_damaged = true;
  s.world.Restart();
  s.world.Advance(Seconds(1));
  s.Say("kv-0 is lost.");
  s.world.Die("kv-0");
  s.world.Advance(Seconds(1));
  s.Keep("unreadable-record");
}

TEST(TranscriptTest, AServerDoesNotAnswer) {
  Scenario s(Primaries(1));
  s.Say(
      "Commands to kv-0 go unanswered. It is asked again at growing intervals: its session lives, "
      "so the shard is its own.");
  s.world.servers["kv-0"].answers = false;
  s.world.Join("kv-0");
  s.world.Advance(Seconds(1));
  s.Say("kv-0 answers again.");
  s.world.servers["kv-0"].answers = true;
  s.world.Advance(Seconds(3));
  s.Keep("server-unreachable");
}

TEST(TranscriptTest, AnAppIsDeleted) {
  Scenario s(Primaries(1));
  s.Settle(1);
  s.Say("Every replica is dropped, each confirmed by its server, before the records may go.");
  s.world.Apply(Primaries(1), /*deleting=*/true);
  s.world.Advance(Seconds(1));
  s.Keep("deletion");
}

}  // namespace
}  // namespace shardmanager::orchestrator
