// Files of ZooKeeper credentials: what is read can be written and read again; what is not is
// refused without a word of it.
#include "coordination/access/credentials.h"

#include <string>

#include "tests/fuzz/fuzz_target.h"

namespace shardmanager {

SM_FUZZ_TARGET(credentials) {
  const std::string text(input.Rest());
  const auto credentials = ParseCredentials(text);
  if (!credentials.ok()) return;
  SM_CHECK(!credentials->secrets.empty() && credentials->secrets.size() <= kMostSecrets,
           "as many secrets as are allowed");
  const auto again = ParseCredentials(CredentialText(*credentials));
  SM_CHECK(again.ok() && *again == *credentials, "what was written is read");
}

}  // namespace shardmanager
