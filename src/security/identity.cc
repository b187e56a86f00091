#include "security/identity.h"

#include <algorithm>
#include <array>
#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "model/text.h"

namespace shardmanager::security {
namespace {

constexpr std::string_view kScheme = "spiffe://";
constexpr std::string_view kDnsEnd = ".shardmanager";

struct Form {
  Kind kind;
  std::string_view word;
  size_t least_apps;
  size_t most_apps;
  std::string_view path;  // for people
};
constexpr std::array kForms = {
    Form{Kind::kControlPlane, "control-plane", 0, 0, "control-plane/NAME"},
    Form{Kind::kRelay, "relay", 0, 0, "relay/NAME"},
    Form{Kind::kServer, "server", 1, 1, "server/APP/NAME"},
    Form{Kind::kClient, "client", 1, kMostApps, "client/APP[/APP...]/NAME"},
    Form{Kind::kOperator, "operator", 0, 0, "operator/NAME"},
    Form{Kind::kAdmin, "admin", 0, 0, "admin/NAME"},
    Form{Kind::kTrial, "trial", 0, 0, "trial/NAME"},
};

const Form& FormOf(Kind kind) { return kForms[static_cast<size_t>(kind)]; }

bool IsPart(std::string_view text) {
  return !text.empty() && text.size() <= 127 && text != "." && text != ".." &&
         std::all_of(text.begin(), text.end(), [](char c) {
           return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
                  c == '.' || c == '_' || c == '-';
         });
}

// What others sent may be long.
std::string Shown(std::string_view text) {
  return absl::StrCat("\"", Escaped(text.substr(0, 200)), text.size() > 200 ? "...\"" : "\"");
}

std::string PathForms() {
  return absl::StrJoin(kForms, ", ", [](std::string* out, const Form& form) {
    absl::StrAppend(out, std::string(form.path));
  });
}

absl::Status NotAllowed(std::string_view found) {
  return absl::InvalidArgumentError(
      absl::StrCat("identity: found ", Shown(found), "; allowed: spiffe://CELL/ and one of ",
                   PathForms(), "; each part is 1 to 127 characters of [A-Za-z0-9._-]"));
}

// `parts`: the word, the apps and the name.
absl::StatusOr<Identity> FromParts(std::string_view cell, const std::vector<std::string>& parts,
                                   std::string_view found) {
  if (parts.size() < 2 || parts.size() > kMostApps + 2) return NotAllowed(found);
  const auto form = std::find_if(kForms.begin(), kForms.end(),
                                 [&](const Form& f) { return f.word == parts.front(); });
  if (form == kForms.end() || !IsPart(cell)) return NotAllowed(found);
  if (!std::all_of(parts.begin(), parts.end(), [](const auto& p) { return IsPart(p); })) {
    return NotAllowed(found);
  }
  const size_t apps = parts.size() - 2;
  if (apps < form->least_apps || apps > form->most_apps) return NotAllowed(found);
  if ((form->kind == Kind::kTrial) != (cell == kTrialCell)) return NotAllowed(found);
  return Identity{.kind = form->kind,
                  .cell = std::string(cell),
                  .apps = {parts.begin() + 1, parts.end() - 1},
                  .name = parts.back()};
}

bool IsOurs(std::string_view dns) {
  return dns.size() > kDnsEnd.size() && dns.substr(dns.size() - kDnsEnd.size()) == kDnsEnd;
}

std::vector<std::string> Split(std::string_view text, char at) {
  return absl::StrSplit(std::string(text), at);
}

}  // namespace

std::string_view WordOf(Kind kind) { return FormOf(kind).word; }

std::string ToPath(const Identity& identity) {
  std::string path(WordOf(identity.kind));
  for (const std::string& app : identity.apps) absl::StrAppend(&path, "/", app);
  return absl::StrCat(path, "/", identity.name);
}

std::string ToUri(const Identity& identity) {
  return absl::StrCat(std::string(kScheme), identity.cell, "/", ToPath(identity));
}

absl::StatusOr<Identity> IdentityOfPath(std::string_view cell, std::string_view path) {
  if (path.size() > kLongestName) return NotAllowed(path);
  return FromParts(cell, Split(path, '/'), path);
}

absl::StatusOr<Identity> IdentityOfUri(std::string_view uri) {
  if (uri.size() > kLongestName || uri.substr(0, kScheme.size()) != kScheme) return NotAllowed(uri);
  std::vector<std::string> parts = Split(uri.substr(kScheme.size()), '/');
  const std::string cell = parts.front();
  parts.erase(parts.begin());
  return FromParts(cell, parts, uri);
}

absl::StatusOr<Identity> IdentityOfDns(std::string_view name) {
  if (name.size() > kLongestName || !IsOurs(name)) return NotAllowed(name);
  std::vector<std::string> labels = Split(name.substr(0, name.size() - kDnsEnd.size()), '.');
  const std::string cell = labels.back();
  labels.pop_back();
  // From the word on backwards: apps, then what is left is the name.
  if (labels.size() < 2) return NotAllowed(name);
  std::vector<std::string> parts = {labels.back()};
  labels.pop_back();
  // A client's apps end where its name begins, which no dot tells: here it has one.
  const bool has_app =
      parts.front() == WordOf(Kind::kServer) || parts.front() == WordOf(Kind::kClient);
  if (has_app) {
    if (labels.size() < 2) return NotAllowed(name);
    parts.push_back(labels.back());
    labels.pop_back();
  }
  parts.push_back(absl::StrJoin(labels, "."));
  return FromParts(cell, parts, name);
}

absl::StatusOr<Identity> IdentityOf(const Names& names) {
  std::vector<Identity> found;
  const auto take = [&](absl::StatusOr<Identity> identity) {
    if (!identity.ok()) return identity.status();
    if (std::find(found.begin(), found.end(), *identity) == found.end()) {
      found.push_back(*std::move(identity));
    }
    return absl::OkStatus();
  };
  for (size_t i = 0; i < std::min(names.uris.size(), kMostNames); ++i) {
    if (names.uris[i].substr(0, kScheme.size()) != kScheme) continue;
    if (absl::Status status = take(IdentityOfUri(names.uris[i])); !status.ok()) return status;
  }
  for (size_t i = 0; i < std::min(names.dns.size(), kMostNames); ++i) {
    if (!IsOurs(names.dns[i])) continue;
    if (absl::Status status = take(IdentityOfDns(names.dns[i])); !status.ok()) return status;
  }
  if (found.size() == 1) return found.front();
  if (found.empty()) {
    return absl::NotFoundError(
        absl::StrCat("the certificate names nobody; allowed: a subject alternative name (URI) "
                     "spiffe://CELL/ and one of ",
                     PathForms()));
  }
  return absl::InvalidArgumentError(absl::StrCat("the certificate names two: ", ToUri(found[0]),
                                                 " and ", ToUri(found[1]), "; allowed: one"));
}

Expected AControlPlane() { return {.kinds = {Kind::kControlPlane}}; }
Expected AMapSource() { return {.kinds = {Kind::kControlPlane, Kind::kRelay}}; }
Expected AServerOf(std::string app, std::string name) {
  return {.kinds = {Kind::kServer}, .app = std::move(app), .name = std::move(name)};
}
Expected AClientOf(std::string app) { return {.kinds = {Kind::kClient}, .app = std::move(app)}; }
Expected AnOperator() { return {.kinds = {Kind::kOperator, Kind::kAdmin}}; }
Expected Anybody() {
  return {.kinds = {Kind::kControlPlane, Kind::kRelay, Kind::kServer, Kind::kClient,
                    Kind::kOperator, Kind::kAdmin}};
}

std::string ToText(const Expected& expected, std::string_view cell) {
  std::string text = absl::StrJoin(expected.kinds, " or ", [](std::string* out, Kind kind) {
    absl::StrAppend(out, std::string(WordOf(kind)));
  });
  if (!expected.name.empty()) absl::StrAppend(&text, " ", expected.name);
  if (!expected.app.empty()) absl::StrAppend(&text, " of app ", expected.app);
  return absl::StrCat(text, " of cell ", std::string(cell));
}

absl::Status CheckAny(const Identity& self, const Identity& other,
                      const std::vector<Expected>& expected) {
  if (self.kind == Kind::kTrial && other.kind == Kind::kTrial) return absl::OkStatus();
  const bool fits = std::any_of(expected.begin(), expected.end(), [&](const Expected& one) {
    const bool app_fits = one.app.empty() || std::find(other.apps.begin(), other.apps.end(),
                                                       one.app) != other.apps.end();
    return other.cell == self.cell && one.kinds.contains(other.kind) && app_fits &&
           (one.name.empty() || one.name == other.name);
  });
  if (fits) return absl::OkStatus();
  const std::string allowed =
      self.kind == Kind::kTrial
          ? "a certificate for trials, as this process has one"
          : absl::StrJoin(expected, ", ", [&](std::string* out, const Expected& one) {
              absl::StrAppend(out, ToText(one, self.cell));
            });
  return absl::PermissionDeniedError(absl::StrCat("found ", ToUri(other), "; allowed: ", allowed));
}

absl::Status Check(const Identity& self, const Identity& other, const Expected& expected) {
  return CheckAny(self, other, {expected});
}

absl::Status CheckOwn(const Identity& own, std::string_view cell,
                      const std::vector<Expected>& expected) {
  if (own.kind == Kind::kTrial) return absl::OkStatus();
  const std::string of(cell.empty() ? std::string_view(own.cell) : cell);
  const absl::Status status = CheckAny({.cell = of}, own, expected);
  if (status.ok()) return status;
  return absl::InvalidArgumentError(
      absl::StrCat("the certificate is of another: ", std::string(status.message())));
}

}  // namespace shardmanager::security
