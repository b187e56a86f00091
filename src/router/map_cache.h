// Keeps the newest map of each app in a directory, off the path of lookups and of
// updates: all work with files is done on a thread of its own.
#pragma once

#include <functional>
#include <map>
#include <optional>
#include <string>

#include "base/time.h"
#include "discovery/map_state.h"
#include "model/map/whole_map.h"
#include "runtime/logging.h"
#include "runtime/serial_executor.h"
#include "shardmanager/v1/discovery.pb.h"

namespace shardmanager::router {

struct MapCacheOptions {
  std::string directory;
  // Only maps of this cell are read; empty: of any.
  std::string cell;
  // An app's file is written at most so often, and the first time after `soon`.
  Duration interval = Seconds(10);
  Duration soon = Seconds(1);
};

// Thread-safe.
class MapCache {
 public:
  explicit MapCache(MapCacheOptions options);
  // Writes what was not written yet.
  ~MapCache();

  // Calls `read` with the map of the file, or nothing if there is no good one, unless `needed` says
  // no by then; both on the cache's thread, `later` from now. Says in the log why not.
  void Read(const std::string& app, Duration later, std::function<bool()> needed,
            std::function<void(std::optional<v1::MapSnapshot>)> read);

  // The map that is used from now on, or what makes it out of the last one.
  void Accepted(const std::string& app, WholeMap whole);
  void Accepted(const std::string& app, v1::MapDelta delta);

  // Writes what was not written yet; nothing is called or written after that. Idempotent.
  void Stop();

 private:
  // On the executor's thread.
  struct App {
    std::optional<discovery::MapState> state;  // nothing: until the next whole map
    bool dirty = false;
    bool timer = false;
    std::optional<TimePoint> written;
    Repeater trouble;
  };
  void WriteSoon(const std::string& app);
  void Write(const std::string& app);
  std::optional<v1::MapSnapshot> Load(const std::string& app) const;
  // Nothing: an app of that name has no file.
  std::optional<std::string> PathOf(const std::string& app) const;

  const MapCacheOptions options_;
  std::map<std::string, App> apps_;
  bool stopped_ = false;
  SerialExecutor executor_;
};

}  // namespace shardmanager::router
