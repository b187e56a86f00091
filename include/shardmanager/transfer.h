// Moves a shard's data with the shard: for applications that keep it on the disks of their
// own servers. Optional; the rest of the library does not know of it.
//
//   struct Store : ShardHandler {   // as there: `using namespace shardmanager;`
//     absl::Status PrepareAddShard(const ShardGrant& grant) override {
//       return transfer_.PrepareAddShard(grant);             // copies, while the old owner serves
//     }
//     absl::Status AddShard(const ShardGrant& grant, const LoadProgress&) override {
//       if (auto status = transfer_.AddShard(grant); !status.ok()) return status;
//       return OpenForRequests(grant);                       // the data is here, whole
//     }
//     absl::Status PrepareDropShard(const ShardId& shard) override {
//       return transfer_.PrepareDropShard(shard);
//     }
//     absl::Status DropShard(const ShardId& shard) override {
//       CloseForRequests(shard);                             // first: nothing changes any more
//       return transfer_.DropShard(shard);                   // the new owner gets the last changes
//     }
//     void Stopping() override { transfer_.Stop(); }
//     Rows rows_;                                            // your TransferStorage
//     Transfer transfer_{{.server = "kv-3", .app = "kv", .endpoint = [] { return "10.0.0.7:7500";
//     }}, rows_};
//   };
// and server.Run(store, {&service, store.transfer_.service()}).
//
// The new owner reads the rows in batches, follows the changes, and when the tail is short the
// cutover begins: only then requests wait, for a few milliseconds. The copy is verified, and
// on a mismatch the move fails and the old owner keeps the shard. What the old owner has stays on
// its disk for the grace period.
//
// One copy of a shard at a time has the *custody*: it alone may be served and changed. The
// custody is kept on the disks, not in the control plane; a server without it refuses AddShard
// rather than serve something old or nothing. So if a server is lost, its shards wait for
// its disk: give failover.delay_ms in the spec the time that a restart may take, let servers
// listen on fixed ports (they are found again by their endpoints), and use
// `primary_move: HANDOVER`. What is guaranteed and what is not:
// docs/decisions/0014-state-transfer.md. In use: examples/kvstore/local_store.h.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "shardmanager/security.h"
#include "shardmanager/server.h"
#include "shardmanager/types.h"

namespace shardmanager {

// A row as it is after a change.
struct TransferRow {
  std::string key = {};                             // at most 64 KiB, not empty
  std::optional<std::string> value = std::nullopt;  // at most 2 MiB; nothing: the row is gone
};

// How many rows there are, and the sum (modulo 2^64) of their hashes (XXH64 of the value,
// seeded with the XXH64 of the key): whatever the order, two copies with the same rows have the
// same total. Keep it up to date with every change, in the transaction of the change.
struct RowTotal {
  uint64_t count = 0;
  uint64_t sum = 0;

  void Add(std::string_view key, std::string_view value);
  void Remove(std::string_view key, std::string_view value);
  friend bool operator==(const RowTotal&, const RowTotal&) = default;
};

// What is stored in one transaction, in this order.
struct TransferWrite {
  // Remove all rows and the whole change feed. The total becomes {0, 0}.
  bool clear = false;
  // Put or remove these rows. They do not go into the change feed.
  std::vector<TransferRow> rows = {};
  // The change feed is empty now; its next change is the one after this.
  std::optional<uint64_t> sequence = std::nullopt;
  // From now on refuse clients' writes whose ShardEpoch is lower.
  std::optional<ShardEpoch> fence = std::nullopt;
  // To be given back by State(). At most 128 KiB.
  std::string record = {};
  // Must survive a power cut (with all that was stored before). Otherwise the death of the
  // process is enough.
  bool durable = false;
};

// One shard's data on this server's disk: implemented by the application. Thread-safe:
// the library reads while clients write. An error of any method fails the move.
class TransferableShard {
 public:
  virtual ~TransferableShard() = default;

  struct Contents {
    std::string record;           // as last written; "" if never
    uint64_t first_sequence = 1;  // the change feed goes back to this change
    uint64_t last_sequence = 0;   // the newest change; 0: none ever
    RowTotal total;
  };
  virtual absl::StatusOr<Contents> State() = 0;

  // The snapshot iterator: rows with keys above `after` (nothing: from the first), ascending
  // by key as bytes; each whole, as it is when it is read. Stops after the row that reaches
  // `max_bytes`: a row counts as the size of its key plus its value plus 16. `done`: there are no
  // more rows.
  struct Rows {
    std::vector<TransferRow> rows;
    bool done = false;
  };
  virtual absl::StatusOr<Rows> ReadRows(const std::optional<std::string>& after,
                                        uint64_t max_bytes) = 0;

