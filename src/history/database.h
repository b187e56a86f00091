// As much of SQLite as the history needs.
#pragma once

#include <sqlite3.h>

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

#include "absl/status/status.h"
#include "absl/status/statusor.h"

namespace shardmanager::history {

// What SQLite's last call on `db` says. DATA_LOSS: the file is damaged, or is no database.
// RESOURCE_EXHAUSTED: it is as large as it may be, or the disk is full. UNAVAILABLE: the rest.
absl::Status SqliteError(sqlite3* db, std::string_view doing);

using Database = std::unique_ptr<sqlite3, decltype(&sqlite3_close_v2)>;

// Makes the file, if need be.
absl::StatusOr<Database> OpenDatabase(const std::string& path);
// Runs statements that take no arguments; what they give is ignored.
absl::Status Execute(sqlite3* db, const std::string& sql);

// One statement, prepared: bind all arguments, then step.
class Statement {
 public:
  Statement() : handle_(nullptr, sqlite3_finalize) {}
  static absl::StatusOr<Statement> Prepare(sqlite3* db, const std::string& sql);

  Statement& Bind(int index, int64_t value);
  // The bytes must stay until the statement is reset.
  Statement& Bind(int index, std::string_view text);
  // True: there is a row. False: no more rows, or an error.
  bool Step() { return sqlite3_step(handle_.get()) == SQLITE_ROW; }
  int64_t Integer(int column) const { return sqlite3_column_int64(handle_.get(), column); }
  std::string Text(int column) const;
  // Ends this round. OK or what went wrong in it.
  absl::Status Reset();
  // Step() once, then Reset().
  absl::Status Run();

 private:
  std::unique_ptr<sqlite3_stmt, decltype(&sqlite3_finalize)> handle_;
};

// The first column of the first row. Of no row: 0.
absl::StatusOr<int64_t> AskInteger(sqlite3* db, const std::string& sql);

}  // namespace shardmanager::history
