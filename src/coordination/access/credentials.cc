#include "coordination/access/credentials.h"

#include <algorithm>
#include <array>
#include <map>
#include <utility>

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"

namespace shardmanager {
namespace {

using Kind = Credentials::Kind;
using Field = std::string CredentialSecret::*;

constexpr size_t kMostNameBytes = 127;
constexpr size_t kSecretDigits = 64;

struct Key {
  std::string_view name;
  Field field;
  std::array<bool, 3> of_kind;  // by Kind
};
constexpr std::array<Key, 4> kKeys = {{
    {"secret", &CredentialSecret::secret, {true, true, true}},
    {"servers-password", &CredentialSecret::servers_password, {false, true, true}},
    {"app-password", &CredentialSecret::app_password, {false, false, true}},
    {"control-plane", &CredentialSecret::control_plane, {false, true, true}},
}};
constexpr std::array<std::string_view, 3> kKinds = {"cell", "app", "server"};

bool Has(const Key& key, Kind kind) { return key.of_kind[static_cast<size_t>(kind)]; }

absl::Status Wrong(std::string_view key, std::string_view found, std::string_view allowed) {
  return absl::InvalidArgumentError(absl::StrCat(std::string(key), ": found ", std::string(found),
                                                 "; allowed: ", std::string(allowed)));
}

bool IsName(std::string_view text) {
  return !text.empty() && text.size() <= kMostNameBytes && text != "." && text != ".." &&
         std::all_of(text.begin(), text.end(), [](char c) {
           return absl::ascii_isalnum(static_cast<unsigned char>(c)) || c == '.' || c == '_' ||
                  c == '-';
         });
}

bool IsSecret(std::string_view text) {
  return text.size() == kSecretDigits && std::all_of(text.begin(), text.end(), [](char c) {
           return absl::ascii_isxdigit(static_cast<unsigned char>(c));
         });
}

// "<user>:<28 characters of base64>".
bool IsDigest(std::string_view text) {
  const size_t colon = text.find(':');
  return colon != std::string_view::npos && colon > 0 && text.size() - colon - 1 == 28 &&
         text.find(':', colon + 1) == std::string_view::npos;
}

// What a file says, by key.
using Lines = std::map<std::string, std::vector<std::string>, std::less<>>;

absl::StatusOr<Lines> Split(std::string_view text) {
  Lines lines;
  size_t number = 0;
  for (absl::string_view raw : absl::StrSplit(absl::string_view(text.data(), text.size()), '\n')) {
    ++number;
    const absl::string_view line = absl::StripAsciiWhitespace(raw);
    if (line.empty() || line.front() == '#') continue;
    const size_t colon = line.find(": ");
    // The line itself may be a secret: it is not shown.
    if (colon == absl::string_view::npos) {
      return absl::InvalidArgumentError(
          absl::StrCat("line ", number, ": allowed are \"key: value\", comments and empty lines"));
    }
    const absl::string_view value = absl::StripAsciiWhitespace(line.substr(colon + 2));
    lines[std::string(line.substr(0, colon))].emplace_back(value);
  }
  return lines;
}

absl::StatusOr<std::string> TakeOne(Lines& lines, std::string_view key) {
  auto found = lines.extract(std::string(key));
  if (found.empty()) return Wrong(key, "nothing", "one line of it");
  if (found.mapped().size() > 1) {
    return Wrong(key, absl::StrCat(found.mapped().size(), " lines"), "one line of it");
  }
  return found.mapped().front();
}

absl::StatusOr<std::string> TakeName(Lines& lines, std::string_view key) {
  auto name = TakeOne(lines, key);
  if (name.ok() && !IsName(*name)) {
    return Wrong(key, "another value", "1 to 127 of [A-Za-z0-9._-]");
  }
  return name;
}

absl::Status TakeSecrets(Lines& lines, Credentials& credentials) {
  const auto count = lines.find("secret");
  const size_t secrets = count == lines.end() ? 0 : count->second.size();
  if (secrets < 1 || secrets > kMostSecrets) {
    return Wrong("secret", absl::StrCat(secrets, " lines"),
                 absl::StrCat("1 to ", kMostSecrets, ", the newest first"));
  }
  credentials.secrets.resize(secrets);
  for (const Key& key : kKeys) {
    if (!Has(key, credentials.kind)) continue;
    auto found = lines.extract(std::string(key.name));
    const size_t values = found.empty() ? 0 : found.mapped().size();
    if (values != secrets) {
      return Wrong(key.name, absl::StrCat(values, " lines"),
                   absl::StrCat("as many as secrets, ", secrets));
    }
    for (size_t i = 0; i < secrets; ++i) {
      std::string& value = found.mapped()[i];
      const bool digest = key.field == &CredentialSecret::control_plane;
      if (digest ? !IsDigest(value) : !IsSecret(value)) {
        return Wrong(key.name, "another value",
                     digest ? "an identity of ZooKeeper's digest scheme"
                            : absl::StrCat(kSecretDigits, " hexadecimal digits"));
      }
      credentials.secrets[i].*(key.field) = std::move(value);
    }
  }
  return absl::OkStatus();
}

}  // namespace

Credentials NewCellCredentials(std::string cell) {
  return {Kind::kCell, std::move(cell), {}, {}, {{NewSecret(), "", "", ""}}};
}

Credentials AppCredentials(const Credentials& cell, const AppName& app) {
  Credentials out{Kind::kApp, cell.cell, app, {}, {}};
  for (const CredentialSecret& s : cell.secrets) {
    out.secrets.push_back({AppSecret(s.secret, app), CellMemberPassword(s.secret), "",
                           DigestOf(ControlPlaneLogin(cell.cell, s.secret))});
  }
  return out;
}

Credentials ServerCredentials(const Credentials& cell, const AppName& app,
                              const ServerName& server) {
  Credentials out = AppCredentials(cell, app);
  out.kind = Kind::kServer;
  out.server = server;
  for (CredentialSecret& s : out.secrets) {
    s.app_password = AppMemberPassword(s.secret);
    s.secret = ServerPassword(s.secret, server);
  }
  return out;
}

std::string CredentialText(const Credentials& credentials) {
  std::string text =
      absl::StrCat("# ZooKeeper credentials of Shard Manager. Who reads this file can act as ",
                   PartyOf(credentials), ".\n");
  absl::StrAppend(&text, "kind: ", std::string(kKinds[static_cast<size_t>(credentials.kind)]),
                  "\ncell: ", credentials.cell, "\n");
  if (credentials.kind != Kind::kCell)
    absl::StrAppend(&text, "app: ", credentials.app.value(), "\n");
  if (credentials.kind == Kind::kServer) {
    absl::StrAppend(&text, "server: ", credentials.server.value(), "\n");
  }
  for (const CredentialSecret& secret : credentials.secrets) {
    for (const Key& key : kKeys) {
      if (!Has(key, credentials.kind)) continue;
      absl::StrAppend(&text, std::string(key.name), ": ", secret.*(key.field), "\n");
    }
  }
  return text;
}

absl::StatusOr<Credentials> ParseCredentials(std::string_view text) {
  if (text.size() > kMostCredentialBytes) {
    return absl::InvalidArgumentError(
        absl::StrCat("more than ", kMostCredentialBytes, " bytes, which no such file has"));
  }
  auto lines = Split(text);
  if (!lines.ok()) return lines.status();
  Credentials credentials;
  auto kind = TakeOne(*lines, "kind");
  if (!kind.ok()) return kind.status();
  const auto known = std::find(kKinds.begin(), kKinds.end(), *kind);
  if (known == kKinds.end()) return Wrong("kind", "another value", "cell, app, server");
  credentials.kind = static_cast<Kind>(known - kKinds.begin());
  auto cell = TakeName(*lines, "cell");
  if (!cell.ok()) return cell.status();
  credentials.cell = *std::move(cell);
  if (credentials.kind != Kind::kCell) {
    auto app = TakeName(*lines, "app");
    if (!app.ok()) return app.status();
    credentials.app = AppName(*std::move(app));
  }
  if (credentials.kind == Kind::kServer) {
    auto server = TakeName(*lines, "server");
    if (!server.ok()) return server.status();
    credentials.server = ServerName(*std::move(server));
  }
  if (absl::Status status = TakeSecrets(*lines, credentials); !status.ok()) return status;
  if (lines->empty()) return credentials;
  return absl::InvalidArgumentError(absl::StrCat("a key that is not known for kind ", *kind,
                                                 "; allowed: those that `shardctl cell "
                                                 "credentials` writes"));
}

std::string PartyOf(const Credentials& credentials) {
  switch (credentials.kind) {
    case Kind::kCell:
      return absl::StrCat("the control plane of cell ", credentials.cell);
    case Kind::kApp:
      return absl::StrCat("any server of app ", credentials.app.value(), ", cell ",
                          credentials.cell);
    case Kind::kServer:
      return absl::StrCat("server ", credentials.server.value(), " of app ",
                          credentials.app.value(), ", cell ", credentials.cell);
  }
  return "nobody";
}

}  // namespace shardmanager
