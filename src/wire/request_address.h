// For whom a request is, in one header (request_metadata::kTo): "p/<app>/<server>/<shard>", or with
// an "a" in front. Example: "p/kv/kv-3/users-0042".
//
// "p": the router means the shard's primary, and a secondary refuses it, or sends it on. "a": any
// replica. A letter that is not known here is of a newer router: refused as "no-shard", which
// tells that router to use the headers that all servers understand.
#pragma once

#include <string>
#include <string_view>

namespace shardmanager::wire {

struct RequestAddress {
  // Of [A-Za-z0-9._-].
  std::string_view app;
  std::string_view server;
  // Any bytes that a header may have.
  std::string_view shard;
  bool for_primary = false;
};

// Puts it behind what `out` has.
inline void Append(const RequestAddress& address, std::string& out) {
  out += address.for_primary ? "p/" : "a/";
  out += address.app;
  out += '/';
  out += address.server;
  out += '/';
  out += address.shard;
}

// One server's reader of such headers. It compares, and copies nothing.
class AddressReader {
 public:
  AddressReader(std::string_view app, std::string_view server) {
    Append({.app = app, .server = server}, ours_);
    ours_.erase(0, 1);
  }

  enum class Verdict { kForUs, kForOthers, kUnknown };
  struct Read {
    Verdict verdict = Verdict::kUnknown;
    std::string_view shard = {};  // the rest with kForUs only
    bool for_primary = false;
  };
  Read operator()(std::string_view header) const {
    if (header.empty() || (header[0] != 'p' && header[0] != 'a')) return {};
    if (header.substr(1, ours_.size()) != ours_) return {Verdict::kForOthers};
    return {Verdict::kForUs, header.substr(1 + ours_.size()), header[0] == 'p'};
  }

 private:
  std::string ours_;  // "/<app>/<server>/"
};

}  // namespace shardmanager::wire
