#include "service.h"

#include <utility>

#include "grpc_status.h"

namespace kvstore {
namespace {

using Stub = kv::KeyValue::Stub;

// Only the primary writes. (Routers send writes there; whoever asks a secondary by hand...)
grpc::Status NotPrimary() {
  return {grpc::StatusCode::FAILED_PRECONDITION, "a secondary takes no writes"};
}

}  // namespace

KvService::KvService(shardmanager::Server& server, Store& store, std::string name)
    : server_(server), store_(store), name_(std::move(name)) {}

grpc::Status KvService::Put(grpc::ServerContext* context, const kv::PutRequest* request,
                            kv::PutResponse* response) {
  const shardmanager::Admission admission = server_.Admit(*context, &Stub::Put, request, response);
  if (!admission.ok()) return admission.status();  // the right server answers
  if (admission.role() != shardmanager::Role::kPrimary) return NotPrimary();
  Sign(admission, response->mutable_served_by());
  auto shard = store_.Find(admission.shard());
  return ToGrpc(shard->Put(admission.epoch(), request->key(), request->value()));
}

grpc::Status KvService::Get(grpc::ServerContext* context, const kv::GetRequest* request,
                            kv::GetResponse* response) {
  const shardmanager::Admission admission = server_.Admit(*context, &Stub::Get, request, response);
  if (!admission.ok()) return admission.status();
  Sign(admission, response->mutable_served_by());
  auto value = store_.Find(admission.shard())->Get(request->key());
  if (!value.ok()) return ToGrpc(value.status());
  response->set_found(value->has_value());
  if (value->has_value()) response->set_value(**value);
  return grpc::Status::OK;
}

grpc::Status KvService::Delete(grpc::ServerContext* context, const kv::DeleteRequest* request,
                               kv::DeleteResponse* response) {
  const shardmanager::Admission admission =
      server_.Admit(*context, &Stub::Delete, request, response);
  if (!admission.ok()) return admission.status();
  if (admission.role() != shardmanager::Role::kPrimary) return NotPrimary();
  Sign(admission, response->mutable_served_by());
  auto found = store_.Find(admission.shard())->Delete(admission.epoch(), request->key());
  if (!found.ok()) return ToGrpc(found.status());
  response->set_found(*found);
  return grpc::Status::OK;
}

void KvService::Sign(const shardmanager::Admission& admission, kv::ServedBy* served_by) const {
  served_by->set_server(name_);
  served_by->set_shard(admission.shard().value());
  served_by->set_epoch(admission.epoch().value());
}

}  // namespace kvstore
