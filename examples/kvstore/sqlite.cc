#include "sqlite.h"

#include "absl/strings/str_cat.h"

namespace kvstore {

absl::Status SqliteError(sqlite3* db, std::string_view doing) {
  const std::string message = absl::StrCat(std::string(doing), ": ", sqlite3_errmsg(db));
  switch (sqlite3_errcode(db) & 0xff) {
    case SQLITE_BUSY:
      return absl::UnavailableError(message);
    case SQLITE_FULL:
      return absl::ResourceExhaustedError(message);
    default:
      return absl::InternalError(message);
  }
}

absl::StatusOr<Database> OpenDatabase(const std::string& path) {
  sqlite3* handle = nullptr;
  const int code = sqlite3_open(path.c_str(), &handle);
  Database db(handle, sqlite3_close_v2);
  if (code != SQLITE_OK) return SqliteError(handle, absl::StrCat("open ", path));
  return db;
}

absl::Status Execute(sqlite3* db, const char* sql) {
  if (sqlite3_exec(db, sql, nullptr, nullptr, nullptr) == SQLITE_OK) return absl::OkStatus();
  return SqliteError(db, sql);
}

absl::StatusOr<Statement> Statement::Prepare(sqlite3* db, const char* sql) {
  sqlite3_stmt* handle = nullptr;
  if (sqlite3_prepare_v3(db, sql, -1, SQLITE_PREPARE_PERSISTENT, &handle, nullptr) != SQLITE_OK) {
    return SqliteError(db, sql);
  }
  Statement statement;
  statement.handle_.reset(handle);
  return statement;
}

Statement& Statement::Bind(int index, int64_t value) {
  sqlite3_bind_int64(handle_.get(), index, value);
  return *this;
}

Statement& Statement::Bind(int index, std::string_view bytes) {
  // data() of an empty view may be null, which SQLite would take for NULL.
  const char* data = bytes.empty() ? "" : bytes.data();
  sqlite3_bind_blob64(handle_.get(), index, data, bytes.size(), SQLITE_STATIC);
  return *this;
}

bool Statement::Step() { return sqlite3_step(handle_.get()) == SQLITE_ROW; }

std::string_view Statement::View(int column) const {
  const void* data = sqlite3_column_blob(handle_.get(), column);  // before the size, says SQLite
  const auto size = static_cast<size_t>(sqlite3_column_bytes(handle_.get(), column));
  return {static_cast<const char*>(data), size};
}

absl::Status Statement::Reset() {
  // The result code of the last step comes back from the reset.
  if (sqlite3_reset(handle_.get()) == SQLITE_OK) return absl::OkStatus();
  return SqliteError(sqlite3_db_handle(handle_.get()), sqlite3_sql(handle_.get()));
}

absl::Status Statement::Run() {
  Step();
  return Reset();
}

}  // namespace kvstore