  // The change feed: every change by a client gets the next number, in its own transaction.
  // Those above `after`, up to about max_bytes; of each key one row, with the value that it has
  // now, all in one consistent read. OUT_OF_RANGE: the feed does not go back so far. (Keep a few
  // million; a copy that is overtaken begins anew.)
  struct Changes {
    std::vector<TransferRow> rows;
    uint64_t last_sequence = 0;  // that these contain; `after` if there are none
    bool at_end = false;         // there are no more, and `total` is that of the same read
    RowTotal total;
  };
  virtual absl::StatusOr<Changes> ReadChanges(uint64_t after, uint64_t max_bytes) = 0;

  // The total, by reading all rows.
  virtual absl::StatusOr<RowTotal> Recount() = 0;

  // In one transaction: all of it or nothing.
  virtual absl::Status Write(const TransferWrite& write) = 0;
};

// The data of all shards on this server's disk: implemented by the application. Thread-safe.
class TransferStorage {
 public:
  virtual ~TransferStorage() = default;
  // The shard's data, made empty if there are none. Called once for each shard and life of the
  // process; the library keeps it.
  virtual absl::StatusOr<std::shared_ptr<TransferableShard>> Open(const ShardId& shard) = 0;
  // Of which shards there is something on this disk.
  virtual absl::StatusOr<std::vector<ShardId>> List() = 0;
};

struct TransferOptions {
  // REQUIRED. As ServerOptions::name. Example: "kv-3".
  std::string server = {};
  // REQUIRED, unless `security` is insecure. As ServerOptions::app. Example: "kv".
  std::string app = {};
  // As ServerOptions::security: rows go to other servers of this app only. Default: as there.
  Security security = {};
  // REQUIRED. Where this server is reached, "host:port"; asked when it is needed. Example:
  // [&] { return server.endpoint(); }
  std::function<std::string()> endpoint = nullptr;
  // A shard of which this disk has no trace is new: AddShard makes it empty, unless it is to
  // come from another server. The library cannot know: a disk that was lost looks the same.
  // Set it when the app is made, and not any more once it has data. Default: AddShard fails
  // with FAILED_PRECONDITION.
  bool make_new_shards = false;
  // Most bytes of rows and changes that one shard receives in a second. 0: no limit.
  uint64_t bytes_per_second = 0;
  // Bytes in a batch, 1 to 1,048,576, and at least one row.
  uint64_t batch_bytes = 1 << 20;
  // Without an answer from the other server for so long an attempt fails; the control plane
  // makes the next one, which goes on where this one ended.
  std::chrono::milliseconds patience{10'000};
  // How long DropShard waits until the new owner has everything. (It may also get the rest
  // afterwards, as long as this process lives.)
  std::chrono::milliseconds cutover_timeout{2'000};
  // How long a copy that was given away stays on the disk after the new owner has confirmed that it
  // has everything. A copy whose receipt no new owner has confirmed is never deleted.
  std::chrono::seconds grace{24 * 3600};
};

// Thread-safe. Must outlive the Server whose handler calls it, and on which its service is
// registered.
class Transfer {
 public:
  // `storage` must outlive it.
  Transfer(TransferOptions options, TransferStorage& storage);
  ~Transfer();
  Transfer(const Transfer&) = delete;
  Transfer& operator=(const Transfer&) = delete;

  grpc::Service* service();

  // To be called by the methods of ShardHandler with these names, see above.

  // Copies from grant.old_owner, verifies, and goes on following it. May take as long as
  // bytes / rate; it does not end while clients write faster than the copy follows. Errors:
  // FAILED_PRECONDITION (no old owner is given, or one copy would overwrite another that may be
  // needed), DATA_LOSS (verification failed; the next attempt begins with nothing), UNAVAILABLE (no
  // answer from the old owner), ABORTED (a newer epoch was seen), CANCELLED (Stop), and those of
  // the storage.
  absl::Status PrepareAddShard(const ShardGrant& grant);
  // OK: this server has the custody, and its disk everything. Waits for the rest to come, if
  // need be. Errors: as above; FAILED_PRECONDITION also if there is no trace of the shard here.
  absl::Status AddShard(const ShardGrant& grant);
  absl::Status PrepareDropShard(const ShardId& shard);
  // REQUIRES: nothing changes the shard's rows any more.
  absl::Status DropShard(const ShardId& shard);

  // What is being received ends soon, with CANCELLED, and nothing more is. DropShard works on.
  // Idempotent.
  void Stop();

  // Of a shard that was asked for in this life. For logs and tests.
  struct Progress {
    uint64_t rows_received = 0;
    uint64_t bytes_received = 0;
    // From DropShard until the new owner had everything, the last time, in microseconds.
    int64_t cutover_us = 0;
  };
  Progress progress(const ShardId& shard) const;

 private:
  std::unique_ptr<class TransferImpl> impl_;
};

}  // namespace shardmanager
