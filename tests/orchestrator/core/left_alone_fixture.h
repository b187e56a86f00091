// An app that is to be left alone, whole or in part: for the tests of pauses and pins.
#pragma once

#include <gtest/gtest.h>

#include <string>
#include <utility>

#include "tests/orchestrator/roles/roles_fixture.h"
#include "tests/orchestrator/world.h"

namespace shardmanager::orchestrator {

inline v1::AppSpec OneMoveAtATime() {
  v1::AppSpec spec = TestSpec(12);
  spec.mutable_moves()->mutable_drain()->set_max_concurrent(1);
  return spec;
}

// Three servers with four shards each.
class LeftAloneTest : public ::testing::Test {
 protected:
  explicit LeftAloneTest(v1::AppSpec with) : spec(std::move(with)), world(spec) {
    world.Start();
    for (const char* name : {"kv-0", "kv-1", "kv-2"}) world.Join(name);
    world.Advance(Seconds(30));
    world.notes.clear();
    world.commands.clear();
  }
  void Drain(const std::string& server) {
    world.ordered.drains = {DrainOf(server)};
    world.Apply(spec);
  }
  // Moves of a drain are under way, and stay so until FinishMoves().
  void BeginMoves(const std::string& server) {
    world.hold_adds = true;
    Drain(server);
    world.Advance(Seconds(1));
    ASSERT_FALSE(world.adds.empty());
  }
  void FinishMoves() {
    world.hold_adds = false;
    world.FinishAdds();
    world.Advance(Seconds(60));
  }

  const v1::AppSpec spec;
  World world;
};

}  // namespace shardmanager::orchestrator
