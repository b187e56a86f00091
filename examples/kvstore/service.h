// The service that clients call: admission, then the shard's database.
#pragma once

#include <string>

#include "answers.h"
#include "kv.grpc.pb.h"
#include "shardmanager/server.h"

namespace kvstore {

class KvService final : public kv::KeyValue::Service {
 public:
  KvService(shardmanager::Server& server, Store& store, const std::string& name);

  grpc::Status Put(grpc::ServerContext* context, const kv::PutRequest* request,
                   kv::PutResponse* response) override;
  grpc::Status Get(grpc::ServerContext* context, const kv::GetRequest* request,
                   kv::GetResponse* response) override;
  grpc::Status Delete(grpc::ServerContext* context, const kv::DeleteRequest* request,
                      kv::DeleteResponse* response) override;
  grpc::Status Scan(grpc::ServerContext* context, const kv::ScanRequest* request,
                    kv::ScanResponse* response) override;
  grpc::Status PutEach(
      grpc::ServerContext* context,
      grpc::ServerReaderWriter<kv::PutEachResponse, kv::PutEachRequest>* stream) override;

 private:
  // One message of a stream.
  grpc::Status AdmitAndPut(const shardmanager::ShardId& shard, const kv::PutEachRequest& request,
                           kv::PutEachResponse& response);

  shardmanager::Server& server_;
  Answers answers_;
};

}  // namespace kvstore
