#include "router/map_file.h"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <utility>

#include "absl/strings/str_cat.h"
#include "coordination/envelope.h"
#include "model/map_version.h"

namespace shardmanager::router {
namespace {

// Of what is written, compressed. A million shards take about 10 MB.
constexpr size_t kMostBytes = kMaxRecordBytes;

absl::Status Refused(const std::string& what, const std::string& path) {
  const int error = errno;
  const std::string text = absl::StrCat("cannot ", what, " ", path, ": ", std::strerror(error));
  return error == ENOENT ? absl::NotFoundError(text) : absl::UnavailableError(text);
}

// An open file that is closed.
class File {
 public:
  explicit File(int descriptor) : descriptor_(descriptor) {}
  ~File() {
    if (descriptor_ >= 0) close(descriptor_);
  }
  File(const File&) = delete;
  File& operator=(const File&) = delete;

  bool ok() const { return descriptor_ >= 0; }
  int get() const { return descriptor_; }

 private:
  const int descriptor_;
};

absl::StatusOr<std::string> ReadBytes(const std::string& path) {
  const File file(open(path.c_str(), O_RDONLY | O_CLOEXEC));
  struct stat stat = {};
  if (!file.ok() || fstat(file.get(), &stat) != 0) return Refused("read", path);
  if (static_cast<size_t>(stat.st_size) > kMostBytes) {
    return absl::ResourceExhaustedError(
        absl::StrCat(path, " has ", stat.st_size, " bytes; at most ", kMostBytes, " are allowed"));
  }
  std::string bytes(static_cast<size_t>(stat.st_size), '\0');
  size_t done = 0;
  while (done < bytes.size()) {
    const ssize_t n = read(file.get(), bytes.data() + done, bytes.size() - done);
    if (n < 0 && errno == EINTR) continue;
    if (n < 0) return Refused("read", path);
    if (n == 0) break;  // truncated meanwhile: the checksum will tell
    done += static_cast<size_t>(n);
  }
  bytes.resize(done);
  return bytes;
}

absl::Status WriteBytes(const std::string& path, const std::string& bytes) {
  const File file(open(path.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644));
  if (!file.ok()) return Refused("write", path);
  for (size_t done = 0; done < bytes.size();) {
    const ssize_t n = write(file.get(), bytes.data() + done, bytes.size() - done);
    if (n < 0 && errno == EINTR) continue;
    if (n < 0) return Refused("write", path);
    done += static_cast<size_t>(n);
  }
  if (fsync(file.get()) != 0) return Refused("sync", path);
  return absl::OkStatus();
}

bool NewerThere(const std::string& path, const v1::CachedMap& map) {
  const auto there = ReadMapFile(path, map.app());
  return there.ok() && there->map().cell() == map.map().cell() &&
         MapVersion::From(there->map().version()) >= MapVersion::From(map.map().version());
}

}  // namespace

absl::StatusOr<v1::CachedMap> ReadMapFile(const std::string& path, const std::string& app) {
  const auto bytes = ReadBytes(path);
  if (!bytes.ok()) return bytes.status();
  v1::CachedMap map;
  if (absl::Status status = Open(*bytes, &map); !status.ok()) {
    return absl::Status(status.code(), absl::StrCat(path, ": ", std::string(status.message())));
  }
  if (map.app() != app) {
    return absl::DataLossError(absl::StrCat(path, " is the map of app \"", map.app(), "\""));
  }
  return map;
}

absl::StatusOr<Written> WriteMapFile(const std::string& path, const v1::CachedMap& map) {
  const std::string lock_path = path + ".lock";
  const File lock(open(lock_path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0644));
  if (!lock.ok()) return Refused("open", lock_path);
  while (flock(lock.get(), LOCK_EX) != 0) {
    if (errno != EINTR) return Refused("lock", lock_path);
  }
  if (NewerThere(path, map)) return Written::kNewerThere;
  if (map.ByteSizeLong() > kMaxRecordBytes) {
    return absl::ResourceExhaustedError(absl::StrCat(
        "the map has ", map.ByteSizeLong(), " bytes; at most ", kMaxRecordBytes, " are kept"));
  }
  const std::string beside = path + ".tmp";
  if (absl::Status status = WriteBytes(beside, Seal(map)); !status.ok()) return status;
  if (rename(beside.c_str(), path.c_str()) != 0) return Refused("rename", beside);
  return Written::kYes;
}

}  // namespace shardmanager::router
