#include "router/map_outlook.h"

#include "absl/strings/str_cat.h"

namespace shardmanager::router_internal {

bool MapOutlook::HasAllShards() const {
  return newest != nullptr && newest->layout().size() > 0 && unserved == 0;
}

std::string MapOutlook::WhatIsMissing() const {
  const std::string why =
      discovery.ok() ? "" : absl::StrCat(" (", std::string(discovery.message()), ")");
  if (newest == nullptr) return absl::StrCat(app, ": no shard map has come", why);
  if (newest->layout().size() == 0) return absl::StrCat(app, ": the app has no shards", why);
  return absl::StrCat(app, ": ", unserved, " of ", newest->layout().size(),
                      " shards are not served, the first is ", first_unserved, why);
}

absl::Status MapOutlook::Hopeless() const {
  if (newest != nullptr || !cache_is_read) return absl::OkStatus();
  if (!has_discovery) {
    return absl::FailedPreconditionError(
        absl::StrCat("RouterOptions::discovery is empty, so no shard map comes",
                     keeps_maps ? ", and none is kept" : ""));
  }
  if (!security.ok()) return absl::FailedPreconditionError(std::string(security.message()));
  if (absl::IsFailedPrecondition(discovery)) {
    return absl::FailedPreconditionError(
        absl::StrCat(std::string(discovery.message()), " (RouterOptions::cell)"));
  }
  if (no_such_app_in.empty()) return absl::OkStatus();
  return absl::NotFoundError(absl::StrCat("there is no such app in cell ", no_such_app_in));
}

}  // namespace shardmanager::router_internal
