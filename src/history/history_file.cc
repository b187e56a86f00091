#include "history/history_file.h"

#include <algorithm>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"

namespace shardmanager::history {
namespace {

// PRAGMA user_version.
constexpr int64_t kVersion = 1;

// A commit is one write to the log and no fsync: what is committed survives the end of this
// process, and a power cut takes the last moments at most.
constexpr char kSettings[] =
    "PRAGMA busy_timeout = 2000;"
    "PRAGMA journal_mode = WAL;"
    "PRAGMA synchronous = NORMAL;"
    "PRAGMA journal_size_limit = 4194304;";

constexpr char kSchema[] = R"(
BEGIN IMMEDIATE;
CREATE TABLE IF NOT EXISTS meta(name TEXT PRIMARY KEY, value TEXT NOT NULL) WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS events(
  epoch INTEGER NOT NULL, seq INTEGER NOT NULL, last_seq INTEGER NOT NULL,
  time_ms INTEGER NOT NULL, last_ms INTEGER NOT NULL, count INTEGER NOT NULL,
  app TEXT NOT NULL, kind TEXT NOT NULL, server TEXT NOT NULL, shard TEXT NOT NULL,
  operation TEXT NOT NULL, by_whom TEXT NOT NULL, message TEXT NOT NULL, changes TEXT NOT NULL,
  PRIMARY KEY(epoch, seq)) WITHOUT ROWID;
CREATE INDEX IF NOT EXISTS by_last ON events(epoch, last_seq);
CREATE INDEX IF NOT EXISTS by_time ON events(time_ms);
CREATE INDEX IF NOT EXISTS by_kind ON events(app, kind, time_ms);
CREATE INDEX IF NOT EXISTS by_server ON events(server, time_ms) WHERE server != '';
CREATE INDEX IF NOT EXISTS by_shard ON events(shard, time_ms) WHERE shard != '';
CREATE INDEX IF NOT EXISTS by_operation ON events(operation, time_ms) WHERE operation != '';
CREATE TABLE IF NOT EXISTS deleted(
  app TEXT NOT NULL, kind TEXT NOT NULL, rows INTEGER NOT NULL, until_ms INTEGER NOT NULL,
  epoch INTEGER NOT NULL, seq INTEGER NOT NULL, PRIMARY KEY(app, kind)) WITHOUT ROWID;
PRAGMA user_version = 1;
COMMIT;)";

constexpr char kColumns[] =
    "epoch, seq, last_seq, time_ms, last_ms, count, app, kind, server, shard, operation, by_whom, "
    "message, changes";
// Bytes of a row, about, with its entries in the indexes; the same as BytesOf().
constexpr char kRowBytes[] = "250 + 2 * length(shard) + length(message) + length(changes)";

constexpr char kInsert[] =
    "INSERT INTO events VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13, ?14) "
    "ON CONFLICT(epoch, seq) DO UPDATE SET count = max(count, excluded.count), "
    "last_seq = max(last_seq, excluded.last_seq), last_ms = max(last_ms, excluded.last_ms), "
    "message = excluded.message";
constexpr char kFold[] =
    "UPDATE events SET count = count + 1, last_seq = ?3, last_ms = ?4, message = ?5 "
    "WHERE epoch = ?1 AND seq = ?2 RETURNING 1";
constexpr char kNoteDeleted[] =
    "INSERT INTO deleted VALUES (?1, ?2, ?3, ?4, ?5, ?6) ON CONFLICT(app, kind) DO UPDATE SET "
    "rows = rows + excluded.rows, until_ms = max(until_ms, excluded.until_ms), "
    "seq = CASE WHEN excluded.epoch > epoch THEN excluded.seq WHEN excluded.epoch = epoch "
    "THEN max(seq, excluded.seq) ELSE seq END, epoch = max(epoch, excluded.epoch)";

// Of an app and a kind each; SQLite allows 500.
constexpr size_t kMostMerged = 400;

constexpr int64_t kDeleteOldEveryMs = 3'600'000;

// The same as kRowBytes.
uint64_t BytesOf(const v1::ControlEvent& event) {
  uint64_t bytes = 250 + 2 * event.shard().size() + event.message().size();
  for (const std::string& line : event.changes()) bytes += line.size() + 1;
  return bytes;
}

v1::ControlEvent EventOf(const Statement& row) {
  v1::ControlEvent event;
  *event.mutable_position() =
      ToProto({static_cast<uint64_t>(row.Integer(0)), static_cast<uint64_t>(row.Integer(1))});
  event.set_time_ms(row.Integer(3));
  if (row.Integer(5) > 1) {
    event.set_last_sequence(static_cast<uint64_t>(row.Integer(2)));
    event.set_last_ms(row.Integer(4));
    event.set_count(static_cast<uint64_t>(row.Integer(5)));
  }
  event.set_app(row.Text(6));
  event.set_kind(row.Text(7));
  event.set_server(row.Text(8));
  event.set_shard(row.Text(9));
  event.set_operation(row.Text(10));
  event.set_by(row.Text(11));
  event.set_message(row.Text(12));
  for (absl::string_view line : absl::StrSplit(row.Text(13), '\n', absl::SkipEmpty())) {
    event.add_changes(std::string(line));
  }
  return event;
}

absl::StatusOr<std::vector<v1::ControlEvent>> ReadAll(Statement& statement) {
  std::vector<v1::ControlEvent> events;
  while (statement.Step()) events.push_back(EventOf(statement));
  if (absl::Status ended = statement.Reset(); !ended.ok()) return ended;
  return events;
}

// Conditions of a query, and what is bound to them.
struct Conditions {
  std::vector<std::string> all;
  std::vector<std::string> texts;

