// A call that waits on nobody's thread: carries out what CallMachine decides.
#pragma once

#include <array>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "router/calls/call_state.h"
#include "router/calls/sending.h"

namespace shardmanager::router_internal {

// Thread-safe. Events come from the caller, gRPC, timers, maps and connections, and are dealt with
// one after the other, by the thread that brings the first: no lock is held meanwhile, so what it
// calls (gRPC, the application) may call back.
class AsyncCall final : public std::enable_shared_from_this<AsyncCall> {
 public:
  AsyncCall(const CallTarget& target, const CallOptions& options, StubFactory make_stub,
            std::unique_ptr<AsyncMethod> method, Done done);

  // Once. The callback does not run in here.
  void Begin() { Take(Go{}, Thread::kCallers); }
  // May come at any time, also before Begin() and after the end.
  void Cancel() { Take(Cancelled{}, Thread::kCallers); }

 private:
  using Machine = router::CallMachine;
  using Step = Machine::Step;
  using Next = Machine::Next;

  enum class Thread { kCallers, kOurs };
  struct Go {};
  struct Connected {
    size_t attempt;
    uint64_t ticket;
    bool yes;
  };
  struct Ended {
    size_t attempt;
    grpc::Status status;
  };
  struct Woken {
    uint64_t ticket;
    bool by_map;
  };
  struct HedgeDue {
    uint64_t ticket;
  };
  struct Cancelled {};
  using Event = std::variant<Go, Connected, Ended, Woken, HedgeDue, Cancelled>;

  // The second one is the hedge of the first.
  struct AttemptAt {
    // The answer, if it is the call's, is looked at when both have ended.
    enum class Stage { kFree, kConnecting, kSent, kAnswered } stage = Stage::kFree;
    bool under_way() const { return stage == Stage::kConnecting || stage == Stage::kSent; }
    uint64_t ticket = 0;
    TimePoint deadline;
    Route route;
    // In this order: nothing of a connection may be used when it goes.
    std::shared_ptr<wire::ServerChannel> channel;
    std::optional<Sending> sending;
  };

  void Take(Event event, Thread thread);
  void On(Go&);
  void On(Connected& connected);
  void On(Ended& ended);
  void On(Woken& woken);
  void On(HedgeDue& due);
  void On(Cancelled&);

  void Advance(Step step);
  std::optional<Step> LookAndStart();
  std::optional<Step> Start(size_t index, const Route& route);
  std::optional<Step> Send(size_t index);
  std::optional<Step> Wait(TimePoint until);
  void WakeAt(TimePoint until);
  static void Free(AttemptAt& attempt);
  void OnAnswer();
  void FinishIfAllEnded();
  void Finish(grpc::Status status);
  void Deliver();

  // Wraps what calls `event` later, from a thread of ours.
  template <typename Make>
  auto Later(Make make);

  const std::string key_or_shard_;
  const CallTarget target_;
  CallOptions options_;
  const StubFactory make_stub_;
  std::unique_ptr<AsyncMethod> method_;
  Done done_;

  std::mutex mutex_;
  std::vector<Event> events_;
  bool busy_ = false;

  // Used by the thread that deals with events.
  Thread thread_ = Thread::kOurs;
  CallState state_;
  std::array<AttemptAt, 2> attempts_;
  size_t answer_ = 0;      // the attempt of the last answer
  bool answered_ = false;  // and it is the call's
  uint64_t tickets_ = 0;
  uint64_t wait_ = 0;  // the ticket of the wait; 0: it does not wait
  TimePoint wait_until_;
  grpc::Status status_;  // of the last answer, then of the call
};

}  // namespace shardmanager::router_internal
