// Log lines for programs: one JSON object per line, in UTC.
//
//   {"time":"2026-03-01T12:00:00.123Z","level":"info","program":"shardmanagerd","pid":4711,
//    "message":"leads cell prod, epoch 12"}       (in one line)
#pragma once

#include <spdlog/formatter.h>

#include <memory>
#include <string>
#include <string_view>

namespace shardmanager {

class JsonLines final : public spdlog::formatter {
 public:
  void format(const spdlog::details::log_msg& message, spdlog::memory_buf_t& line) override;
  std::unique_ptr<spdlog::formatter> clone() const override;
};

// A JSON string with its quotes. What is not UTF-8 becomes U+FFFD, so that every line can be read.
std::string JsonQuoted(std::string_view text);

}  // namespace shardmanager