  void Is(const char* column, const std::string& value) {
    texts.push_back(value);
    all.push_back(absl::StrCat(column, " = ?", texts.size()));
  }
  // Empty: no condition.
  void Equals(const char* column, const std::string& value) {
    if (value.empty()) return;
    // That it is not empty, SQLite must be able to see: so it uses the index of those.
    all.push_back(absl::StrCat(column, " = ?", texts.size() + 1, " AND ", column, " != ''"));
    texts.push_back(value);
  }
  void OneOf(const char* column, const google::protobuf::RepeatedPtrField<std::string>& values) {
    std::vector<std::string> places;
    for (const std::string& value : values) {
      texts.push_back(value);
      places.push_back(absl::StrCat("?", texts.size()));
    }
    if (places.empty()) return;
    all.push_back(absl::StrCat(column, " IN (", absl::StrJoin(places, ", "), ")"));
  }
  std::string ToString() const {
    return all.empty() ? "" : absl::StrCat(" WHERE ", absl::StrJoin(all, " AND "));
  }
  void Bind(Statement& statement) const {
    for (size_t i = 0; i < texts.size(); ++i) {
      statement.Bind(static_cast<int>(i) + 1, std::string_view(texts[i]));
    }
  }
};

absl::Status CheckVersion(sqlite3* db) {
  const auto version = AskInteger(db, "PRAGMA user_version");
  if (!version.ok()) return version.status();
  if (*version > kVersion) {
    return absl::FailedPreconditionError(
        absl::StrCat("a newer version of shardmanagerd wrote it (its format is ", *version,
                     "; this version knows formats up to ", kVersion, ")"));
  }
  if (*version == 0) return absl::OkStatus();  // new
  auto check = Statement::Prepare(db, "PRAGMA quick_check(1)");
  if (!check.ok()) return check.status();
  const std::string found = check->Step() ? check->Text(0) : "";
  if (absl::Status ended = check->Reset(); !ended.ok()) return ended;
  return found == "ok" ? absl::OkStatus() : absl::DataLossError(found);
}

}  // namespace

absl::StatusOr<std::unique_ptr<HistoryFile>> HistoryFile::Open(const std::string& path,
                                                               const std::string& cell,
                                                               Bounds bounds) {
  absl::StatusOr<Database> db = OpenDatabase(path);
  if (!db.ok()) return db.status();
  if (absl::Status may = CheckVersion(db->get()); !may.ok()) return may;
  std::unique_ptr<HistoryFile> file(new HistoryFile(*std::move(db), bounds));
  if (absl::Status ready = file->Prepare(cell); !ready.ok()) return ready;
  return file;
}

