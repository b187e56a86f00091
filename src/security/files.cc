#include "security/files.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <filesystem>
#include <utility>

#include "absl/strings/str_cat.h"

namespace shardmanager::security {
namespace {

constexpr size_t kLongestFile = 1 << 20;

absl::Status In(const std::string& path, const absl::Status& status) {
  return absl::Status(status.code(), absl::StrCat(path, ": ", std::string(status.message())));
}

absl::Status Failed(const std::string& path) { return absl::ErrnoToStatus(errno, path); }

bool OthersMayRead(const std::string& path) {
  struct stat found = {};
  return stat(path.c_str(), &found) == 0 && (found.st_mode & (S_IRGRP | S_IROTH)) != 0;
}

absl::Status WriteAll(int file, const std::string& text) {
  for (size_t done = 0; done < text.size();) {
    const ssize_t wrote = write(file, text.data() + done, text.size() - done);
    if (wrote < 0 && errno == EINTR) continue;
    if (wrote < 0) return absl::ErrnoToStatus(errno, "write");
    done += static_cast<size_t>(wrote);
  }
  return fsync(file) == 0 ? absl::OkStatus() : absl::ErrnoToStatus(errno, "fsync");
}

}  // namespace

Paths PathsIn(const std::string& folder) {
  return {.ca = absl::StrCat(folder, "/", kCaFile),
          .cert = absl::StrCat(folder, "/", kCertFile),
          .key = absl::StrCat(folder, "/", kKeyFile)};
}

std::string DefaultFolder() {
  const char* named = std::getenv("SM_CERTS");
  if (named != nullptr && *named != 0) return named;
  const char* home = std::getenv("HOME");
  return home == nullptr || *home == 0 ? "" : absl::StrCat(home, "/.shardmanager/certs");
}

absl::StatusOr<std::optional<Paths>> PathsOf(const Security& security) {
  const size_t paths = static_cast<size_t>(!security.ca.empty()) +
                       static_cast<size_t>(!security.cert.empty()) +
                       static_cast<size_t>(!security.key.empty());
  const int ways =
      (security.insecure ? 1 : 0) + (security.certs.empty() ? 0 : 1) + (paths > 0 ? 1 : 0);
  if (ways > 1) {
    return absl::InvalidArgumentError(
        "found more than one of a folder (--certs), paths (--tls-ca, --tls-cert, "
        "--tls-key) and --insecure; allowed: one of them");
  }
  if (security.insecure && security.migration != Security::Migration::kNone) {
    return absl::InvalidArgumentError(
        "found a step of a migration to TLS (--tls-migration) and --insecure; allowed: one of "
        "them");
  }
  if (security.insecure) return std::nullopt;
  if (paths > 0 && paths < 3) {
    return absl::InvalidArgumentError(
        absl::StrCat("found some of the paths only: ",
                     security.ca.empty()     ? "the authorities (--tls-ca) are"
                     : security.cert.empty() ? "the certificate (--tls-cert) is"
                                             : "the key (--tls-key) is",
                     " missing; allowed: --tls-ca, --tls-cert and --tls-key together"));
  }
  if (paths == 3) return Paths{security.ca, security.cert, security.key};
  if (!security.certs.empty()) return PathsIn(security.certs);
  const std::string folder = DefaultFolder();
  std::error_code ignored;
  if (!folder.empty() && std::filesystem::exists(folder, ignored)) return PathsIn(folder);
  return absl::FailedPreconditionError(absl::StrCat(
      "found no certificates (looked ", folder.empty() ? "nowhere, as HOME is not set" : "at ",
      folder,
      "); allowed: a folder with ca.pem, cert.pem and key.pem (--certs, or $SM_CERTS), which "
      "`shardctl certs` makes (and `shardmanagerd --dev` for trials on this machine); or "
      "--insecure, which must be said"));
}

absl::StatusOr<Own> CheckFiles(const Paths& paths, UnixSeconds now) {
  const auto ca = ReadText(paths.ca);
  if (!ca.ok()) return ca.status();
  const auto cert = ReadText(paths.cert);
  if (!cert.ok()) return cert.status();
  const auto key = ReadText(paths.key);
  if (!key.ok()) return key.status();

  const auto authorities = Authorities::OfPem(*ca);
  if (!authorities.ok()) return In(paths.ca, authorities.status());
  const auto certificate = CertificateOfPem(*cert);
  if (!certificate.ok()) return In(paths.cert, certificate.status());
  auto identity = IdentityOf(certificate->names);
  if (!identity.ok()) return In(paths.cert, identity.status());
  if (absl::Status s = CheckTime(*certificate, now); !s.ok()) return In(paths.cert, s);
  if (absl::Status s = CheckKey(*cert, *key); !s.ok()) return In(paths.key, s);
  for (const auto side : {Authorities::Side::kConnects, Authorities::Side::kIsConnectedTo}) {
    const absl::Status s = (*authorities)->Verify(*cert, *cert, side, now);
    if (!s.ok()) return In(absl::StrCat(paths.cert, " (by ", paths.ca, ")"), s);
  }
  Own own{.identity = *std::move(identity), .certificate = *certificate};
  if (OthersMayRead(paths.key)) {
    own.warnings.push_back(
        absl::StrCat(paths.key, ": others than its owner may read this key; chmod 600 it"));
  }
  return own;
}

absl::StatusOr<std::string> ReadText(const std::string& path) {
  const int file = open(path.c_str(), O_RDONLY | O_CLOEXEC);
  if (file < 0) return Failed(path);
  std::string text(kLongestFile + 1, 0);
  size_t size = 0;
  ssize_t got = 0;
  while (size < text.size() && (got = read(file, &text[size], text.size() - size)) != 0) {
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) break;
    size += static_cast<size_t>(got);
  }
  const absl::Status status = got < 0 ? Failed(path) : absl::OkStatus();
  close(file);
  if (!status.ok()) return status;
  if (size > kLongestFile) {
    return absl::InvalidArgumentError(absl::StrCat(path, ": larger than 1 MiB"));
  }
  text.resize(size);
  return text;
}

absl::Status WriteText(const std::string& path, const std::string& text, bool secret) {
  std::string draft = path + ".XXXXXX";
  const int file = mkstemp(draft.data());  // 0600
  if (file < 0) return Failed(draft);
  absl::Status status = WriteAll(file, text);
  if (status.ok() && !secret && fchmod(file, 0644) != 0) status = Failed(draft);
  close(file);
  if (status.ok() && rename(draft.c_str(), path.c_str()) != 0) status = Failed(path);
  if (!status.ok()) unlink(draft.c_str());
  return status.ok() ? status : In(path, status);
}

}  // namespace shardmanager::security
