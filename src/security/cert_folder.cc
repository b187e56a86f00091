#include "security/cert_folder.h"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <filesystem>
#include <utility>

#include "absl/strings/str_cat.h"
#include "security/files.h"
#include "security/openssl.h"

namespace shardmanager::security {
namespace {

namespace fs = std::filesystem;

constexpr char kAuthorityKeyFile[] = "ca-key.pem";
constexpr char kNextFile[] = "next-ca.pem";
constexpr char kNextKeyFile[] = "next-ca-key.pem";

// For nobody but its owner, from the first moment.
absl::Status MakeFolder(const std::string& folder) {
  std::string made;
  for (const fs::path& part : fs::path(folder)) {
    made = made.empty() ? part.string() : (fs::path(made) / part).string();
    if (made.empty() || mkdir(made.c_str(), 0700) == 0 || errno == EEXIST) continue;
    return absl::ErrnoToStatus(errno, made);
  }
  return absl::OkStatus();
}

std::string AuthorityFile(const std::string& folder, const char* name) {
  return absl::StrCat(folder, "/", name);
}

// Of the authority's own certificate: "spiffe://prod".
std::string CellOf(const Certificate& authority) {
  constexpr std::string_view kScheme = "spiffe://";
  for (const std::string& uri : authority.names.uris) {
    if (uri.substr(0, kScheme.size()) == kScheme) return uri.substr(kScheme.size());
  }
  return authority.subject;
}

// Keeps others out while it lives.
class Lock {
 public:
  explicit Lock(const std::string& path)
      : file_(open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0600)) {
    if (file_ >= 0) flock(file_, LOCK_EX);
  }
  ~Lock() {
    if (file_ >= 0) close(file_);
  }
  Lock(const Lock&) = delete;
  Lock& operator=(const Lock&) = delete;

 private:
  const int file_;
};

absl::Status PutFiles(const std::string& folder, const Credential& credential,
                      const std::string& ca) {
  const Paths paths = PathsIn(folder);
  absl::Status status = WriteText(paths.key, credential.key, /*secret=*/true);
  if (status.ok()) status = WriteText(paths.cert, credential.certificate, /*secret=*/false);
  if (status.ok()) status = WriteText(paths.ca, ca, /*secret=*/false);
  return status;
}

}  // namespace

CertFolder::CertFolder(std::string folder, Credential authority)
    : folder_(std::move(folder)), authority_(std::move(authority)) {
  if (auto read = CertificateOfPem(authority_.certificate); read.ok()) certificate_ = *read;
  cell_ = CellOf(certificate_);
}

absl::StatusOr<CertFolder> CertFolder::Make(const std::string& folder, const std::string& cell,
                                            UnixSeconds now) {
  std::error_code ignored;
  const std::string key_file = AuthorityFile(folder, kAuthorityKeyFile);
  if (fs::exists(key_file, ignored)) {
    return absl::AlreadyExistsError(
        absl::StrCat(key_file,
                     ": an authority is there already; a new one in its place would make "
                     "all certificates worthless that it signed"));
  }
  auto authority = MakeAuthority(cell, now);
  if (!authority.ok()) return authority.status();
  if (absl::Status status = MakeFolder(folder); !status.ok()) return status;
  absl::Status status = WriteText(key_file, authority->key, /*secret=*/true);
  if (status.ok()) {
    status = WriteText(AuthorityFile(folder, kCaFile), authority->certificate, /*secret=*/false);
  }
  if (!status.ok()) return status;
  return CertFolder(folder, *std::move(authority));
}

absl::StatusOr<CertFolder> CertFolder::Open(const std::string& folder) {
  const std::string key_file = AuthorityFile(folder, kAuthorityKeyFile);
  const std::string ca_file = AuthorityFile(folder, kCaFile);
  auto key = ReadText(key_file);
  if (!key.ok()) {
    return absl::NotFoundError(absl::StrCat(
        "found no authority (", std::string(key.status().message()),
        "); allowed: a folder that `shardctl certs init` made, on the machine that has its key"));
  }
  auto certificate = ReadText(ca_file);
  if (!certificate.ok()) return certificate.status();
  if (absl::Status status = CheckKey(*certificate, *key); !status.ok()) {
    return absl::Status(status.code(), absl::StrCat(ca_file, ": ", std::string(status.message())));
  }
  return CertFolder(folder, {*certificate, *key});
}

