#include "tests/local_cluster/ensemble.h"

#include <utility>

#include "absl/strings/str_cat.h"

namespace shardmanager::local {

Ensemble::Ensemble(EnsembleOptions options)
    : options_(std::move(options)), servers_(options_.members.size()) {}

PrivateZookeeperOptions Ensemble::OptionsOf(size_t member) const {
  PrivateZookeeperOptions options{.data_dir = options_.folder, .tick_ms = options_.tick_ms};
  if (size() == 1) {
    options.port = options_.members[0].client_port;
    return options;
  }
  absl::StrAppend(&options.data_dir, "-", member + 1);
  options.ensemble = options_.members;
  options.self = member;
  options.sync_limit_ticks = options_.sync_limit_ticks;
  options.network_namespace = options_.network_namespaces[member];
  return options;
}

absl::Status Ensemble::Start(size_t member) {
  std::unique_ptr<PrivateZookeeper>& server = servers_[member];
  if (server != nullptr) return server->running() ? absl::OkStatus() : server->Restart();
  auto started = PrivateZookeeper::Start(OptionsOf(member));
  if (!started.ok()) return started.status();
  server = *std::move(started);
  return absl::OkStatus();
}

absl::Status Ensemble::Start() {
  for (size_t i = 0; i < size(); ++i) {
    if (absl::Status status = Start(i); !status.ok()) return status;
  }
  for (const auto& server : servers_) {
    if (absl::Status status = server->AwaitServing(); !status.ok()) return status;
  }
  return absl::OkStatus();
}

std::optional<size_t> Ensemble::Leader() const {
  for (size_t i = 0; i < size(); ++i) {
    const std::string mode = servers_[i] == nullptr ? "" : servers_[i]->Mode();
    if (mode == "leader" || mode == "standalone") return i;
  }
  return std::nullopt;
}

std::string Ensemble::connect_string() const {
  std::string all = connect_string(0);
  for (size_t i = 1; i < size(); ++i) absl::StrAppend(&all, ",", connect_string(i));
  return all;
}

std::string Ensemble::connect_string(size_t member) const {
  const EnsembleMember& m = options_.members[member];
  return absl::StrCat(m.host, ":", m.client_port);
}

}  // namespace shardmanager::local
