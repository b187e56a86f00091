// While it lives, what the programs log goes to a function.
#pragma once

#include <spdlog/details/null_mutex.h>
#include <spdlog/sinks/base_sink.h>
#include <spdlog/spdlog.h>

#include <functional>
#include <memory>
#include <string>
#include <utility>

namespace shardmanager::simulation {

class LogToTrace {
 public:
  explicit LogToTrace(std::function<void(const std::string&)> line)
      : before_(spdlog::default_logger()) {
    auto logger = std::make_shared<spdlog::logger>("", std::make_shared<Sink>(std::move(line)));
    logger->set_level(spdlog::level::debug);
    spdlog::set_default_logger(std::move(logger));
  }
  ~LogToTrace() { spdlog::set_default_logger(before_); }
  LogToTrace(const LogToTrace&) = delete;
  LogToTrace& operator=(const LogToTrace&) = delete;

 private:
  class Sink final : public spdlog::sinks::base_sink<spdlog::details::null_mutex> {
   public:
    explicit Sink(std::function<void(const std::string&)> line) : line_(std::move(line)) {}

   private:
    void sink_it_(const spdlog::details::log_msg& message) override {
      line_(std::string(message.payload.data(), message.payload.size()));
    }
    void flush_() override {}

    const std::function<void(const std::string&)> line_;
  };

  const std::shared_ptr<spdlog::logger> before_;
};

}  // namespace shardmanager::simulation
