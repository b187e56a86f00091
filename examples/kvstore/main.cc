// kvstore: one server of the example application. Copy me.
#include <CLI/CLI.hpp>
#include <filesystem>
#include <iostream>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "callback_service.h"
#include "local_store.h"
#include "replicated_store.h"
#include "service.h"
#include "shardmanager/server.h"
#include "store.h"

namespace {

struct Flags {
  shardmanager::ServerOptions server;
  shardmanager::TransferOptions transfer;
  std::string data;
  std::string storage = "shared";
  bool callback = false;
};

void AddFlags(CLI::App& cli, Flags& flags) {
  cli.add_option("--app", flags.server.app, "The application that this server belongs to")
      ->capture_default_str();
  cli.add_option("--name", flags.server.name, "This server's name, unique in the app")->required();
  cli.add_option("--cell", flags.server.cell, "The cell to join")->capture_default_str();
  cli.add_option("--zookeeper", flags.server.zookeeper, "ZooKeeper, HOST:PORT[,HOST:PORT...]")
      ->capture_default_str();
  cli.add_option("--zookeeper-credentials", flags.server.zookeeper_credentials,
                 "File with this server's ZooKeeper credentials (shardctl cell credentials)")
      ->type_name("FILE");
  cli.add_option("--certs", flags.server.security.certs,
                 "Folder with ca.pem, cert.pem and key.pem (shardctl certs). Default: $SM_CERTS, "
                 "else ~/.shardmanager/certs")
      ->type_name("FOLDER");
  cli.add_flag("--insecure", flags.server.security.insecure, "No TLS");
  cli.add_option("--listen", flags.server.listen, "Where to listen, HOST:PORT; port 0: a free one")
      ->capture_default_str();
  cli.add_option("--region", flags.server.fault_domain.region, "Where this server stands");
  cli.add_option("--datacenter", flags.server.fault_domain.datacenter);
  cli.add_option("--rack", flags.server.fault_domain.rack);
  cli.add_option("--data", flags.data, "The folder with the shards' files")->required();
  cli.add_option(
         "--storage", flags.storage,
         "shared: all servers use the files in --data; local: each has its own, in DATA/NAME; "
         "replicated: likewise, and the primary copies each write to the secondaries")
      ->check(CLI::IsMember({"shared", "local", "replicated"}))
      ->capture_default_str();
  cli.add_flag("--callback", flags.callback, "Serve with gRPC's callback API");
  cli.add_flag("--make-new-shards", flags.transfer.make_new_shards,
               "local: shards of which this disk has no trace are new (see README.md)");
  cli.add_option("--transfer-rate", flags.transfer.bytes_per_second,
                 "local: most bytes a second that a shard is received with; 0: no limit")
      ->capture_default_str();
}

// Serves until SIGTERM.
absl::Status Serve(Flags flags) {
  const std::string name = flags.server.name;
  if (flags.storage != "shared") flags.data += "/" + name;
  std::error_code error;
  std::filesystem::create_directories(flags.data, error);
  if (error) {
    return absl::InternalError("cannot make the folder " + flags.data + ": " + error.message());
  }
  std::unique_ptr<kvstore::Store> store;  // outlives the server, which calls it
  shardmanager::Server server(flags.server);
  std::vector<grpc::Service*> services;
  if (flags.storage == "local") {
    flags.transfer.server = name;
    flags.transfer.app = flags.server.app;
    flags.transfer.security = flags.server.security;
    flags.transfer.endpoint = [&] { return server.endpoint(); };
    auto local = std::make_unique<kvstore::LocalStore>(flags.data, flags.transfer);
    services.push_back(local->transfer_service());
    store = std::move(local);
  } else if (flags.storage == "replicated") {
    auto replicated = std::make_unique<kvstore::ReplicatedStore>(
        flags.data, name,
        kvstore::OtherServers{
            .open = [&](const auto& at, const auto& how) { return server.OpenChannel(at, how); },
            .check = [&](const auto& context) { return server.IsOfServer(context); }});
    services.push_back(replicated->replica_service());
    store = std::move(replicated);
  } else {
    store = std::make_unique<kvstore::SharedStore>(flags.data, name);
  }
  std::unique_ptr<grpc::Service> service =
      std::make_unique<kvstore::KvService>(server, *store, name);
  if (flags.callback) {
    service = std::make_unique<kvstore::CallbackKvService>(server, *store, name);
  }
  services.push_back(service.get());
  return server.Run(*store, services);
}

}  // namespace

int main(int argc, char** argv) {
  Flags flags;
  flags.server.app = "kv";
  CLI::App cli{"A sharded key-value server: holds the shards that the Shard Manager gives it."};
  AddFlags(cli, flags);
  CLI11_PARSE(cli, argc, argv);
  const absl::Status status = Serve(std::move(flags));
  if (status.ok()) return 0;
  std::cerr << "kvstore: " << status << "\n";
  return 1;
}
