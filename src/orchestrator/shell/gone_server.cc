#include "orchestrator/shell/gone_server.h"

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "coordination/access/store_access.h"
#include "orchestrator/shell/change_outcome.h"

namespace shardmanager::orchestrator {
namespace {

// The registration first, the live nodes second: if none is there then, the life that was counted
// is over, and a newer one changes the registration.
class Look : public std::enable_shared_from_this<Look> {
 public:
  using Done = std::function<void(absl::StatusOr<Registration>)>;

  Look(WriterOptions options, ServerName server, Done done)
      : options_(std::move(options)), server_(std::move(server)), done_(std::move(done)) {}

  void Start() {
    options_.store->Sync([self = shared_from_this()](const absl::Status& synced) {
      if (!synced.ok()) return self->done_(NothingWasChanged());
      const std::string path =
          self->options_.paths.server(self->options_.app, self->server_, self->options_.buckets);
      self->options_.store->Get(path, [self](const absl::StatusOr<Node>& node) {
        if (node.ok()) self->registration_ = *node;
        if (!node.ok() && !absl::IsNotFound(node.status())) {
          return self->done_(NothingWasChanged());
        }
        self->LookForLife();
      });
    });
  }

 private:
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
            return self->done_(absl::FailedPreconditionError(
                absl::StrCat("server \"", self->server_.value(), "\" is live (life ",
                             name->incarnation.value(), "): stop it first")));
          }
          self->done_(std::move(self->registration_));
        });
  }

  const WriterOptions options_;
  const ServerName server_;
  Registration registration_;
  const Done done_;
};

}  // namespace

void FindGone(const WriterOptions& options, const ServerName& server,
              std::function<void(absl::StatusOr<Registration>)> done) {
  std::make_shared<Look>(options, server, std::move(done))->Start();
}

}  // namespace shardmanager::orchestrator
