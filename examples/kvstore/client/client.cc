#include "client.h"

#include <algorithm>

namespace kvstore {
namespace {

using Kv = kv::KeyValue;

template <typename Response>
absl::StatusOr<Response> Answer(const grpc::Status& status, Response response) {
  if (status.ok()) return response;
  return absl::Status(static_cast<absl::StatusCode>(status.error_code()), status.error_message());
}

}  // namespace

absl::StatusOr<kv::PutResponse> Client::Put(const std::string& key, const std::string& value) {
  kv::PutRequest request;
  request.set_key(key);
  request.set_value(value);
  kv::PutResponse response;
  // Not idempotent: an attempt that takes effect late would undo what was put after it.
  const grpc::Status status = router_.GetClient<Kv>(app_, key).Call(
      &Kv::Stub::Put, request, &response, {.timeout = timeout_});
  return Answer(status, response);
}

absl::StatusOr<kv::GetResponse> Client::Get(const std::string& key) {
  kv::GetRequest request;
  request.set_key(key);
  kv::GetResponse response;
  const grpc::Status status = router_.GetClient<Kv>(app_, key).Call(
      &Kv::Stub::Get, request, &response, {.timeout = timeout_, .idempotent = true});
  return Answer(status, response);
}

absl::StatusOr<kv::DeleteResponse> Client::Delete(const std::string& key) {
  kv::DeleteRequest request;
  request.set_key(key);
  kv::DeleteResponse response;
  const grpc::Status status = router_.GetClient<Kv>(app_, key).Call(
      &Kv::Stub::Delete, request, &response, {.timeout = timeout_});
  return Answer(status, response);
}

absl::Status Client::Scan(const std::string& start, const std::string& end,
                          const std::function<bool(const kv::Row& row)>& on_row) {
  const auto places = router_.Scan(app_, start, end, timeout_);
  if (!places.ok()) return places.status();
  for (const shardmanager::ShardPlace& place : *places) {
    kv::ScanRequest request;
    request.set_start(std::max(start, place.start));
    request.set_end(end);  // or the end of the shard, if that comes first
    const auto more = ScanShard(place.shard, std::move(request), on_row);
    if (!more.ok()) return more.status();
    if (!*more) return absl::OkStatus();
  }
  return absl::OkStatus();
}

absl::StatusOr<bool> Client::ScanShard(const shardmanager::ShardId& shard, kv::ScanRequest request,
                                       const std::function<bool(const kv::Row& row)>& on_row) {
  for (;;) {
    kv::ScanResponse response;
    // By shard: it is asked wherever it is by now. A shard that was split or merged meanwhile is
    // not found; the rows are in others then, so the whole scan has to begin anew.
    const grpc::Status status =
        router_.GetClientForShard<Kv>(app_, shard)
            .Call(&Kv::Stub::Scan, request, &response, {.timeout = timeout_, .idempotent = true});
    if (!status.ok()) return Answer(status, false);
    for (const kv::Row& row : response.rows()) {
      if (!on_row(row)) return false;
    }
    if (!response.more() || response.rows().empty()) return true;
    request.set_start(response.rows().rbegin()->key() + '\0');
  }
}

}  // namespace kvstore
