// counter: the smallest service that shards.
#include <CLI/CLI.hpp>
#include <chrono>
#include <cstdio>
#include <string>

#include "callback_service.h"
#include "counter.grpc.pb.h"
#include "counts.h"
#include "shardmanager/server.h"

class Counter final : public counter::Counter::Service {
 public:
  Counter(shardmanager::Server& server, Counts& counts) : server_(server), counts_(counts) {}

  grpc::Status Add(grpc::ServerContext* context, const counter::AddRequest* request,
                   counter::AddResponse* response) override {
    const auto admission = server_.Admit(*context, &Stub::Add, request, response);
    if (!admission.ok()) return admission.status();
    counts_.Add(admission, *request, *response);
    return grpc::Status::OK;
  }

  grpc::Status AddEach(
      grpc::ServerContext* context,
      grpc::ServerReaderWriter<counter::AddResponse, counter::AddRequest>* stream) override {
    auto of_stream = server_.Admit(*context, &Stub::AddEach, stream);
    if (!of_stream.ok()) return of_stream.status();
    const shardmanager::ShardId shard = of_stream.shard();
    // Of each message from here on: a shard does not move while a stream of it is admitted.
    static_cast<void>(shardmanager::Admission(std::move(of_stream)));
    for (counter::AddRequest request; stream->Read(&request);) {
      const auto admission = server_.Admit(shard, std::chrono::seconds(2));
      if (!admission.ok()) return admission.status();  // the client opens another stream
      counter::AddResponse response;
      counts_.Add(admission, request, response);
      stream->Write(response);
    }
    return grpc::Status::OK;
  }

 private:
  using Stub = counter::Counter::Stub;
  shardmanager::Server& server_;
  Counts& counts_;
};

int main(int argc, char** argv) {
  shardmanager::ServerOptions options;
  std::string data;
  std::string migration;
  bool callback = false;
  CLI::App cli{"A sharded counter."};
  cli.add_option("--app", options.app)->default_val("counter");
  cli.add_option("--name", options.name)->required();
  cli.add_option("--cell", options.cell)->capture_default_str();
  cli.add_option("--zookeeper", options.zookeeper)->capture_default_str();
  cli.add_option("--zookeeper-credentials", options.zookeeper_credentials);
  cli.add_option("--certs", options.security.certs);
  cli.add_option("--tls-migration", migration)->check(CLI::IsMember({"accept", "connect"}));
  cli.add_flag("--insecure", options.security.insecure, "No TLS");
  cli.add_option("--listen", options.listen)->capture_default_str();
  cli.add_option("--region", options.fault_domain.region);
  cli.add_option("--datacenter", options.fault_domain.datacenter);
  cli.add_option("--rack", options.fault_domain.rack);
  cli.add_option("--data", data, "The shared folder")->required();
  cli.add_flag("--callback", callback, "Serve with gRPC's callback API");
  CLI11_PARSE(cli, argc, argv);
  using Migration = shardmanager::Security::Migration;
  if (migration == "accept") options.security.migration = Migration::kAccept;
  if (migration == "connect") options.security.migration = Migration::kConnect;

  Counts counts(data);
  shardmanager::Server server(options);
  Counter blocking(server, counts);
  CallbackCounter with_callbacks(server, counts);
  grpc::Service* service = &blocking;
  if (callback) service = &with_callbacks;
  const absl::Status status = server.Run(counts, {service});  // until SIGTERM
  if (!status.ok()) std::fprintf(stderr, "counter: %s\n", status.ToString().c_str());
  return status.ok() ? 0 : 1;
}
