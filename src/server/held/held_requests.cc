#include "server/held/held_requests.h"

#include <utility>

#include "runtime/clock.h"

namespace shardmanager::server {

// One, from the first question to the answer. A turn that it waits for is ended by whoever takes it
// out of the table's queue: the table itself (Wake), the timer, Finish(), or its client.
class HeldRequests::Request final : public server_internal::Wait,
                                    public std::enable_shared_from_this<Request> {
 public:
  Request(HeldRequests& owner, Ask ask, TimePoint until, Decided decided)
      : owner_(owner), ask_(std::move(ask)), until_(until), decided_(std::move(decided)) {}

  // Asks, and does with the answer what has to be done.
  void Go();
  void GoElsewhere() {
    owner_.threads_.Run([self = shared_from_this()] { self->Go(); });
  }
  // Its turn has not come in time. Does nothing if it has, or is not the newest.
  void GiveUp(Turn& turn);
  void GiveUp();
  void Cancel() override;

 private:
  // True: Go() has to ask again.
  bool Await(Admitted held);
  // Null: there is none.
  std::shared_ptr<Turn> newest_turn();
  void Decide(Admitted admitted, bool cancelled = false);

  HeldRequests& owner_;
  const Ask ask_;
  const TimePoint until_;
  Decided decided_;
  bool counted_ = false;  // as one that waits for the lease
  std::mutex mutex_;
  bool cancelled_ = false;
  std::weak_ptr<Turn> turn_;  // the newest
};

// In the table's queue. It keeps its request alive there.
class HeldRequests::Turn final : public HeldRequest {
 public:
  Turn(std::shared_ptr<Request> request, const char* refusal)
      : request_(std::move(request)), refusal_(refusal) {}
  Request& request() const { return *request_; }
  // If it does not come.
  const char* refusal() const { return refusal_; }

 private:
  void Wake() override { request_->GoElsewhere(); }

  const std::shared_ptr<Request> request_;
  const char* const refusal_;
};

void HeldRequests::Request::Go() {
  for (;;) {
    Admitted admitted = ask_();
    if (admitted.held_at == nullptr) return Decide(std::move(admitted));
    if (!Await(std::move(admitted))) return;
  }
}

bool HeldRequests::Request::Await(Admitted held) {
  const TimePoint until = owner_.held_until_(held, until_);
  const auto turn = std::make_shared<Turn>(shared_from_this(), held.refusal);
  {
    std::lock_guard lock(mutex_);
    turn_ = turn;
  }
  if (MonotonicNow() >= until || !owner_.Remember(shared_from_this())) {
    Decide(std::move(held));
    return false;
  }
  if (held.lapsed_at && !std::exchange(counted_, true)) owner_.gates_.lease_meter().Held();
  const auto queued = owner_.gates_.queue().Enqueue(held, turn);
  if (queued == HeldQueue::Queued::kHasTurn) return true;
  if (queued == HeldQueue::Queued::kTooMany) {
    Decide(std::move(held));
    return false;
  }
  owner_.At(until, [turn = std::weak_ptr<Turn>(turn)] {
    if (const auto waits = turn.lock()) waits->request().GiveUp(*waits);
  });
  std::unique_lock lock(mutex_);
  const bool cancelled = cancelled_;
  lock.unlock();
  // Who came before the turn was in the queue did not find it there.
  if (cancelled) Cancel();
  if (owner_.finishing()) GiveUp();
  return false;
}

std::shared_ptr<HeldRequests::Turn> HeldRequests::Request::newest_turn() {
  std::lock_guard lock(mutex_);
  return turn_.lock();
}

void HeldRequests::Request::Cancel() {
  {
    std::lock_guard lock(mutex_);
    cancelled_ = true;
  }
  const auto turn = newest_turn();
  if (turn == nullptr || !owner_.gates_.queue().Leave(*turn)) return;
  Decide({.refusal = turn->refusal()}, /*cancelled=*/true);
}

void HeldRequests::Request::GiveUp() {
  if (const auto turn = newest_turn()) GiveUp(*turn);
}

void HeldRequests::Request::GiveUp(Turn& turn) {
  if (!owner_.gates_.queue().Leave(turn)) return;
  const auto refuse = [self = shared_from_this(), refusal = turn.refusal()] {
    self->Decide({.refusal = refusal});
  };
  if (!owner_.threads_.Run(refuse)) refuse();
}

void HeldRequests::Request::Decide(Admitted admitted, bool cancelled) {
  admitted.held_at = nullptr;
  owner_.Forget(shared_from_this());
  std::exchange(decided_, nullptr)(std::move(admitted), cancelled);
}

// ---- all of them

HeldRequests::HeldRequests(AdmissionTable& gates, HeldUntil held_until, int threads)
    : gates_(gates), held_until_(std::move(held_until)), threads_(threads) {}

HeldRequests::~HeldRequests() { Finish(); }

std::shared_ptr<server_internal::Wait> HeldRequests::Admit(Ask ask, Duration patience,
                                                           Decided decided) {
  const TimePoint now = MonotonicNow();
  const TimePoint until = patience < kNever - now ? now + patience : kNever;
  auto request = std::make_shared<Request>(*this, std::move(ask), until, std::move(decided));
  request->Go();
  return request;
}

bool HeldRequests::Remember(const std::shared_ptr<Request>& request) {
  std::lock_guard lock(mutex_);
  if (!finishing_) waiting_.insert(request);
  return !finishing_;
}

void HeldRequests::Forget(const std::shared_ptr<Request>& request) {
  std::lock_guard lock(mutex_);
  waiting_.erase(request);
}

bool HeldRequests::finishing() {
  std::lock_guard lock(mutex_);
  return finishing_;
}

void HeldRequests::At(TimePoint when, std::function<void()> task) {
  std::lock_guard lock(mutex_);
  if (finishing_) return;
  if (timer_ == nullptr) timer_ = std::make_unique<SerialExecutor>("sm-held");
  timer_->PostAt(when, std::move(task));
}

void HeldRequests::Finish() {
  std::set<std::shared_ptr<Request>> waiting;
  {
    std::lock_guard lock(mutex_);
    finishing_ = true;
    waiting = waiting_;
  }
  for (const auto& request : waiting) request->GiveUp();
  threads_.Finish();
  if (timer_ != nullptr) timer_->Stop();
}

}  // namespace shardmanager::server
