#include "orchestrator/shell/bulk_read.h"

#include <memory>
#include <mutex>
#include <optional>
#include <utility>

namespace shardmanager::orchestrator {
namespace {

// Enough to keep the connection busy, few enough to bound what waits in memory.
constexpr size_t kInFlight = 512;

// One bulk operation: `Ask` sends request i, Answer() takes what came.
template <typename Result>
class Pipeline : public std::enable_shared_from_this<Pipeline<Result>> {
 public:
  using Answered = std::function<void(size_t, absl::StatusOr<Result>)>;
  using Ask = std::function<void(size_t, Answered)>;
  using Done = std::function<void(absl::StatusOr<std::vector<std::optional<Result>>>)>;

  Pipeline(size_t count, Ask ask, Done done)
      : results_(count), ask_(std::move(ask)), done_(std::move(done)) {}

  void Start() {
    if (results_.empty()) return done_(std::move(results_));
    for (size_t i = 0; i < kInFlight; ++i) {
      if (!SendNext()) break;
    }
  }

 private:
  bool SendNext() {
    size_t i;
    {
      std::lock_guard lock(mutex_);
      if (next_ == results_.size() || !status_.ok()) return false;
      i = next_++;
      ++out_;
    }
    ask_(i, [self = this->shared_from_this()](size_t index, absl::StatusOr<Result> result) {
      self->Answer(index, std::move(result));
    });
    return true;
  }

  void Answer(size_t i, absl::StatusOr<Result> result) {
    bool finished;
    {
      std::lock_guard lock(mutex_);
      --out_;
      if (result.ok()) {
        results_[i] = *std::move(result);
      } else if (!absl::IsNotFound(result.status()) && status_.ok()) {
        status_ = result.status();
      }
      finished = out_ == 0 && (next_ == results_.size() || !status_.ok());
    }
    if (!finished) {
      SendNext();
      return;
    }
    Done done = std::exchange(done_, nullptr);
    ask_ = nullptr;
    if (!status_.ok()) return done(status_);
    done(std::move(results_));
  }

  std::mutex mutex_;
  std::vector<std::optional<Result>> results_;
  absl::Status status_;
  size_t next_ = 0;
  size_t out_ = 0;
  Ask ask_;
  Done done_;
};

}  // namespace

void ReadAll(CoordinationStore& store, std::vector<std::string> paths,
             std::function<void(absl::StatusOr<std::vector<NamedNode>>)> done, Denied denied) {
  auto names = std::make_shared<std::vector<std::string>>(std::move(paths));
  auto pipeline = std::make_shared<Pipeline<NamedNode>>(
      names->size(),
      [&store, names, denied](size_t i, auto answered) {
        store.Get((*names)[i], [i, names, denied, answered](absl::StatusOr<Node> node) {
          if (node.ok()) return answered(i, NamedNode{(*names)[i], *std::move(node)});
          const bool given = denied == Denied::kGive && absl::IsPermissionDenied(node.status());
          if (given) return answered(i, NamedNode{(*names)[i], {}, node.status()});
          answered(i, node.status());
        });
      },
      [done = std::move(done)](auto results) {
        if (!results.ok()) return done(results.status());
        std::vector<NamedNode> nodes;
        for (std::optional<NamedNode>& result : *results) {
          if (result) nodes.push_back(*std::move(result));
        }
        done(std::move(nodes));
      });
  pipeline->Start();
}

void ListAll(CoordinationStore& store, std::vector<std::string> folders,
             std::function<void(absl::StatusOr<std::vector<std::string>>)> done) {
  auto names = std::make_shared<std::vector<std::string>>(std::move(folders));
  auto pipeline = std::make_shared<Pipeline<std::vector<std::string>>>(
      names->size(),
      [&store, names](size_t i, auto answered) {
        store.GetChildren((*names)[i], [i, answered](absl::StatusOr<std::vector<std::string>> c) {
          answered(i, std::move(c));
        });
      },
      [names, done = std::move(done)](auto results) {
        if (!results.ok()) return done(results.status());
        std::vector<std::string> paths;
        for (size_t i = 0; i < names->size(); ++i) {
          if (!(*results)[i]) continue;
          for (const std::string& child : *(*results)[i]) {
            paths.push_back((*names)[i] + "/" + child);
          }
        }
        done(std::move(paths));
      });
  pipeline->Start();
}

}  // namespace shardmanager::orchestrator