absl::Status CertFolder::Put(const std::string& folder, const Credential& credential) const {
  if (absl::Status status = MakeFolder(folder); !status.ok()) return status;
  return PutFiles(folder, credential, authority_.certificate);
}

absl::StatusOr<Kept> CertFolder::Issue(const std::string& path,
                                       const std::vector<std::string>& hosts, UnixSeconds life,
                                       UnixSeconds now) const {
  const auto identity = IdentityOfPath(cell_, path);
  if (!identity.ok()) return identity.status();
  Kept kept{.folder = FolderOf(path), .identity = path};
  std::error_code ignored;
  if (fs::exists(PathsIn(kept.folder).cert, ignored)) {
    return absl::AlreadyExistsError(absl::StrCat(
        kept.folder, ": a certificate is there already; `shardctl certs renew` replaces it"));
  }
  const auto issued = security::Issue(authority_, {*identity, hosts, life}, now);
  if (!issued.ok()) return issued.status();
  if (absl::Status status = Put(kept.folder, *issued); !status.ok()) return status;
  kept.certificate = *CertificateOfPem(issued->certificate);
  return kept;
}

absl::StatusOr<std::vector<Kept>> CertFolder::List() const {
  std::vector<Kept> all;
  std::error_code error;
  for (auto it = fs::recursive_directory_iterator(folder_, error);
       !error && it != fs::recursive_directory_iterator(); it.increment(error)) {
    if (it->path().filename() != kCertFile) continue;
    const auto pem = ReadText(it->path());
    if (!pem.ok()) return pem.status();
    auto certificate = CertificateOfPem(*pem);
    if (!certificate.ok()) {
      return absl::InvalidArgumentError(
          absl::StrCat(it->path().string(), ": ", std::string(certificate.status().message())));
    }
    const fs::path folder = it->path().parent_path();
    all.push_back({folder, *certificate, fs::relative(folder, folder_, error)});
  }
  if (error) return absl::UnavailableError(absl::StrCat(folder_, ": ", error.message()));
  std::sort(all.begin(), all.end(),
            [](const Kept& a, const Kept& b) { return a.identity < b.identity; });
  return all;
}

absl::StatusOr<Kept> CertFolder::Renew(const Kept& kept, bool new_key, UnixSeconds now) const {
  const auto identity = IdentityOf(kept.certificate.names);
  if (!identity.ok()) return identity.status();
  Wish wish{.identity = *identity,
            .hosts = kept.certificate.names.dns,
            .life = kept.certificate.until - kept.certificate.from - kBackdated};
  for (const std::string& address : kept.certificate.names.addresses) wish.hosts.push_back(address);
  if (!new_key) {
    const auto key = ReadText(PathsIn(kept.folder).key);
    if (!key.ok()) return key.status();
    wish.key = *key;
  }
  const auto issued = security::Issue(authority_, wish, now);
  if (!issued.ok()) return issued.status();
  if (absl::Status status = Put(kept.folder, *issued); !status.ok()) return status;
  return Kept{kept.folder, *CertificateOfPem(issued->certificate), kept.identity};
}

absl::Status CertFolder::PutAuthorities() const {
  absl::Status status =
      WriteText(AuthorityFile(folder_, kCaFile), authority_.certificate, /*secret=*/false);
  if (!status.ok()) return status;
  const auto all = List();
  if (!all.ok()) return all.status();
  for (const Kept& kept : *all) {
    status = WriteText(PathsIn(kept.folder).ca, authority_.certificate, /*secret=*/false);
    if (!status.ok()) return status;
  }
  return absl::OkStatus();
}

