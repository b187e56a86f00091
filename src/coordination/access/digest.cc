#include "coordination/access/digest.h"

#include <openssl/evp.h>
#include <openssl/hmac.h>
#include <openssl/rand.h>
#include <openssl/sha.h>

#include <array>

#include "absl/strings/escaping.h"
#include "absl/strings/str_cat.h"
#include "base/check.h"

namespace shardmanager {
namespace {

constexpr size_t kSecretBytes = 32;
constexpr size_t kProofDigits = 32;

std::string Hex(const unsigned char* bytes, size_t count) {
  return absl::BytesToHexString({reinterpret_cast<const char*>(bytes), count});
}

const unsigned char* Bytes(std::string_view text) {
  return reinterpret_cast<const unsigned char*>(text.data());
}

// Names of cells, apps and servers have no '/', so no two parties have one user name.
std::string User(std::string_view cell, std::string_view party) {
  return absl::StrCat(std::string(cell), "/", std::string(party));
}

}  // namespace

std::string DigestOf(const StoreLogin& login) {
  const std::string both = absl::StrCat(login.user, ":", login.password);
  std::array<unsigned char, SHA_DIGEST_LENGTH> sha{};
  SHA1(Bytes(both), both.size(), sha.data());
  return absl::StrCat(login.user, ":",
                      absl::Base64Escape({reinterpret_cast<const char*>(sha.data()), sha.size()}));
}

std::string NewSecret() {
  std::array<unsigned char, kSecretBytes> random{};
  SM_CHECK(RAND_bytes(random.data(), static_cast<int>(random.size())) == 1,
           "the operating system has random numbers");
  return Hex(random.data(), random.size());
}

std::string DeriveSecret(std::string_view secret, std::string_view what) {
  std::array<unsigned char, EVP_MAX_MD_SIZE> mac{};
  unsigned int bytes = 0;
  const unsigned char* done = HMAC(EVP_sha256(), secret.data(), static_cast<int>(secret.size()),
                                   Bytes(what), what.size(), mac.data(), &bytes);
  SM_CHECK(done != nullptr, "HMAC-SHA-256 is there");
  return Hex(mac.data(), bytes);
}

StoreLogin ControlPlaneLogin(std::string_view cell, std::string_view cell_secret) {
  return {User(cell, "control-plane"), DeriveSecret(cell_secret, "control-plane")};
}

StoreLogin CellMemberLogin(std::string_view cell, std::string_view password) {
  return {User(cell, "servers"), std::string(password)};
}

std::string CellMemberPassword(std::string_view cell_secret) {
  return DeriveSecret(cell_secret, "servers");
}

std::string AppSecret(std::string_view cell_secret, const AppName& app) {
  return DeriveSecret(cell_secret, absl::StrCat("app/", app.value()));
}

StoreLogin RegistrarLogin(std::string_view cell, const AppName& app, std::string_view app_secret) {
  return {User(cell, absl::StrCat("registrar/", app.value())),
          DeriveSecret(app_secret, "registrar")};
}

std::string AppMemberPassword(std::string_view app_secret) {
  return DeriveSecret(app_secret, "servers");
}

StoreLogin AppMemberLogin(std::string_view cell, const AppName& app, std::string_view password) {
  return {User(cell, absl::StrCat("servers/", app.value())), std::string(password)};
}

std::string ServerPassword(std::string_view app_secret, const ServerName& server) {
  return DeriveSecret(app_secret, absl::StrCat("server/", server.value()));
}

StoreLogin ServerLogin(std::string_view cell, const AppName& app, const ServerName& server,
                       std::string_view password) {
  return {User(cell, absl::StrCat("server/", app.value(), "/", server.value())),
          std::string(password)};
}

std::string LiveProof(std::string_view server_password, Incarnation incarnation) {
  return DeriveSecret(server_password, absl::StrCat("live/", incarnation.value()))
      .substr(0, kProofDigits);
}

}  // namespace shardmanager
