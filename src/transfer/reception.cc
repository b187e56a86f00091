#include "transfer/reception.h"

#include <utility>

#include "runtime/clock.h"
#include "runtime/logging.h"
#include "transfer/transfer_messages.h"

namespace shardmanager::transfer {
namespace {

Total ToCore(const RowTotal& total) { return {total.count, total.sum}; }

}  // namespace

Reception::Reception(ReceptionOptions options, std::shared_ptr<LocalCopy> copy,
                     wire::ChannelPool& channels)
    : options_(std::move(options)),
      copy_(std::move(copy)),
      client_(channels, options_.receiver.self, options_.shard, options_.epoch),
      receiver_(options_.receiver, copy_->custody(), options_.epoch, options_.source),
      thread_([this] { Run(); }) {}

Reception::~Reception() {
  Stop();
  thread_.join();
}

void Reception::Stop() {
  {
    std::lock_guard lock(mutex_);
    stopped_ = true;
  }
  changed_.notify_all();
  client_.Stop();
}

bool Reception::failed() const {
  std::lock_guard lock(mutex_);
  return ended_ && !owned_;
}

absl::Status Reception::Await(const bool& reached) {
  std::unique_lock lock(mutex_);
  changed_.wait(lock, [&] { return reached || ended_; });
  return reached ? absl::OkStatus() : failure_;
}

absl::Status Reception::AwaitReady() { return Await(ready_); }

absl::Status Reception::AwaitOwned() {
  {
    std::lock_guard lock(mutex_);
    take_ = true;
  }
  changed_.notify_all();
  return Await(owned_);
}

// ---- the thread ----

void Reception::Run() {
  Carry(receiver_.Start(MonotonicNow()));
  while (receiver_.state() != Receiver::State::kEnded) {
    bool take = false;
    {
      std::unique_lock lock(mutex_);
      const auto due = [&] { return stopped_ || take_ || asked_ || MonotonicNow() >= wake_; };
      while (!due()) {
        if (wake_ == kNever) {
          changed_.wait(lock);
        } else {
          changed_.wait_for(lock, wake_ - MonotonicNow());
        }
      }
      if (stopped_) break;
      take = std::exchange(take_, false);
    }
    if (take) {
      Carry(receiver_.OnEvent(MonotonicNow(), Take{}));
    } else if (asked_) {
      const Receiver::Action action = *std::exchange(asked_, std::nullopt);
      Receiver::Event event = Perform(action);
      Carry(receiver_.OnEvent(MonotonicNow(), std::move(event)));
    } else {
      Carry(receiver_.OnAdvance(MonotonicNow()));
    }
  }
  std::lock_guard lock(mutex_);
  ended_ = true;
  if (failure_.ok()) failure_ = absl::CancelledError("stopped");
  changed_.notify_all();
}

void Reception::Carry(Output<Receiver::Action> output) {
  wake_ = output.next_wake;
  for (Receiver::Action& action : output.actions) {
    if (!Tell(action)) asked_ = std::move(action);
  }
}

bool Reception::Tell(const Receiver::Action& action) {
  if (const auto* note = std::get_if<Note>(&action)) {
    LogInfo("shard {}: {}", options_.shard.value(), note->text);
    return true;
  }
  std::lock_guard lock(mutex_);
  if (std::holds_alternative<Ready>(action)) {
    ready_ = true;
  } else if (std::holds_alternative<Finished>(action)) {
    owned_ = ready_ = true;
  } else if (const auto* end = std::get_if<GiveUp>(&action)) {
    failure_ = end->status;
    ready_ = false;
    LogWarning("shard {} was not received from server {}: {}", options_.shard.value(),
               receiver_.source().server, end->status.ToString());
  } else {
    return false;
  }
  changed_.notify_all();
  return true;
}

Receiver::Event Reception::Store(TransferWrite write, const Custody& custody) {
  auto total = copy_->Store(std::move(write), custody);
  if (!total.ok()) return Failed{total.status()};
  return Stored{ToCore(*total)};
}

Receiver::Event Reception::Perform(const Receiver::Action& action) {
  const ServerAt& from = receiver_.source();
  const auto store = [&](const Custody& custody) {
    rows_ += batch_.size();
    bytes_ += BytesOf(batch_);
    TransferWrite write;
    write.rows = std::exchange(batch_, {});
    return Store(std::move(write), custody);
  };
  return std::visit(
      Overloaded{
          [&](const Open&) { return client_.Open(from); },
          [&](const ReadRows& a) {
            return client_.ReadRows(from, a.place, options_.batch_bytes, &batch_);
          },
          [&](const ReadChanges& a) {
            return client_.ReadChanges(from, a.after, options_.batch_bytes, a.gather, &batch_);
          },
          [&](const Reset& a) {
            TransferWrite write;
            write.clear = true;
            return Store(std::move(write), a.custody);
          },
          [&](const StoreRows& a) { return store(a.custody); },
          [&](const StoreChanges& a) { return store(a.custody); },
          [&](const Count&) -> Receiver::Event {
            auto total = copy_->shard().Recount();
            if (!total.ok()) return Failed{total.status()};
            return Counted{ToCore(*total)};
          },
          [&](const SendClaim& a) { return client_.Claim(from, a.given_up); },
          [&](const Own& a) { return Store({}, a.custody); },
          [&](const SendConfirm&) { return client_.Confirm(from); },
          [&](const auto&) -> Receiver::Event { return Confirmed{}; },  // Tell() has taken it
      },
      action);
}

}  // namespace shardmanager::transfer
