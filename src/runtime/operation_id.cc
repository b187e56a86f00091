#include "runtime/operation_id.h"

#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cstdint>

#include "absl/strings/ascii.h"
#include "absl/strings/escaping.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "base/random.h"
#include "runtime/clock.h"

namespace shardmanager {
namespace {

constexpr size_t kLongest = 64;  // bytes

bool IsAllowed(char c) {
  return absl::ascii_isalnum(static_cast<unsigned char>(c)) ||
         std::string_view("-_.:/").find(c) != std::string_view::npos;
}

}  // namespace

std::string MakeOperationId() {
  static std::atomic<uint64_t> made{0};
  const auto moment = static_cast<uint64_t>(WallMilliseconds());
  const auto since_boot = static_cast<uint64_t>(MonotonicNow().time_since_epoch().count());
  Random random(moment ^ since_boot << 20 ^ static_cast<uint64_t>(getpid()) << 40);
  Random one(random.Next() + ++made);
  return absl::StrFormat("op-%08x", one.Next() >> 32);
}

absl::Status CheckOperationId(std::string_view id) {
  if (!id.empty() && id.size() <= kLongest && std::all_of(id.begin(), id.end(), IsAllowed)) {
    return absl::OkStatus();
  }
  return absl::InvalidArgumentError(
      absl::StrCat("found \"", absl::CEscape(std::string(id.substr(0, 2 * kLongest))),
                   "\"; allowed: 1 to ", kLongest, " letters, digits, and - _ . : /"));
}

}  // namespace shardmanager
