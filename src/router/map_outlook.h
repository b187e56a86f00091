// What a router knows of one app: its newest map, and whether a newer one, or any, may come.
#pragma once

#include <cstddef>
#include <memory>
#include <string>

#include "absl/status/status.h"
#include "router/shard_map.h"
#include "wire/discovery_client.h"

namespace shardmanager::router_internal {

// Plain data and what follows from it. Not thread-safe.
struct MapOutlook {
  std::string app;
  bool has_discovery = true;
  bool keeps_maps = false;  // on disk
  absl::Status security;    // not OK: why nobody can be connected to

  std::shared_ptr<const router::ShardMap> newest;  // null: no map has come
  size_t unserved = 0;                             // shards of it
  std::string first_unserved;
  bool cache_is_read = false;  // or there is none
  absl::Status discovery;      // MapSink::OnStreamState
  std::string no_such_app_in;  // MapSink::OnNoSuchApp
  wire::MapSink::Freshness freshness = wire::MapSink::Freshness::kAsking;

  // There is a map, and each of its shards is served.
  bool HasAllShards() const;
  // Why there is no map, or not all of it is served. For people.
  std::string WhatIsMissing() const;
  // There is no map, and to wait for one would not help. FAILED_PRECONDITION: by RouterOptions none
  // can come. NOT_FOUND: the cell has no such app. OK: one may come.
  absl::Status Hopeless() const;
};

}  // namespace shardmanager::router_internal
