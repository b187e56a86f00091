#include "router/map_cache.h"

#include <algorithm>
#include <filesystem>
#include <limits>
#include <system_error>
#include <utility>

#include "absl/strings/str_cat.h"
#include "model/map/cell_identity.h"
#include "model/map_version.h"
#include "model/spec/spec_names.h"
#include "router/map_file.h"
#include "runtime/logging.h"

namespace shardmanager::router {

MapCache::MapCache(MapCacheOptions options)
    : options_(std::move(options)), executor_("sm-map-cache") {
  std::error_code error;
  std::filesystem::create_directories(options_.directory, error);
  if (error) {
    LogWarning("the map cache {} cannot be made, so no map is kept: {}", options_.directory,
               error.message());
  }
}

MapCache::~MapCache() { Stop(); }

void MapCache::Stop() {
  if (std::exchange(stopped_, true)) return;
  executor_.RunThere([this] {
    for (auto& [name, app] : apps_) Write(name);
  });
  executor_.Stop();
}

// Names of apps are made of such letters; whatever else is asked for has no map.
std::optional<std::string> MapCache::PathOf(const std::string& app) const {
  if (!IsAppName(app)) return std::nullopt;
  return absl::StrCat(options_.directory, "/", app, ".map");
}

// ---- reading ----

void MapCache::Read(const std::string& app, Duration later, std::function<bool()> needed,
                    std::function<void(std::optional<v1::MapSnapshot>)> read) {
  executor_.PostAt(executor_.Now() + later,
                   [this, app, needed = std::move(needed), read = std::move(read)] {
                     if (needed()) read(Load(app));
                   });
}

std::optional<v1::MapSnapshot> MapCache::Load(const std::string& app) const {
  const auto path = PathOf(app);
  if (!path) return std::nullopt;
  auto file = ReadMapFile(*path, app);
  if (absl::IsNotFound(file.status())) {
    LogInfo("no discovery answers, and no map of {} is kept at {}", app, *path);
    return std::nullopt;
  }
  if (!file.ok()) {
    LogWarning("the kept map of {} is ignored: {}", app, file.status().ToString());
    return std::nullopt;
  }
  v1::MapSnapshot map = std::move(*file->mutable_map());
  if (!IsOfCell(map.cell(), options_.cell)) {
    LogWarning("the kept map of {} is ignored: {} is of cell {}, not of {}", app, *path, map.cell(),
               options_.cell);
    return std::nullopt;
  }
  return map;
}

// ---- writing ----

void MapCache::Accepted(const std::string& app, WholeMap whole) {
  executor_.Post([this, app, whole = std::move(whole)] {
    App& entry = apps_[app];
    discovery::MapState state;
    entry.state.reset();
    if (!discovery::MapState::Decode(whole, &state).ok()) return;
    entry.state = std::move(state);
    WriteSoon(app);
  });
}

void MapCache::Accepted(const std::string& app, v1::MapDelta delta) {
  executor_.Post([this, app, delta = std::move(delta)] {
    App& entry = apps_[app];
    if (!entry.state) return;
    discovery::Change change;
    const bool fits = entry.state->version() == MapVersion::From(delta.from()) &&
                      entry.state->Decode(delta, &change).ok();
    if (!fits) return entry.state.reset();
    entry.state->Apply(change);
    WriteSoon(app);
  });
}

void MapCache::WriteSoon(const std::string& app) {
  App& entry = apps_[app];
  entry.dirty = true;
  if (std::exchange(entry.timer, true)) return;
  const TimePoint soon = executor_.Now() + options_.soon;
  const TimePoint when = entry.written ? std::max(soon, *entry.written + options_.interval) : soon;
  executor_.PostAt(when, [this, app] {
    apps_[app].timer = false;
    Write(app);
  });
}

void MapCache::Write(const std::string& app) {
  App& entry = apps_[app];
  const auto path = PathOf(app);
  if (!entry.state || !path || !std::exchange(entry.dirty, false)) return;
  entry.written = executor_.Now();
  v1::WatchResponse response;
  const auto parts = entry.state->EncodeParts(std::numeric_limits<size_t>::max());
  if (parts.size() != 1 || !response.ParseFromString(*parts[0])) return;
  v1::CachedMap map;
  map.set_app(app);
  *map.mutable_map() = std::move(*response.mutable_snapshot());
  const auto written = WriteMapFile(*path, map);
  if (written.ok()) {
    entry.trouble.Over(absl::StrCat("the map of ", app, " is kept on disk again"));
  } else {
    entry.trouble.Say(absl::StrCat(
        "the map of ", app, " is not kept on disk: ", std::string(written.status().message())));
  }
}

}  // namespace shardmanager::router
