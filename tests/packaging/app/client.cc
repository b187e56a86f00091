// The rate limiter's client. Takes tokens of many accounts, asynchronously, until stdin ends; then
// reads on streams what each account has taken, and compares. No token may be lost or taken twice.
#include <unistd.h>

#include <atomic>
#include <cstdio>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "limits.grpc.pb.h"
#include "shardmanager/router.h"
#include "shardmanager/routing.h"
#include "shardmanager/version.h"

static_assert(SHARDMANAGER_VERSION >= SHARDMANAGER_MAKE_VERSION(0, 1, 0));

namespace {

using limits::RateLimiter;
using Stub = RateLimiter::Stub;

constexpr size_t kAccounts = 200;
constexpr size_t kAtOnce = 16;

// Account i. Their keys have bytes of all values, so that one which is not kept as it is shows.
uint64_t AccountOf(size_t i) { return 0x9E3779B97F4A7C15u * (i + 1); }

class Load {
 public:
  explicit Load(shardmanager::Router& router) : router_(router), tokens_(kAccounts) {}

  void Start() {
    for (size_t i = 0; i < kAtOnce; ++i) TakeNext();
  }

  // Returns when no call is under way.
  void Stop() {
    stop_ = true;
    for (size_t now = running_; now > 0; now = running_) running_.wait(now);
  }

  size_t failed() const { return failed_; }
  size_t taken() const { return taken_; }
  // How many tokens of account i were given to this client.
  uint64_t tokens(size_t i) const { return tokens_[i]; }

 private:
  void TakeNext() {
    ++running_;
    const size_t i = next_++ % kAccounts;
    limits::TakeRequest request;
    request.set_account(AccountOf(i));
    auto response = std::make_shared<limits::TakeResponse>();
    router_.GetClient<RateLimiter>("limits", shardmanager::NumberKey(request.account()))
        .CallAsync(&Stub::async::Take, std::move(request), response.get(),
                   {.timeout = std::chrono::seconds(20)},
                   [this, i, response](const grpc::Status& status) { Taken(i, status); });
  }

  void Taken(size_t i, const grpc::Status& status) {
    if (status.ok()) {
      ++tokens_[i];
      ++taken_;
    } else if (++failed_ == 1) {
      std::fprintf(stderr, "the first failure: %s\n", status.error_message().c_str());
    }
    if (!stop_) TakeNext();
    --running_;
    running_.notify_all();
  }

  shardmanager::Router& router_;
  std::vector<std::atomic<uint64_t>> tokens_;
  std::atomic<size_t> next_ = 0, running_ = 0, taken_ = 0, failed_ = 0;
  std::atomic<bool> stop_ = false;
};

// How many tokens the server says that the account has taken. Goes on where a stream broke off.
std::optional<uint64_t> CountOnStream(shardmanager::Router& router, uint64_t account) {
  auto client = router.GetClient<RateLimiter>("limits", shardmanager::NumberKey(account));
  std::optional<shardmanager::StreamContext> ended;
  limits::FollowRequest request;
  request.set_account(account);
  for (uint64_t seen = 0;;) {
    auto bound = client.Bind({.timeout = std::chrono::seconds(20)}, ended ? &*ended : nullptr);
    if (!bound.ok()) return std::nullopt;
    ended = bound.NewContext();
    request.set_first(seen + 1);
    auto reader = bound->Follow(ended->get(), request);
    for (limits::TakeResponse message; reader->Read(&message);) {
      if (message.token() != ++seen) return std::nullopt;
    }
    const grpc::Status status = reader->Finish();
    if (status.ok()) return seen;
    if (!ended->ShouldReopen(status)) return std::nullopt;
  }
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 2) {
    std::fprintf(stderr, "usage: limiter_client DISCOVERY\n");
    return 2;
  }
  shardmanager::Router router({.discovery = {argv[1]}});
  if (const absl::Status ready = router.WaitReady("limits", std::chrono::seconds(60));
      !ready.ok()) {
    std::fprintf(stderr, "limiter_client: %s\n", ready.ToString().c_str());
    return 1;
  }
  Load load(router);
  load.Start();
  std::printf("running\n");
  std::fflush(stdout);
  for (char byte; read(STDIN_FILENO, &byte, 1) > 0;) {
  }
  load.Stop();

  size_t wrong = 0;
  for (size_t i = 0; i < kAccounts; ++i) {
    if (CountOnStream(router, AccountOf(i)) != load.tokens(i)) ++wrong;
  }
  std::printf("%zu tokens taken, %zu calls failed, %zu of %zu accounts wrong\n", load.taken(),
              load.failed(), wrong, kAccounts);
  return load.taken() > 0 && load.failed() == 0 && wrong == 0 ? 0 : 1;
}
