// One shard's data in an SQLite file of this server alone, made to be moved: beside the rows
// it keeps a change feed, the total of its rows, and the record of state transfer.
#pragma once

#include <chrono>
#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>

#include "kv_shard.h"
#include "shardmanager/transfer.h"
#include "sqlite.h"

namespace kvstore {

class LocalShard final : public KvShard, public shardmanager::TransferableShard {
 public:
  // Opens the file, makes it if need be.
  static absl::StatusOr<std::shared_ptr<LocalShard>> Open(const std::string& path);

  // ---- for clients ----
  absl::Status Put(shardmanager::ShardEpoch epoch, std::string_view key,
                   std::string_view value) override;
  absl::StatusOr<bool> Delete(shardmanager::ShardEpoch epoch, std::string_view key) override;
  absl::StatusOr<std::optional<std::string>> Get(std::string_view key) override;
  absl::StatusOr<Page> Scan(const Range& range) override;
  Load TakeLoad(std::chrono::steady_clock::time_point now) override;

  // ---- for state transfer ----
  absl::StatusOr<Contents> State() override;
  absl::StatusOr<Rows> ReadRows(const std::optional<std::string>& after,
                                uint64_t max_bytes) override;
  absl::StatusOr<Changes> ReadChanges(uint64_t after, uint64_t max_bytes) override;
  absl::StatusOr<shardmanager::RowTotal> Recount() override;
  absl::Status Write(const shardmanager::TransferWrite& write) override;

 private:
  // What stands beside the rows, changed in the same transactions.
  struct Beside {
    std::string record;
    uint64_t fence = 0;
    uint64_t last_sequence = 0;
    shardmanager::RowTotal total;
  };

  LocalShard(Database writing, Database reading)
      : writing_(std::move(writing)), reading_(std::move(reading)) {}

  absl::Status Prepare();
  absl::Status Begin(bool durable);
  // Commits what was done since Begin() and `next`; or, after an error, undoes it.
  absl::Status End(absl::Status status, Beside next);
  absl::Status Change(shardmanager::ShardEpoch epoch, std::string_view key,
                      std::optional<std::string_view> value);
  absl::Status SetRow(std::string_view key, std::optional<std::string_view> value,
                      shardmanager::RowTotal* total);
  absl::StatusOr<std::optional<std::string>> Read(Statement& get, std::string_view key);
  absl::Status ReadBatch(uint64_t after, uint64_t max_bytes, Changes* changes);

  // Clients' connection. What waits for its mutex waits for one small transaction.
  std::mutex mutex_;
  Database writing_;  // before the statements: they must go first
  Statement begin_, commit_, rollback_, normal_, full_;
  Statement get_, put_, delete_, feed_, trim_, forget_rows_, forget_feed_, first_, set_beside_;
  Statement pages_, page_bytes_;
  Beside beside_;
  uint64_t requests_ = 0;
  uint64_t requests_taken_ = 0;
  std::optional<std::chrono::steady_clock::time_point> taken_at_;

  // Long reads, beside the clients' work.
  std::mutex read_mutex_;
  Database reading_;
  Statement snapshot_, end_snapshot_;
  Statement rows_from_, changes_, read_row_, read_beside_, read_first_, all_rows_;
};

}  // namespace kvstore
