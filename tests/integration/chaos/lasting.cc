#include "tests/integration/chaos/lasting.h"

#include <filesystem>
#include <utility>

#include "absl/strings/str_cat.h"

namespace shardmanager::testing {
namespace {

namespace fs = std::filesystem;

// So many rounds have the same leader cut off.
constexpr int kRoundsOfCut = 4;

absl::Status ToStatus(const std::error_code& error, const std::string& doing) {
  if (!error) return absl::OkStatus();
  return absl::InternalError(absl::StrCat(doing, ": ", error.message()));
}

}  // namespace

std::string DiskOf(const local::Cluster& cluster, const std::string& server) {
  return absl::StrCat(cluster.folder(), "/disks/", server);
}

absl::Status MakeDisk(const local::Cluster& cluster, const std::string& server) {
  const fs::path disk = DiskOf(cluster, server);
  std::error_code error;
  fs::create_directories(disk.parent_path(), error);
  fs::remove(disk, error);  // of an earlier run in the same folder
  if (!error) fs::create_directory_symlink(fs::absolute(cluster.data_folder()), disk, error);
  return ToStatus(error, absl::StrCat("make ", disk.string()));
}

LastingFaults::LastingFaults(local::Cluster& cluster, Fleet& fleet, Faults& faults, Random& random,
                             const std::set<LastingKind>& kinds)
    : cluster_(cluster),
      fleet_(fleet),
      faults_(faults),
      random_(random),
      cuts_(kinds.contains(LastingKind::kCut)) {
  if (kinds.contains(LastingKind::kGone)) {
    to_come_.assign((fleet_.servers.size() + 3) / 4, LastingKind::kGone);
  }
  if (kinds.contains(LastingKind::kSick)) to_come_.push_back(LastingKind::kSick);
  if (cuts_) to_come_.push_back(LastingKind::kCut);
  for (size_t i = to_come_.size(); i > 1; --i) {
    std::swap(to_come_[i - 1], to_come_[random_.Below(i)]);
  }
}

absl::StatusOr<std::string> LastingFaults::Begin(const std::vector<std::string>& shards) {
  const LastingKind kind = to_come_.back();
  to_come_.pop_back();
  switch (kind) {
    case LastingKind::kGone:
      return LoseServer();
    case LastingKind::kSick:
      return BreakDisk(shards);
    case LastingKind::kCut:
      return CutLeader();
  }
  return absl::InternalError("no such kind");
}

void LastingFaults::EndRound() {
  if (!cut_off_.has_value() || ++rounds_of_cut_ < kRoundsOfCut) return;
  rounds_of_cut_ = 0;
  to_come_.insert(to_come_.begin(), LastingKind::kCut);
}

std::set<std::string> LastingFaults::Healthy() const {
  std::set<std::string> names;
  for (const Process& server : fleet_.servers) {
    if (server.name != sick_) names.insert(server.name);
  }
  return names;
}

Process& LastingFaults::AnyHealthy() {
  while (true) {
    Process& server = fleet_.servers[random_.Below(fleet_.servers.size())];
    if (server.name != sick_) return server;
  }
}

std::string LastingFaults::LoseServer() {
  const std::string name = AnyHealthy().name;
  std::erase_if(fleet_.servers, [&](const Process& server) {
    if (server.name == name) server.kill();
    return server.name == name;
  });
  return absl::StrCat(name, " is gone for good");
}

// Permissions do not stop root, and a folder that is missing would be made anew: a folder
// stands where the file of each shard should be.
absl::StatusOr<std::string> LastingFaults::BreakDisk(const std::vector<std::string>& shards) {
  const Process& server = AnyHealthy();
  sick_ = server.name;
  server.kill();
  const fs::path broken = absl::StrCat(cluster_.folder(), "/broken-disk");
  std::error_code error;
  for (const std::string& shard : shards) {
    // As it is named with --storage=shared, and with the others.
    for (const fs::path& folder : {broken, broken / server.name}) {
      fs::create_directories(folder / (shard + ".db"), error);
      if (error) return ToStatus(error, absl::StrCat("make ", broken.string()));
    }
  }
  const std::string disk = DiskOf(cluster_, server.name);
  fs::remove(disk, error);
  if (!error) fs::create_directory_symlink(fs::absolute(broken), disk, error);
  if (error) return ToStatus(error, absl::StrCat("break ", disk));
  if (absl::Status status = server.start(); !status.ok()) return status;
  return absl::StrCat(server.name, " is killed and started with a broken disk, which stays so");
}

absl::StatusOr<std::string> LastingFaults::CutLeader() {
  const std::optional<size_t> leader = faults_.Leader();
  if (!leader.has_value()) return absl::UnavailableError("all is at rest, and nobody leads");
  cut_off_ = leader;
  const std::string& name = fleet_.managers[*leader].machine;
  faults_.CutFromZookeeper(name);
  return absl::StrCat(name, ", which leads, is cut off from ZooKeeper until its successor is");
}

}  // namespace shardmanager::testing
