// How a process proves who it is, and whom it believes: mutual TLS with certificates from three
// files. No connection uses it yet: the flags and commands that messages of this folder name
// (--certs, --insecure, `shardctl certs`) come with that.
#pragma once

#include <string>

namespace shardmanager {

// Nothing in it: the folder that the environment's SM_CERTS names, else ~/.shardmanager/certs. If
// that is not there either, it is an error: a connection is never insecure because something was
// forgotten.
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

}  // namespace shardmanager
