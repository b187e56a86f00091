#include "orchestrator/control/spec_store.h"

#include <utility>
#include <vector>

#include "coordination/election.h"
#include "coordination/envelope.h"
#include "coordination/write_check.h"

namespace shardmanager::orchestrator {
namespace {

absl::Status Unknown() {
  return OutcomeUnknown("the change happened",
                        "Ask with `shardctl get apps` and `shardctl describe app`");
}

absl::Status Explain(const WriteResult& result) {
  return OutcomeOf(result, Unknown(), "the spec was changed by somebody else meanwhile; try again");
}

}  // namespace

std::vector<WriteOp> SpecStore::Folders(const AppName& app) const {
  std::vector<WriteOp> ops;
  ops.push_back(CreateNode{paths_.app(app), ""});
  for (const std::string& folder :
       {paths_.servers(app), paths_.live(app), paths_.assignments(app)}) {
    ops.push_back(CreateNode{folder, ""});
    for (uint32_t b = 0; b < buckets_; ++b) ops.push_back(CreateNode{Paths::bucket(folder, b), ""});
  }
  return ops;
}

absl::Status SpecStore::CheckSize(const AppName& app, const v1::StoredSpec& spec,
                                  bool is_new) const {
  std::vector<WriteOp> ops;
  if (is_new) ops = Folders(app);
  ops.push_back(CreateNode{paths_.spec(app), Seal(spec)});
  ops.push_back(LeaderFence(paths_, leader_epoch_));
  return CheckWriteSize(ops);
}

void SpecStore::Create(const AppName& app, const v1::StoredSpec& spec, Done done,
                       Wanted wanted) const {
  store_->Get(paths_.app(app), [self = *this, app, spec, done, wanted](absl::StatusOr<Node> node) {
    if (!node.ok() && !absl::IsNotFound(node.status())) return done(NothingWasChanged());
    if (!IsWanted(wanted)) return done(NobodyWaits());
    std::vector<WriteOp> ops;
    if (!node.ok()) ops = self.Folders(app);
    std::string data = Seal(spec);
    ops.push_back(CreateNode{self.paths_.spec(app), data});
    self.Write({app, std::move(ops), std::move(data), /*version=*/0, done, wanted});
  });
}

void SpecStore::Replace(const AppName& app, const v1::StoredSpec& spec, int32_t version, Done done,
                        Wanted wanted) const {
  std::string data = Seal(spec);
  std::vector<WriteOp> ops;
  ops.push_back(SetNode{paths_.spec(app), data, version});
  Write({app, std::move(ops), std::move(data), version + 1, std::move(done), std::move(wanted)});
}

void SpecStore::Write(const Change& change) const {
  std::vector<WriteOp> ops = change.ops;
  ops.insert(ops.begin(), LeaderFence(paths_, leader_epoch_));
  store_->Multi(std::move(ops), [self = *this, change](WriteResult result) {
    if (result.status.ok()) return change.done(change.version);
    if (!absl::IsUnavailable(result.status)) return change.done(Explain(result));
    // Nobody knows whether it happened: read back.
    self.store_->Sync([self, change](absl::Status synced) {
      if (!synced.ok()) return change.done(Unknown());
      self.store_->Get(self.paths_.spec(change.app), [self, change](absl::StatusOr<Node> node) {
        // (It may have been there already: a drain that is asked for again, for example.)
        if (node.ok() && node->data == change.data) return change.done(node->stat.version);
        if (!node.ok() && !absl::IsNotFound(node.status())) return change.done(Unknown());
        if (IsWanted(change.wanted)) return self.Write(change);
        change.done(NothingWasChanged());
      });
    });
  });
}

}  // namespace shardmanager::orchestrator
