#include "orchestrator/shell/spec_watch.h"

#include "coordination/records.h"
#include "orchestrator/shell/damaged_records.h"

namespace shardmanager::orchestrator {

void SpecWatch::Read() {
  watched_ = true;
  options_.store->Get(
      path(),
      [this, post = options_.post](absl::StatusOr<Node> node) {
        post([this, node = std::move(node)] { OnRead(node); });
      },
      [this, post = options_.post] { post([this] { Read(); }); });
}

void SpecWatch::OnRead(const absl::StatusOr<Node>& node) {
  if (absl::IsNotFound(node.status())) return callbacks_.deleted();
  if (!node.ok()) {
    watched_ = false;
    return callbacks_.unreachable(node.status());
  }
  if (node->stat.version == version_) return;
  v1::StoredSpec stored;
  if (absl::Status status = OpenSpec(node->data, options_.app, &stored); !status.ok()) {
    callbacks_.damaged(status);
    return options_.damaged->Add(RecordKind::kSpec, "", path(), *node, status);
  }
  Adopt(std::move(stored), node->stat.version);
}

void SpecWatch::Take(v1::StoredSpec stored, int32_t version) {
  if (version > version_) Adopt(std::move(stored), version);
}

void SpecWatch::Adopt(v1::StoredSpec stored, int32_t version) {
  options_.damaged->Resolved(path());
  stored_ = std::move(stored);
  version_ = version;
  callbacks_.adopted();
}

OperatorOrders SpecWatch::ordered(TimePoint now, int64_t now_ms) const {
  OperatorOrders ordered;
  ordered.drains.assign(stored_.drains().begin(), stored_.drains().end());
  if (stored_.has_pause()) ordered.pause = stored_.pause();
  ordered.pins.assign(stored_.pins().begin(), stored_.pins().end());
  ordered.preferences = stored_.preferences();
  ordered.reshapes.assign(stored_.reshapes().begin(), stored_.reshapes().end());
  for (const v1::Maintenance& notice : stored_.maintenances()) {
    ordered.maintenances.push_back(OnClock(notice, now, now_ms));
  }
  return ordered;
}

}  // namespace shardmanager::orchestrator
