// What a certificate says, and whether it is to be believed.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "security/identity.h"

namespace shardmanager::security {

// Seconds since 1970 UTC, as this machine's clock has them.
using UnixSeconds = int64_t;
// Example: "2026-03-01 12:00:00 UTC".
std::string ToText(UnixSeconds time);

struct Certificate {
  Names names = {};
  std::string subject = {};  // its common name, or "" (certificates of servers need none)
  std::string issuer = {};   // likewise
  UnixSeconds from = 0;
  UnixSeconds until = 0;
  bool is_authority = false;  // it may sign others
};

// The first one of the file; those that signed it may follow. INVALID_ARGUMENT: it cannot be read.
absl::StatusOr<Certificate> CertificateOfPem(std::string_view pem);

// Whom a certificate is of, for people: its identity, else its subject.
std::string Describe(const Certificate& certificate);

// FAILED_PRECONDITION says when it ended, or begins, and what time this machine has.
absl::Status CheckTime(const Certificate& certificate, UnixSeconds now);

// The certificate was made for this key.
absl::Status CheckKey(std::string_view certificate_pem, std::string_view key_pem);

// The authorities that are believed. Thread-safe.
class Authorities {
 public:
  // One or more certificates. INVALID_ARGUMENT: there is none, or one is not of an authority.
  static absl::StatusOr<std::shared_ptr<const Authorities>> OfPem(std::string_view pem);
  ~Authorities();

  enum class Side : uint8_t { kConnects, kIsConnectedTo };
  // Was it signed by one of them, directly or by way of those in `chain_pem` (may be ""), is it in
  // time, and for what it is used for? `side`: of whose certificate it is.
  // UNAUTHENTICATED says what is wrong, whose certificate it is and who signed it.
  absl::Status Verify(std::string_view certificate_pem, std::string_view chain_pem, Side side,
                      UnixSeconds now) const;

  // For people, their names.
  std::string names() const;

 private:
  struct Certs;
  explicit Authorities(std::unique_ptr<Certs> certs);
  const std::unique_ptr<Certs> certs_;
};

}  // namespace shardmanager::security
