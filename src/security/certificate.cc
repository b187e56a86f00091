#include "security/certificate.h"

#include <arpa/inet.h>
#include <openssl/err.h>
#include <openssl/x509_vfy.h>

#include <ctime>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "model/text.h"
#include "security/openssl.h"

namespace shardmanager::security {
namespace {

// Of signatures and keys, as Debian's OpenSSL asks for by default: 112 bits.
constexpr int kSecurityLevel = 2;
constexpr int kLongestChain = 4;

UnixSeconds SecondsOf(const ASN1_TIME* time) {
  std::tm parts = {};
  return ASN1_TIME_to_tm(time, &parts) == 1 ? timegm(&parts) : 0;
}

std::string CommonName(const X509_NAME* name) {
  char text[256] = "";
  X509_NAME_get_text_by_NID(const_cast<X509_NAME*>(name), NID_commonName, text, sizeof text);
  return Printable(text);
}

std::string AddressText(const ASN1_OCTET_STRING& address) {
  char text[INET6_ADDRSTRLEN] = "";
  const int family = ASN1_STRING_length(&address) == 4 ? AF_INET : AF_INET6;
  if (family == AF_INET6 && ASN1_STRING_length(&address) != 16) return "";
  inet_ntop(family, ASN1_STRING_get0_data(&address), text, sizeof text);
  return text;
}

Names NamesOf(X509& cert) {
  Names names;
  auto* all =
      static_cast<GENERAL_NAMES*>(X509_get_ext_d2i(&cert, NID_subject_alt_name, nullptr, nullptr));
  for (int i = 0; i < sk_GENERAL_NAME_num(all); ++i) {
    const GENERAL_NAME* name = sk_GENERAL_NAME_value(all, i);
    if (name->type == GEN_IPADD) names.addresses.push_back(AddressText(*name->d.iPAddress));
    if (name->type != GEN_URI && name->type != GEN_DNS) continue;
    const ASN1_IA5STRING* text = name->d.ia5;
    const std::string value(reinterpret_cast<const char*>(ASN1_STRING_get0_data(text)),
                            static_cast<size_t>(ASN1_STRING_length(text)));
    (name->type == GEN_URI ? names.uris : names.dns).push_back(value);
  }
  GENERAL_NAMES_free(all);
  return names;
}

Certificate Read(X509& cert) {
  return {.names = NamesOf(cert),
          .subject = CommonName(X509_get_subject_name(&cert)),
          .issuer = CommonName(X509_get_issuer_name(&cert)),
          .from = SecondsOf(X509_get0_notBefore(&cert)),
          .until = SecondsOf(X509_get0_notAfter(&cert)),
          .is_authority = X509_check_ca(&cert) == 1};
}

using ContextPtr = std::unique_ptr<X509_STORE_CTX, FreeWith<X509_STORE_CTX_free>>;

absl::Status Untrusted(X509_STORE_CTX& context, const Certificate& leaf, UnixSeconds now,
                       const std::string& believed) {
  const int error = X509_STORE_CTX_get_error(&context);
  X509* at = X509_STORE_CTX_get_current_cert(&context);
  const Certificate found = at == nullptr ? leaf : Read(*at);
  std::string why;
  switch (error) {
    case X509_V_ERR_CERT_HAS_EXPIRED:
    case X509_V_ERR_CERT_NOT_YET_VALID:
      why = std::string(CheckTime(found, now).message());
      break;
    case X509_V_ERR_UNABLE_TO_GET_ISSUER_CERT_LOCALLY:
    case X509_V_ERR_UNABLE_TO_GET_ISSUER_CERT:
    case X509_V_ERR_UNABLE_TO_VERIFY_LEAF_SIGNATURE:
    case X509_V_ERR_DEPTH_ZERO_SELF_SIGNED_CERT:
    case X509_V_ERR_SELF_SIGNED_CERT_IN_CHAIN:
    case X509_V_ERR_CERT_SIGNATURE_FAILURE:
      why = absl::StrCat("the certificate of ", Describe(leaf), " was signed by \"", leaf.issuer,
                         "\", with no key that is believed here; allowed: ", believed);
      break;
    default:
      why = absl::StrCat("the certificate of ", Describe(leaf), ": ",
                         X509_verify_cert_error_string(error));
  }
  return absl::UnauthenticatedError(why);
}

}  // namespace

std::string ToText(UnixSeconds time) {
  const std::time_t at = time;
  std::tm parts = {};
  char text[64] = "";
  if (gmtime_r(&at, &parts) != nullptr) {
    std::strftime(text, sizeof text, "%Y-%m-%d %H:%M:%S UTC", &parts);
  }
  return text;
}

absl::StatusOr<Certificate> CertificateOfPem(std::string_view pem) {
  auto certs = CertsOfPem(pem);
  if (!certs.ok()) return certs.status();
  return Read(*certs->front());
}

std::string Describe(const Certificate& certificate) {
  if (certificate.is_authority) return absl::StrCat("the authority \"", certificate.subject, "\"");
  if (auto identity = IdentityOf(certificate.names); identity.ok()) return ToUri(*identity);
  if (!certificate.names.uris.empty()) return Printable(certificate.names.uris.front());
  if (!certificate.names.dns.empty()) return Printable(certificate.names.dns.front());
  return absl::StrCat("\"", certificate.subject, "\"");
}

absl::Status CheckTime(const Certificate& certificate, UnixSeconds now) {
  if (now >= certificate.from && now < certificate.until) return absl::OkStatus();
  const bool over = now >= certificate.until;
  return absl::FailedPreconditionError(absl::StrCat(
      "the certificate of ", Describe(certificate), over ? " ended at " : " begins at ",
      ToText(over ? certificate.until : certificate.from), "; this machine's clock says ",
      ToText(now)));
}

absl::Status CheckKey(std::string_view certificate_pem, std::string_view key_pem) {
  auto certs = CertsOfPem(certificate_pem);
  if (!certs.ok()) return certs.status();
  auto key = KeyOfPem(key_pem);
  if (!key.ok()) return key.status();
  if (X509_check_private_key(certs->front().get(), key->get()) == 1) return absl::OkStatus();
  ERR_clear_error();
  return absl::InvalidArgumentError("the key is not that of the certificate");
}

struct Authorities::Certs {
  std::vector<CertPtr> certs;
  std::vector<std::string> names;
};

Authorities::Authorities(std::unique_ptr<Certs> certs) : certs_(std::move(certs)) {}
Authorities::~Authorities() = default;

absl::StatusOr<std::shared_ptr<const Authorities>> Authorities::OfPem(std::string_view pem) {
  auto read = CertsOfPem(pem);
  if (!read.ok()) return read.status();
  auto certs = std::make_unique<Certs>();
  for (CertPtr& cert : *read) {
    const Certificate found = Read(*cert);
    if (!found.is_authority) {
      return absl::InvalidArgumentError(
          absl::StrCat("found the certificate of ", Describe(found),
                       "; allowed: certificates of authorities (CA:TRUE)"));
    }
    certs->names.push_back(absl::StrCat("\"", found.subject, "\""));
    certs->certs.push_back(std::move(cert));
  }
  return std::shared_ptr<const Authorities>(new Authorities(std::move(certs)));
}

std::string Authorities::names() const { return absl::StrJoin(certs_->names, ", "); }

absl::Status Authorities::Verify(std::string_view certificate_pem, std::string_view chain_pem,
                                 Side side, UnixSeconds now) const {
  auto leaf = CertsOfPem(certificate_pem);
  if (!leaf.ok()) return absl::UnauthenticatedError(std::string(leaf.status().message()));
  std::vector<CertPtr> others;
  if (auto chain = CertsOfPem(chain_pem); chain.ok()) others = *std::move(chain);

  const StorePtr store(X509_STORE_new());
  for (const CertPtr& cert : certs_->certs) X509_STORE_add_cert(store.get(), cert.get());
  STACK_OF(X509)* untrusted = sk_X509_new_null();
  for (const CertPtr& cert : others) sk_X509_push(untrusted, cert.get());
  const ContextPtr context(X509_STORE_CTX_new());
  X509_STORE_CTX_init(context.get(), store.get(), leaf->front().get(), untrusted);
  X509_VERIFY_PARAM* param = X509_STORE_CTX_get0_param(context.get());
  X509_VERIFY_PARAM_set_time(param, now);
  X509_VERIFY_PARAM_set_depth(param, kLongestChain);
  X509_VERIFY_PARAM_set_auth_level(param, kSecurityLevel);
  X509_STORE_CTX_set_purpose(
      context.get(), side == Side::kConnects ? X509_PURPOSE_SSL_CLIENT : X509_PURPOSE_SSL_SERVER);
  absl::Status status;
  if (X509_verify_cert(context.get()) != 1) {
    status = Untrusted(*context, Read(*leaf->front()), now, names());
  }
  sk_X509_free(untrusted);
  ERR_clear_error();
  return status;
}

}  // namespace shardmanager::security
