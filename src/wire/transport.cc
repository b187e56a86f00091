#include "wire/transport.h"

#include <grpc/grpc_security_constants.h>
#include <grpcpp/security/tls_certificate_provider.h>
#include <grpcpp/security/tls_certificate_verifier.h>
#include <grpcpp/security/tls_credentials_options.h>
#include <sys/stat.h>

#include <functional>
#include <mutex>
#include <optional>
#include <utility>

#include "absl/strings/str_cat.h"
#include "runtime/clock.h"
#include "runtime/logging.h"
#include "security/authority.h"
#include "security/certificate.h"
#include "security/files.h"

namespace shardmanager::wire {
namespace {

namespace tls = grpc::experimental;
using security::Authorities;
using security::Certificate;
using security::Expected;
using security::Identity;

// How often the files are looked at.
constexpr unsigned kRefreshSeconds = 5;
// Of warnings about others, which strangers can cause.
constexpr Duration kWarnAtMostEvery = Seconds(1);

security::UnixSeconds Now() { return WallMilliseconds() / 1'000; }

grpc::Status Unauthenticated(const absl::Status& why) {
  return {grpc::StatusCode::UNAUTHENTICATED, std::string(why.message())};
}

std::string_view View(grpc::string_ref text) { return {text.data(), text.size()}; }

// The file of the authorities, as it is now; as it was, while it cannot be read.
class TrustFile {
 public:
  explicit TrustFile(std::string path) : path_(std::move(path)) {}

  absl::StatusOr<std::shared_ptr<const Authorities>> Get() const {
    std::lock_guard lock(mutex_);
    struct stat found = {};
    const bool is_there = stat(path_.c_str(), &found) == 0;
    const bool is_new =
        is_there && (found.st_ino != seen_.st_ino || found.st_size != seen_.st_size ||
                     found.st_mtim.tv_sec != seen_.st_mtim.tv_sec ||
                     found.st_mtim.tv_nsec != seen_.st_mtim.tv_nsec);
    if (authorities_ != nullptr && !is_new) return authorities_;
    auto read = Read();
    if (read.ok()) {
      authorities_ = *std::move(read);
    } else if (authorities_ == nullptr) {
      return read.status();
    } else {
      LogWarning("{}: {}; the authorities that it had before are still believed", path_,
                 std::string(read.status().message()));
    }
    seen_ = found;
    return authorities_;
  }

 private:
  absl::StatusOr<std::shared_ptr<const Authorities>> Read() const {
    const auto text = security::ReadText(path_);
    if (!text.ok()) return text.status();
    return Authorities::OfPem(*text);
  }

  const std::string path_;
  mutable std::mutex mutex_;
  mutable struct stat seen_ = {};
  mutable std::shared_ptr<const Authorities> authorities_;
};

}  // namespace

// What a secure transport stands on.
class Transport::Files {
 public:
  Files(const security::Paths& paths, const security::Own& own)
      : self_(own.identity),
        about_(absl::StrCat(security::ToUri(own.identity), ", by ", paths.cert, ", until ",
                            security::ToText(own.certificate.until))),
        trust_(paths.ca),
        provider_(std::make_shared<tls::FileWatcherCertificateProvider>(paths.key, paths.cert,
                                                                        kRefreshSeconds)) {}

  const Identity& self() const { return self_; }
  const std::string& about() const { return about_; }
  const std::shared_ptr<tls::FileWatcherCertificateProvider>& provider() const { return provider_; }

  // May the owner of this certificate, which is at the other end, be one of these?
  absl::Status Judge(std::string_view certificate_pem, std::string_view chain_pem,
                     Authorities::Side side, const std::vector<Expected>& expected) const {
    const auto trusted = trust_.Get();
    if (!trusted.ok()) return trusted.status();
    if (certificate_pem.empty()) return absl::UnauthenticatedError("it shows no certificate");
    if (auto s = (*trusted)->Verify(certificate_pem, chain_pem, side, Now()); !s.ok()) return s;
    const auto certificate = security::CertificateOfPem(certificate_pem);
    if (!certificate.ok()) return certificate.status();
    const auto identity = security::IdentityOf(certificate->names);
    if (!identity.ok()) return identity.status();
    return security::CheckAny(self_, *identity, expected);
  }

