// The flags of all programs that say how their connections are secured.
#pragma once

#include <CLI/CLI.hpp>
#include <cstdint>
#include <map>
#include <string>

#include "shardmanager/security.h"

namespace shardmanager::security {

// Of the group "Security" in the help. `security` must outlive `cli`.
inline void AddFlags(CLI::App& cli, Security& security) {
  const auto path = [&](const char* flag, std::string& value, const char* text, const char* type) {
    cli.add_option(flag, value, text)->type_name(type)->group("Security");
  };
  path("--certs", security.certs,
       "Folder with ca.pem, cert.pem and key.pem of this process, as `shardctl certs` makes it. "
       "Default: $SM_CERTS, else ~/.shardmanager/certs",
       "FOLDER");
  path("--tls-ca", security.ca,
       "Instead of --certs, with the two below: whom this process believes", "FILE");
  path("--tls-cert", security.cert, "This process's certificate", "FILE");
  path("--tls-key", security.key, "The key of that certificate", "FILE");
  using Migration = Security::Migration;
  static const std::map<std::string, Migration> kSteps = {{"accept", Migration::kAccept},
                                                          {"connect", Migration::kConnect}};
  cli.add_option("--tls-migration", security.migration,
                 "While an open cell becomes a secure one (docs/security.md): accept takes "
                 "connections with TLS and without, and connects without; connect takes both, and "
                 "connects with TLS")
      ->transform(CLI::CheckedTransformer(kSteps))
      ->type_name("accept|connect")
      ->group("Security");
  cli.add_flag("--insecure", security.insecure,
               "No TLS: everybody who reaches a port may do everything")
      ->group("Security");
}

// Of programs that send shard maps. `streams` must outlive `cli`.
inline void AddStreamsFlag(CLI::App& cli, uint32_t& streams) {
  cli.add_option(
         "--streams", streams,
         "Most streams of shard maps that one identity may have open here, one for each app "
         "that a client watches; others are refused with RESOURCE_EXHAUSTED. 0: no limit")
      ->check(CLI::Range(0, 100'000'000))
      ->group("Security")
      ->capture_default_str();
}

}  // namespace shardmanager::security
