#include "orchestrator/shell/forget.h"

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "coordination/election.h"
#include "coordination/envelope.h"
#include "coordination/records.h"
#include "orchestrator/shell/gone_server.h"

namespace shardmanager::orchestrator {
namespace {

absl::Status ForgetUnknown() {
  return OutcomeUnknown("the server was forgotten",
                        "Ask with `shardctl get servers`: one that is forgotten is not listed");
}

// One server that is being forgotten.
class Forget : public std::enable_shared_from_this<Forget> {
 public:
  using Done = std::function<void(absl::StatusOr<int32_t>)>;

  Forget(WriterOptions options, ServerName server, Done done, Wanted wanted)
      : options_(std::move(options)),
        server_(std::move(server)),
        done_(std::move(done)),
        wanted_(std::move(wanted)) {}

  // Also after a write of which nobody knows whether it happened.
  void Start() {
    FindGone(options_, server_,
             [self = shared_from_this()](absl::StatusOr<Registration> registration) {
               if (!registration.ok()) return self->Fail(registration.status());
               if (!registration->has_value()) {
                 return self->Fail(absl::NotFoundError(
                     absl::StrCat("server \"", self->server_.value(), "\" never registered")));
               }
               self->Mark(**registration);
             });
  }

 private:
  void Mark(const Node& node) {
    v1::ServerRecord record;
    if (const absl::Status sense = OpenServer(node.data, server_, &record); !sense.ok()) {
      return Fail(absl::FailedPreconditionError(
          absl::StrCat("the registration of server \"", server_.value(),
                       "\" cannot be read: ", std::string(sense.message()))));
    }
    if (record.forgotten()) return done_(node.stat.version);
    if (!IsWanted(wanted_)) return Fail(NobodyWaits());
    record.set_server(server_.value());
    record.set_forgotten(true);
    std::vector<WriteOp> ops{LeaderFence(options_.paths, options_.leader_epoch)};
    ops.push_back(SetNode{options_.paths.server(options_.app, server_, options_.buckets),
                          Seal(record), node.stat.version});
    options_.store->Multi(std::move(ops), [self = shared_from_this(),
                                           version = node.stat.version](const WriteResult& result) {
      if (absl::IsUnavailable(result.status)) {
        self->unknown_ = true;
        return self->Start();
      }
      self->unknown_ = false;
      const absl::Status outcome =
          OutcomeOf(result, ForgetUnknown(), "the server came back; look again");
      if (!outcome.ok()) return self->Fail(outcome);
      self->done_(version + 1);
    });
  }

  void Fail(const absl::Status& why) {
    done_(unknown_ && absl::IsUnavailable(why) ? ForgetUnknown() : why);
  }

  const WriterOptions options_;
  const ServerName server_;
  const Done done_;
  const Wanted wanted_;
  bool unknown_ = false;  // whether it is marked
};

}  // namespace

void MarkForgotten(const WriterOptions& options, const ServerName& server,
                   std::function<void(absl::StatusOr<int32_t>)> done, Wanted wanted) {
  std::make_shared<Forget>(options, server, std::move(done), std::move(wanted))->Start();
}

}  // namespace shardmanager::orchestrator
