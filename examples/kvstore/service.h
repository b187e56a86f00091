// The service that clients call: admission, then the shard's database.
#pragma once

#include <string>

#include "kv.grpc.pb.h"
#include "store.h"

namespace kvstore {

class KvService final : public kv::KeyValue::Service {
 public:
  KvService(shardmanager::Server& server, Store& store, std::string name);

  grpc::Status Put(grpc::ServerContext* context, const kv::PutRequest* request,
                   kv::PutResponse* response) override;
  grpc::Status Get(grpc::ServerContext* context, const kv::GetRequest* request,
                   kv::GetResponse* response) override;
  grpc::Status Delete(grpc::ServerContext* context, const kv::DeleteRequest* request,
                      kv::DeleteResponse* response) override;

 private:
  void Sign(const shardmanager::Admission& admission, kv::ServedBy* served_by) const;

  shardmanager::Server& server_;
  Store& store_;
  const std::string name_;
};

}  // namespace kvstore
