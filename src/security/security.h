// How a process proves who it is, and whom it believes: mutual TLS with certificates from three
// files. docs/security.md begins with the commands that make them.
//
//   Server server({.app = "kv", .name = "kv-3", .security = {.certs = "/etc/kv/certs"}});
//   Router router({.discovery = {"sm-1:7401"}, .security = {.certs = "/etc/checkout/certs"}});
//
// The files are read again within two seconds of a change, so certificates are renewed without a
// restart: connections made from then on use the new ones. (Put a new file in place with a rename.)
#pragma once

#include <string>

namespace shardmanager {

// Nothing in it: the folder that the environment's SM_CERTS names, else ~/.shardmanager/certs,
// which `shardmanagerd --dev` makes. If that is not there either, it is an error: a connection is
// never insecure because something was forgotten.
struct Security {
  // A folder with ca.pem (the authorities that are believed), cert.pem (this process's certificate,
  // and those between it and an authority) and key.pem (its private key, without a password). All
  // PEM. Example: "/etc/kv/certs".
  std::string certs = {};
  // The same as three paths, in place of `certs`: all of them, or none.
  std::string ca = {};
  std::string cert = {};
  std::string key = {};
  // No TLS: everybody who reaches a port may do everything, and can read along. For tests, and
  // networks that are protected otherwise. Not together with any of the above.
  bool insecure = false;
};

// The flags of a program for all of that. `Cli` is CLI11's CLI::App, or has its add_option and
// add_flag. `security` must outlive `cli`.
template <typename Cli>
void AddSecurityFlags(Cli& cli, Security& security) {
  cli.add_option("--certs", security.certs,
                 "The folder with ca.pem, cert.pem and key.pem. Default: $SM_CERTS, else "
                 "~/.shardmanager/certs");
  cli.add_option("--tls-ca", security.ca,
                 "Instead of --certs, with the next two: the authorities that are believed, PEM");
  cli.add_option("--tls-cert", security.cert, "The certificate of this process, PEM");
  cli.add_option("--tls-key", security.key, "Its private key, PEM");
  cli.add_flag("--insecure", security.insecure,
               "No TLS: everybody who reaches a port may do everything");
}

}  // namespace shardmanager
