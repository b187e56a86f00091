// A kvstore server whose streams have a defect: streams_test.cc shows that the checkers find it.
#include <CLI/CLI.hpp>
#include <iostream>
#include <memory>
#include <optional>
#include <string>
#include <utility>

#include "service.h"
#include "shardmanager/server.h"
#include "store.h"
#include "tests/local_cluster/server_flags.h"

namespace shardmanager::testing {
namespace {

using Stream = grpc::ServerReaderWriter<kv::PutEachResponse, kv::PutEachRequest>;

// All but streams is as it should be.
class DefectiveService : public kv::KeyValue::Service {
 public:
  DefectiveService(Server& server, kvstore::Store& store, std::string name)
      : server_(server), store_(store), name_(std::move(name)), sound_(server, store, name_) {}

  grpc::Status Put(grpc::ServerContext* context, const kv::PutRequest* request,
                   kv::PutResponse* response) override {
    return sound_.Put(context, request, response);
  }
  grpc::Status Get(grpc::ServerContext* context, const kv::GetRequest* request,
                   kv::GetResponse* response) override {
    return sound_.Get(context, request, response);
  }

 protected:
  void Acknowledge(const kv::PutEachRequest& request, const ShardId& shard, ShardEpoch epoch,
                   Stream& stream) const {
    kv::PutEachResponse response;
    response.set_sequence(request.sequence());
    response.mutable_served_by()->set_server(name_);
    response.mutable_served_by()->set_shard(shard.value());
    response.mutable_served_by()->set_epoch(epoch.value());
    stream.Write(response);
  }
  static grpc::Status Store(kvstore::KvShard& shard, ShardEpoch epoch,
                            const kv::PutEachRequest& request) {
    return kvstore::ToGrpc(shard.Put(epoch, request.key(), request.value()));
  }

  Server& server_;
  kvstore::Store& store_;

 private:
  const std::string name_;
  kvstore::KvService sound_;
};

// Stores each message when the next one has come.
class AcknowledgesFirst final : public DefectiveService {
 public:
  using DefectiveService::DefectiveService;

  grpc::Status PutEach(grpc::ServerContext* context, Stream* stream) override {
    auto whole = server_.Admit(*context, &kv::KeyValue::Stub::PutEach, stream);
    if (!whole.ok()) return whole.status();
    const ShardId shard = whole.shard();
    { const Admission released = std::move(whole); }
    std::optional<kv::PutEachRequest> last;
    for (kv::PutEachRequest request; stream->Read(&request);) {
      const auto admission = server_.Admit(shard, kvstore::kMessagePatience);
      if (!admission.ok()) return admission.status();
      const auto stored =
          last ? Store(*store_.Find(shard), admission.epoch(), *last) : grpc::Status::OK;
      if (!stored.ok()) return stored;
      Acknowledge(request, shard, admission.epoch(), *stream);
      last = request;
    }
    return grpc::Status::OK;
  }
};

// Admits the stream, but no message of it.
class AdmitsOnce final : public DefectiveService {
 public:
  using DefectiveService::DefectiveService;

  grpc::Status PutEach(grpc::ServerContext* context, Stream* stream) override {
    auto whole = server_.Admit(*context, &kv::KeyValue::Stub::PutEach, stream);
    if (!whole.ok()) return whole.status();
    const ShardId id = whole.shard();
    const ShardEpoch epoch = whole.epoch();
    const std::shared_ptr<kvstore::KvShard> shard = store_.Find(id);
    { const Admission released = std::move(whole); }
    for (kv::PutEachRequest request; stream->Read(&request);) {
      if (const auto stored = Store(*shard, epoch, request); !stored.ok()) return stored;
      Acknowledge(request, id, epoch, *stream);
    }
    return grpc::Status::OK;
  }
};

int Main(int argc, char** argv) {
  ServerOptions options;
  std::string data;
  bool acknowledges_first = false;
  CLI::App cli("kvstore with a defect: its streams are admitted once");
  local::AddServerFlags(cli, options, data);
  cli.add_flag("--acknowledges-first", acknowledges_first, "Another one: store too late");
  CLI11_PARSE(cli, argc, argv);
  kvstore::SharedStore store(data, options.name);
  Server server(options);
  std::unique_ptr<grpc::Service> service;
  if (acknowledges_first) {
    service = std::make_unique<AcknowledgesFirst>(server, store, options.name);
  } else {
    service = std::make_unique<AdmitsOnce>(server, store, options.name);
  }
  const absl::Status status = server.Run(store, {service.get()});
  if (!status.ok()) std::cerr << status << "\n";
  return status.ok() ? 0 : 1;
}

}  // namespace
}  // namespace shardmanager::testing

int main(int argc, char** argv) { return shardmanager::testing::Main(argc, argv); }
