// The names in a certificate: a SPIFFE URI, a DNS name, and the path that people type.
#include <string>

#include "security/identity.h"
#include "tests/fuzz/fuzz_target.h"

namespace shardmanager {

SM_FUZZ_TARGET(identity_name) {
  using security::Identity;
  const std::string text(input.Rest());
  for (const auto& read : {security::IdentityOfUri(text), security::IdentityOfDns(text),
                           security::IdentityOfPath("cell", text)}) {
    if (!read.ok()) continue;
    const auto by_uri = security::IdentityOfUri(security::ToUri(*read));
    SM_CHECK(by_uri.ok() && *by_uri == *read, "what was read can be written and read again");
    const auto by_path = security::IdentityOfPath(read->cell, security::ToPath(*read));
    SM_CHECK(by_path.ok() && *by_path == *read, "by its path, too");
    SM_CHECK(security::CheckAny(*read, *read, {security::Anybody()}).ok(), "it is somebody");
  }
  const auto both = security::IdentityOf({.uris = {text}, .dns = {text}});
  SM_CHECK(!both.ok() || both->name.size() <= security::kLongestName, "names are bounded");
}

}  // namespace shardmanager
