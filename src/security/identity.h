// Who a process or a person is, as its certificate says. Pure.
#pragma once

#include <cstdint>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"

namespace shardmanager::security {

enum class Kind : uint8_t {
  kControlPlane,  // a shardmanagerd
  kRelay,         // a shard-discoveryd
  kServer,        // of one app
  kClient,        // of some apps
  kOperator,      // a person, or a program that does a person's work
  kAdmin,         // the first person of a cell
  // Any of these, for a cell on one machine that is only tried. Such a certificate is believed by
  // others of the same kind only.
  kTrial,
};

// As in a SPIFFE id:
//   spiffe://<cell>/control-plane/<name>
//   spiffe://<cell>/relay/<name>
//   spiffe://<cell>/server/<app>/<name>
//   spiffe://<cell>/client/<app>[/<app>...]/<name>
//   spiffe://<cell>/operator/<name>
//   spiffe://<cell>/admin/<name>
//   spiffe://trial/trial/<name>
// Each part is 1 to 127 of [A-Za-z0-9._-]. Or in a DNS name, backwards, where no part but <name>
// may have a dot:
//   <name>.<app>.server.<cell>.shardmanager
struct Identity {
  Kind kind = Kind::kClient;
  std::string cell = {};
  std::vector<std::string> apps = {};  // of a server: one; of a client: one to kMostApps
  std::string name = {};

  friend bool operator==(const Identity&, const Identity&) = default;
};

inline constexpr size_t kMostApps = 16;
inline constexpr size_t kLongestName = 2'048;  // of a SPIFFE id or a DNS name, in bytes
inline constexpr size_t kMostNames = 64;       // in one certificate; the others are not looked at
inline constexpr std::string_view kTrialCell = "trial";

// The identity's own words. Examples: "control-plane", "server".
std::string_view WordOf(Kind kind);
// Example: "spiffe://prod/server/kv/kv-3".
std::string ToUri(const Identity& identity);
// Without the cell. Example: "server/kv/kv-3".
std::string ToPath(const Identity& identity);

// INVALID_ARGUMENT says what is allowed.
absl::StatusOr<Identity> IdentityOfPath(std::string_view cell, std::string_view path);
absl::StatusOr<Identity> IdentityOfUri(std::string_view uri);
absl::StatusOr<Identity> IdentityOfDns(std::string_view name);

// The subject alternative names of a certificate.
struct Names {
  std::vector<std::string> uris = {};
  std::vector<std::string> dns = {};
  std::vector<std::string> addresses = {};  // of hosts; they say nothing of the identity
};
// URIs that are no SPIFFE ids, and DNS names that do not end in ".shardmanager" (host names), say
// nothing here. NOT_FOUND: nothing of ours is there. INVALID_ARGUMENT: it has no form of ours, or
// there are two identities.
absl::StatusOr<Identity> IdentityOf(const Names& names);

// Who should be at the other end.
struct Expected {
  std::set<Kind> kinds = {};
  std::string app = {};   // "": any. Of servers, or one of a client's
  std::string name = {};  // "": any

  friend auto operator<=>(const Expected&, const Expected&) = default;
};
Expected AControlPlane();
Expected AMapSource();  // a control plane, or a relay
Expected AServerOf(std::string app, std::string name = "");
Expected AClientOf(std::string app);
Expected AnOperator();  // or an admin
Expected Anybody();

// For people. Example: "a server of app kv of cell prod".
std::string ToText(const Expected& expected, std::string_view cell);

// May `other` be taken for it, by a process that is `self`? PERMISSION_DENIED says what was found,
// and what is allowed.
absl::Status Check(const Identity& self, const Identity& other, const Expected& expected);
// The same where it may be any of these; one at least.
absl::Status CheckAny(const Identity& self, const Identity& other,
                      const std::vector<Expected>& expected);

// Is this process what its options say? `own`: by its certificate. `cell`: "", of any.
absl::Status CheckOwn(const Identity& own, std::string_view cell,
                      const std::vector<Expected>& expected);

}  // namespace shardmanager::security
