// Events of the cell, kept for days beside one process of the control plane.
#pragma once

#include <condition_variable>
#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "base/time.h"
#include "history/history_file.h"
#include "runtime/logging.h"

namespace shardmanager::history {

// One folder has the history of one process. A thread of its own writes, so that nobody waits for
// a disk. What goes wrong is said, and the process goes on without: a damaged file is set aside and
// a new one begun; a file that cannot be written is tried again until it can be. Thread-safe.
class History {
 public:
  struct Options {
    std::string folder;  // made, if need be
    std::string cell;
    HistoryFile::Bounds bounds = {};
    std::function<int64_t()> wall_ms;  // REQUIRED
    // REQUIRED. Something happened to the history itself: the kind of an event, and its message.
    // Called on the history's own thread.
    std::function<void(const char* kind, const std::string& message)> tell;
    Duration retry = Seconds(2);
  };
  explicit History(Options options);
  // Writes what was added, if it can be written now.
  ~History();
  History(const History&) = delete;
  History& operator=(const History&) = delete;

  // Waits while there are very many that are not written yet.
  void Add(std::vector<v1::ControlEvent> events, Source source);
  // Add() does not wait any more: this process stops.
  void Hurry();
  // Until all that was added is kept, or cannot be now.
  void Flush();
  // What it holds is not of this cell any more: begins anew, and keeps the old file beside it.
  void SetAside(const std::string& why);

  // All but `process` and `leading`. INVALID_ARGUMENT: names the field. NOT_FOUND: nothing is kept
  // of that app; the message names others. UNAVAILABLE: nothing can be read now; it says why.
  absl::StatusOr<v1::GetHistoryResponse> Read(const v1::GetHistoryRequest& request);
  // Of leaders, the oldest of those after this position.
  absl::StatusOr<std::vector<v1::ControlEvent>> After(Position after, size_t most);
  // Of leaders, the last that is kept. UNAVAILABLE: as above.
  absl::StatusOr<Position> Last();
  // Some of the events up to there may have been deleted.
  Position DeletedTo();

  struct Stats {
    uint64_t waiting = 0;  // events that are not written yet
    uint64_t bytes = 0;
    uint64_t rows = 0;
    bool has_problem = false;
  };
  Stats stats();
  // Why nothing is kept now; empty: nothing is wrong.
  std::string problem();
  std::string path() const;

  static constexpr size_t kMostWaiting = 20'000;
  static constexpr uint32_t kMostAnswered = 10'000;

 private:
  struct Waiting {
    v1::ControlEvent event;
    Source source;
  };

  void Write();
  // Waits until there is something to do; false: nothing is left to do, and no more will come.
  bool AwaitWork();
  bool EnsureOpen();
  bool WriteNext();
  void OnError(const absl::Status& why);
  // Renames the file. `what`: "damaged" or "old".
  void MoveAside(const std::string& what);
  void SetProblem(const std::string& why);
  void EndProblem();
  void LookWhetherFileIsThere();
  absl::Status LockFolder();
  absl::StatusOr<v1::GetHistoryResponse> ReadFile(const v1::GetHistoryRequest& request,
                                                  const std::optional<HistoryFile::Place>& before);
  // Runs `ask` with the file.
  template <typename Ask>
  auto WithFile(Ask ask) -> decltype(ask(std::declval<HistoryFile&>()));

  const Options options_;
  Repeater repeater_;
  int lock_ = -1;          // of the folder; the writer's
  uint64_t inode_ = 0;     // of the file; the writer's
  TimePoint looked_at_{};  // the writer's

  std::mutex file_mutex_;              // locked before mutex_, never after it
  std::unique_ptr<HistoryFile> file_;  // null: not open
  bool is_suspect_ = false;            // a read failed: to be opened anew

  std::mutex mutex_;
  std::condition_variable changed_;
  std::deque<Waiting> waiting_;
  std::string problem_;
  bool tried_ = false;  // to open it
  bool hurries_ = false;
  bool stopping_ = false;

  std::thread writer_;
};

// As Admin.GetHistory answers, asked of `process`. `history`: null, none is kept.
absl::StatusOr<v1::GetHistoryResponse> Answer(History* history,
                                              const v1::GetHistoryRequest& request,
                                              const std::string& process, bool leading);

}  // namespace shardmanager::history
