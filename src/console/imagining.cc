#include "console/imagining.h"

#include <utility>

#include "absl/strings/str_cat.h"
#include "whatif/what_if.h"

namespace shardmanager::console {

absl::StatusOr<v1::WhatIfReport> Imagining::Ask(const std::string& app,
                                                const v1::ImaginedChange& change, int64_t now_ms) {
  const std::unique_lock one(mutex_, std::try_to_lock);
  if (!one.owns_lock()) {
    return absl::ResourceExhaustedError("another what-if is being played; try again");
  }
  auto snapshot = Take(app, now_ms);
  if (!snapshot.ok()) return snapshot.status();
  auto report = whatif::Simulate(*std::move(snapshot), change);
  if (report.ok()) report->clear_placement();
  return report;
}

absl::StatusOr<v1::AppSnapshot> Imagining::Take(const std::string& app, int64_t now_ms) {
  v1::AppSnapshot snapshot;
  snapshot.set_taken_ms(now_ms);
  auto apps = source_.Apps(app);
  if (!apps.ok()) return apps.status();
  if (apps->apps_size() != 1) return absl::NotFoundError(absl::StrCat("no app \"", app, "\""));
  *snapshot.mutable_app() = std::move(*apps->mutable_apps(0));
  if (snapshot.app().replicas_wanted() > kMostReplicas) {
    return absl::ResourceExhaustedError(absl::StrCat(
        "app: found ", snapshot.app().replicas_wanted(), " replicas; allowed here: ", kMostReplicas,
        ". `shardctl simulate` plays larger ones, on your machine"));
  }
  auto servers = source_.Servers(app);
  if (!servers.ok()) return servers.status();
  snapshot.mutable_servers()->Swap(servers->mutable_servers());
  auto shards = source_.Shards(app);
  if (!shards.ok()) return shards.status();
  snapshot.mutable_shards()->Swap(shards->mutable_shards());
  return snapshot;
}

}  // namespace shardmanager::console