absl::Status HistoryFile::Prepare(const std::string& cell) {
  if (absl::Status s = Execute(db_.get(), kSettings); !s.ok()) return s;
  const auto page_bytes = AskInteger(db_.get(), "PRAGMA page_size");
  if (!page_bytes.ok()) return page_bytes.status();
  const int64_t most_pages =
      std::max<int64_t>(64, static_cast<int64_t>(bounds_.most_bytes) / *page_bytes);
  if (absl::Status s = Execute(db_.get(), absl::StrCat("PRAGMA max_page_count = ", most_pages));
      !s.ok()) {
    return s;
  }
  if (absl::Status s = Execute(db_.get(), kSchema); !s.ok()) return s;
  const std::string oldest = absl::StrCat(
      "DELETE FROM events WHERE (epoch, seq) IN (SELECT epoch, seq FROM events INDEXED BY by_kind ",
      "WHERE app = ?1 AND kind = ?2 ORDER BY time_ms LIMIT ?3) ",
      "RETURNING epoch, last_seq, last_ms, ", kRowBytes);
  const std::pair<Statement*, std::string> statements[] = {{&insert_, kInsert},
                                                           {&fold_, kFold},
                                                           {&delete_oldest_, oldest},
                                                           {&note_deleted_, kNoteDeleted}};
  for (const auto& [statement, sql] : statements) {
    auto prepared = Statement::Prepare(db_.get(), sql);
    if (!prepared.ok()) return prepared.status();
    *statement = *std::move(prepared);
  }
  return Load(cell);
}

absl::Status HistoryFile::Load(const std::string& cell) {
  auto meta = Statement::Prepare(db_.get(), "INSERT OR IGNORE INTO meta VALUES ('cell', ?1)");
  if (!meta.ok()) return meta.status();
  if (absl::Status s = meta->Bind(1, std::string_view(cell)).Run(); !s.ok()) return s;
  auto of = Statement::Prepare(db_.get(), "SELECT value FROM meta WHERE name = 'cell'");
  if (!of.ok()) return of.status();
  const std::string stored = of->Step() ? of->Text(0) : "";
  if (absl::Status s = of->Reset(); !s.ok()) return s;
  if (stored != cell) {
    return absl::AbortedError(absl::StrCat("it is of cell \"", stored, "\", not \"", cell, "\""));
  }
  auto known = Statement::Prepare(db_.get(), "SELECT epoch, max(last_seq) FROM events GROUP BY 1");
  if (!known.ok()) return known.status();
  while (known->Step()) {
    known_[static_cast<uint64_t>(known->Integer(0))] = static_cast<uint64_t>(known->Integer(1));
  }
  if (absl::Status s = known->Reset(); !s.ok()) return s;
  auto groups =
      Statement::Prepare(db_.get(), absl::StrCat("SELECT app, kind, count(*), sum(", kRowBytes,
                                                 ") FROM events GROUP BY app, kind"));
  if (!groups.ok()) return groups.status();
  while (groups->Step()) {
    groups_[{groups->Text(0), groups->Text(1)}] = {static_cast<uint64_t>(groups->Integer(2)),
                                                   static_cast<uint64_t>(groups->Integer(3))};
  }
  if (absl::Status s = groups->Reset(); !s.ok()) return s;
  auto deleted = Statement::Prepare(
      db_.get(), "SELECT epoch, seq FROM deleted ORDER BY epoch DESC, seq DESC LIMIT 1");
  if (!deleted.ok()) return deleted.status();
  if (deleted->Step()) {
    deleted_to_ = {static_cast<uint64_t>(deleted->Integer(0)),
                   static_cast<uint64_t>(deleted->Integer(1))};
  }
  return deleted->Reset();
}

absl::Status HistoryFile::Append(const std::vector<v1::ControlEvent>& events, Source source,
                                 int64_t now_ms) {
  if (absl::Status room = MakeRoom(); !room.ok()) return room;
  if (absl::Status begun = Execute(db_.get(), "BEGIN IMMEDIATE"); !begun.ok()) return begun;
  absl::Status kept;
  for (const v1::ControlEvent& event : events) {
    if (kept.ok()) kept = Keep(event, source);
  }
  if (kept.ok()) kept = DeleteOld(now_ms);
  if (kept.ok()) kept = Execute(db_.get(), "COMMIT");
  if (!kept.ok()) Execute(db_.get(), "ROLLBACK").IgnoreError();
  return kept;
}

