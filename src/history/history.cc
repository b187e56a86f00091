#include "history/history.h"

#include <fcntl.h>
#include <spdlog/spdlog.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <optional>
#include <utility>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "absl/time/time.h"
#include "runtime/clock.h"

namespace shardmanager::history {
namespace {

namespace fs = std::filesystem;

constexpr char kFile[] = "history.db";
constexpr size_t kMostAtOnce = 1'000;
// Of files that were set aside, the newest.
constexpr size_t kMostAside = 3;
constexpr Duration kLookEvery = Seconds(5);

std::string TokenOf(const v1::ControlEvent& event) {
  return absl::StrCat(event.time_ms(), ".", event.position().leader_epoch(), ".",
                      event.position().sequence());
}

absl::StatusOr<HistoryFile::Place> ParseToken(const std::string& token) {
  const std::vector<std::string> parts = absl::StrSplit(token, '.');
  HistoryFile::Place place;
  if (parts.size() == 3 && absl::SimpleAtoi(parts[0], &place.time_ms) &&
      absl::SimpleAtoi(parts[1], &place.position.epoch) &&
      absl::SimpleAtoi(parts[2], &place.position.sequence)) {
    return place;
  }
  return absl::InvalidArgumentError(absl::StrCat("page_token: found \"", token,
                                                 "\"; allowed: the older_page_token of an answer"));
}

absl::Status CheckQuery(const v1::GetHistoryRequest& request) {
  if (request.limit() > History::kMostAnswered) {
    return absl::InvalidArgumentError(
        absl::StrCat("limit: found ", request.limit(), "; allowed: 1 to ", History::kMostAnswered));
  }
  if (request.until_ms() != 0 && request.until_ms() <= request.since_ms()) {
    return absl::InvalidArgumentError(absl::StrCat("until_ms: found ", request.until_ms(),
                                                   "; allowed: later than since_ms, which is ",
                                                   request.since_ms()));
  }
  if (request.kinds_size() > 100) {
    return absl::InvalidArgumentError(
        absl::StrCat("kinds: found ", request.kinds_size(), "; allowed: at most 100"));
  }
  return absl::OkStatus();
}

absl::Status NothingOf(const std::string& app, std::vector<std::string> apps) {
  apps.erase(std::remove(apps.begin(), apps.end(), ""), apps.end());
  return absl::NotFoundError(absl::StrCat(
      "nothing is kept of an app \"", app,
      "\"; of these something is: ", apps.empty() ? "none" : absl::StrJoin(apps, ", ")));
}

}  // namespace

History::History(Options options) : options_(std::move(options)) {
  writer_ = std::thread([this] { Write(); });
}

History::~History() {
  {
    std::lock_guard lock(mutex_);
    stopping_ = true;
  }
  changed_.notify_all();
  writer_.join();
  file_.reset();
  if (lock_ >= 0) close(lock_);
}

std::string History::path() const { return (fs::path(options_.folder) / kFile).string(); }

// ---- what is to be kept ----

void History::Add(std::vector<v1::ControlEvent> events, Source source) {
  std::unique_lock lock(mutex_);
  changed_.wait(lock, [&] { return hurries_ || waiting_.size() < kMostWaiting; });
  for (v1::ControlEvent& event : events) waiting_.push_back({std::move(event), source});
  lock.unlock();
  changed_.notify_all();
}

void History::Hurry() {
  {
    std::lock_guard lock(mutex_);
    hurries_ = true;
  }
  changed_.notify_all();
}

void History::Flush() {
  std::unique_lock lock(mutex_);
  changed_.wait(lock, [&] { return tried_ && (waiting_.empty() || !problem_.empty()); });
}

void History::SetAside(const std::string& why) {
  {
    std::lock_guard lock(file_mutex_);
    if (file_ == nullptr) return;
    file_.reset();
    MoveAside("old");
  }
  options_.tell("HistorySetAside", absl::StrCat("a new history is begun: ", why));
}

// ---- the writer ----

void History::Write() {
  while (AwaitWork()) {
    LookWhetherFileIsThere();
    const bool done = EnsureOpen() && WriteNext();
    std::unique_lock lock(mutex_);
    tried_ = true;
    changed_.notify_all();
    if (done) continue;
    if (stopping_) return;
    changed_.wait_for(lock, options_.retry, [&] { return stopping_; });
  }
}

bool History::AwaitWork() {
  std::unique_lock lock(mutex_);
  changed_.wait_for(lock, kLookEvery, [&] { return stopping_ || !tried_ || !waiting_.empty(); });
  return !stopping_ || !waiting_.empty();
}

bool History::EnsureOpen() {
  // One that is to be repaired by opening it anew is opened twice at most.
  for (int attempt = 0; attempt < 2; ++attempt) {
    {
      std::lock_guard lock(file_mutex_);
      if (std::exchange(is_suspect_, false)) file_.reset();
      if (file_ != nullptr) return true;
    }
    absl::Status locked = LockFolder();
    auto opened = locked.ok() ? HistoryFile::Open(path(), options_.cell, options_.bounds)
                              : absl::StatusOr<std::unique_ptr<HistoryFile>>(locked);
    if (!opened.ok()) {
      OnError(opened.status());
      continue;
    }
    struct stat found = {};
    inode_ = stat(path().c_str(), &found) == 0 ? found.st_ino : 0;
    looked_at_ = MonotonicNow();
    std::lock_guard lock(file_mutex_);
    file_ = *std::move(opened);
    return true;
  }
  return false;
}

bool History::WriteNext() {
  std::vector<v1::ControlEvent> batch;
  Source source = Source::kSelf;
  {
    std::lock_guard lock(mutex_);
    uint64_t bytes = 0;
    if (!waiting_.empty()) source = waiting_.front().source;
    for (const Waiting& next : waiting_) {
      const bool full = batch.size() >= kMostAtOnce || bytes > options_.bounds.most_bytes / 32;
      if (next.source != source || full) break;
      bytes += next.event.ByteSizeLong() + 400;
      batch.push_back(next.event);
    }
  }
  absl::Status kept;
  Position behind;
  {
    std::lock_guard lock(file_mutex_);
    if (file_ == nullptr) return true;  // it was set aside just now
    const auto is_behind = [&](const v1::ControlEvent& event) {
      const v1::EventPosition& position = event.position();
      return source == Source::kSelf && position.sequence() == 1 && position.leader_epoch() != 0 &&
             position.leader_epoch() <= file_->last().epoch;
    };
    const auto found = std::find_if(batch.begin(), batch.end(), is_behind);
    if (found != batch.end()) {
      behind = ToPosition(found->position());
    } else if (!batch.empty()) {
      kept = file_->Append(batch, source, options_.wall_ms());
    }
  }
  if (behind.epoch != 0) {
    SetAside(
        absl::StrCat("the old one has events of higher leader epochs than that of this "
                     "leader, ",
                     behind.epoch, ": the cell was made anew, or was restored"));
    return true;
  }
  if (!kept.ok()) {
    OnError(kept);
    return false;
  }
  EndProblem();
  std::lock_guard lock(mutex_);
  waiting_.erase(waiting_.begin(), waiting_.begin() + static_cast<std::ptrdiff_t>(batch.size()));
  return true;
}

void History::OnError(const absl::Status& why) {
  const std::string message(why.message());
  {
    std::lock_guard lock(file_mutex_);
    file_.reset();
    if (absl::IsDataLoss(why)) MoveAside("damaged");
    if (absl::IsAborted(why)) MoveAside("old");
  }
  if (absl::IsDataLoss(why)) {
    options_.tell("HistoryDamaged",
                  absl::StrCat(path(), " is damaged (", message,
                               "): it was set aside, and a new one is begun. What it held is "
                               "known to the other processes of the control plane at most"));
  } else if (absl::IsAborted(why)) {
    options_.tell("HistorySetAside", absl::StrCat(path(), " was set aside: ", message));
  } else {
    SetProblem(absl::StrCat(path(), " cannot be used: ", message));
  }
}

void History::MoveAside(const std::string& what) {
  const std::string prefix = absl::StrCat(kFile, ".");
  const std::string suffix =
      absl::StrCat(what, "-",
                   absl::FormatTime("%Y%m%dT%H%M%E3SZ", absl::FromUnixMillis(options_.wall_ms()),
                                    absl::UTCTimeZone()));
  std::error_code ignored;
  for (const char* part : {"", "-wal", "-shm"}) {
    fs::rename(absl::StrCat(path(), part), absl::StrCat(path(), ".", suffix, part), ignored);
  }
  std::vector<std::pair<std::string, fs::path>> aside;  // by when
  for (const auto& entry : fs::directory_iterator(options_.folder, ignored)) {
    const std::string name = entry.path().filename().string();
    const size_t dash = name.find('-');
    if (name.starts_with(prefix) && name.ends_with("Z") && dash != std::string::npos) {
      aside.emplace_back(name.substr(dash), entry.path());
    }
  }
  std::sort(aside.begin(), aside.end());
  for (size_t i = 0; i + kMostAside < aside.size(); ++i) {
    for (const char* part : {"", "-wal", "-shm"}) {
      fs::remove(absl::StrCat(aside[i].second.string(), part), ignored);
    }
  }
}

void History::SetProblem(const std::string& why) {
  bool is_new = false;
  {
    std::lock_guard lock(mutex_);
    is_new = problem_.empty();
    problem_ = why;
  }
  repeater_.Say(absl::StrCat("no history is kept: ", why));
  if (is_new) {
    options_.tell("HistoryPaused",
                  absl::StrCat("no events are kept until this is mended; all else goes on: ", why));
  }
}

void History::EndProblem() {
  {
    std::lock_guard lock(mutex_);
    if (std::exchange(problem_, "").empty()) return;
  }
  repeater_.Over("history is kept again");
  options_.tell("HistoryResumed", absl::StrCat(path(), " can be written again"));
}

void History::LookWhetherFileIsThere() {
  if (MonotonicNow() < looked_at_ + kLookEvery) return;
  looked_at_ = MonotonicNow();
  {
    std::lock_guard lock(file_mutex_);
    struct stat found = {};
    if (file_ == nullptr || (stat(path().c_str(), &found) == 0 && found.st_ino == inode_)) return;
    file_.reset();
  }
  if (lock_ >= 0) close(std::exchange(lock_, -1));  // the folder may be another one
  options_.tell("HistoryMissing", absl::StrCat(path(), " was taken away: a new one is begun"));
}

// Two processes would delete each other's events.
absl::Status History::LockFolder() {
  if (lock_ >= 0) return absl::OkStatus();
  std::error_code failed;
  fs::create_directories(options_.folder, failed);
  if (failed) return absl::UnavailableError(absl::StrCat("its folder: ", failed.message()));
  const std::string name = (fs::path(options_.folder) / "lock").string();
  lock_ = open(name.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0600);
  if (lock_ < 0) return absl::ErrnoToStatus(errno, name);
  if (flock(lock_, LOCK_EX | LOCK_NB) == 0) return absl::OkStatus();
  close(std::exchange(lock_, -1));
  return absl::UnavailableError("another process has its history in this folder");
}

// ---- questions ----

template <typename Ask>
auto History::WithFile(Ask ask) -> decltype(ask(std::declval<HistoryFile&>())) {
  std::lock_guard lock(file_mutex_);
  if (file_ == nullptr) {
    const std::string why = problem();
    return absl::UnavailableError(why.empty() ? "the history is being opened" : why);
  }
  auto answer = ask(*file_);
  is_suspect_ = is_suspect_ || absl::IsDataLoss(answer.status());
  return answer;
}

absl::StatusOr<v1::GetHistoryResponse> History::Read(const v1::GetHistoryRequest& request) {
  if (absl::Status valid = CheckQuery(request); !valid.ok()) return valid;
  std::optional<HistoryFile::Place> before;
  if (!request.page_token().empty()) {
    const auto place = ParseToken(request.page_token());
    if (!place.ok()) return place.status();
    before = *place;
  }
  auto response = ReadFile(request, before);
  if (!response.ok()) return response;
  if (const std::string why = problem(); !why.empty()) {
    response->set_problem(
        absl::StrCat(why, response->problem().empty() ? "" : "; ", response->problem()));
  }
  return response;
}

absl::StatusOr<v1::GetHistoryResponse> History::ReadFile(
    const v1::GetHistoryRequest& request, const std::optional<HistoryFile::Place>& before) {
  const size_t limit = request.limit() == 0 ? 1'000 : request.limit();
  return WithFile([&](HistoryFile& file) -> absl::StatusOr<v1::GetHistoryResponse> {
    const std::vector<std::string> apps = file.Apps();
    if (!request.app().empty() &&
        std::find(apps.begin(), apps.end(), request.app()) == apps.end()) {
      return NothingOf(request.app(), apps);
    }
    auto events = file.Read(request, before, limit + 1);
    if (!events.ok()) return events.status();
    const auto reaches = file.ReachesBack();
    if (!reaches.ok()) return reaches.status();
    const auto missing = file.Missing(request);
    if (!missing.ok()) return missing.status();
    v1::GetHistoryResponse response;
    response.set_reaches_back_ms(*reaches);
    response.set_problem(absl::StrJoin(*missing, "; "));
    if (events->size() > limit) {
      events->erase(events->begin());
      response.set_older_page_token(TokenOf(events->front()));
    }
    response.mutable_events()->Assign(std::make_move_iterator(events->begin()),
                                      std::make_move_iterator(events->end()));
    return response;
  });
}

absl::StatusOr<v1::GetHistoryResponse> Answer(History* history,
                                              const v1::GetHistoryRequest& request,
                                              const std::string& process, bool leading) {
  if (history == nullptr) {
    return absl::FailedPreconditionError(
        absl::StrCat(process, " keeps no history: shardmanagerd --history names a folder for it"));
  }
  auto kept = history->Read(request);
  if (!kept.ok()) return kept;
  kept->set_process(process);
  kept->set_leading(leading);
  return kept;
}

absl::StatusOr<std::vector<v1::ControlEvent>> History::After(Position after, size_t most) {
  return WithFile([&](HistoryFile& file) { return file.ReadAfter(after, most); });
}

absl::StatusOr<Position> History::Last() {
  return WithFile([](HistoryFile& file) -> absl::StatusOr<Position> { return file.last(); });
}

Position History::DeletedTo() {
  std::lock_guard lock(file_mutex_);
  return file_ == nullptr ? Position() : file_->deleted_to();
}

History::Stats History::stats() {
  Stats stats;
  {
    std::lock_guard lock(file_mutex_);
    if (file_ != nullptr) {
      stats.bytes = file_->Bytes().value_or(0);
      stats.rows = file_->rows();
    }
  }
  std::lock_guard lock(mutex_);
  stats.waiting = waiting_.size();
  stats.has_problem = !problem_.empty();
  return stats;
}

std::string History::problem() {
  std::lock_guard lock(mutex_);
  return problem_;
}

}  // namespace shardmanager::history