absl::Status CertFolder::AddAuthority(UnixSeconds now) {
  std::error_code ignored;
  const std::string next_file = AuthorityFile(folder_, kNextFile);
  auto next = ReadText(next_file);
  if (!next.ok()) {
    const auto made = MakeAuthority(cell_, now);
    if (!made.ok()) return made.status();
    absl::Status status =
        WriteText(AuthorityFile(folder_, kNextKeyFile), made->key, /*secret=*/true);
    if (status.ok()) status = WriteText(next_file, made->certificate, /*secret=*/false);
    if (!status.ok()) return status;
    next = made->certificate;
  } else if (authority_.certificate.find(*next) != std::string::npos) {
    return absl::FailedPreconditionError(absl::StrCat(
        next_file, ": a second authority was added before; next is `shardctl certs ca use`"));
  }
  authority_.certificate += *next;
  return PutAuthorities();
}

absl::Status CertFolder::UseAuthority(UnixSeconds now) {
  const std::string next_file = AuthorityFile(folder_, kNextFile);
  const auto next = ReadText(next_file);
  const auto key = ReadText(AuthorityFile(folder_, kNextKeyFile));
  const size_t at = next.ok() ? authority_.certificate.find(*next) : std::string::npos;
  if (!next.ok() || !key.ok() || at == std::string::npos) {
    return absl::FailedPreconditionError(
        absl::StrCat(folder_, ": no second authority was added; first is `shardctl certs ca add`"));
  }
  // The one that signs comes first. Its file of authorities is written last: until then all of this
  // can be done once more.
  const std::string others = authority_.certificate.substr(0, at);
  CertFolder renewed(folder_, {*next + others, *key});
  const auto all = List();
  if (!all.ok()) return all.status();
  for (const Kept& kept : *all) {
    if (const auto done = renewed.Renew(kept, /*new_key=*/false, now); !done.ok()) {
      return done.status();
    }
  }
  absl::Status status = WriteText(AuthorityFile(folder_, kAuthorityKeyFile), *key, /*secret=*/true);
  if (status.ok()) status = renewed.PutAuthorities();
  std::error_code ignored;
  fs::remove(next_file, ignored);
  fs::remove(AuthorityFile(folder_, kNextKeyFile), ignored);
  return status;
}

absl::Status CertFolder::DropAuthority() {
  std::error_code ignored;
  if (fs::exists(AuthorityFile(folder_, kNextFile), ignored)) {
    return absl::FailedPreconditionError(absl::StrCat(
        folder_, ": the second authority signs nothing yet; first is `shardctl certs ca use`"));
  }
  auto certs = CertsOfPem(authority_.certificate);
  if (!certs.ok()) return certs.status();
  if (certs->size() == 1) {
    return absl::FailedPreconditionError(absl::StrCat(folder_, ": there is one authority only"));
  }
  authority_.certificate = ToPem(*certs->front());
  return PutAuthorities();
}

bool IsDue(const Certificate& certificate, UnixSeconds now) {
  return now >= certificate.until - (certificate.until - certificate.from) / 3;
}

absl::StatusOr<bool> EnsureTrialFolder(const std::string& folder, UnixSeconds now) {
  if (absl::Status status = MakeFolder(folder); !status.ok()) return status;
  const Lock lock(folder + "/lock");
  const Paths paths = PathsIn(folder);
  const auto own = CheckFiles(paths, now);
  if (own.ok() && (own->identity.kind != Kind::kTrial || !IsDue(own->certificate, now))) {
    return false;
  }
  if (const auto pem = ReadText(paths.cert); pem.ok()) {
    // What somebody put there is not ours to replace.
    const auto there = CertificateOfPem(*pem);
    const auto identity = there.ok() ? IdentityOf(there->names) : there.status();
    if (!identity.ok() || identity->kind != Kind::kTrial) return own.status();
  }
  const auto authority = MakeAuthority("trial-authority", now, kCertificateLife);
  if (!authority.ok()) return authority.status();
  const Identity everybody{.kind = Kind::kTrial, .cell = std::string(kTrialCell), .name = "local"};
  const auto issued = security::Issue(*authority, {.identity = everybody}, now);
  if (!issued.ok()) return issued.status();
  if (absl::Status s = PutFiles(folder, *issued, authority->certificate); !s.ok()) return s;
  return true;
}

}  // namespace shardmanager::security
