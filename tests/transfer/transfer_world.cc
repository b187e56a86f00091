#include "tests/transfer/transfer_world.h"

#include "absl/strings/str_cat.h"

namespace shardmanager::transfer {
namespace {

constexpr int kKeys = 24;
constexpr size_t kRowsInABatch = 5;
constexpr int64_t kGraceMs = 3'000;

int64_t Ms(TimePoint now) { return now.time_since_epoch().count() / 1'000; }

}  // namespace

Total TransferWorld::Disk::total() const {
  Total total;
  for (const auto& [key, value] : rows) {
    ++total.count;
    total.sum += RowHash(key, value);
  }
  return total;
}

TransferWorld::TransferWorld(uint64_t seed) : random_(seed) {
  owner_epoch_ = ShardEpoch(++epoch_);
  Custody owned = DecideAdd({}, owner_epoch_, /*make_new=*/true, 0)->next;
  servers_[0].disk.record = Seal(owned);
  Open(0);
}

std::string TransferWorld::Run(int steps) {
  for (int i = 0; i < steps && violation_.empty(); ++i) Step();
  if (violation_.empty()) Settle();
  return violation_;
}

void TransferWorld::Step() {
  now_ += Milliseconds(static_cast<int64_t>(random_.Below(15)));
  for (int i = 0; i < kServers; ++i) {
    Server& server = servers_[static_cast<size_t>(i)];
    if (server.up && server.receiver && !server.asked && server.wake <= now_) {
      Carry(i, server.receiver->OnAdvance(now_));
    }
  }
  const uint64_t dice = random_.Below(100);
  if (dice < 30) return Write();
  if (dice < 80) return Perform(AnyServer());
  if (dice < 94) return Control();
  if (dice < 96) return Prune(AnyServer());
  if (dice < 98) {
    if (late_.empty()) return;
    const auto late = late_.front();
    late_.pop_front();
    return late();
  }
  if (!faults_) return;
  const int i = AnyServer();
  const bool down = !servers_[static_cast<size_t>(i)].up;
  if (down ? Chance(70) : Chance(20)) Crash(i);
  if (Chance(10)) Cut(i);
}

// Without faults the shard is served again.
void TransferWorld::Settle() {
  faults_ = false;
  for (int i = 0; i < kServers; ++i) {
    Server& server = servers_[static_cast<size_t>(i)];
    server.up = true;
    if (server.cut) Cut(i);
  }
  for (int i = 0; i < 30'000 && violation_.empty(); ++i) {
    const Server& owner = servers_[static_cast<size_t>(owner_)];
    if (phase_ == Phase::kGranted && owner.open && !owner.cut) return;
    Step();
  }
  if (!violation_.empty()) return;
  violation_ = "nobody serves the shard in the end:";
  for (const Server& server : servers_) {
    const Custody c = server.disk.custody();
    absl::StrAppend(&violation_, " ", std::string(ToString(c.state)), " epoch ", c.epoch.value(),
                    " floor ", c.floor.value(), " other ", c.other.server, " ",
                    c.other_epoch.value(), ";");
  }
}

void TransferWorld::Write() {
  for (Server& server : servers_) {
    if (!server.up || !server.open) continue;
    if (server.cut && Chance(80)) continue;  // one that was admitted before, and slept
    const std::string key = absl::StrCat("k", random_.Below(kKeys));
    if (Chance(25)) {
      server.disk.rows.erase(key);
      expected_.erase(key);
    } else {
      server.disk.rows[key] = expected_[key] = absl::StrCat("v", ++writes_);
    }
    server.disk.feed[++server.disk.last] = key;
    if (Chance(2)) server.disk.feed.erase(server.disk.feed.begin());  // it is not kept for ever
  }
}

void TransferWorld::Crash(int i) {
  Server& server = servers_[static_cast<size_t>(i)];
  ++crashes_;
  Disk disk = std::move(server.disk);
  const bool was_up = server.up;
  server = Server();
  server.disk = std::move(disk);
  server.up = !was_up;
}

// Or: it hears of the control plane again, and lets go what is not its own.
void TransferWorld::Cut(int i) {
  Server& server = servers_[static_cast<size_t>(i)];
  server.cut = !server.cut;
  const bool involved = i == owner_ || (phase_ != Phase::kGranted && i == next_);
  if (!server.cut && !involved) Drop(i);
}

void TransferWorld::Prune(int i) {
  Disk& disk = servers_[static_cast<size_t>(i)].disk;
  const Custody custody = disk.custody();
  const auto at = PruneAt(custody, kGraceMs);
  if (!at || *at > Ms(now_) || servers_[static_cast<size_t>(i)].receiver) return;
  disk.rows.clear();
  disk.feed.clear();
  disk.record = Seal(Pruned(custody));
}

// ---- the control plane ----

void TransferWorld::Control() {
  Server& owner = servers_[static_cast<size_t>(owner_)];
  if (phase_ == Phase::kGranted) {
    if (!owner.up || owner.cut) return Chance(30) ? GrantAnew() : void();
    if (!owner.open) return Add(owner_, owner_epoch_);
    if (Chance(60)) Prepare(AnyServer());
    return;
  }
  Server& next = servers_[static_cast<size_t>(next_)];
  const bool forwards = phase_ == Phase::kForwarding;
  if (!next.up || next.cut) {  // before the old owner was told to let go nothing has happened
    phase_ = Phase::kGranted;
    if (forwards) {
      Drop(owner_);
      GrantAnew();
    }
    return;
  }
  const bool go_on = !owner.up || owner.cut || (forwards && Chance(40));
  if (go_on) {  // the new owner has the shard
    owner.closed = false;
    owner_ = next_;
    owner_epoch_ = next_epoch_;
    phase_ = Phase::kGranted;
    return Add(owner_, owner_epoch_);
  }
  if (forwards) return;
  if (next.ready && next.receiver) {
    phase_ = Phase::kForwarding;
    ++moves_;
    owner.open = owner.keeps = false;
    owner.closed = true;
  } else if (next.failed || !next.receiver) {
    if (++failures_ < 3) return Prepare(next_);
    next.receiver.reset();
    next.asked.reset();
    phase_ = Phase::kGranted;
  }
}

void TransferWorld::GrantAnew() {
  if (!servers_[static_cast<size_t>(owner_)].cut) Drop(owner_);
  owner_ = AnyServer();
  owner_epoch_ = ShardEpoch(++epoch_);
  phase_ = Phase::kGranted;
}

void TransferWorld::Prepare(int to) {
  const Server& there = servers_[static_cast<size_t>(to)];
  if (to == owner_ || !there.up || there.cut || there.open) return;
  if (phase_ == Phase::kGranted) failures_ = 0;
  phase_ = Phase::kPreparing;
  next_ = to;
  next_epoch_ = ShardEpoch(++epoch_);
  Server& server = servers_[static_cast<size_t>(to)];
  server.failed = true;
  if (CheckPrepare(server.disk.custody(), next_epoch_).ok()) Begin(to, At(owner_), next_epoch_);
}

void TransferWorld::Add(int to, ShardEpoch epoch) {
  Server& server = servers_[static_cast<size_t>(to)];
  if (!server.up || server.cut) return;
  if (server.finished && EpochOf(to) == epoch) return Open(to);
  if (server.receiver && !server.failed && EpochOf(to) == epoch) {
    if (server.adding) return;
    server.adding = true;
    return Carry(to, server.receiver->OnEvent(now_, Take{}));
  }
  if (server.failed && Chance(20)) return GrantAnew();  // tired of it
  const auto decision = DecideAdd(server.disk.custody(), epoch, false, Ms(now_));
  if (!decision.ok()) {
    server.failed = true;
    return;
  }
  if (decision->step == AddStep::kServe) {
    server.disk.record = Seal(decision->next);
    return Open(to);
  }
  Begin(to, decision->from, epoch);
  server.adding = true;
  if (server.receiver) Carry(to, server.receiver->OnEvent(now_, Take{}));
}

void TransferWorld::Drop(int from) {
  Server& server = servers_[static_cast<size_t>(from)];
  server.open = server.keeps = server.closed = server.finished = server.failed = server.adding =
      false;
  server.receiver.reset();
  server.asked.reset();
}

void TransferWorld::Open(int i) {
  Server& server = servers_[static_cast<size_t>(i)];
  server.receiver.reset();
  server.asked.reset();
  server.finished = server.failed = server.ready = server.adding = server.closed = false;
  for (const Server& other : servers_) {
    if (other.up && other.open && !other.cut && &other != &server)
      violation_ = "two servers serve the shard";
  }
  server.open = server.keeps = true;
  if (server.disk.rows == expected_) return;
  violation_ = absl::StrCat("s", i, " serves ", server.disk.rows.size(), " rows, acknowledged are ",
                            expected_.size());
  for (const auto& [key, value] : expected_) {
    const auto found = server.disk.rows.find(key);
    if (found == server.disk.rows.end()) absl::StrAppend(&violation_, "; lost ", key);
    if (found != server.disk.rows.end() && found->second != value) {
      absl::StrAppend(&violation_, "; phantom ", key, " = ", found->second, ", not ", value);
    }
  }
}

// ---- receivers ----

void TransferWorld::Begin(int i, const ServerAt& from, ShardEpoch epoch) {
  Server& server = servers_[static_cast<size_t>(i)];
  server.ready = server.finished = server.failed = server.adding = false;
  server.asked.reset();
  asked_epoch_[static_cast<size_t>(i)] = epoch;
  server.receiver = std::make_unique<Receiver>(
      ReceiverOptions{.self = At(i), .patience = Milliseconds(400), .short_tail = 3},
      server.disk.custody(), epoch, from);
  Carry(i, server.receiver->Start(now_));
}

void TransferWorld::Carry(int i, Output<Receiver::Action> output) {
  Server& server = servers_[static_cast<size_t>(i)];
  server.wake = output.next_wake;
  for (Receiver::Action& action : output.actions) {
    if (std::holds_alternative<Ready>(action)) {
      server.ready = true;
    } else if (std::holds_alternative<Finished>(action)) {
      server.finished = true;
    } else if (std::holds_alternative<GiveUp>(action)) {
      server.failed = true;
      server.ready = false;
    } else if (!std::holds_alternative<Note>(action)) {
      server.asked = std::move(action);
    }
  }
}

void TransferWorld::Perform(int i) {
  Server& server = servers_[static_cast<size_t>(i)];
  if (!server.up || !server.receiver || !server.asked) return;
  const Receiver::Action action = *std::exchange(server.asked, std::nullopt);
  Carry(i, server.receiver->OnEvent(now_, AnswerOf(i, action)));
}

Receiver::Event TransferWorld::Store(int i, Custody custody, bool clear) {
  Server& server = servers_[static_cast<size_t>(i)];
  Disk& disk = server.disk;
  if (absl::Status s = CheckStore(disk.custody(), custody.epoch); !s.ok()) return Failed{s};
  custody.at_ms = Ms(now_);
  if (clear) disk.rows.clear();
  for (auto& [key, value] : std::exchange(server.batch, {})) {
    if (value) disk.rows[key] = *value;
    if (!value) disk.rows.erase(key);
  }
  disk.feed.clear();
  disk.last = custody.place.sequence;
  disk.record = Seal(custody);
  server.keeps |= custody.state == CopyState::kOwned;
  return Stored{disk.total()};
}

// A request may be lost, or its answer; what changes something may come once more, much later.
Receiver::Event TransferWorld::AskOver(int i, const Ask& ask, bool changes) {
  const ServerAt source = servers_[static_cast<size_t>(i)].receiver->source();
  Server& asked = servers_[static_cast<size_t>(source.server[1] - '0')];
  const Failed no_answer{absl::UnavailableError("no answer")};
  if (!asked.up || (faults_ && Chance(8))) return no_answer;
  Receiver::Event answer = ask(asked);
  if (changes && faults_ && Chance(20)) {
    late_.push_back([&asked, ask] {
      if (asked.up) ask(asked);
    });
  }
  if (faults_ && Chance(8)) return no_answer;
  return answer;
}

Receiver::Event TransferWorld::AnswerOf(int i, const Receiver::Action& action) {
  return std::visit(
      [&](const auto& asked) -> Receiver::Event {
        if constexpr (requires { Answer(i, asked); }) return Answer(i, asked);
        return Failed{absl::InternalError("what is only told has no answer")};
      },
      action);
}

// ---- its own disk ----

Receiver::Event TransferWorld::Answer(int i, const Reset& reset) {
  servers_[static_cast<size_t>(i)].batch.clear();
  return Store(i, reset.custody, true);
}

Receiver::Event TransferWorld::Answer(int i, const StoreRows& store) {
  return Store(i, store.custody, false);
}

Receiver::Event TransferWorld::Answer(int i, const StoreChanges& store) {
  return Store(i, store.custody, false);
}

Receiver::Event TransferWorld::Answer(int i, const Own& own) {
  Server& here = servers_[static_cast<size_t>(i)];
  if (own.custody.place.sequence != here.disk.last) here.batch.clear();
  return Store(i, own.custody, false);
}

Receiver::Event TransferWorld::Answer(int i, const Count&) {
  return Counted{servers_[static_cast<size_t>(i)].disk.total()};
}

// ---- the disk of another ----

Receiver::Event TransferWorld::Answer(int i, const transfer::Open&) {
  return AskOver(i, [](Server& from) -> Receiver::Event {
    const Custody c = from.disk.custody();
    return Opened{c.state, c.lineage, from.disk.first(), from.disk.last, c.other};
  });
}

Receiver::Event TransferWorld::Answer(int i, const ReadRows& read) {
  return AskOver(i, [&](Server& from) -> Receiver::Event {
    if (absl::Status s = CheckReads(i, from); !s.ok()) return Failed{s};
    Batch& batch = servers_[static_cast<size_t>(i)].batch;
    batch.clear();
    const Rows& rows = from.disk.rows;
    auto it = read.place.started ? rows.upper_bound(read.place.after) : rows.begin();
    std::string last;
    for (; it != rows.end() && batch.size() < kRowsInABatch; ++it) {
      batch[last = it->first] = it->second;
    }
    return RowsCame{100, last, it == rows.end()};
  });
}

Receiver::Event TransferWorld::Answer(int i, const ReadChanges& read) {
  return AskOver(i, [&](Server& from) -> Receiver::Event {
    if (absl::Status s = CheckReads(i, from); !s.ok()) return Failed{s};
    if (from.disk.first() > read.after + 1) return Failed{absl::OutOfRangeError("feed is cut")};
    Batch& batch = servers_[static_cast<size_t>(i)].batch;
    batch.clear();
    auto it = from.disk.feed.upper_bound(read.after);
    uint64_t last = read.after;
    for (size_t n = 0; it != from.disk.feed.end() && n < kRowsInABatch; ++it, ++n) {
      const auto row = from.disk.rows.find(it->second);
      const bool gone = row == from.disk.rows.end();
      batch[it->second] = gone ? std::nullopt : std::optional(row->second);
      last = it->first;
    }
    const bool end = it == from.disk.feed.end();
    return ChangesCame{last - read.after, 100, last, end, from.disk.total(), from.closed};
  });
}

// Those that change something may come again when the action is long gone: they copy what they
// need of it.
Receiver::Event TransferWorld::Answer(int i, const SendClaim& send) {
  const Claim claim{At(i), EpochOf(i), send.given_up};
  const auto ask = [this, claim](Server& from) -> Receiver::Event {
    const ClaimAnswer answer =
        AnswerClaim(from.disk.custody(), from.open || from.keeps, from.disk.last, claim, Ms(now_));
    if (answer.next) from.disk.record = Seal(*answer.next);
    return Claimed{answer.verdict, from.disk.last, from.disk.total(), answer.other,
                   answer.other_epoch};
  };
  return AskOver(i, ask, /*changes=*/true);
}

Receiver::Event TransferWorld::Answer(int i, const SendConfirm&) {
  const auto ask = [self = At(i), epoch = EpochOf(i)](Server& from) -> Receiver::Event {
    const auto next = Confirm(from.disk.custody(), self.server, epoch);
    if (next) from.disk.record = Seal(*next);
    return Confirmed{};
  };
  return AskOver(i, ask, /*changes=*/true);
}

absl::Status TransferWorld::CheckReads(int i, const Server& from) const {
  return CheckReader(from.disk.custody(), At(i), EpochOf(i));
}

}  // namespace shardmanager::transfer
