// Spans and points of time as people read and write them. Pure.
#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>

namespace shardmanager::cli {

// The two largest units: "750ms", "12s", "2m3s", "5h", "3d4h". Negative: "0s".
std::string AgeText(std::chrono::milliseconds age);

// Reads "500ms", "10s", "2m", "1h", "1h30m".
std::optional<std::chrono::milliseconds> ParseAge(const std::string& text);

// Milliseconds since 1970 of "2026-03-01T12:00:00Z", "2026-03-01T12:00Z" or
// "2026-03-01T13:00+01:00".
std::optional<int64_t> ParseMoment(const std::string& text);

}  // namespace shardmanager::cli
