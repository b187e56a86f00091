#include "shard_db.h"

#include <limits>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "page.h"
#include "shardmanager/routing.h"

namespace kvstore {
namespace {

// `audit` keeps who wrote under which token, in the order of the commits: the
// tokens must never go down, and no two servers may use the same one.
constexpr char kSchema[] =
    "BEGIN IMMEDIATE;"
    "CREATE TABLE IF NOT EXISTS kv(key BLOB PRIMARY KEY, value BLOB NOT NULL) WITHOUT ROWID;"
    "CREATE TABLE IF NOT EXISTS fence(id INTEGER PRIMARY KEY CHECK (id = 0), epoch INTEGER);"
    "CREATE TABLE IF NOT EXISTS audit(seq INTEGER PRIMARY KEY, epoch INTEGER, server BLOB,"
    "                                 what BLOB, key BLOB, accepted INTEGER);"
    "CREATE TABLE IF NOT EXISTS runs(id INTEGER PRIMARY KEY CHECK (id = 0), run INTEGER);"
    "CREATE TABLE IF NOT EXISTS taken(shard BLOB PRIMARY KEY) WITHOUT ROWID;"
    "INSERT OR IGNORE INTO fence VALUES (0, 0);"
    "INSERT OR IGNORE INTO runs VALUES (0, 0);"
    "COMMIT;";

constexpr int kRowsAtOnce = 1'000;

bool IsIn(const shardmanager::ShardOrigin& origin, const std::string& key) {
  const std::string place =
      origin.hash_keys ? absl::StrFormat("%016x", shardmanager::KeyHash(key)) : key;
  return place >= origin.start && (origin.end.empty() || place < origin.end);
}

}  // namespace

absl::StatusOr<std::unique_ptr<ShardDb>> ShardDb::Open(const std::string& path,
                                                       const std::string& server) {
  absl::StatusOr<Database> db = OpenDatabase(path);
  if (!db.ok()) return db.status();
  std::unique_ptr<ShardDb> shard(new ShardDb(*std::move(db), server));
  if (absl::Status status = shard->Prepare(); !status.ok()) return status;
  return shard;
}

absl::Status ShardDb::Prepare() {
  if (absl::Status s = Execute(db_.get(), kSettings); !s.ok()) return s;
  if (absl::Status s = Execute(db_.get(), kSchema); !s.ok()) return s;
  const std::pair<Statement*, const char*> statements[] = {
      {&begin_, "BEGIN IMMEDIATE"},
      {&commit_, "COMMIT"},
      {&rollback_, "ROLLBACK"},
      {&raise_token_, "UPDATE fence SET epoch = ?1 WHERE epoch <= ?1 RETURNING epoch"},
      {&token_, "SELECT epoch FROM fence"},
      {&audit_, "INSERT INTO audit(epoch, server, what, key, accepted) VALUES (?, ?, ?, ?, ?)"},
      {&put_, "INSERT OR REPLACE INTO kv VALUES (?, ?)"},
      {&delete_, "DELETE FROM kv WHERE key = ?"},
      {&get_, "SELECT value FROM kv WHERE key = ?"},
      {&rows_from_, kRowsFrom},
      {&next_run_,
       "UPDATE runs SET run = max(run + 1, CAST((julianday('now') - 2440587.5) * 86400000 AS "
       "INTEGER)) RETURNING run"},
      {&pages_, "PRAGMA page_count"},
      {&page_bytes_, "PRAGMA page_size"},
      {&was_taken_, "SELECT count(*) FROM taken WHERE shard = ?"},
      {&note_taken_, "INSERT INTO taken VALUES (?)"},
  };
  for (auto [statement, sql] : statements) {
    absl::StatusOr<Statement> prepared = Statement::Prepare(db_.get(), sql);
    if (!prepared.ok()) return prepared.status();
    *statement = *std::move(prepared);
  }
  return absl::OkStatus();
}

absl::Status ShardDb::Write(ShardEpoch epoch, std::string_view what, std::string_view key,
                            Statement* change) {
  if (absl::Status s = begin_.Run(); !s.ok()) return s;
  const auto token = static_cast<int64_t>(epoch.value());
  const bool accepted = raise_token_.Bind(1, token).Step();
  absl::Status status = raise_token_.Reset();
  if (status.ok() && accepted && change != nullptr) status = change->Run();
  if (status.ok()) {
    audit_.Bind(1, token).Bind(2, server_).Bind(3, what).Bind(4, key);
    status = audit_.Bind(5, int64_t{accepted}).Run();
  }
  if (status.ok()) status = commit_.Run();
  if (!status.ok()) {
    (void)rollback_.Run();  // fails when SQLite has already rolled back
    return status;
  }
  if (accepted) return absl::OkStatus();
  return absl::AbortedError(absl::StrCat("fenced: token ", epoch.value(),
                                         " is older than the shard's; it has a new owner"));
}

absl::Status ShardDb::Fence(ShardEpoch epoch) {
  std::lock_guard lock(mutex_);
  return Write(epoch, "open", "", nullptr);
}

absl::Status ShardDb::Put(ShardEpoch epoch, std::string_view key, std::string_view value) {
  std::lock_guard lock(mutex_);
  ++requests_;
  put_.Bind(1, key).Bind(2, value);
  return Write(epoch, "put", key, &put_);
}

absl::StatusOr<bool> ShardDb::Delete(ShardEpoch epoch, std::string_view key) {
  std::lock_guard lock(mutex_);
  ++requests_;
  get_.Bind(1, key);
  const bool found = get_.Step();
  if (absl::Status s = get_.Reset(); !s.ok()) return s;
  delete_.Bind(1, key);
  if (absl::Status s = Write(epoch, "delete", key, &delete_); !s.ok()) return s;
  return found;
}

absl::StatusOr<std::optional<std::string>> ShardDb::Get(std::string_view key) {
  std::lock_guard lock(mutex_);
  ++requests_;
  std::optional<std::string> value;
  if (get_.Bind(1, key).Step()) value = get_.Bytes(0);
  if (absl::Status s = get_.Reset(); !s.ok()) return s;
  return value;
}

absl::StatusOr<std::vector<ShardDb::Row>> ShardDb::Rows(const std::optional<std::string>& after,
                                                        int most) {
  std::lock_guard lock(mutex_);
  auto page = ReadPage(rows_from_, {.start = after ? KeyAfter(*after) : "",
                                    .max_rows = static_cast<size_t>(most),
                                    .max_bytes = std::numeric_limits<size_t>::max()});
  if (!page.ok()) return page.status();
  return std::move(page->rows);
}

absl::StatusOr<ShardDb::Page> ShardDb::Scan(const Range& range) {
  std::lock_guard lock(mutex_);
  ++requests_;
  return ReadPage(rows_from_, range);
}

absl::Status ShardDb::TakeOver(ShardDb& from, const std::string& name,
                               const shardmanager::ShardOrigin& origin, ShardEpoch epoch) {
  // Aborted: another part of it, whose grant is a later one, has done that already.
  if (absl::Status s = from.Fence(epoch); !s.ok() && !absl::IsAborted(s)) return s;
  std::lock_guard lock(mutex_);
  const bool taken = was_taken_.Bind(1, name).Step() && was_taken_.Integer(0) > 0;
  if (absl::Status s = was_taken_.Reset(); !s.ok() || taken) return s;
  if (absl::Status s = begin_.Run(); !s.ok()) return s;
  absl::Status status = CopyRows(from, origin);
  if (status.ok()) status = note_taken_.Bind(1, name).Run();
  if (status.ok()) status = commit_.Run();
  if (!status.ok()) (void)rollback_.Run();
  return status;
}

// REQUIRES: the lock is held, and a transaction is open.
absl::Status ShardDb::CopyRows(ShardDb& from, const shardmanager::ShardOrigin& origin) {
  std::optional<std::string> last;
  for (;;) {
    const auto rows = from.Rows(last, kRowsAtOnce);
    if (!rows.ok()) return rows.status();
    for (const Row& row : *rows) {
      if (!IsIn(origin, row.key)) continue;
      if (absl::Status s = put_.Bind(1, row.key).Bind(2, row.value).Run(); !s.ok()) return s;
    }
    if (rows->size() < kRowsAtOnce) return absl::OkStatus();
    last = rows->back().key;
  }
}

absl::StatusOr<ShardEpoch> ShardDb::Token() {
  std::lock_guard lock(mutex_);
  const uint64_t token = token_.Step() ? static_cast<uint64_t>(token_.Integer(0)) : 0;
  if (absl::Status s = token_.Reset(); !s.ok()) return s;
  return ShardEpoch(token);
}

absl::StatusOr<uint64_t> ShardDb::NextRun() {
  std::lock_guard lock(mutex_);
  const uint64_t run = next_run_.Step() ? static_cast<uint64_t>(next_run_.Integer(0)) : 0;
  if (absl::Status s = next_run_.Reset(); !s.ok()) return s;
  return run;
}

ShardDb::Load ShardDb::TakeLoad(std::chrono::steady_clock::time_point now) {
  std::lock_guard lock(mutex_);
  Load load;
  const auto number = [](Statement& statement) {
    const int64_t found = statement.Step() ? statement.Integer(0) : 0;
    (void)statement.Reset();  // a file that is in the way for a moment: 0, for once
    return static_cast<double>(found);
  };
  load.bytes = number(pages_) * number(page_bytes_);
  if (taken_at_.has_value() && now > *taken_at_) {
    const double seconds = std::chrono::duration<double>(now - *taken_at_).count();
    load.requests_per_s = static_cast<double>(requests_ - requests_taken_) / seconds;
  }
  requests_taken_ = requests_;
  taken_at_ = now;
  return load;
}

}  // namespace kvstore
