// What whoever connects shows before anybody knows who he is: a certificate, and those that are
// said to have signed it.
#include "security/certificate.h"

#include <string>

#include "security/identity.h"
#include "tests/fuzz/fuzz_target.h"

namespace shardmanager {

SM_FUZZ_TARGET(certificate) {
  using security::Authorities;
  const std::string pem(input.Rest());
  const auto certificate = security::CertificateOfPem(pem);
  const auto authorities = Authorities::OfPem(pem);
  SM_CHECK(certificate.ok() || !authorities.ok(), "authorities are certificates");
  if (!certificate.ok()) return;
  SM_CHECK(certificate->names.uris.size() + certificate->names.dns.size() < pem.size(),
           "no more names than there are bytes");
  (void)security::Describe(*certificate);
  const auto identity = security::IdentityOf(certificate->names);
  if (identity.ok()) {
    const auto again = security::IdentityOfUri(security::ToUri(*identity));
    SM_CHECK(again.ok() && *again == *identity, "an identity has one name");
  }
  if (!authorities.ok()) return;
  constexpr security::UnixSeconds kNow = 1'767'225'600;
  const absl::Status by_itself =
      (*authorities)->Verify(pem, pem, Authorities::Side::kConnects, kNow);
  SM_CHECK(by_itself.ok() || absl::IsUnauthenticated(by_itself), "a refusal says that it is one");
}

}  // namespace shardmanager
