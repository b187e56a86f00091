#include "wire/events/history_follower.h"

#include <spdlog/spdlog.h>

#include <chrono>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "shardmanager/v1/admin.grpc.pb.h"
#include "wire/keepalive.h"

namespace shardmanager::wire {
namespace {

// The leader may be gone, or may not know yet that it leads.
constexpr std::chrono::milliseconds kPause{500};

}  // namespace

HistoryFollower::HistoryFollower(std::shared_ptr<const Transport> transport,
                                 history::History& history)
    : transport_(std::move(transport)), history_(history), thread_([this] { Run(); }) {}

HistoryFollower::~HistoryFollower() {
  {
    std::lock_guard lock(mutex_);
    stopping_ = true;
    if (under_way_ != nullptr) under_way_->TryCancel();
  }
  changed_.notify_all();
  thread_.join();
}

void HistoryFollower::Follow(const std::string& leader) {
  {
    std::lock_guard lock(mutex_);
    if (leader_ == leader) return;
    leader_ = leader;
    if (under_way_ != nullptr) under_way_->TryCancel();
  }
  changed_.notify_all();
}

void HistoryFollower::Run() {
  while (true) {
    std::string leader;
    {
      std::unique_lock lock(mutex_);
      changed_.wait(lock, [&] { return stopping_ || !leader_.empty(); });
      if (stopping_) return;
      leader = leader_;
    }
    const grpc::Status ended = Hear(leader);
    spdlog::debug("events of the leader at {} end: {}", leader, ended.error_message());
    if (ended.error_code() == grpc::StatusCode::OUT_OF_RANGE) {
      history_.SetAside(ended.error_message());
    }
    if (!Pause()) return;
  }
}

grpc::Status HistoryFollower::Hear(const std::string& leader) {
  history_.Flush();
  const auto last = history_.Last();
  if (!last.ok()) return {grpc::StatusCode::UNAVAILABLE, std::string(last.status().message())};
  grpc::ChannelArguments arguments;
  SetKeepalive({.ping_after = Seconds(30), .give_up = Seconds(10)}, arguments);
  const auto stub =
      v1::Admin::NewStub(transport_->Open(leader, security::AControlPlane(), std::move(arguments)));
  grpc::ClientContext context;
  {
    std::lock_guard lock(mutex_);
    if (stopping_ || leader_ != leader) return grpc::Status::CANCELLED;
    under_way_ = &context;
  }
  v1::WatchEventsRequest request;
  *request.mutable_after() = history::ToProto(*last);
  const auto stream = stub->WatchEvents(&context, request);
  v1::ControlEvent event;
  while (stream->Read(&event)) {
    // What concerns the leader's process alone is kept there.
    if (event.position().leader_epoch() == 0) continue;
    std::vector<v1::ControlEvent> heard;
    heard.push_back(std::move(event));
    history_.Add(std::move(heard), history::Source::kLeader);
  }
  grpc::Status ended = stream->Finish();
  std::lock_guard lock(mutex_);
  under_way_ = nullptr;
  return ended;
}

bool HistoryFollower::Pause() {
  std::unique_lock lock(mutex_);
  changed_.wait_for(lock, kPause, [&] { return stopping_; });
  return !stopping_;
}

}  // namespace shardmanager::wire
