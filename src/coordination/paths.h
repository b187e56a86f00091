// Where each record lives. The tree is drawn in proto/shardmanager/v1/stored.proto.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "shardmanager/types.h"

namespace shardmanager {

class Paths {
 public:
  explicit Paths(std::string_view cell) : root_("/" + std::string(cell)) {}

  const std::string& root() const { return root_; }
  std::string config() const { return root_ + "/config"; }
  std::string leader() const { return root_ + "/leader"; }
  std::string leader_epoch() const { return root_ + "/leader/epoch"; }
  std::string leader_holder() const { return root_ + "/leader/holder"; }
  std::string policy() const { return root_ + "/policy"; }
  std::string apps() const { return root_ + "/apps"; }
  std::string quarantine() const { return root_ + "/quarantine"; }
  std::string app(const AppName& app) const { return apps() + "/" + app.value(); }
  std::string spec(const AppName& a) const { return app(a) + "/spec"; }
  std::string operations(const AppName& a) const { return app(a) + "/operations"; }

  // The three bucketed folders of an app, and their buckets.
  std::string servers(const AppName& a) const { return app(a) + "/servers"; }
  std::string live(const AppName& a) const { return app(a) + "/live"; }
  std::string assignments(const AppName& a) const { return app(a) + "/assignments"; }
  static std::string bucket(const std::string& folder, uint32_t bucket);

  std::string server(const AppName& a, const ServerName& s, uint32_t buckets) const;
  std::string live(const AppName& a, const ServerName& s, Incarnation i, uint32_t buckets) const;
  std::string live(const AppName& a, const struct LiveName& name, uint32_t buckets) const;
  std::string assignment(const AppName& a, const ServerName& s, uint32_t buckets) const;

 private:
  std::string root_;
};

// Bucket of a server name: XXH64(name) % buckets.
uint32_t BucketOf(std::string_view server, uint32_t buckets);

// The name of a live node, "<server>@<incarnation>" or "<server>@<incarnation>.<proof>", taken
// apart. The proof (access/digest.h) is what only this server could have put there.
struct LiveName {
  ServerName server;
  Incarnation incarnation;
  std::string proof = "";

  friend bool operator==(const LiveName&, const LiveName&) = default;
};
std::optional<LiveName> ParseLiveName(std::string_view node);

}  // namespace shardmanager
