// Sessions of the parties of cell "c", on both stores.
#pragma once

#include <gtest/gtest.h>

#include <memory>
#include <utility>

#include "coordination/cell.h"
#include "coordination/paths.h"
#include "tests/coordination/access/parties.h"
#include "tests/coordination/store_test.h"

namespace shardmanager {

inline const Paths kPaths{"c"};
inline constexpr uint32_t kBuckets = 1;

template <typename Harness>
class AccessTest : public StoreTest<Harness> {
 protected:
  using Session = typename StoreTest<Harness>::Session;
  using Config = absl::StatusOr<v1::CellConfig>;

  Session As(std::shared_ptr<StoreAccess> access) {
    Session session =
        this->harness.NewSession({.timeout = kLongTimeout,
                                  .on_state = [this](SessionState) { this->harness.Notify(); },
                                  .access = std::move(access)});
    EXPECT_TRUE(this->AwaitState(session, SessionState::kConnected));
    return session;
  }
  Config Load(const Session& session) {
    Answer<Config> answer(this->harness);
    LoadCell(*session, "c", answer.callback());
    return this->Wait(answer);
  }
  // Without apps; or what is there.
  Config Ensure(const Session& session) {
    v1::CellConfig wanted;
    wanted.set_cell("c");
    wanted.set_buckets(kBuckets);
    Answer<Config> answer(this->harness);
    EnsureCell(*session, wanted, answer.callback());
    return this->Wait(answer);
  }
};

}  // namespace shardmanager
