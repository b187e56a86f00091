// A certificate authority of one's own, for trials and small sites. Keys are of the curve P-256. No
// files.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "security/certificate.h"
#include "security/identity.h"

namespace shardmanager::security {

struct Credential {
  std::string certificate = {};  // PEM
  std::string key = {};          // PEM: secret
};

inline constexpr UnixSeconds kDay = 86'400;
// Certificates count from so long before they are made: the clocks of machines differ.
inline constexpr UnixSeconds kBackdated = kDay;
inline constexpr UnixSeconds kAuthorityLife = 3'650 * kDay;
// A host name that all certificates have: gRPC would log an error for each connection to a server
// whose certificate lacks the name that is asked for, though nobody goes by it here.
inline constexpr char kServerName[] = "shardmanager";
// Short, as nobody asks whether a certificate was revoked.
inline constexpr UnixSeconds kCertificateLife = 90 * kDay;

// `name`: the cell's. It is the subject of the authority's certificate.
absl::StatusOr<Credential> MakeAuthority(const std::string& name, UnixSeconds now,
                                         UnixSeconds life = kAuthorityLife);

struct Wish {
  Identity identity = {};
  // Also in the certificate, for those who look at host names. Example: {"sm-1.example.com"}.
  std::vector<std::string> hosts = {};
  UnixSeconds life = kCertificateLife;
  // PEM. Default: a new one is made.
  std::string key = {};
};
// Ends at the latest when the authority's certificate does. INVALID_ARGUMENT: the wish is wrong.
// FAILED_PRECONDITION: the authority's certificate has ended.
absl::StatusOr<Credential> Issue(const Credential& authority, const Wish& wish, UnixSeconds now);

}  // namespace shardmanager::security
