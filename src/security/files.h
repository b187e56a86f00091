// Certificates and keys in files: which ones a process uses, and whether it can.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "security/certificate.h"
#include "security/identity.h"
#include "shardmanager/security.h"

namespace shardmanager::security {

inline constexpr char kCaFile[] = "ca.pem";
inline constexpr char kCertFile[] = "cert.pem";
inline constexpr char kKeyFile[] = "key.pem";

struct Paths {
  std::string ca = {};
  std::string cert = {};
  std::string key = {};
};
Paths PathsIn(const std::string& folder);

// Where a process looks that is told nothing: what SM_CERTS names, else ~/.shardmanager/certs;
// "": HOME is not set.
std::string DefaultFolder();
// Nothing: it is to be insecure. INVALID_ARGUMENT: some of it is missing, or contradicts the rest.
// FAILED_PRECONDITION: nothing was said, and nothing is where a process looks then.
absl::StatusOr<std::optional<Paths>> PathsOf(const Security& security);

// What a process has.
struct Own {
  Identity identity = {};
  Certificate certificate = {};
  std::vector<std::string> warnings = {};  // for the log
};
// Reads all three. Errors name the file, and where it is known the identity and the date.
absl::StatusOr<Own> CheckFiles(const Paths& paths, UnixSeconds now);

// ---- plain files

// INVALID_ARGUMENT: it is larger than 1 MiB.
absl::StatusOr<std::string> ReadText(const std::string& path);
// In one step: whoever reads it sees all of the old text or all of the new. `secret`: for nobody
// but the owner.
absl::Status WriteText(const std::string& path, const std::string& text, bool secret);

}  // namespace shardmanager::security