absl::Status HistoryFile::Keep(v1::ControlEvent event, Source source) {
  const uint64_t epoch = event.position().leader_epoch();
  uint64_t& known = known_[epoch];
  if (epoch == 0) event.mutable_position()->set_sequence(known + 1);
  const uint64_t sequence = event.position().sequence();
  if (event.count() > 1) {
    known = std::max(known, event.last_sequence());
    folding_.Heard(event);
    return Insert(event);
  }
  if (sequence <= known) return absl::OkStatus();
  if (source == Source::kSelf && sequence > known + 1) {
    v1::ControlEvent lost;
    lost.set_kind(std::string(kLostKind));
    *lost.mutable_position() = ToProto({epoch, sequence - 1});
    lost.set_time_ms(event.time_ms());
    lost.set_message(absl::StrCat(sequence - known - 1,
                                  " events are not kept: they could not be written in time (",
                                  Position{epoch, known + 1}.ToString(), " and after)"));
    if (absl::Status s = Insert(lost); !s.ok()) return s;
  }
  known = sequence;
  if (const auto row = folding_.RowFor(event)) {
    const auto folded = Fold(event, *row);
    if (!folded.ok()) return folded.status();
    if (*folded) return absl::OkStatus();
  }
  return Insert(event);
}

absl::Status HistoryFile::Insert(const v1::ControlEvent& event) {
  const auto integer = [](uint64_t value) { return static_cast<int64_t>(value); };
  const std::string changes = absl::StrJoin(event.changes(), "\n");
  insert_.Bind(1, integer(event.position().leader_epoch()))
      .Bind(2, integer(event.position().sequence()))
      .Bind(3, integer(LastPosition(event).sequence))
      .Bind(4, event.time_ms())
      .Bind(5, std::max(event.time_ms(), event.last_ms()))
      .Bind(6, integer(std::max<uint64_t>(1, event.count())))
      .Bind(7, std::string_view(event.app()))
      .Bind(8, std::string_view(event.kind()))
      .Bind(9, std::string_view(event.server()))
      .Bind(10, std::string_view(event.shard()))
      .Bind(11, std::string_view(event.operation()))
      .Bind(12, std::string_view(event.by()))
      .Bind(13, std::string_view(event.message()))
      .Bind(14, std::string_view(changes));
  Group& group = groups_[{event.app(), event.kind()}];
  ++group.rows;
  group.bytes += BytesOf(event);
  return insert_.Run();
}

// False: that row is not there any more.
absl::StatusOr<bool> HistoryFile::Fold(const v1::ControlEvent& event, Position row) {
  fold_.Bind(1, static_cast<int64_t>(row.epoch))
      .Bind(2, static_cast<int64_t>(row.sequence))
      .Bind(3, static_cast<int64_t>(event.position().sequence()))
      .Bind(4, event.time_ms())
      .Bind(5, std::string_view(event.message()));
  const bool found = fold_.Step();
  if (absl::Status ended = fold_.Reset(); !ended.ok()) return ended;
  return found;
}

// ---- bounds ----

absl::Status HistoryFile::DeleteOld(int64_t now_ms) {
  if (std::abs(now_ms - old_deleted_ms_) < kDeleteOldEveryMs) return absl::OkStatus();
  old_deleted_ms_ = now_ms;
  auto old = Statement::Prepare(
      db_.get(),
      absl::StrCat("DELETE FROM events WHERE time_ms < ?1 AND last_ms < ?1 AND kind != '",
                   std::string(kChangeKind), "' RETURNING epoch, last_seq, last_ms, ",
                   "app, kind, ", kRowBytes));
  if (!old.ok()) return old.status();
  old->Bind(1, now_ms - bounds_.most_age_ms);
  Position last;
  int64_t until_ms = 0;
  uint64_t rows = 0;
  while (old->Step()) {
    last = std::max(
        last, {static_cast<uint64_t>(old->Integer(0)), static_cast<uint64_t>(old->Integer(1))});
    until_ms = std::max(until_ms, old->Integer(2));
    Group& group = groups_[{old->Text(3), old->Text(4)}];
    group.rows -= std::min<uint64_t>(group.rows, 1);
    group.bytes -= std::min(group.bytes, static_cast<uint64_t>(old->Integer(5)));
    ++rows;
  }
  if (absl::Status ended = old->Reset(); !ended.ok()) return ended;
  return rows == 0 ? absl::OkStatus() : NoteDeleted("", "", rows, until_ms, last);
}

