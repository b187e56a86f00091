// What people write and read on a command line: keys, endpoints, reports.
#pragma once

#include <string>
#include <string_view>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "load.h"

namespace kvstore {

// What scripts can rely on.
enum ExitCode {
  kDone = 0,
  kFailed = 1,       // a call failed, or of `load` some
  kUsage = 2,        // a wrong command line, a bad key; no call was made
  kUnreachable = 3,  // no answer in time, from discovery or from the shard's server
  kNotFound = 4,     // no such key, app or shard
};

// The code that `kv` ends with after this error.
ExitCode ExitCodeOf(const absl::Status& status);

// The bytes of "6170706c65". INVALID_ARGUMENT says what is wrong, and what is allowed.
absl::StatusOr<std::string> FromHex(std::string_view digits);

// Empty: it is HOST:PORT. Else what is wrong.
std::string EndpointError(const std::string& endpoint);

// What to look at after this error; empty: the error says it all.
std::string Hint(const absl::Status& status, const std::string& app, const std::string& discovery);

// Some lines.
std::string ReportText(const LoadReport& report);

}  // namespace kvstore
