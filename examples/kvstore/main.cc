// kvstore: one server of the example application. Copy me.
#include <CLI/CLI.hpp>
#include <filesystem>
#include <iostream>
#include <string>

#include "service.h"
#include "shardmanager/server.h"
#include "store.h"

int main(int argc, char** argv) {
  shardmanager::ServerOptions options;
  options.app = "kv";
  std::string data;

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
  cli.add_option("--data", data, "The shared folder with the shards' files")->required();
  CLI11_PARSE(cli, argc, argv);

  std::error_code error;
  std::filesystem::create_directories(data, error);
  if (error) {
    std::cerr << "kvstore: cannot make the folder " << data << ": " << error.message() << "\n";
    return 1;
  }

  kvstore::Store store(data, options.name);
  shardmanager::Server server(options);
  kvstore::KvService service(server, store, options.name);
  const absl::Status status = server.Run(store, {&service});  // until SIGTERM
  if (status.ok()) return 0;
  std::cerr << "kvstore: " << status << "\n";
  return 1;
}
