#include "tests/integration/chaos/shard_files.h"

#include <sys/stat.h>

#include <cstdio>
#include <filesystem>
#include <fstream>
#include <map>

#include "absl/strings/str_cat.h"
#include "sqlite.h"

namespace shardmanager::testing {
namespace {

namespace fs = std::filesystem;

absl::Status AppendAudit(const fs::path& file, std::vector<AuditRow>& audit) {
  auto db = kvstore::OpenDatabase(file.string());
  if (!db.ok()) return db.status();
  auto rows = kvstore::Statement::Prepare(
      db->get(), "SELECT epoch, server, what, key, accepted FROM audit ORDER BY seq");
  if (!rows.ok()) return rows.status();
  while (rows->Step()) {
    audit.push_back({.shard = file.stem().string(),
                     .epoch = static_cast<uint64_t>(rows->Integer(0)),
                     .server = rows->Bytes(1),
                     .what = rows->Bytes(2),
                     .key = rows->Bytes(3),
                     .accepted = rows->Integer(4) != 0});
  }
  return rows->Reset();
}

// "shard-07.db" and "shard-07.db-shm" belong to the shard with index 7.
int IndexOf(const fs::path& file) {
  int index = -1;
  std::sscanf(file.filename().c_str(), "shard-%d", &index);
  return index;
}

}  // namespace

absl::StatusOr<std::vector<AuditRow>> ReadAudit(const std::string& data_folder) {
  std::vector<AuditRow> audit;
  for (const auto& entry : fs::directory_iterator(data_folder)) {
    if (entry.path().extension() != ".db") continue;
    if (absl::Status status = AppendAudit(entry.path(), audit); !status.ok()) return status;
  }
  return audit;
}

std::set<int> ShardsLockedBy(pid_t pid, const std::string& data_folder) {
  std::map<unsigned long long, int> shard_of_inode;
  for (const auto& entry : fs::directory_iterator(data_folder)) {
    struct stat info {};
    if (stat(entry.path().c_str(), &info) == 0) shard_of_inode[info.st_ino] = IndexOf(entry.path());
  }
  std::set<int> shards;
  // "17: POSIX  ADVISORY  WRITE 4711 08:01:131080 120 120"
  std::ifstream locks("/proc/locks");
  for (std::string line; std::getline(locks, line);) {
    int holder = 0;
    unsigned long long inode = 0;
    if (std::sscanf(line.c_str(), "%*d: POSIX %*s WRITE %d %*x:%*x:%llu", &holder, &inode) != 2) {
      continue;
    }
    if (holder == pid && shard_of_inode.contains(inode)) shards.insert(shard_of_inode[inode]);
  }
  return shards;
}

}  // namespace shardmanager::testing
