// MemoryEnsemble behind the harness: everything runs inside Await().
#pragma once

#include <map>

#include "coordination/memory/memory_ensemble.h"
#include "tests/coordination/store_harness.h"

namespace shardmanager {

class MemoryHarness final : public StoreHarness {
 public:
  std::unique_ptr<CoordinationStore> NewSession(SessionOptions options) override {
    auto session = ensemble_.NewSession(std::move(options));
    numbers_[session.get()] = ensemble_.last_session();
    return session;
  }

  bool Await(const std::function<bool()>& done) override {
    while (!done()) {
      if (ensemble_.RunOne()) continue;
      const TimePoint next = ensemble_.next_deadline();
      if (next == kNever) return false;
      ensemble_.AdvanceTo(next);
    }
    return true;
  }
  void Notify() override {}

  void Disconnect(CoordinationStore& s) override { ensemble_.Disconnect(numbers_.at(&s)); }
  void Reconnect(CoordinationStore& s) override { ensemble_.Reconnect(numbers_.at(&s)); }
  void Expire(CoordinationStore& s) override { ensemble_.Expire(numbers_.at(&s)); }
  void SwallowAnswers(CoordinationStore& s) override {
    ensemble_.HoldAnswers(numbers_.at(&s), true);
  }
  void StopStore() override { ensemble_.StopStore(); }
  void StartStore() override { ensemble_.StartStore(); }

  MemoryEnsemble& ensemble() { return ensemble_; }

 private:
  MemoryEnsemble ensemble_;
  std::map<CoordinationStore*, SessionNumber> numbers_;
};

}  // namespace shardmanager
