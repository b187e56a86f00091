// What the service answers to requests that were admitted.
#pragma once

#include <algorithm>
#include <chrono>
#include <string>
#include <utility>

#include "grpc_status.h"
#include "kv.grpc.pb.h"
#include "store.h"

namespace kvstore {

// How long a message of a stream waits for the lease, or for a shard that stays after all. As
// ServerOptions::hold_timeout.
inline constexpr std::chrono::milliseconds kMessagePatience{2'000};

// `Admitted`: a shardmanager::Admission, or an AdmittedCall.
class Answers {
 public:
  Answers(Store& store, std::string name) : store_(store), name_(std::move(name)) {}

  template <typename Admitted>
  grpc::Status To(const Admitted& admitted, const kv::PutRequest& request,
                  kv::PutResponse& response) {
    return Put(admitted, request, response);
  }

  template <typename Admitted>
  grpc::Status To(const Admitted& admitted, const kv::PutEachRequest& request,
                  kv::PutEachResponse& response) {
    if (admitted.role() != shardmanager::Role::kPrimary) {
      // The role has changed since the stream began. With this status its client opens another one.
      return {grpc::StatusCode::UNAVAILABLE, "the primary of the shard is another server now"};
    }
    response.set_sequence(request.sequence());
    return Put(admitted, request, response);
  }

  template <typename Admitted>
  grpc::Status To(const Admitted& admitted, const kv::GetRequest& request,
                  kv::GetResponse& response) {
    Sign(admitted, response.mutable_served_by());
    auto value = store_.Find(admitted.shard())->Get(request.key());
    if (!value.ok()) return ToGrpc(value.status());
    response.set_found(value->has_value());
    if (value->has_value()) response.set_value(**value);
    return grpc::Status::OK;
  }

  template <typename Admitted>
  grpc::Status To(const Admitted& admitted, const kv::ScanRequest& request,
                  kv::ScanResponse& response) {
    Sign(admitted, response.mutable_served_by());
    KvShard::Range range{.start = request.start(), .end = request.end()};
    if (request.max_rows() > 0) {
      range.max_rows = std::min<size_t>(request.max_rows(), range.max_rows);
    }
    auto page = store_.Find(admitted.shard())->Scan(range);
    if (!page.ok()) return ToGrpc(page.status());
    for (KvShard::Row& row : page->rows) {
      kv::Row* to = response.add_rows();
      to->set_key(std::move(row.key));
      to->set_value(std::move(row.value));
    }
    response.set_more(page->more);
    return grpc::Status::OK;
  }

  template <typename Admitted>
  grpc::Status To(const Admitted& admitted, const kv::DeleteRequest& request,
                  kv::DeleteResponse& response) {
    if (admitted.role() != shardmanager::Role::kPrimary) return NotPrimary();
    Sign(admitted, response.mutable_served_by());
    auto found = store_.Find(admitted.shard())->Delete(admitted.epoch(), request.key());
    if (!found.ok()) return ToGrpc(found.status());
    response.set_found(*found);
    return grpc::Status::OK;
  }

 private:
  template <typename Admitted, typename Request, typename Response>
  grpc::Status Put(const Admitted& admitted, const Request& request, Response& response) {
    if (admitted.role() != shardmanager::Role::kPrimary) return NotPrimary();
    Sign(admitted, response.mutable_served_by());
    auto shard = store_.Find(admitted.shard());
    return ToGrpc(shard->Put(admitted.epoch(), request.key(), request.value()));
  }
  static grpc::Status NotPrimary() {
    return {grpc::StatusCode::FAILED_PRECONDITION, "a secondary takes no writes"};
  }
  template <typename Admitted>
  void Sign(const Admitted& admitted, kv::ServedBy* served_by) const {
    served_by->set_server(name_);
    served_by->set_shard(admitted.shard().value());
    served_by->set_epoch(admitted.epoch().value());
  }

  Store& store_;
  const std::string name_;
};

}  // namespace kvstore
