#include "orchestrator/shell/release.h"

#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "coordination/election.h"
#include "orchestrator/shell/change_outcome.h"
#include "orchestrator/shell/gone_server.h"

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

  void Start() {
    FindGone(options_, server_,
             [self = shared_from_this()](const absl::StatusOr<Registration>& registration) {
               if (!registration.ok()) return self->done_(registration.status());
               if (registration->has_value()) self->registered_ = (*registration)->stat.version;
               if (!IsWanted(self->wanted_)) return self->done_(NobodyWaits());
               self->Delete();
             });
  }

 private:
  std::string RegistrationPath() const {
    return options_.paths.server(options_.app, server_, options_.buckets);
  }

  void Delete() {
    std::vector<WriteOp> ops{LeaderFence(options_.paths, options_.leader_epoch)};
    if (registered_) ops.push_back(CheckVersion{RegistrationPath(), *registered_});
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
