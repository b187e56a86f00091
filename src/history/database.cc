#include "history/database.h"

#include "absl/strings/str_cat.h"

namespace shardmanager::history {

absl::Status SqliteError(sqlite3* db, std::string_view doing) {
  const std::string message = absl::StrCat(std::string(doing), ": ", sqlite3_errmsg(db));
  switch (sqlite3_errcode(db) & 0xff) {
    case SQLITE_CORRUPT:
    case SQLITE_NOTADB:
      return absl::DataLossError(message);
    case SQLITE_FULL:
      return absl::ResourceExhaustedError(message);
    default:
      return absl::UnavailableError(message);
  }
}

absl::StatusOr<Database> OpenDatabase(const std::string& path) {
  sqlite3* handle = nullptr;
  const int code = sqlite3_open(path.c_str(), &handle);
  Database db(handle, sqlite3_close_v2);
  if (code != SQLITE_OK) return SqliteError(handle, "open");
  return db;
}

absl::Status Execute(sqlite3* db, const std::string& sql) {
  if (sqlite3_exec(db, sql.c_str(), nullptr, nullptr, nullptr) == SQLITE_OK) {
    return absl::OkStatus();
  }
  return SqliteError(db, sql.substr(0, sql.find(' ')));
}

absl::StatusOr<Statement> Statement::Prepare(sqlite3* db, const std::string& sql) {
  sqlite3_stmt* handle = nullptr;
  if (sqlite3_prepare_v3(db, sql.c_str(), -1, SQLITE_PREPARE_PERSISTENT, &handle, nullptr) !=
      SQLITE_OK) {
    return SqliteError(db, "prepare");
  }
  Statement statement;
  statement.handle_.reset(handle);
  return statement;
}

Statement& Statement::Bind(int index, int64_t value) {
  sqlite3_bind_int64(handle_.get(), index, value);
  return *this;
}

Statement& Statement::Bind(int index, std::string_view text) {
  // data() of an empty view may be null, which SQLite would take for NULL.
  const char* data = text.empty() ? "" : text.data();
  sqlite3_bind_text64(handle_.get(), index, data, text.size(), SQLITE_STATIC, SQLITE_UTF8);
  return *this;
}

std::string Statement::Text(int column) const {
  const unsigned char* text = sqlite3_column_text(handle_.get(), column);  // before the size
  const auto size = static_cast<size_t>(sqlite3_column_bytes(handle_.get(), column));
  return text == nullptr ? "" : std::string(reinterpret_cast<const char*>(text), size);
}

absl::Status Statement::Reset() {
  // The result code of the last step comes back from the reset.
  if (sqlite3_reset(handle_.get()) == SQLITE_OK) return absl::OkStatus();
  return SqliteError(sqlite3_db_handle(handle_.get()), "run");
}

absl::Status Statement::Run() {
  Step();
  return Reset();
}

absl::StatusOr<int64_t> AskInteger(sqlite3* db, const std::string& sql) {
  auto statement = Statement::Prepare(db, sql);
  if (!statement.ok()) return statement.status();
  const int64_t answer = statement->Step() ? statement->Integer(0) : 0;
  if (absl::Status ended = statement->Reset(); !ended.ok()) return ended;
  return answer;
}

}  // namespace shardmanager::history
