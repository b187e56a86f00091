#include "security/authority.h"

#include <openssl/bn.h>
#include <openssl/err.h>

#include <algorithm>
#include <cctype>
#include <memory>
#include <utility>

#include "absl/strings/str_cat.h"
#include "security/openssl.h"

namespace shardmanager::security {
namespace {

using BnPtr = std::unique_ptr<BIGNUM, FreeWith<BN_free>>;
using ExtensionPtr = std::unique_ptr<X509_EXTENSION, FreeWith<X509_EXTENSION_free>>;

KeyPtr NewKey() { return KeyPtr(EVP_EC_gen("P-256")); }

struct Draft {
  std::string subject;
  UnixSeconds from = 0;
  UnixSeconds until = 0;
  std::vector<std::pair<int, std::string>> extensions;  // NID, as openssl's configuration has it
};

bool SetSerial(X509& cert) {
  const BnPtr serial(BN_new());
  return BN_rand(serial.get(), 127, BN_RAND_TOP_ANY, BN_RAND_BOTTOM_ANY) == 1 &&
         BN_to_ASN1_INTEGER(serial.get(), X509_get_serialNumber(&cert)) != nullptr;
}

bool AddExtension(X509& cert, X509& issuer, int nid, const std::string& value) {
  X509V3_CTX context;
  X509V3_set_ctx(&context, &issuer, &cert, nullptr, nullptr, 0);
  const ExtensionPtr extension(X509V3_EXT_conf_nid(nullptr, &context, nid, value.c_str()));
  return extension != nullptr && X509_add_ext(&cert, extension.get(), -1) == 1;
}

// `issuer` null: signed by itself.
absl::StatusOr<std::string> Sign(const Draft& draft, EVP_PKEY& key, X509* issuer,
                                 EVP_PKEY& issuer_key) {
  const CertPtr cert(X509_new());
  X509_set_version(cert.get(), X509_VERSION_3);
  ASN1_TIME_set(X509_getm_notBefore(cert.get()), draft.from);
  ASN1_TIME_set(X509_getm_notAfter(cert.get()), draft.until);
  X509_set_pubkey(cert.get(), &key);
  X509_NAME* name = X509_get_subject_name(cert.get());
  X509_NAME_add_entry_by_txt(name, "CN", MBSTRING_UTF8,
                             reinterpret_cast<const unsigned char*>(draft.subject.data()),
                             static_cast<int>(draft.subject.size()), -1, 0);
  X509& above = issuer == nullptr ? *cert : *issuer;
  X509_set_issuer_name(cert.get(), X509_get_subject_name(&above));
  bool ok = SetSerial(*cert);
  for (const auto& [nid, value] : draft.extensions) {
    ok = ok && AddExtension(*cert, above, nid, value);
  }
  if (!ok || X509_sign(cert.get(), &issuer_key, EVP_sha256()) == 0) {
    return OpensslError("the certificate cannot be made");
  }
  return ToPem(*cert);
}

bool IsHost(const std::string& host) {
  return !host.empty() && host.size() <= 253 && std::all_of(host.begin(), host.end(), [](char c) {
    return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '.' || c == '-' || c == '_' ||
           c == ':';
  });
}

bool IsAddress(const std::string& host) {
  ASN1_OCTET_STRING* address = a2i_IPADDRESS(host.c_str());
  ASN1_OCTET_STRING_free(address);
  ERR_clear_error();
  return address != nullptr;
}

// The identity's parts, and hosts, have no character that this syntax knows.
std::string AlternativeNames(const Wish& wish) {
  std::string names = absl::StrCat("URI:", ToUri(wish.identity), ",DNS:", kServerName);
  for (const std::string& host : wish.hosts) {
    if (host == kServerName) continue;
    absl::StrAppend(&names, ",", IsAddress(host) ? "IP:" : "DNS:", host);
  }
  return names;
}

}  // namespace

absl::StatusOr<Credential> MakeAuthority(const std::string& name, UnixSeconds now,
                                         UnixSeconds life) {
  // The cell is a part of identities.
  if (auto checked = IdentityOfPath(name == kTrialCell ? "cell" : name, "admin/a"); !checked.ok()) {
    return absl::InvalidArgumentError(
        absl::StrCat("cell: found \"", name, "\"; allowed: 1 to 127 characters of [A-Za-z0-9._-]"));
  }
  const KeyPtr key = NewKey();
  if (key == nullptr) return OpensslError("a key cannot be made");
  const Draft draft{.subject = name.substr(0, 64),
                    .from = now - kBackdated,
                    .until = now + life,
                    .extensions = {{NID_basic_constraints, "critical,CA:TRUE,pathlen:0"},
                                   {NID_key_usage, "critical,keyCertSign,cRLSign"},
                                   {NID_subject_key_identifier, "hash"},
                                   // As SPIFFE has it: an authority is of the whole cell.
                                   {NID_subject_alt_name, absl::StrCat("URI:spiffe://", name)}}};
  auto certificate = Sign(draft, *key, nullptr, *key);
  if (!certificate.ok()) return certificate.status();
  return Credential{*certificate, ToPem(*key)};
}

absl::StatusOr<Credential> Issue(const Credential& authority, const Wish& wish, UnixSeconds now) {
  if (auto same = IdentityOfUri(ToUri(wish.identity)); !same.ok()) return same.status();
  for (const std::string& host : wish.hosts) {
    if (IsHost(host)) continue;
    return absl::InvalidArgumentError(
        absl::StrCat("host: found \"", host, "\"; allowed: a host's name or address"));
  }
  auto above = CertsOfPem(authority.certificate);
  if (!above.ok()) return above.status();
  auto above_key = KeyOfPem(authority.key);
  if (!above_key.ok()) return above_key.status();
  const absl::StatusOr<Certificate> issuer = CertificateOfPem(authority.certificate);
  if (absl::Status status = CheckTime(*issuer, now); !status.ok()) return status;
  KeyPtr key = wish.key.empty() ? NewKey() : nullptr;
  if (!wish.key.empty()) {
    auto read = KeyOfPem(wish.key);
    if (!read.ok()) return read.status();
    key = *std::move(read);
  }
  if (key == nullptr) return OpensslError("a key cannot be made");
  const Draft draft{.subject = ToPath(wish.identity).substr(0, 64),
                    .from = std::max(now - kBackdated, issuer->from),
                    .until = std::min(now + wish.life, issuer->until),
                    .extensions = {{NID_basic_constraints, "critical,CA:FALSE"},
                                   {NID_key_usage, "critical,digitalSignature"},
                                   {NID_ext_key_usage, "serverAuth,clientAuth"},
                                   {NID_subject_key_identifier, "hash"},
                                   {NID_authority_key_identifier, "keyid"},
                                   {NID_subject_alt_name, AlternativeNames(wish)}}};
  auto certificate = Sign(draft, *key, above->front().get(), **above_key);
  if (!certificate.ok()) return certificate.status();
  return Credential{*certificate, ToPem(*key)};
}

}  // namespace shardmanager::security
