// An authority and certificates for a test, in a folder of its own.
#pragma once

#include <gtest/gtest.h>

#include <chrono>
#include <string>

#include "security/authority.h"
#include "security/files.h"
#include "shardmanager/security.h"
#include "tests/security/scratch_folder.h"

namespace shardmanager::testing {

inline security::UnixSeconds NowSeconds() {
  return std::chrono::duration_cast<std::chrono::seconds>(
             std::chrono::system_clock::now().time_since_epoch())
      .count();
}

class CellCerts {
 public:
  explicit CellCerts(const std::string& cell = "prod")
      : authority_(*security::MakeAuthority(cell, NowSeconds() - 100 * security::kDay)) {}

  // Of this identity, made at `made`. Example: Of("spiffe://prod/server/kv/kv-3").
  Security Of(const std::string& uri, security::UnixSeconds made = NowSeconds(),
              security::UnixSeconds life = security::kCertificateLife) {
    const std::string folder = scratch_.path() + "/" + std::to_string(++folders_);
    std::filesystem::create_directory(folder);
    Put(folder, uri, made, life);
    return {.certs = folder};
  }
  // In place of what is there.
  void Put(const std::string& folder, const std::string& uri,
           security::UnixSeconds made = NowSeconds(),
           security::UnixSeconds life = security::kCertificateLife) const {
    const auto issued = security::Issue(
        authority_, {.identity = *security::IdentityOfUri(uri), .life = life}, made);
    ASSERT_TRUE(issued.ok()) << issued.status();
    const security::Paths paths = security::PathsIn(folder);
    ASSERT_TRUE(security::WriteText(paths.key, issued->key, true).ok());
    ASSERT_TRUE(security::WriteText(paths.cert, issued->certificate, false).ok());
    ASSERT_TRUE(security::WriteText(paths.ca, authority_.certificate, false).ok());
  }
  const security::Credential& authority() const { return authority_; }

 private:
  const ScratchFolder scratch_;
  const security::Credential authority_;
  int folders_ = 0;
};

}  // namespace shardmanager::testing
