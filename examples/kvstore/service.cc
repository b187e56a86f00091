#include "service.h"

#include <utility>

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

grpc::Status KvService::Scan(grpc::ServerContext* context, const kv::ScanRequest* request,
                             kv::ScanResponse* response) {
  const shardmanager::Admission admission = server_.Admit(*context, &Stub::Scan, request, response);
  if (!admission.ok()) return admission.status();
  return answers_.To(admission, *request, *response);
}

grpc::Status KvService::PutEach(
    grpc::ServerContext* context,
    grpc::ServerReaderWriter<kv::PutEachResponse, kv::PutEachRequest>* stream) {
  auto whole = server_.Admit(*context, &Stub::PutEach, stream);
  if (!whole.ok()) return whole.status();
  const shardmanager::ShardId shard = whole.shard();
  // A shard does not move while a stream of it is admitted. So each message is admitted by itself.
  { const shardmanager::Admission released = std::move(whole); }
  kv::PutEachRequest request;
  kv::PutEachResponse response;
  while (stream->Read(&request)) {
    const grpc::Status status = AdmitAndPut(shard, request, response);
    if (!status.ok()) return status;  // the client opens another stream
    stream->Write(response);          // a client that reads slowly does not hold up the shard
  }
  return grpc::Status::OK;
}

grpc::Status KvService::AdmitAndPut(const shardmanager::ShardId& shard,
                                    const kv::PutEachRequest& request,
                                    kv::PutEachResponse& response) {
  const shardmanager::Admission admission = server_.Admit(shard, kMessagePatience);
  if (!admission.ok()) return admission.status();
  return answers_.To(admission, request, response);
}

}  // namespace kvstore
