#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <utility>

#include "absl/cleanup/cleanup.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "coordination/access/credentials.h"

namespace shardmanager {
namespace {

constexpr mode_t kNotForOthers = 077;
// In systemd's folder of credentials, which only the service can enter, an access list lets it read
// what belongs to root: that shows as a right of the group.
constexpr mode_t kNotForOthersBySystemd = 037;
constexpr mode_t kModeOfNew = 0600;

absl::Status Failed(const char* what, const std::string& file) {
  return absl::ErrnoToStatus(errno, absl::StrCat("cannot ", what, " ", file));
}

bool IsFromSystemd(const std::string& file) {
  const char* folder = std::getenv("CREDENTIALS_DIRECTORY");
  return folder != nullptr && *folder != '\0' && file.starts_with(std::string(folder) + "/");
}

// Of the file that is open: nobody can exchange it between the look and the read.
absl::Status CheckMode(int fd, const std::string& file) {
  struct stat about {};
  if (fstat(fd, &about) != 0) return Failed("look at", file);
  if (!S_ISREG(about.st_mode)) {
    return absl::InvalidArgumentError(absl::StrCat(file, " is not a file"));
  }
  const mode_t mode = about.st_mode & 07777;
  const mode_t forbidden = IsFromSystemd(file) ? kNotForOthersBySystemd : kNotForOthers;
  if ((mode & forbidden) == 0) return absl::OkStatus();
  return absl::PermissionDeniedError(absl::StrFormat(
      "%s holds secrets and others than its owner can reach it: found mode %04o; allowed: 0600 or "
      "0400 (chmod 600 %s)",
      file, mode, file));
}

absl::StatusOr<std::string> ReadAtMost(int fd, const std::string& file) {
  std::string text(kMostCredentialBytes + 1, '\0');
  size_t bytes = 0;
  while (bytes < text.size()) {
    const ssize_t got = read(fd, text.data() + bytes, text.size() - bytes);
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) return Failed("read", file);
    if (got == 0) break;
    bytes += static_cast<size_t>(got);
  }
  text.resize(bytes);
  return text;
}

}  // namespace

absl::StatusOr<Credentials> ReadCredentials(const std::string& file) {
  const int fd = open(file.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK);
  if (fd < 0) return Failed("open the ZooKeeper credentials", file);
  absl::Cleanup close_it = [fd] { close(fd); };
  if (absl::Status status = CheckMode(fd, file); !status.ok()) return status;
  auto text = ReadAtMost(fd, file);
  if (!text.ok()) return text.status();
  auto credentials = ParseCredentials(*text);
  if (credentials.ok()) return credentials;
  return absl::Status(credentials.status().code(),
                      absl::StrCat(file, " has no ZooKeeper credentials: ",
                                   std::string(credentials.status().message())));
}

absl::Status WriteCredentials(const std::string& file, const Credentials& credentials) {
  const int fd =
      open(file.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, kModeOfNew);
  if (fd < 0) return Failed("make", file);
  absl::Cleanup close_it = [fd] { close(fd); };
  const std::string text = CredentialText(credentials);
  size_t bytes = 0;
  while (bytes < text.size()) {
    const ssize_t put = write(fd, text.data() + bytes, text.size() - bytes);
    if (put < 0 && errno == EINTR) continue;
    if (put < 0) return Failed("write", file);
    bytes += static_cast<size_t>(put);
  }
  if (fsync(fd) != 0) return Failed("write", file);
  return absl::OkStatus();
}

}  // namespace shardmanager