  void Warn(const std::string& text) const { strangers_.Say(text); }

 private:
  const Identity self_;
  const std::string about_;
  const TrustFile trust_;
  const std::shared_ptr<tls::FileWatcherCertificateProvider> provider_;
  mutable Repeater strangers_{kWarnAtMostEvery};
};

namespace {

using JudgeFunction =
    std::function<absl::Status(std::string_view certificate_pem, std::string_view chain_pem)>;

// gRPC asks it about each connection, after the handshake.
class PeerVerifier final : public tls::ExternalCertificateVerifier {
 public:
  explicit PeerVerifier(JudgeFunction judge) : judge_(std::move(judge)) {}

  bool Verify(tls::TlsCustomVerificationCheckRequest* request, std::function<void(grpc::Status)>,
              grpc::Status* status) override {
    const absl::Status judged =
        judge_(View(request->peer_cert()), View(request->peer_cert_full_chain()));
    *status = judged.ok() ? grpc::Status::OK : Unauthenticated(judged);
    return true;
  }
  void Cancel(tls::TlsCustomVerificationCheckRequest*) override {}

 private:
  const JudgeFunction judge_;
};

void Prepare(tls::TlsCredentialsOptions& options,
             const std::shared_ptr<tls::FileWatcherCertificateProvider>& provider,
             JudgeFunction judge) {
  options.set_certificate_provider(provider);
  options.watch_identity_key_cert_pairs();
  options.set_check_call_host(false);
  options.set_certificate_verifier(
      tls::ExternalCertificateVerifier::Create<PeerVerifier>(std::move(judge)));
}

bool HasCertificate(const grpc::ServerContextBase& context) {
  const std::shared_ptr<const grpc::AuthContext> auth = context.auth_context();
  return auth != nullptr && auth->IsPeerAuthenticated();
}

std::vector<std::string> Values(const grpc::AuthContext& auth, const char* property) {
  std::vector<std::string> values;
  for (const grpc::string_ref& value : auth.FindPropertyValues(property)) {
    values.emplace_back(value.data(), value.size());
  }
  return values;
}

}  // namespace

Transport::Transport(std::shared_ptr<const Files> files, Security::Migration migration)
    : files_(std::move(files)), migration_(migration) {}
Transport::~Transport() = default;

std::shared_ptr<const Transport> Transport::Insecure() {
  return std::shared_ptr<const Transport>(new Transport(nullptr, Security::Migration::kNone));
}

absl::StatusOr<std::shared_ptr<const Transport>> Transport::Make(
    const Security& security, std::string_view cell, const std::vector<Expected>& self) {
  const auto paths = security::PathsOf(security);
  if (!paths.ok()) return paths.status();
  if (!*paths) return Insecure();
  auto own = security::CheckFiles(**paths, Now());
  if (!own.ok()) return own.status();
  if (absl::Status status = security::CheckOwn(own->identity, cell, self); !status.ok()) {
    return absl::Status(status.code(),
                        absl::StrCat((*paths)->cert, ": ", std::string(status.message())));
  }
  for (const std::string& warning : own->warnings) LogWarning("{}", warning);
  return std::shared_ptr<const Transport>(
      new Transport(std::make_shared<const Files>(**paths, *own), security.migration));
}

const Identity& Transport::self() const { return files_->self(); }

std::string Transport::About() const {
  if (!is_secure()) return "nobody: --insecure, so all connections are in plain text";
  return takes_plain() ? absl::StrCat(files_->about(),
                                      " (migrating to TLS: takes connections in plain text, too)")
                       : files_->about();
}

std::shared_ptr<grpc::Channel> Transport::Open(const std::string& endpoint, const Expected& to,
                                               grpc::ChannelArguments arguments) const {
  if (files_ == nullptr || migration_ == Security::Migration::kAccept) {
    return OpenWith(nullptr, endpoint, std::move(arguments));
  }
  tls::TlsChannelCredentialsOptions options;
  Prepare(options, files_->provider(),
          [files = files_, to, endpoint](std::string_view certificate, std::string_view chain) {
            const absl::Status status =
                files->Judge(certificate, chain, Authorities::Side::kIsConnectedTo, {to});
            if (status.ok()) return status;
            absl::Status named(status.code(), absl::StrCat("who answers at ", endpoint, ": ",
                                                           std::string(status.message())));
            files->Warn(std::string(named.message()));
            return named;
          });
  options.set_verify_server_certs(false);  // the above does
  arguments.SetSslTargetNameOverride(security::kServerName);
  return OpenWith(tls::TlsCredentials(options), endpoint, std::move(arguments));
}

std::function<std::shared_ptr<grpc::Channel>(const std::string&, grpc::ChannelArguments)>
Transport::OpenerTo(Expected to) const {
  return [itself = Transport(files_, migration_), to = std::move(to)](
             const std::string& endpoint, grpc::ChannelArguments arguments) {
    return itself.Open(endpoint, to, std::move(arguments));
  };
}

std::unique_ptr<MixedPort> Transport::ListenAt(const std::string& address,
                                               const std::vector<Expected>& from,
                                               grpc::ServerBuilder& builder, int* port) const {
  if (files_ == nullptr) {
    builder.AddListeningPort(address, grpc::InsecureServerCredentials(), port);
    return nullptr;
  }
  tls::TlsServerCredentialsOptions options(files_->provider());
  Prepare(options, files_->provider(),
          [files = files_, from](std::string_view certificate, std::string_view chain) {
            const absl::Status status =
                files->Judge(certificate, chain, Authorities::Side::kConnects, from);
            if (!status.ok()) {
              files->Warn(absl::StrCat("a connection is refused: ", std::string(status.message())));
            }
            return status;
          });
  // The certificate is verified by the above.
  options.set_cert_request_type(GRPC_SSL_REQUEST_AND_REQUIRE_CLIENT_CERTIFICATE_BUT_DONT_VERIFY);
  auto secure = tls::TlsServerCredentials(options);
  if (takes_plain()) {
    return MixedPort::Listen(address, std::move(secure), grpc::InsecureServerCredentials(), builder,
                             port);
  }
  builder.AddListeningPort(address, std::move(secure), port);
  return nullptr;
}

ServerAndPort StartWith(std::unique_ptr<MixedPort> port, grpc::ServerBuilder& builder) {
  ServerAndPort started{.port = std::move(port), .server = builder.BuildAndStart()};
  if (started.server != nullptr && started.port != nullptr) started.port->Begin();
  return started;
}

absl::StatusOr<Identity> Transport::CallerOf(const grpc::ServerContextBase& context) const {
  if (!HasCertificate(context)) {
    return absl::UnauthenticatedError("the connection has no certificate");
  }
  const std::shared_ptr<const grpc::AuthContext> auth = context.auth_context();
  auto identity = security::IdentityOf({.uris = Values(*auth, GRPC_PEER_URI_PROPERTY_NAME),
                                        .dns = Values(*auth, GRPC_PEER_DNS_PROPERTY_NAME)});
  if (!identity.ok()) return absl::UnauthenticatedError(std::string(identity.status().message()));
  return identity;
}

absl::Status Transport::CheckCaller(const grpc::ServerContextBase& context,
                                    const std::vector<Expected>& may) const {
  if (files_ == nullptr) return absl::OkStatus();
  if (takes_plain() && !HasCertificate(context)) return absl::OkStatus();  // nobody knows
  const auto caller = CallerOf(context);
  return caller.ok() ? security::CheckAny(self(), *caller, may) : caller.status();
}

std::shared_ptr<grpc::Channel> OpenWith(std::shared_ptr<grpc::ChannelCredentials> credentials,
                                        const std::string& endpoint,
                                        grpc::ChannelArguments arguments) {
  // These connections stay inside the cell: they must not go through an `http_proxy` for the
  // outside.
  arguments.SetInt(GRPC_ARG_ENABLE_HTTP_PROXY, 0);
  if (credentials == nullptr) credentials = grpc::InsecureChannelCredentials();
  return grpc::CreateCustomChannel(endpoint, credentials, arguments);
}

}  // namespace shardmanager::wire
