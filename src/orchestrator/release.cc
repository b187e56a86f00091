#include "orchestrator/release.h"

#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "coordination/election.h"

namespace shardmanager::orchestrator {
namespace {

// One release under way.
class Release : public std::enable_shared_from_this<Release> {
 public:
  using Done = std::function<void(absl::Status)>;

  Release(WriterOptions options, const DamagedRecord& record, Done done)
      : options_(std::move(options)),
        server_(record.server),
        path_(record.path),
        version_(record.node.stat.version),
        done_(std::move(done)) {}

  // The registration first, the live nodes second: if none is there then, the life that
  // was counted is over, and a newer one makes the write fail.
  void Start() {
    options_.store->Sync([self = shared_from_this()](const absl::Status& synced) {
      if (!synced.ok()) return self->done_(synced);
      self->options_.store->Get(self->Registration(), [self](const absl::StatusOr<Node>& node) {
        if (node.ok()) self->registered_ = node->stat.version;
        if (!node.ok() && !absl::IsNotFound(node.status())) return self->done_(node.status());
        self->LookForLife();
      });
    });
  }

 private:
  std::string Registration() const {
    return options_.paths.server(options_.app, server_, options_.buckets);
  }

  void LookForLife() {
    const std::string folder = Paths::bucket(options_.paths.live(options_.app),
                                             BucketOf(server_.value(), options_.buckets));
    options_.store->GetChildren(
        folder, [self = shared_from_this()](const absl::StatusOr<std::vector<std::string>>& lives) {
          if (!lives.ok()) return self->done_(lives.status());
          for (const std::string& child : *lives) {
            const auto name = ParseLiveName(child);
            if (!name || name->server != self->server_) continue;
            return self->done_(absl::FailedPreconditionError(absl::StrCat(
                "server \"", self->server_.value(), "\" is live (life ", name->incarnation.value(),
                ") and may serve what its record granted: stop it first")));
          }
          self->Delete();
        });
  }

  void Delete() {
    std::vector<WriteOp> ops{LeaderFence(options_.paths, options_.leader_epoch)};
    if (registered_) ops.push_back(CheckVersion{Registration(), *registered_});
    ops.push_back(DeleteNode{path_, version_});
    options_.store->Multi(std::move(ops), [self = shared_from_this()](const WriteResult& result) {
      if (result.status.ok() || absl::IsUnavailable(result.status)) {
        return self->done_(result.status);
      }
      self->done_(absl::AbortedError(absl::StrCat(
          "the server came back, its record changed, or another process leads; look again (",
          std::string(result.status.message()), ")")));
    });
  }

  const WriterOptions options_;
  const ServerName server_;
  const std::string path_;
  const int32_t version_;
  std::optional<int32_t> registered_;
  const Done done_;
};

}  // namespace

void ReleaseAssignment(const WriterOptions& options, const DamagedRecord& record,
                       std::function<void(absl::Status)> done) {
  if (record.newer()) {
    return done(absl::FailedPreconditionError(
        absl::StrCat("a newer version wrote the record, which that version can read: ",
                     std::string(record.why.message()))));
  }
  if (!record.kept.ok()) {
    return done(absl::FailedPreconditionError(
        absl::StrCat("its bytes could not be copied to ", record.kept_at,
                     " yet: ", std::string(record.kept.message()))));
  }
  std::make_shared<Release>(options, record, std::move(done))->Start();
}

}  // namespace shardmanager::orchestrator
