#include "service.h"

namespace kvstore {
namespace {

using Stub = kv::KeyValue::Stub;

}  // namespace

KvService::KvService(shardmanager::Server& server, Store& store, const std::string& name)
    : server_(server), answers_(store, name) {}

grpc::Status KvService::Put(grpc::ServerContext* context, const kv::PutRequest* request,
                            kv::PutResponse* response) {
  const shardmanager::Admission admission = server_.Admit(*context, &Stub::Put, request, response);
  if (!admission.ok()) return admission.status();  // the right server answers
  return answers_.To(admission, *request, *response);
}

grpc::Status KvService::Get(grpc::ServerContext* context, const kv::GetRequest* request,
                            kv::GetResponse* response) {
  const shardmanager::Admission admission = server_.Admit(*context, &Stub::Get, request, response);
  if (!admission.ok()) return admission.status();
  return answers_.To(admission, *request, *response);
}

grpc::Status KvService::Delete(grpc::ServerContext* context, const kv::DeleteRequest* request,
                               kv::DeleteResponse* response) {
  const shardmanager::Admission admission =
      server_.Admit(*context, &Stub::Delete, request, response);
  if (!admission.ok()) return admission.status();
  return answers_.To(admission, *request, *response);
}

}  // namespace kvstore
