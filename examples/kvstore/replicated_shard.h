// One shard that is kept on several servers: the primary copies each write to all members
// before it counts, so that any of them can become the primary.
#pragma once

#include <atomic>
#include <chrono>
#include <compare>
#include <cstdint>
#include <deque>
#include <functional>
#include <list>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>

#include "kv.grpc.pb.h"
#include "kv_shard.h"
#include "shard_db.h"
#include "shardmanager/types.h"

namespace kvstore {

// What keeps the copies alike:
//   * A write goes to the members first, then into the primary's own file: what was read
//     from the primary, all members have.
//   * A new primary may have what the last one did not get to all members. It copies all it
//     has to them before it is read, or the next primary would not know what was read here.
//   * A replica that is to become a member gets all rows, and the writes that come meanwhile,
//     before it counts. Clients write on while the rows are copied.
//   * A replica refuses a primary whose epoch is older than one that it has heard of (its
//     file does: ShardDb), and writes that come late, by their position.
//   * A write that some member did not take is answered with an error. Whether it happened
//     is then open, as with any call that fails, until there is another primary or the key is
//     written again.
class ReplicatedShard final : public KvShard {
 public:
  using StubFor = std::function<std::shared_ptr<kv::KvReplica::Stub>(const std::string& endpoint)>;

  ReplicatedShard(std::string id, std::string server, std::unique_ptr<ShardDb> file,
                  StubFor stub_for);

  // ---- what the Shard Manager says ----
  // Not read before the members have what it has: SetMembers() sees to that if they cannot be
  // reached now. `members` nothing: not known; then nothing can be written.
  absl::Status BecomePrimary(ShardEpoch epoch, const std::optional<shardmanager::Members>& members);
  void BecomeSecondary();
  // Copies everything to those who are new. Writes wait only for the last of it, a second at
  // most. (For large shards see shardmanager/transfer.h.)
  absl::Status SetMembers(const shardmanager::Members& members);

  // ---- for clients ----
  absl::Status Put(ShardEpoch epoch, std::string_view key, std::string_view value) override;
  absl::StatusOr<bool> Delete(ShardEpoch epoch, std::string_view key) override;
  absl::StatusOr<std::optional<std::string>> Get(std::string_view key) override;
  absl::StatusOr<Page> Scan(const Range& range) override;
  Load TakeLoad(std::chrono::steady_clock::time_point now) override;

  // ---- what the primary says ----
  absl::Status Apply(const kv::ApplyRequest& write);
  // REQUIRES: `begin` is the first message of a copy. Its number, for the others.
  absl::StatusOr<uint64_t> BeginCopy(const kv::CopyRequest& begin);
  absl::Status AddRows(uint64_t copy, const kv::CopyRequest& rows);

 private:
  // Of a write, as kv.proto has it.
  struct Position {
    uint64_t epoch = 0;
    uint64_t run = 0;
    uint64_t sequence = 0;
    friend auto operator<=>(const Position&, const Position&) = default;
  };
  // A replica that is to become a member.
  struct Joiner {
    shardmanager::Peer replica;
    bool copying = true;                  // it gets the rows; writes are queued
    bool lost = false;                    // it has missed a write
    std::deque<kv::ApplyRequest> writes;  // that it has not been sent
  };
  using Deadline = std::chrono::system_clock::time_point;

  absl::Status Adopt(const shardmanager::Members& members, std::chrono::seconds patience);
  absl::Status BringUpToDate(const shardmanager::Members& members, std::chrono::seconds patience);
  absl::Status Ping(const shardmanager::Peer& replica);
  absl::Status CopyTo(Joiner& joiner, std::chrono::seconds patience);
  absl::StatusOr<kv::CopyRequest> NextRows(Joiner& joiner, std::optional<std::string>& last);
  absl::Status EndCopy(Joiner& joiner);
  absl::Status Send(const shardmanager::Peer& to, const kv::ApplyRequest& write, Deadline deadline);
  // To all members, then to the file. REQUIRES: the mutex is held.
  absl::Status Spread(kv::ApplyRequest write);
  void SpreadTo(Joiner& joiner, const kv::ApplyRequest& write);
  absl::Status Store(const kv::ApplyRequest& write);
  // Makes the rows after `copied_`, up to the last of `rows` (or the end), like `rows`.
  absl::Status ReplaceRange(const kv::CopyRequest& rows);

  const std::string id_;
  const std::string server_;
  const std::unique_ptr<ShardDb> file_;
  const StubFor stub_for_;

  std::mutex mutex_;                              // writes go one after the other
  ShardEpoch epoch_;                              // of the grant under which it is the primary
  uint64_t run_ = 0;                              // as the primary: see kv.proto
  uint64_t sequence_ = 0;                         // of the last write, as the primary
  std::optional<shardmanager::Members> members_;  // who have all that it has
  std::list<Joiner> joiners_;
  std::atomic<bool> unread_ = false;   // as the primary: members may lack what it has
  Position applied_;                   // of the last write, as a secondary
  uint64_t heeds_ = 0;                 // writes of older epochs are refused
  uint64_t copy_ = 0;                  // number of the copy that is under way
  std::optional<std::string> copied_;  // key up to which it has come
};

}  // namespace kvstore
