#include "coordination/access/access_walk.h"

#include <deque>
#include <memory>
#include <mutex>
#include <optional>
#include <utility>

namespace shardmanager {
namespace {

// Enough to keep the connection busy, few enough to leave the store to others.
constexpr size_t kInFlight = 64;

// Keeps itself alive by what it awaits.
class Walk : public std::enable_shared_from_this<Walk> {
 public:
  using Done = std::function<void(absl::StatusOr<WalkResult>)>;

  Walk(CoordinationStore& store, WalkOptions options, Done done)
      : store_(store), options_(std::move(options)), done_(std::move(done)) {
    todo_.push_back(options_.root);
  }

  void Begin() {
    std::lock_guard lock(mutex_);
    Go();
  }

 private:
  template <typename Handler>
  auto Locked(Handler handler) {
    return [self = shared_from_this(), handler](const auto& answer) {
      std::lock_guard lock(self->mutex_);
      handler(*self, answer);
    };
  }

  // Requests are only sent here, never answered: answers come on the session's thread.
  void Go() {
    while (failed_.ok() && in_flight_ < kInFlight && !todo_.empty()) {
      std::string path = std::move(todo_.front());
      todo_.pop_front();
      ++in_flight_;
      Look(path);
    }
    if (in_flight_ > 0) return;
    if (Done done = std::exchange(done_, nullptr)) {
      if (failed_.ok()) return done(result_);
      done(failed_);
    }
  }

  void Look(const std::string& path) {
    store_.GetAccess(path, Locked([path](Walk& w, const absl::StatusOr<AccessList>& found) {
                       if (!found.ok()) return w.OnError(path, found.status());
                       w.OnAccess(path, *found);
                     }));
  }

  void OnAccess(const std::string& path, const AccessList& found) {
    AccessList wanted = options_.wanted(path);
    const bool differs = found != wanted;
    if (options_.on_node) options_.on_node(path, found);
    if (differs && options_.on_differing) options_.on_differing(path, found);
    if (differs) ++result_.differing;
    if (!differs || !options_.mend) return List(path);
    store_.SetAccess(path, std::move(wanted), Locked([path](Walk& w, const absl::Status& set) {
                       if (!set.ok()) return w.OnError(path, set);
                       w.List(path);
                     }));
  }

  void List(const std::string& path) {
    store_.GetChildren(
        path, Locked([path](Walk& w, const absl::StatusOr<std::vector<std::string>>& children) {
          if (!children.ok()) return w.OnError(path, children.status());
          ++w.result_.nodes;
          for (const std::string& child : *children) w.todo_.push_back(path + "/" + child);
          w.Finished();
        }));
  }

  void OnError(const std::string& path, const absl::Status& status) {
    if (absl::IsUnavailable(status)) return Look(path);  // waits for the connection
    if (absl::IsPermissionDenied(status) && path != options_.root) {
      if (options_.on_denied) options_.on_denied(path);
    } else if (!absl::IsNotFound(status) && failed_.ok()) {
      failed_ = status;
    }
    Finished();
  }

  void Finished() {
    --in_flight_;
    Go();
  }

  CoordinationStore& store_;
  const WalkOptions options_;
  // The first requests are sent by the caller's thread.
  std::recursive_mutex mutex_;
  Done done_;
  std::deque<std::string> todo_;
  size_t in_flight_ = 0;
  absl::Status failed_;
  WalkResult result_;
};

}  // namespace

void WalkAccess(CoordinationStore& store, WalkOptions options,
                std::function<void(absl::StatusOr<WalkResult>)> done) {
  std::make_shared<Walk>(store, std::move(options), std::move(done))->Begin();
}

}  // namespace shardmanager
