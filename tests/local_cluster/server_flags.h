// The flags that Cluster::StartServer gives a program.
#pragma once

#include <CLI/CLI.hpp>
#include <string>

#include "security/flags.h"
#include "shardmanager/server.h"

namespace shardmanager::local {

// `data`: the folder of its shards. Both must outlive `cli`.
inline void AddServerFlags(CLI::App& cli, shardmanager::ServerOptions& options, std::string& data) {
  cli.add_option("--app", options.app);
  cli.add_option("--name", options.name);
  cli.add_option("--cell", options.cell);
  cli.add_option("--zookeeper", options.zookeeper);
  cli.add_option("--zookeeper-credentials", options.zookeeper_credentials);
  cli.add_option("--listen", options.listen);
  cli.add_option("--region", options.fault_domain.region);
  cli.add_option("--datacenter", options.fault_domain.datacenter);
  cli.add_option("--rack", options.fault_domain.rack);
  cli.add_option("--data", data);
  security::AddFlags(cli, options.security);
}

}  // namespace shardmanager::local
