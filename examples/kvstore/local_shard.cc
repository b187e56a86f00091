#include "local_shard.h"

#include <set>
#include <utility>

#include "absl/strings/str_cat.h"
#include "page.h"

namespace kvstore {

using shardmanager::RowTotal;
using shardmanager::ShardEpoch;
using shardmanager::TransferRow;
using shardmanager::TransferWrite;

namespace {

constexpr char kSchema[] =
    "BEGIN IMMEDIATE;"
    "CREATE TABLE IF NOT EXISTS kv(key BLOB PRIMARY KEY, value BLOB NOT NULL) WITHOUT ROWID;"
    "CREATE TABLE IF NOT EXISTS feed(sequence INTEGER PRIMARY KEY, key BLOB NOT NULL);"
    "CREATE TABLE IF NOT EXISTS beside(id INTEGER PRIMARY KEY CHECK (id = 0), record BLOB,"
    "                                  fence INTEGER, last_sequence INTEGER,"
    "                                  row_count INTEGER, row_sum INTEGER);"
    "INSERT OR IGNORE INTO beside VALUES (0, x'', 0, 0, 0, 0);"
    "COMMIT;";

// So many changes are kept; looked at every so many.
constexpr uint64_t kFeedLength = 2'000'000;
constexpr uint64_t kTrimEvery = 10'000;

// What a row costs in a batch beside its key and value.
constexpr uint64_t kRowBytes = 16;

int64_t Signed(uint64_t number) { return static_cast<int64_t>(number); }
uint64_t Unsigned(int64_t number) { return static_cast<uint64_t>(number); }

absl::Status PrepareAll(sqlite3* db,
                        std::initializer_list<std::pair<Statement*, const char*>> statements) {
  for (auto [statement, sql] : statements) {
    absl::StatusOr<Statement> prepared = Statement::Prepare(db, sql);
    if (!prepared.ok()) return prepared.status();
    *statement = *std::move(prepared);
  }
  return absl::OkStatus();
}

}  // namespace

absl::StatusOr<std::shared_ptr<LocalShard>> LocalShard::Open(const std::string& path) {
  absl::StatusOr<Database> writing = OpenDatabase(path);
  if (!writing.ok()) return writing.status();
  absl::StatusOr<Database> reading = OpenDatabase(path);
  if (!reading.ok()) return reading.status();
  std::shared_ptr<LocalShard> shard(new LocalShard(*std::move(writing), *std::move(reading)));
  if (absl::Status status = shard->Prepare(); !status.ok()) return status;
  return shard;
}

absl::Status LocalShard::Prepare() {
  if (absl::Status s = Execute(writing_.get(), kSettings); !s.ok()) return s;
  if (absl::Status s = Execute(writing_.get(), kSchema); !s.ok()) return s;
  if (absl::Status s = Execute(reading_.get(), kSettings); !s.ok()) return s;
  const char beside[] =
      "SELECT record, fence, last_sequence, row_count, row_sum FROM beside WHERE id = 0";
  absl::Status status = PrepareAll(
      writing_.get(),
      {{&begin_, "BEGIN IMMEDIATE"},
       {&commit_, "COMMIT"},
       {&rollback_, "ROLLBACK"},
       {&normal_, "PRAGMA synchronous = NORMAL"},
       {&full_, "PRAGMA synchronous = FULL"},
       {&get_, "SELECT value FROM kv WHERE key = ?"},
       {&put_, "INSERT OR REPLACE INTO kv VALUES (?, ?)"},
       {&delete_, "DELETE FROM kv WHERE key = ?"},
       {&feed_, "INSERT INTO feed VALUES (?, ?)"},
       {&trim_, "DELETE FROM feed WHERE sequence <= ?"},
       {&forget_rows_, "DELETE FROM kv"},
       {&forget_feed_, "DELETE FROM feed"},
       {&first_, "SELECT min(sequence) FROM feed"},
       {&set_beside_,
        "UPDATE beside SET record = ?, fence = ?, last_sequence = ?, row_count = ?, row_sum = ?"},
       {&pages_, "PRAGMA page_count"},
       {&page_bytes_, "PRAGMA page_size"}});
  if (!status.ok()) return status;
  status = PrepareAll(
      reading_.get(),
      {{&snapshot_, "BEGIN"},
       {&end_snapshot_, "COMMIT"},
       {&rows_from_, kRowsFrom},
       {&changes_, "SELECT sequence, key FROM feed WHERE sequence > ? ORDER BY sequence"},
       {&read_row_, "SELECT value FROM kv WHERE key = ?"},
       {&read_beside_, beside},
       {&read_first_, "SELECT min(sequence) FROM feed"},
       {&all_rows_, "SELECT key, value FROM kv"}});
  if (!status.ok()) return status;
  if (read_beside_.Step()) {
    beside_ = {read_beside_.Bytes(0),
               Unsigned(read_beside_.Integer(1)),
               Unsigned(read_beside_.Integer(2)),
               {Unsigned(read_beside_.Integer(3)), Unsigned(read_beside_.Integer(4))}};
  }
  return read_beside_.Reset();
}

// ---- for clients ----

absl::Status LocalShard::Put(ShardEpoch epoch, std::string_view key, std::string_view value) {
  std::lock_guard lock(mutex_);
  return Change(epoch, key, value);
}

absl::StatusOr<bool> LocalShard::Delete(ShardEpoch epoch, std::string_view key) {
  std::lock_guard lock(mutex_);
  const uint64_t rows = beside_.total.count;
  if (absl::Status s = Change(epoch, key, std::nullopt); !s.ok()) return s;
  return beside_.total.count < rows;
}

absl::StatusOr<std::optional<std::string>> LocalShard::Get(std::string_view key) {
  std::lock_guard lock(mutex_);
  ++requests_;
  return Read(get_, key);
}

// Beside the clients' writes: a long scan does not hold them up.
absl::StatusOr<KvShard::Page> LocalShard::Scan(const Range& range) {
  {
    std::lock_guard lock(mutex_);
    ++requests_;
  }
  std::lock_guard lock(read_mutex_);
  return ReadPage(rows_from_, range);
}

KvShard::Load LocalShard::TakeLoad(std::chrono::steady_clock::time_point now) {
  std::lock_guard lock(mutex_);
  const auto number = [](Statement& statement) {
    const int64_t found = statement.Step() ? statement.Integer(0) : 0;
    (void)statement.Reset();  // a file that is in the way for a moment: 0, for once
    return static_cast<double>(found);
  };
  Load load{.bytes = number(pages_) * number(page_bytes_)};
  if (taken_at_.has_value() && now > *taken_at_) {
    load.requests_per_s = static_cast<double>(requests_ - requests_taken_) /
                          std::chrono::duration<double>(now - *taken_at_).count();
  }
  requests_taken_ = requests_;
  taken_at_ = now;
  return load;
}

// The transaction around a client's write: the row, the change feed, the total.
absl::Status LocalShard::Change(ShardEpoch epoch, std::string_view key,
                                std::optional<std::string_view> value) {
  ++requests_;
  if (epoch.value() < beside_.fence) {
    return absl::AbortedError(absl::StrCat("fenced: token ", epoch.value(),
                                           " is older than the shard's; it has a new owner"));
  }
  Beside next = beside_;
  if (absl::Status s = Begin(false); !s.ok()) return s;
  absl::Status status = SetRow(key, value, &next.total);
  ++next.last_sequence;
  if (status.ok()) status = feed_.Bind(1, Signed(next.last_sequence)).Bind(2, key).Run();
  const bool trim = next.last_sequence % kTrimEvery == 0 && next.last_sequence > kFeedLength;
  if (status.ok() && trim) status = trim_.Bind(1, Signed(next.last_sequence - kFeedLength)).Run();
  return End(std::move(status), std::move(next));
}

absl::Status LocalShard::Begin(bool durable) {
  if (absl::Status s = (durable ? full_ : normal_).Run(); !s.ok()) return s;
  return begin_.Run();
}

absl::Status LocalShard::End(absl::Status status, Beside next) {
  if (status.ok()) {
    set_beside_.Bind(1, next.record).Bind(2, Signed(next.fence));
    set_beside_.Bind(3, Signed(next.last_sequence)).Bind(4, Signed(next.total.count));
    status = set_beside_.Bind(5, Signed(next.total.sum)).Run();
  }
  if (status.ok()) status = commit_.Run();
  if (!status.ok()) {
    (void)rollback_.Run();  // fails when SQLite has already rolled back
    return status;
  }
  beside_ = std::move(next);
  return absl::OkStatus();
}

absl::StatusOr<std::optional<std::string>> LocalShard::Read(Statement& get, std::string_view key) {
  std::optional<std::string> value;
  if (get.Bind(1, key).Step()) value = get.Bytes(0);
  if (absl::Status s = get.Reset(); !s.ok()) return s;
  return value;
}

absl::Status LocalShard::SetRow(std::string_view key, std::optional<std::string_view> value,
                                RowTotal* total) {
  auto old = Read(get_, key);
  if (!old.ok()) return old.status();
  if (*old) total->Remove(key, **old);
  if (!value) return delete_.Bind(1, key).Run();
  total->Add(key, *value);
  return put_.Bind(1, key).Bind(2, *value).Run();
}

// ---- for state transfer ----

absl::StatusOr<LocalShard::Contents> LocalShard::State() {
  std::lock_guard lock(mutex_);
  const bool any = first_.Step() && first_.Integer(0) != 0;
  const uint64_t first = any ? Unsigned(first_.Integer(0)) : beside_.last_sequence + 1;
  if (absl::Status s = first_.Reset(); !s.ok()) return s;
  return Contents{beside_.record, first, beside_.last_sequence, beside_.total};
}

absl::StatusOr<LocalShard::Rows> LocalShard::ReadRows(const std::optional<std::string>& after,
                                                      uint64_t max_bytes) {
  std::lock_guard lock(read_mutex_);
  const std::string first = after ? KeyAfter(*after) : "";
  Statement& select = rows_from_.Bind(1, first);
  Rows batch{.done = true};
  for (uint64_t bytes = 0; select.Step();) {
    if (bytes >= max_bytes) {
      batch.done = false;
      break;
    }
    TransferRow row{select.Bytes(0), select.Bytes(1)};
    bytes += kRowBytes + row.key.size() + row.value->size();
    batch.rows.push_back(std::move(row));
  }
  if (absl::Status s = select.Reset(); !s.ok()) return s;
  return batch;
}

absl::StatusOr<LocalShard::Changes> LocalShard::ReadChanges(uint64_t after, uint64_t max_bytes) {
  std::lock_guard lock(read_mutex_);
  if (absl::Status s = snapshot_.Run(); !s.ok()) return s;
  Changes changes;
  absl::Status status = ReadBatch(after, max_bytes, &changes);
  if (absl::Status s = end_snapshot_.Run(); status.ok()) status = s;
  if (!status.ok()) return status;
  return changes;
}

// REQUIRES: inside a snapshot.
absl::Status LocalShard::ReadBatch(uint64_t after, uint64_t max_bytes, Changes* out) {
  uint64_t last = 0;
  if (read_beside_.Step()) {
    last = Unsigned(read_beside_.Integer(2));
    out->total = {Unsigned(read_beside_.Integer(3)), Unsigned(read_beside_.Integer(4))};
  }
  if (absl::Status s = read_beside_.Reset(); !s.ok()) return s;
  const bool any = read_first_.Step() && read_first_.Integer(0) != 0;
  const uint64_t first = any ? Unsigned(read_first_.Integer(0)) : last + 1;
  if (absl::Status s = read_first_.Reset(); !s.ok()) return s;
  if (after + 1 < first || after > last) {
    return absl::OutOfRangeError(absl::StrCat("the change feed has ", first, " to ", last,
                                              "; asked for what follows ", after));
  }
  out->last_sequence = after;
  std::set<std::string> seen;
  absl::Status status;
  changes_.Bind(1, Signed(after));
  for (uint64_t bytes = 0; status.ok() && bytes < max_bytes && changes_.Step();) {
    out->last_sequence = Unsigned(changes_.Integer(0));
    std::string key = changes_.Bytes(1);
    bytes += kRowBytes + key.size();
    if (!seen.insert(key).second) continue;
    auto value = Read(read_row_, key);
    status = value.status();
    if (!value.ok()) break;
    bytes += *value ? (*value)->size() : 0;
    out->rows.push_back({std::move(key), *std::move(value)});
  }
  out->at_end = out->last_sequence == last;
  if (absl::Status s = changes_.Reset(); status.ok()) status = s;
  return status;
}

absl::StatusOr<RowTotal> LocalShard::Recount() {
  std::lock_guard lock(read_mutex_);
  RowTotal total;
  while (all_rows_.Step()) total.Add(all_rows_.View(0), all_rows_.View(1));
  if (absl::Status s = all_rows_.Reset(); !s.ok()) return s;
  return total;
}

absl::Status LocalShard::Write(const TransferWrite& write) {
  std::lock_guard lock(mutex_);
  Beside next = beside_;
  if (absl::Status s = Begin(write.durable); !s.ok()) return s;
  absl::Status status;
  if (write.clear) {
    next.total = {};
    status = forget_rows_.Run();
  }
  if (status.ok() && (write.clear || write.sequence)) status = forget_feed_.Run();
  for (const TransferRow& row : write.rows) {
    if (!status.ok()) break;
    status = SetRow(row.key, row.value, &next.total);
  }
  if (write.sequence) next.last_sequence = *write.sequence;
  if (write.fence) next.fence = write.fence->value();
  next.record = write.record;
  return End(std::move(status), std::move(next));
}

}  // namespace kvstore
