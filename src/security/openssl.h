// OpenSSL's objects, owned.
#pragma once

#include <openssl/bio.h>
#include <openssl/evp.h>
#include <openssl/x509.h>
#include <openssl/x509v3.h>

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"

namespace shardmanager::security {

template <auto kFree>
struct FreeWith {
  template <typename T>
  void operator()(T* object) const {
    kFree(object);
  }
};
using BioPtr = std::unique_ptr<BIO, FreeWith<BIO_free_all>>;
using KeyPtr = std::unique_ptr<EVP_PKEY, FreeWith<EVP_PKEY_free>>;
using CertPtr = std::unique_ptr<X509, FreeWith<X509_free>>;
using StorePtr = std::unique_ptr<X509_STORE, FreeWith<X509_STORE_free>>;

// The first error that OpenSSL noted on this thread, after `what`; the notes are cleared.
// INVALID_ARGUMENT.
absl::Status OpensslError(std::string_view what);

// At most 1 MiB, and 64 certificates. INVALID_ARGUMENT: none is there, or one cannot be read.
absl::StatusOr<std::vector<CertPtr>> CertsOfPem(std::string_view pem);
absl::StatusOr<KeyPtr> KeyOfPem(std::string_view pem);
std::string ToPem(X509& cert);
std::string ToPem(EVP_PKEY& key);

}  // namespace shardmanager::security
