// Three servers with disks, a control plane that hands one shard from one to the other, clients
// that write, and faults, under one seed: everything that moves is the core of state
// transfer. What is served must be exactly what was acknowledged.
#pragma once

#include <array>
#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>

#include "base/random.h"
#include "transfer/receiver.h"

namespace shardmanager::transfer {

class TransferWorld {
 public:
  explicit TransferWorld(uint64_t seed);

  // "" or what must not be.
  std::string Run(int steps);
  uint64_t moves() const { return moves_; }
  uint64_t crashes() const { return crashes_; }
  uint64_t writes() const { return writes_; }

 private:
  static constexpr int kServers = 3;
  using Rows = std::map<std::string, std::string>;
  using Batch = std::map<std::string, std::optional<std::string>>;  // without value: is to go

  // Survives a crash.
  struct Disk {
    Rows rows;
    std::map<uint64_t, std::string> feed;  // sequence -> key
    uint64_t last = 0;
    std::string record;
    Custody custody() const { return *Unseal(record); }
    uint64_t first() const { return feed.empty() ? last + 1 : feed.begin()->first; }
    Total total() const;
  };
  struct Server {
    Disk disk;
    // ---- lost in a crash ----
    bool up = true;
    bool open = false;    // admits requests
    bool keeps = false;   // owns it, and will open it: as LocalCopy, it answers no claim
    bool cut = false;     // from the control plane: admits nothing new, but knows nothing
    bool closed = false;  // DropShard of a handover: the claim is awaited
    std::unique_ptr<Receiver> receiver;
    std::optional<Receiver::Action> asked;  // by the receiver
    Batch batch;
    TimePoint wake = kNever;
    bool ready = false, finished = false, failed = false, adding = false;
  };
  enum class Phase : uint8_t { kGranted, kPreparing, kForwarding };

  void Step();
  void Settle();
  bool Chance(int percent) { return random_.Below(100) < static_cast<uint64_t>(percent); }
  int AnyServer() { return static_cast<int>(random_.Below(kServers)); }
  void Write();
  void Crash(int i);
  void Cut(int i);
  void Prune(int i);

  // ---- the control plane ----
  void Control();
  void GrantAnew();
  void Prepare(int to);
  void Add(int to, ShardEpoch epoch);
  void Drop(int from);
  void Open(int i);

  // ---- receivers ----
  void Begin(int i, const ServerAt& from, ShardEpoch epoch);
  void Carry(int i, Output<Receiver::Action> output);
  void Perform(int i);
  Receiver::Event Store(int i, Custody custody, bool clear);
  Receiver::Event AnswerOf(int i, const Receiver::Action& action);
  Receiver::Event Answer(int i, const Reset& reset);
  Receiver::Event Answer(int i, const StoreRows& store);
  Receiver::Event Answer(int i, const StoreChanges& store);
  Receiver::Event Answer(int i, const Own& own);
  Receiver::Event Answer(int i, const Count&);
  Receiver::Event Answer(int i, const transfer::Open&);
  Receiver::Event Answer(int i, const ReadRows& read);
  Receiver::Event Answer(int i, const ReadChanges& read);
  Receiver::Event Answer(int i, const SendClaim& send);
  Receiver::Event Answer(int i, const SendConfirm&);
  absl::Status CheckReads(int i, const Server& from) const;
  using Ask = std::function<Receiver::Event(Server&)>;
  Receiver::Event AskOver(int i, const Ask& ask, bool changes = false);
  ServerAt At(int i) const { return {"s" + std::to_string(i), "at-" + std::to_string(i)}; }
  ShardEpoch EpochOf(int i) const { return asked_epoch_[static_cast<size_t>(i)]; }

  Random random_;
  TimePoint now_{};
  std::array<Server, kServers> servers_;
  std::array<ShardEpoch, kServers> asked_epoch_;
  std::deque<std::function<void()>> late_;  // repeats that are still on their way
  Rows expected_;                           // acknowledged
  std::string violation_;
  bool faults_ = true;

  uint64_t epoch_ = 0;
  Phase phase_ = Phase::kGranted;
  int owner_ = 0;
  ShardEpoch owner_epoch_;
  int next_ = -1;
  ShardEpoch next_epoch_;
  int failures_ = 0;
  uint64_t moves_ = 0, crashes_ = 0, writes_ = 0;
};

}  // namespace shardmanager::transfer
