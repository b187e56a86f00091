#include "security/openssl.h"

#include <openssl/err.h>
#include <openssl/pem.h>

#include <utility>

#include "absl/strings/str_cat.h"

namespace shardmanager::security {
namespace {

constexpr size_t kLongestPem = 1 << 20;
constexpr size_t kMostCerts = 64;

BioPtr Reading(std::string_view text) {
  return BioPtr(BIO_new_mem_buf(text.data(), static_cast<int>(text.size())));
}

std::string Written(BIO* bio) {
  char* data = nullptr;
  const long size = BIO_get_mem_data(bio, &data);
  return size > 0 ? std::string(data, static_cast<size_t>(size)) : std::string();
}

// Nobody is asked for a password: the key is then not readable.
int NoPassword(char*, int, int, void*) { return -1; }

}  // namespace

absl::Status OpensslError(std::string_view what) {
  const unsigned long code = ERR_get_error();
  ERR_clear_error();
  const char* reason = code == 0 ? nullptr : ERR_reason_error_string(code);
  return absl::InvalidArgumentError(absl::StrCat(std::string(what), reason == nullptr ? "" : ": ",
                                                 reason == nullptr ? "" : reason));
}

absl::StatusOr<std::vector<CertPtr>> CertsOfPem(std::string_view pem) {
  if (pem.size() > kLongestPem) {
    return absl::InvalidArgumentError(
        absl::StrCat("found ", pem.size(), " bytes; allowed: certificates of 1 MiB together"));
  }
  const BioPtr bio = Reading(pem);
  std::vector<CertPtr> certs;
  while (certs.size() < kMostCerts) {
    CertPtr cert(PEM_read_bio_X509(bio.get(), nullptr, NoPassword, nullptr));
    if (cert == nullptr) break;
    certs.push_back(std::move(cert));
  }
  const unsigned long error = ERR_peek_last_error();
  const bool at_end = error == 0 || (ERR_GET_LIB(error) == ERR_LIB_PEM &&
                                     ERR_GET_REASON(error) == PEM_R_NO_START_LINE);
  if (!at_end) return OpensslError("a certificate cannot be read");
  ERR_clear_error();
  if (certs.empty()) {
    return absl::InvalidArgumentError("found no certificate; allowed: PEM, \"BEGIN CERTIFICATE\"");
  }
  return certs;
}

absl::StatusOr<KeyPtr> KeyOfPem(std::string_view pem) {
  if (pem.size() > kLongestPem) return absl::InvalidArgumentError("the key is longer than 1 MiB");
  const BioPtr bio = Reading(pem);
  KeyPtr key(PEM_read_bio_PrivateKey(bio.get(), nullptr, NoPassword, nullptr));
  if (key == nullptr) {
    ERR_clear_error();
    return absl::InvalidArgumentError(
        "found no private key that can be read; allowed: PEM, \"BEGIN PRIVATE KEY\", without a "
        "password");
  }
  return key;
}

std::string ToPem(X509& cert) {
  const BioPtr bio(BIO_new(BIO_s_mem()));
  PEM_write_bio_X509(bio.get(), &cert);
  return Written(bio.get());
}

std::string ToPem(EVP_PKEY& key) {
  const BioPtr bio(BIO_new(BIO_s_mem()));
  PEM_write_bio_PrivateKey(bio.get(), &key, nullptr, nullptr, 0, nullptr, nullptr);
  return Written(bio.get());
}

}  // namespace shardmanager::security
