#include "coordination/zookeeper/zookeeper_log.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <spdlog/sinks/base_sink.h>
#include <spdlog/spdlog.h>

#include <condition_variable>
#include <mutex>
#include <string>
#include <vector>

#include "coordination/zookeeper/zookeeper_store.h"
#include "runtime/child_process.h"

namespace shardmanager {
namespace {

using testing::HasSubstr;
using testing::SizeIs;

// Keeps the lines that a person would see.
class Lines : public spdlog::sinks::base_sink<std::mutex> {
 public:
  std::vector<std::string> Await(size_t count) {
    std::unique_lock lock(mutex_);
    added_.wait_for(lock, std::chrono::seconds(10), [&] { return lines_.size() >= count; });
    return lines_;
  }

 private:
  void sink_it_(const spdlog::details::log_msg& message) override {
    std::lock_guard lock(mutex_);
    lines_.emplace_back(message.payload.data(), message.payload.size());
    added_.notify_all();
  }
  void flush_() override {}

  std::mutex mutex_;
  std::condition_variable added_;
  std::vector<std::string> lines_;
};

class ZookeeperLogTest : public testing::Test {
 protected:
  void CaptureFrom(spdlog::level::level_enum level) {
    auto logger = std::make_shared<spdlog::logger>("captured", lines_);
    logger->set_level(level);
    spdlog::set_default_logger(logger);
  }
  ~ZookeeperLogTest() override { spdlog::set_default_logger(before_); }

  std::shared_ptr<spdlog::logger> before_ = spdlog::default_logger();
  std::shared_ptr<Lines> lines_ = std::make_shared<Lines>();
};

TEST_F(ZookeeperLogTest, KeepsTheComplaintWithoutTimeAndSourcePosition) {
  OnZookeeperLog("2026-01-02 03:04:05,678:17(0x7f):ZOO_ERROR@do_it@12: Socket 1.2.3.4:5: refused");
  EXPECT_EQ(LatestZookeeperComplaint(), "Socket 1.2.3.4:5: refused");
  OnZookeeperLog(
      "2026-01-02 03:04:05,678:17(0x7f):ZOO_WARN@do_it@12: Delaying connection after trying");
  EXPECT_EQ(LatestZookeeperComplaint(), "Socket 1.2.3.4:5: refused");
}

TEST_F(ZookeeperLogTest, WritesAFewLinesOfMany) {
  CaptureFrom(spdlog::level::debug);
  for (int i = 0; i < 10'000; ++i) OnZookeeperLog("Socket refused");
  // Two windows of a second, should the clock turn over in between.
  EXPECT_LE(lines_->Await(1).size(), 10u);
}

TEST_F(ZookeeperLogTest, SaysOnceThatZookeeperIsOutOfReach) {
  CaptureFrom(spdlog::level::info);
  const std::string nowhere = "127.0.0.1:" + std::to_string(FreePort());
  auto session = ZookeeperStoreFactory(nowhere).NewSession({});
  const auto lines = lines_->Await(1);
  ASSERT_THAT(lines, SizeIs(1));
  EXPECT_THAT(lines[0], HasSubstr("ZooKeeper at " + nowhere + " is out of reach, retrying"));
  EXPECT_THAT(lines[0], HasSubstr("refused"));
  session->Close();
  EXPECT_THAT(lines_->Await(1), SizeIs(1));
}

}  // namespace
}  // namespace shardmanager
