// As much of SQLite as the shards on disk need, in C++ dress.
#pragma once

#include <sqlite3.h>

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

#include "absl/status/status.h"
#include "absl/status/statusor.h"

namespace kvstore {

// What SQLite's last call on `db` says. BUSY: UNAVAILABLE; a full disk:
// RESOURCE_EXHAUSTED; the rest: INTERNAL.
absl::Status SqliteError(sqlite3* db, std::string_view doing);

using Database = std::unique_ptr<sqlite3, decltype(&sqlite3_close_v2)>;

// WAL with synchronous=NORMAL: a commit is one write to the log and no fsync. What
// is committed is in the kernel's hands, so it survives SIGKILL of this process,
// which is what we promise here. To survive a power cut as well: synchronous=FULL
// (state transfer asks for that where it matters: TransferWrite::durable).
//
// A process that is stopped (SIGSTOP) inside a transaction holds the file's lock
// until it goes on. Transactions are tiny, so this is rare, but then others wait
// for the busy time-out and report an error; the control plane tries AddShard
// again. A database server would break the lock of a client that went silent.
inline constexpr char kSettings[] =
    "PRAGMA busy_timeout = 500;"
    "PRAGMA journal_mode = WAL;"
    "PRAGMA synchronous = NORMAL;";

absl::StatusOr<Database> OpenDatabase(const std::string& path);
// Runs statements that take no arguments and give no rows.
absl::Status Execute(sqlite3* db, const char* sql);

// One prepared statement, run again and again:
//   statement.Bind(1, key); while (statement.Step()) use(statement.Text(0));
// Reset() before the next round; status() says whether this one went well.
class Statement {
 public:
  Statement() : handle_(nullptr, sqlite3_finalize) {}
  static absl::StatusOr<Statement> Prepare(sqlite3* db, const char* sql);

  Statement& Bind(int index, int64_t value);
  // The bytes must stay until the statement is reset.
  Statement& Bind(int index, std::string_view bytes);
  // True: there is a row. False: no more rows, or an error.
  bool Step();
  int64_t Integer(int column) const { return sqlite3_column_int64(handle_.get(), column); }
  std::string Bytes(int column) const { return std::string(View(column)); }
  // Until the next step.
  std::string_view View(int column) const;
  // Ends this round. OK or what went wrong in it.
  absl::Status Reset();
  // Step() once, then Reset().
  absl::Status Run();

 private:
  std::unique_ptr<sqlite3_stmt, decltype(&sqlite3_finalize)> handle_;
};

}  // namespace kvstore
