// Values shared by the server and the client library.
#pragma once

#include <compare>
#include <cstdint>
#include <functional>
#include <ostream>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace shardmanager {

// A string that means one thing. Two different names never convert into each
// other, and none converts from a plain string by accident.
template <typename Tag>
class Name {
 public:
  Name() = default;
  explicit Name(std::string value) : value_(std::move(value)) {}
  explicit Name(std::string_view value) : value_(value) {}
  explicit Name(const char* value) : value_(value) {}

  const std::string& value() const { return value_; }
  bool empty() const { return value_.empty(); }

  friend auto operator<=>(const Name&, const Name&) = default;
  friend std::ostream& operator<<(std::ostream& out, const Name& name) {
    return out << name.value_;
  }
  template <typename H>
  friend H AbslHashValue(H h, const Name& name) {
    return H::combine(std::move(h), name.value_);
  }

 private:
  std::string value_;
};

// A 64-bit number that means one thing.
template <typename Tag>
class Number {
 public:
  constexpr Number() = default;
  constexpr explicit Number(uint64_t value) : value_(value) {}

  constexpr uint64_t value() const { return value_; }

  friend constexpr auto operator<=>(Number, Number) = default;
  friend std::ostream& operator<<(std::ostream& out, Number n) { return out << n.value_; }
  template <typename H>
  friend H AbslHashValue(H h, Number n) {
    return H::combine(std::move(h), n.value_);
  }

 private:
  uint64_t value_ = 0;
};

// A sharded service. Example: "kv".
using AppName = Name<struct AppNameTag>;
// The unit of placement. Example: "users-0042".
using ShardId = Name<struct ShardIdTag>;
// One application process, as its cluster manager names it. Example: "kv-3".
using ServerName = Name<struct ServerNameTag>;

// The fencing token: every grant of the right to serve a shard carries a greater
// one than all grants of that shard before it. Store it with your writes and
// refuse a write whose token is lower than the one stored.
using ShardEpoch = Number<struct ShardEpochTag>;
// Fences the commands and writes of one control-plane leader.
using LeaderEpoch = Number<struct LeaderEpochTag>;
// Counts the lives (registrations) of one server name.
using Incarnation = Number<struct IncarnationTag>;

// A replica's duty.
enum class Role : uint8_t { kPrimary, kSecondary };

constexpr std::string_view ToString(Role role) {
  return role == Role::kPrimary ? "primary" : "secondary";
}

// A server of the app, this one or another.
struct Peer {
  ServerName server = {};
  std::string endpoint = {};  // "host:port" of its gRPC services
  friend bool operator==(const Peer&, const Peer&) = default;
};

// The servers that hold a shard in step with its primary, including the primary itself; ascending
// by name. Only they can become its primary.
using Members = std::vector<Peer>;

// Of a shard that took the place of others, when one was split or several were merged.
struct ShardOrigin {
  // What it was made of; nobody serves these any more. Example: {"users-3"}.
  std::vector<ShardId> made_of = {};
  // The keys that it holds: from `start` (""; the first key) to before `end` (""; the last key).
  // Any bytes.
  std::string start = "";
  std::string end = "";
  // `start` and `end` are of the keys' hashes (KeySpace.hash_keys).
  bool hash_keys = false;
  friend bool operator==(const ShardOrigin&, const ShardOrigin&) = default;
};

// Where a server stands, widest first. Example: {"eu-west", "dub1", "r07"}.
struct FaultDomain {
  std::string region = {};
  std::string datacenter = {};
  std::string rack = {};

  friend auto operator<=>(const FaultDomain&, const FaultDomain&) = default;
};

}  // namespace shardmanager
