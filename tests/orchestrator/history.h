// A history of one partition, told by bytes: whatever they are, they say what happens next. Then
// peace comes, and every shard must be served and moves must cease. For the fuzzer, and for tests
// that draw the bytes.
#pragma once

#include <string>

#include "tests/fuzz/fuzz_input.h"
#include "tests/orchestrator/world.h"

namespace shardmanager::orchestrator {

class History {
 public:
  // The bytes of a history, drawn by the seed.
  static std::string Draw(uint64_t seed);
  // The first bytes draw the app: one of the three strategies, with and without a quorum.
  explicit History(fuzz::FuzzInput& input);

  // Joins, deaths, good-byes, changed specs, drains, pauses, pins, lost answers, servers that
  // refuse, failed writes, new leaders, damaged records, answers that nobody expected. What must
  // always hold the World looks at.
  void Step();
  // Every fault ends, all servers begin anew (in half of the histories only those that must; and
  // a server may stay sick). Fails the test if that does not suffice.
  void Settle();

  World& world() { return world_; }

 private:
  // What one app draws once.
  struct Kind {
    v1::ReplicationStrategy strategy;
    bool quorum;
    // In the peace at the end. (Servers that begin anew would free what hangs.)
    bool all_begin_anew = true;
    uint32_t stays_sick = 0;  // the number of a server, if it is sick then; or of none
  };

  static Kind NextKind(fuzz::FuzzInput& input);
  uint32_t Replicas(uint32_t wanted) const;
  v1::AppSpec NextSpec();
  WriteOutcome NextOutcome();
  std::string AnyShard();
  std::string AnyServer();
  void PullALever();
  void TakeOver();
  void HappenTo(const std::string& name, World::AppServer& server);
  void Refuse(World::AppServer& server);
  void Drain();
  void Notify();
  void Order();
  void Restart();
  void Stray();
  void StrayResult(ServerIndex server, Incarnation life);
  std::string Hanging();  // what is assigned, and what is waited for

  fuzz::FuzzInput& input_;
  const Kind kind_;
  World world_;
  std::vector<ServerOrder> orders_;  // of container operations, that hold
};

}  // namespace shardmanager::orchestrator
