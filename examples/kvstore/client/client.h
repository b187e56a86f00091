// The keys of a kvstore app, through the router: what a client of a sharded service looks like.
// Copy me.
#pragma once

#include <chrono>
#include <functional>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "kv.grpc.pb.h"
#include "shardmanager/router.h"

namespace kvstore {

// Thread-safe. All calls block, and fail with DEADLINE_EXCEEDED after `timeout`. Errors are those
// of the router (shardmanager/router.h) and of the server.
class Client {
 public:
  // `router` must outlive the client. A process has one, for all its apps.
  Client(shardmanager::Router& router, std::string app, std::chrono::milliseconds timeout)
      : router_(router), app_(std::move(app)), timeout_(timeout) {}

  // UNAVAILABLE: the connection broke; the value may be stored or not.
  absl::StatusOr<kv::PutResponse> Put(const std::string& key, const std::string& value);
  absl::StatusOr<kv::GetResponse> Get(const std::string& key);
  absl::StatusOr<kv::DeleteResponse> Delete(const std::string& key);

  // Calls `on_row` for each row with a key of [start, end), shard by shard; an empty `end` is the
  // end of all keys. Rows come in key order, but for apps that hash their keys, whose `start` and
  // `end` must be empty. Ends when there are no more rows, or `on_row` returns false.
  absl::Status Scan(const std::string& start, const std::string& end,
                    const std::function<bool(const kv::Row& row)>& on_row);

  // All shards of the app, in key order.
  absl::StatusOr<std::vector<shardmanager::ShardPlace>> Shards() {
    return router_.Scan(app_, "", "", timeout_);
  }

 private:
  // Of one shard. False: `on_row` wants no more.
  absl::StatusOr<bool> ScanShard(const shardmanager::ShardId& shard, kv::ScanRequest request,
                                 const std::function<bool(const kv::Row& row)>& on_row);

  shardmanager::Router& router_;
  const std::string app_;
  const std::chrono::milliseconds timeout_;
};

}  // namespace kvstore
