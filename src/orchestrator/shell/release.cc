#include "orchestrator/shell/release.h"

#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "coordination/access/store_access.h"
#include "coordination/election.h"
#include "orchestrator/shell/change_outcome.h"

namespace shardmanager::orchestrator {
namespace {

absl::Status ReleaseUnknown() {
  return OutcomeUnknown("the record was released",
                        "Ask with `shardctl get apps`, after 10 s: a record that is still there "
                        "has a condition");
}

absl::Status ReleaseOutcome(const WriteResult& result) {
  return OutcomeOf(result, ReleaseUnknown(),
                   "the server came back, or its record changed; look again");
}

// One release under way.
class Release : public std::enable_shared_from_this<Release> {
 public:
  using Done = std::function<void(absl::Status)>;

  Release(WriterOptions options, const DamagedRecord& record, Done done, Wanted wanted)
      : options_(std::move(options)),
        server_(record.server),
        path_(record.path),
        version_(record.node.stat.version),
        done_(std::move(done)),
        wanted_(std::move(wanted)) {}

  // The registration first, the live nodes second: if none is there then, the life that
  // was counted is over, and a newer one makes the write fail.
  void Start() {
    options_.store->Sync([self = shared_from_this()](const absl::Status& synced) {
      if (!synced.ok()) return self->done_(NothingWasChanged());
      self->options_.store->Get(self->Registration(), [self](const absl::StatusOr<Node>& node) {
        if (node.ok()) self->registered_ = node->stat.version;
        if (!node.ok() && !absl::IsNotFound(node.status())) {
          return self->done_(NothingWasChanged());
        }
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
          if (!lives.ok()) return self->done_(NothingWasChanged());
          for (const std::string& child : *lives) {
            const auto name = ParseLiveName(child);
            if (!name || name->server != self->server_) continue;
            const StoreAccess* access = self->options_.store->access();
            if (access != nullptr && !access->Counts(self->options_.app, *name)) continue;
            return self->done_(absl::FailedPreconditionError(absl::StrCat(
                "server \"", self->server_.value(), "\" is live (life ", name->incarnation.value(),
                ") and may serve what its record granted: stop it first")));
          }
          if (!IsWanted(self->wanted_)) return self->done_(NobodyWaits());
          self->Delete();
        });
  }

  void Delete() {
    std::vector<WriteOp> ops{LeaderFence(options_.paths, options_.leader_epoch)};
    if (registered_) ops.push_back(CheckVersion{Registration(), *registered_});
    ops.push_back(DeleteNode{path_, version_});
    options_.store->Multi(std::move(ops), [self = shared_from_this()](const WriteResult& result) {
      if (absl::IsUnavailable(result.status)) return self->ReadBack();
      self->done_(ReleaseOutcome(result));
    });
  }

  // Nobody knows whether it happened.
  void ReadBack() {
    options_.store->Sync([self = shared_from_this()](const absl::Status& synced) {
      if (!synced.ok()) return self->done_(ReleaseUnknown());
      self->options_.store->Get(self->path_, [self](const absl::StatusOr<Node>& node) {
        if (absl::IsNotFound(node.status())) return self->done_(absl::OkStatus());
        if (!node.ok()) return self->done_(ReleaseUnknown());
        if (IsWanted(self->wanted_)) return self->Delete();
        self->done_(NothingWasChanged());
      });
    });
  }

  const WriterOptions options_;
  const ServerName server_;
  const std::string path_;
  const int32_t version_;
  std::optional<int32_t> registered_;
  const Done done_;
  const Wanted wanted_;
};

}  // namespace

void ReleaseAssignment(const WriterOptions& options, const DamagedRecord& record,
                       std::function<void(absl::Status)> done, Wanted wanted) {
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
  std::make_shared<Release>(options, record, std::move(done), std::move(wanted))->Start();
}

}  // namespace shardmanager::orchestrator