absl::Status HistoryFile::MakeRoom() {
  auto bytes = Bytes();
  if (!bytes.ok()) return bytes.status();
  if (*bytes < bounds_.most_bytes / 100 * 90) return absl::OkStatus();
  if (absl::Status s = Execute(db_.get(), "BEGIN IMMEDIATE"); !s.ok()) return s;
  while (bytes.ok() && *bytes > bounds_.most_bytes / 100 * 80) {
    const auto is_less = [](const auto& a, const auto& b) {
      const auto rank = [](const auto& group) {
        return std::pair(group.first.second != kChangeKind && group.second.rows > 0,
                         group.second.bytes);
      };
      return rank(a) < rank(b);
    };
    const auto largest = std::max_element(groups_.begin(), groups_.end(), is_less);
    if (largest == groups_.end() || largest->second.rows == 0) break;
    absl::Status deleted =
        DeleteOldestOf(largest->first.first, largest->first.second, largest->second);
    if (!deleted.ok()) {
      Execute(db_.get(), "ROLLBACK").IgnoreError();
      return deleted;
    }
    bytes = Bytes();
  }
  return Execute(db_.get(), "COMMIT");
}

absl::Status HistoryFile::DeleteOldestOf(const std::string& app, const std::string& kind,
                                         Group& group) {
  const uint64_t most = std::max<uint64_t>(50, group.rows / 10);
  delete_oldest_.Bind(1, std::string_view(app))
      .Bind(2, std::string_view(kind))
      .Bind(3, static_cast<int64_t>(most));
  Position last;
  int64_t until_ms = 0;
  uint64_t rows = 0;
  uint64_t bytes = 0;
  while (delete_oldest_.Step()) {
    last = std::max(last, {static_cast<uint64_t>(delete_oldest_.Integer(0)),
                           static_cast<uint64_t>(delete_oldest_.Integer(1))});
    until_ms = std::max(until_ms, delete_oldest_.Integer(2));
    bytes += static_cast<uint64_t>(delete_oldest_.Integer(3));
    ++rows;
  }
  if (absl::Status ended = delete_oldest_.Reset(); !ended.ok()) return ended;
  group.rows -= std::min(group.rows, rows);
  group.bytes -= std::min(group.bytes, bytes);
  if (rows == 0) group = {};  // it was counted wrongly
  return rows == 0 ? absl::OkStatus() : NoteDeleted(app, kind, rows, until_ms, last);
}

absl::Status HistoryFile::NoteDeleted(const std::string& app, const std::string& kind,
                                      uint64_t rows, int64_t until_ms, Position last) {
  deleted_to_ = std::max(deleted_to_, last);
  return note_deleted_.Bind(1, std::string_view(app))
      .Bind(2, std::string_view(kind))
      .Bind(3, static_cast<int64_t>(rows))
      .Bind(4, until_ms)
      .Bind(5, static_cast<int64_t>(last.epoch))
      .Bind(6, static_cast<int64_t>(last.sequence))
      .Run();
}

// ---- questions ----

std::vector<std::pair<std::string, std::string>> HistoryFile::GroupsOf(
    const v1::GetHistoryRequest& query) const {
  std::vector<std::pair<std::string, std::string>> found;
  for (const auto& [key, group] : groups_) {
    const auto& [app, kind] = key;
    const bool is_wanted =
        query.kinds().empty() ||
        std::find(query.kinds().begin(), query.kinds().end(), kind) != query.kinds().end();
    if (group.rows > 0 && is_wanted && (query.app().empty() || query.app() == app)) {
      found.push_back(key);
    }
  }
  return found;
}

