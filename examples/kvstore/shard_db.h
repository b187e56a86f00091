// One shard's data, in one SQLite file that every server can open. The file stands
// for the external database that most sharded services keep their state in.
#pragma once

#include <chrono>
#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "kv_shard.h"
#include "shardmanager/types.h"
#include "sqlite.h"

namespace kvstore {

using shardmanager::ShardEpoch;

// Thread-safe. Every write checks and stores the fencing token in the transaction
// that changes the data; one whose token is lower than the stored one is refused
// with ABORTED: somebody else has been given the shard since.
class ShardDb final : public KvShard {
 public:
  // Opens the file, makes it if need be. `server` goes into the audit table.
  static absl::StatusOr<std::unique_ptr<ShardDb>> Open(const std::string& path,
                                                       const std::string& server);

  // Raises the stored token: from here on no former owner can write, even one that
  // has slept through the loss of its right and does not know yet.
  absl::Status Fence(ShardEpoch epoch);
  // The stored token; 0: none yet.
  absl::StatusOr<ShardEpoch> Token();
  absl::Status Put(ShardEpoch epoch, std::string_view key, std::string_view value) override;
  absl::StatusOr<bool> Delete(ShardEpoch epoch, std::string_view key) override;
  // No token: the file is shared, so what is read is what was last committed by
  // anyone. A service that answers from its own memory needs a check here, too.
  absl::StatusOr<std::optional<std::string>> Get(std::string_view key) override;
  absl::StatusOr<Page> Scan(const Range& range) override;

  // After a split or a merge: copies the rows of `from`, the file of the shard `name`, that are
  // this shard's now. All of them or none; once, however often it is called. From then on nobody
  // can write into that file under an older token. (It stays on disk: remove it when you do not
  // need it.)
  absl::Status TakeOver(ShardDb& from, const std::string& name,
                        const shardmanager::ShardOrigin& origin, ShardEpoch epoch);

  // ---- for copies of the file ----
  // A number for who writes from now on. Greater than all before in this file, and than those of
  // a file that was lost (it is at least the time, in milliseconds since 1970).
  absl::StatusOr<uint64_t> NextRun();
  // The next `most` rows in key order; nothing: from the first one on.
  absl::StatusOr<std::vector<Row>> Rows(const std::optional<std::string>& after, int most);

  Load TakeLoad(std::chrono::steady_clock::time_point now) override;

 private:
  explicit ShardDb(Database db, std::string server)
      : db_(std::move(db)), server_(std::move(server)) {}

  absl::Status Prepare();
  absl::Status CopyRows(ShardDb& from, const shardmanager::ShardOrigin& origin);
  // The transaction around every write. `change` (may be null) runs inside it, only
  // if the token is good.
  absl::Status Write(ShardEpoch epoch, std::string_view what, std::string_view key,
                     Statement* change);

  std::mutex mutex_;
  Database db_;  // before the statements: they must go first
  const std::string server_;
  Statement begin_, commit_, rollback_;
  Statement raise_token_, token_, audit_;
  Statement put_, delete_, get_, rows_from_, next_run_;
  Statement pages_, page_bytes_;
  Statement was_taken_, note_taken_;
  uint64_t requests_ = 0;
  uint64_t requests_taken_ = 0;  // when the load was last taken
  std::optional<std::chrono::steady_clock::time_point> taken_at_;
};

}  // namespace kvstore
