// The file in which a process keeps events of its cell.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "history/database.h"
#include "history/folding.h"
#include "history/position.h"
#include "shardmanager/v1/admin.pb.h"

namespace shardmanager::history {

// Who the events that are to be kept come from.
enum class Source : uint8_t {
  kSelf,    // this process: one that is skipped is lost
  kLeader,  // the leader's history: events that it folded come as one
};

// An SQLite database, with no more bytes than allowed: when it is full, the oldest events go of the
// kind and app of which there are most bytes, so that a storm of one kind takes no room from
// others. Changes that people asked for go last. After an error, open it again. Not thread-safe.
class HistoryFile {
 public:
  struct Bounds {
    uint64_t most_bytes = 256 << 20;
    int64_t most_age_ms = 14LL * 24 * 3'600 * 1'000;  // changes that people asked for stay
  };

  // Makes it if it is not there. DATA_LOSS: it is damaged. FAILED_PRECONDITION: a newer version
  // wrote it. ABORTED: it is of another cell.
  static absl::StatusOr<std::unique_ptr<HistoryFile>> Open(const std::string& path,
                                                           const std::string& cell, Bounds bounds);

  // All of them, or none. Those that are known already are left out. Then what is too much, or too
  // old, is deleted.
  absl::Status Append(const std::vector<v1::ControlEvent>& events, Source source, int64_t now_ms);

  // The newest that fit, oldest first; `before`, if it is set, is the exclusive end.
  struct Place {
    int64_t time_ms = 0;
    Position position;
  };
  absl::StatusOr<std::vector<v1::ControlEvent>> Read(const v1::GetHistoryRequest& query,
                                                     const std::optional<Place>& before,
                                                     size_t most);
  // Of leaders, the oldest of those that end after this position, in that order.
  absl::StatusOr<std::vector<v1::ControlEvent>> ReadAfter(Position after, size_t most);

  // The last event of a leader that is known; none: {0, 0}.
  Position last() const;
  // Events up to here may have been deleted.
  Position deleted_to() const { return deleted_to_; }
  // Of which apps events are kept. ("": of the cell.)
  std::vector<std::string> Apps() const;
  // The time of the oldest, but for changes that people asked for; 0: none.
  absl::StatusOr<int64_t> ReachesBack();
  // Lines about events that this query would have found, and that were deleted to make room.
  absl::StatusOr<std::vector<std::string>> Missing(const v1::GetHistoryRequest& query);
  absl::StatusOr<uint64_t> Bytes();
  uint64_t rows() const;

 private:
  struct Group {
    uint64_t rows = 0;
    uint64_t bytes = 0;  // about
  };
  HistoryFile(Database db, Bounds bounds) : db_(std::move(db)), bounds_(bounds) {}

  absl::Status Prepare(const std::string& cell);
  absl::Status Load(const std::string& cell);
  absl::Status Keep(v1::ControlEvent event, Source source);
  absl::Status Insert(const v1::ControlEvent& event);
  absl::StatusOr<bool> Fold(const v1::ControlEvent& event, Position row);
  // By app and kind: those that have rows that may fit.
  std::vector<std::pair<std::string, std::string>> GroupsOf(
      const v1::GetHistoryRequest& query) const;
  absl::Status DeleteOld(int64_t now_ms);
  absl::Status MakeRoom();
  absl::Status DeleteOldestOf(const std::string& app, const std::string& kind, Group& group);
  absl::Status NoteDeleted(const std::string& app, const std::string& kind, uint64_t rows,
                           int64_t until_ms, Position last);

  Database db_;  // before the statements: they must go first
  const Bounds bounds_;
  Statement insert_, fold_, delete_oldest_, note_deleted_;
  Folding folding_;
  std::map<uint64_t, uint64_t> known_;  // by leader epoch: the last sequence
  std::map<std::pair<std::string, std::string>, Group> groups_;  // by app and kind
  Position deleted_to_;
  int64_t old_deleted_ms_ = 0;  // when that was last done
};

}  // namespace shardmanager::history
