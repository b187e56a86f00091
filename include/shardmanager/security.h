// How a process proves who it is to the other processes of a cell, and whom it believes: TLS with
// certificates on both sides, from three files. `shardctl certs` makes them for trials and small
// sites; docs/security.md says what is in them and who may do what.
//
//   Server server({.app = "kv", .name = "kv-3", .security = {.certs = "/etc/kv/certs"}});
//   Router router({.discovery = {"10.0.0.7:7401"}, .security = {.certs = "/etc/shop/certs"}});
#pragma once

#include <string>

namespace shardmanager {

// Nothing in it: the folder that the environment's SM_CERTS names, else ~/.shardmanager/certs. If
// that is not there either, it is an error: a connection is never insecure because something was
// forgotten.
struct Security {
  // A folder with ca.pem (the authorities that are believed), cert.pem (this process's certificate,
  // and those between it and an authority) and key.pem (its private key, without a password). All
  // PEM. They are read again every few seconds: replace them, and new connections use the new ones.
  // Example: "/etc/kv/certs".
  std::string certs = {};
  // The same as three paths, in place of `certs`: all of them, or none.
  std::string ca = {};
  std::string cert = {};
  std::string key = {};
  // For the time in which an open cell becomes a secure one (docs/security.md); all processes of
  // the cell have to be at one step before the next. kAccept: connects without TLS, and takes
  // connections of both kinds; kConnect: connects with TLS, and takes both. As long as it takes
  // both, everybody may do everything.
  enum class Migration { kNone, kAccept, kConnect };
  Migration migration = Migration::kNone;
  // No TLS: everybody who reaches a port may do everything, and can read along. For tests, and
  // networks that are protected otherwise. Not together with any of the above.
  bool insecure = false;
};

}  // namespace shardmanager
