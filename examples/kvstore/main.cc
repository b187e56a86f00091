// kvstore: one server of the example application. Copy me.
#include <CLI/CLI.hpp>
#include <filesystem>
#include <iostream>
#include <memory>
#include <string>
#include <vector>

#include "local_store.h"
#include "replicated_store.h"
#include "service.h"
#include "shardmanager/server.h"
#include "store.h"

int main(int argc, char** argv) {
  shardmanager::ServerOptions options;
  options.app = "kv";
  std::string data, storage = "shared";
  shardmanager::TransferOptions transfer;

  CLI::App cli{"A sharded key-value server: holds the shards that the Shard Manager gives it."};
  cli.add_option("--app", options.app, "The application that this server belongs to")
      ->capture_default_str();
  cli.add_option("--name", options.name, "This server's name, unique in the app")->required();
  cli.add_option("--cell", options.cell, "The cell to join")->capture_default_str();
  cli.add_option("--zookeeper", options.zookeeper, "ZooKeeper, HOST:PORT[,HOST:PORT...]")
      ->capture_default_str();
  cli.add_option("--listen", options.listen, "Where to listen, HOST:PORT; port 0: a free one")
      ->capture_default_str();
  cli.add_option("--region", options.fault_domain.region, "Where this server stands");
  cli.add_option("--datacenter", options.fault_domain.datacenter);
  cli.add_option("--rack", options.fault_domain.rack);
  cli.add_option("--data", data, "The folder with the shards' files")->required();
  cli.add_option(
         "--storage", storage,
         "shared: all servers use the files in --data; local: each has its own, in DATA/NAME; "
         "replicated: likewise, and the primary copies each write to the secondaries")
      ->check(CLI::IsMember({"shared", "local", "replicated"}))
      ->capture_default_str();
  cli.add_flag("--make-new-shards", transfer.make_new_shards,
               "local: shards of which this disk has no trace are new (see README.md)");
  cli.add_option("--transfer-rate", transfer.bytes_per_second,
                 "local: most bytes a second that a shard is received with; 0: no limit")
      ->capture_default_str();
  CLI11_PARSE(cli, argc, argv);

  if (storage != "shared") data += "/" + options.name;
  std::error_code error;
  std::filesystem::create_directories(data, error);
  if (error) {
    std::cerr << "kvstore: cannot make the folder " << data << ": " << error.message() << "\n";
    return 1;
  }

  std::unique_ptr<kvstore::Store> store;  // outlives the server, which calls it
  shardmanager::Server server(options);
  transfer.server = options.name;
  transfer.endpoint = [&] { return server.endpoint(); };
  std::vector<grpc::Service*> services;
  if (storage == "local") {
    auto local = std::make_unique<kvstore::LocalStore>(data, transfer);
    services.push_back(local->transfer_service());
    store = std::move(local);
  } else if (storage == "replicated") {
    auto replicated = std::make_unique<kvstore::ReplicatedStore>(data, options.name);
    services.push_back(replicated->replica_service());
    store = std::move(replicated);
  } else {
    store = std::make_unique<kvstore::SharedStore>(data, options.name);
  }
  kvstore::KvService service(server, *store, options.name);
  services.push_back(&service);
  const absl::Status status = server.Run(*store, services);  // until SIGTERM
  if (status.ok()) return 0;
  std::cerr << "kvstore: " << status << "\n";
  return 1;
}