// An index has the rows of each app and kind in the order of time: SQLite merges these, and stops
// when it has enough. Asked for all kinds of an app at once, it would sort all rows of the app;
// for a kind of all apps, it would look at all rows.
absl::StatusOr<std::vector<v1::ControlEvent>> HistoryFile::Read(const v1::GetHistoryRequest& query,
                                                                const std::optional<Place>& before,
                                                                size_t most) {
  Conditions where;
  where.Equals("server", query.server());
  where.Equals("shard", query.shard());
  where.Equals("operation", query.operation());
  const bool merges = where.all.empty() && (!query.app().empty() || query.kinds_size() > 0);
  if (query.since_ms() > 0) {
    where.all.push_back(absl::StrCat("last_ms >= ", query.since_ms()));
    // (A row may have begun before: but not long.)
    where.all.push_back(
        absl::StrCat("time_ms >= ", query.since_ms() - Folding::kLongestMs - Folding::kPauseMs));
  }
  if (query.until_ms() > 0) where.all.push_back(absl::StrCat("time_ms < ", query.until_ms()));
  if (before) {
    where.all.push_back(absl::StrCat("(time_ms, epoch, seq) < (", before->time_ms, ", ",
                                     before->position.epoch, ", ", before->position.sequence, ")"));
  }
  const auto select = [&] {
    return absl::StrCat("SELECT ", kColumns, " FROM events", where.ToString());
  };
  std::vector<std::string> parts;
  const auto groups = GroupsOf(query);
  if (merges && groups.size() <= kMostMerged) {
    for (const auto& [app, kind] : groups) {
      const size_t shared = where.all.size();
      where.Is("app", app);
      where.Is("kind", kind);
      parts.push_back(select());
      where.all.resize(shared);
    }
    if (parts.empty()) return std::vector<v1::ControlEvent>();
  } else {
    where.Equals("app", query.app());
    where.OneOf("kind", query.kinds());
    parts.push_back(select());
  }
  auto statement = Statement::Prepare(
      db_.get(), absl::StrCat(absl::StrJoin(parts, " UNION ALL "),
                              " ORDER BY time_ms DESC, epoch DESC, seq DESC LIMIT ", most));
  if (!statement.ok()) return statement.status();
  where.Bind(*statement);
  auto events = ReadAll(*statement);
  if (events.ok()) std::reverse(events->begin(), events->end());
  return events;
}

absl::StatusOr<std::vector<v1::ControlEvent>> HistoryFile::ReadAfter(Position after, size_t most) {
  auto statement = Statement::Prepare(
      db_.get(), absl::StrCat("SELECT ", kColumns, " FROM events INDEXED BY by_last WHERE ",
                              "(epoch, last_seq) > (", after.epoch, ", ", after.sequence,
                              ") AND epoch > 0 ORDER BY epoch, last_seq LIMIT ", most));
  if (!statement.ok()) return statement.status();
  return ReadAll(*statement);
}

Position HistoryFile::last() const {
  if (known_.empty() || known_.rbegin()->first == 0) return {};
  return {known_.rbegin()->first, known_.rbegin()->second};
}

std::vector<std::string> HistoryFile::Apps() const {
  std::vector<std::string> apps;
  for (const auto& [key, group] : groups_) {
    if (group.rows > 0 && (apps.empty() || apps.back() != key.first)) apps.push_back(key.first);
  }
  return apps;
}

absl::StatusOr<int64_t> HistoryFile::ReachesBack() {
  return AskInteger(db_.get(),
                    absl::StrCat("SELECT time_ms FROM events INDEXED BY by_time WHERE kind != '",
                                 std::string(kChangeKind), "' ORDER BY time_ms LIMIT 1"));
}

absl::StatusOr<std::vector<std::string>> HistoryFile::Missing(const v1::GetHistoryRequest& query) {
  Conditions where;
  where.all.push_back(absl::StrCat("kind != '' AND until_ms >= ", query.since_ms()));
  where.Equals("app", query.app());
  where.OneOf("kind", query.kinds());
  auto statement = Statement::Prepare(
      db_.get(), absl::StrCat("SELECT app, kind, rows, until_ms FROM deleted", where.ToString()));
  if (!statement.ok()) return statement.status();
  where.Bind(*statement);
  std::vector<std::string> lines;
  while (statement->Step()) {
    const std::string app = statement->Text(0);
    lines.push_back(absl::StrCat("the oldest ", statement->Integer(2), " rows of ",
                                 statement->Text(1), app.empty() ? "" : " of app ", app,
                                 " were deleted to make room"));
  }
  if (absl::Status ended = statement->Reset(); !ended.ok()) return ended;
  return lines;
}

absl::StatusOr<uint64_t> HistoryFile::Bytes() {
  const auto pages = AskInteger(db_.get(), "PRAGMA page_count");
  if (!pages.ok()) return pages.status();
  const auto free = AskInteger(db_.get(), "PRAGMA freelist_count");
  if (!free.ok()) return free.status();
  const auto page_bytes = AskInteger(db_.get(), "PRAGMA page_size");
  if (!page_bytes.ok()) return page_bytes.status();
  return static_cast<uint64_t>((*pages - *free) * *page_bytes);
}

uint64_t HistoryFile::rows() const {
  uint64_t rows = 0;
  for (const auto& [key, group] : groups_) rows += group.rows;
  return rows;
}

}  // namespace shardmanager::history
