#include "words.h"

#include <algorithm>
#include <cctype>
#include <chrono>

#include "absl/strings/ascii.h"
#include "absl/strings/escaping.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"

namespace kvstore {
namespace {

std::string Ms(std::chrono::microseconds time) {
  return absl::StrFormat("%.2f ms", std::chrono::duration<double, std::milli>(time).count());
}

}  // namespace

ExitCode ExitCodeOf(const absl::Status& status) {
  switch (status.code()) {
    case absl::StatusCode::kOk:
      return kDone;
    case absl::StatusCode::kNotFound:
      return kNotFound;
    case absl::StatusCode::kDeadlineExceeded:
    case absl::StatusCode::kUnavailable:
      return kUnreachable;
    default:
      return kFailed;
  }
}

absl::StatusOr<std::string> FromHex(std::string_view digits) {
  const auto is_digit = [](unsigned char c) { return absl::ascii_isxdigit(c); };
  if (digits.size() % 2 != 0 || !std::all_of(digits.begin(), digits.end(), is_digit)) {
    return absl::InvalidArgumentError(absl::StrCat(
        "\"", std::string(digits),
        "\" is not a key in hexadecimal; allowed: two of 0-9 and a-f for each byte, as in 75f0"));
  }
  return absl::HexStringToBytes(std::string(digits));
}

std::string EndpointError(const std::string& endpoint) {
  const size_t colon = endpoint.rfind(':');
  int port = 0;
  const bool good = colon != std::string::npos && colon > 0 &&
                    absl::SimpleAtoi(endpoint.substr(colon + 1), &port) && port > 0 &&
                    port <= 65'535;
  if (good) return "";
  return absl::StrCat("\"", endpoint, "\" is no endpoint; allowed: HOST:PORT, port 1 to 65535");
}

std::string Hint(const absl::Status& status, const std::string& app, const std::string& discovery) {
  switch (status.code()) {
    case absl::StatusCode::kDeadlineExceeded:
    case absl::StatusCode::kUnavailable:
      return absl::StrCat(
          "Is a shardmanagerd or shard-discoveryd listening at ", discovery,
          "? Which shards are not served, and why, says: shardctl get shards --app ", app,
          " --unserved");
    case absl::StatusCode::kNotFound:
      return absl::StrCat(
          "Which apps there are, says: shardctl get apps; which keys each shard of ", app,
          " holds: shardctl get shards --app ", app, " -o wide");
    default:
      return "";
  }
}

std::string ReportText(const LoadReport& report) {
  const double rate = static_cast<double>(report.calls()) / std::max(report.seconds, 0.001);
  std::string text = absl::StrFormat(
      "%d calls in %.1f s, %.0f a second: %d puts, %d gets, %d failed\n", report.calls(),
      report.seconds, rate, report.puts, report.gets, report.failed());
  if (report.latencies.count() > 0) {
    absl::StrAppend(&text, "latency: 50% ", Ms(report.latencies.At(0.5)), ", 90% ",
                    Ms(report.latencies.At(0.9)), ", 99% ", Ms(report.latencies.At(0.99)),
                    ", 99.9% ", Ms(report.latencies.At(0.999)), ", longest ",
                    Ms(report.latencies.longest()), "\n");
  }
  for (const auto& [code, failure] : report.failures) {
    absl::StrAppend(&text, "failed with ", absl::StatusCodeToString(code), ": ", failure.calls,
                    ", the first: ", failure.first, "\n");
  }
  if (report.not_made > 0) {
    absl::StrAppend(&text, "not made: ", report.not_made,
                    ", as all clients still waited for an answer (more of them: --clients)\n");
  }
  absl::StrAppend(&text, "acknowledged puts that a get did not find: ", report.lost);
  if (report.lost > 0) absl::StrAppend(&text, ", one of them of the key ", report.lost_key);
  absl::StrAppend(&text, "\n");
  return text;
}

}  // namespace kvstore
