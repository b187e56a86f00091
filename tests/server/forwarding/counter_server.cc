#include "tests/server/forwarding/counter_server.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "tests/server/forwarding/counters.h"

namespace shardmanager {

using counter::Counter;

namespace {

constexpr std::chrono::seconds kPatience{20};

}  // namespace

void Turnstile::Close() {
  std::lock_guard lock(mutex_);
  open_ = false;
  arrived_ = false;
}

void Turnstile::Open() {
  std::lock_guard lock(mutex_);
  open_ = true;
  changed_.notify_all();
}

void Turnstile::Pass() {
  std::unique_lock lock(mutex_);
  arrived_ = true;
  changed_.notify_all();
  changed_.wait(lock, [this] { return open_; });
}

void Turnstile::AwaitArrival() {
  std::unique_lock lock(mutex_);
  EXPECT_TRUE(changed_.wait_for(lock, kPatience, [this] { return arrived_; }));
}

void CountLog::Add(const Entry& entry) {
  std::lock_guard lock(mutex_);
  entries_.push_back(entry);
  changed_.notify_all();
}

std::vector<CountLog::Entry> CountLog::entries() const {
  std::lock_guard lock(mutex_);
  return entries_;
}

size_t CountLog::CountOf(uint64_t epoch) const {
  return static_cast<size_t>(std::count_if(entries_.begin(), entries_.end(),
                                           [&](const Entry& e) { return e.epoch == epoch; }));
}

void CountLog::AwaitMoreOf(uint64_t epoch, size_t count) {
  std::unique_lock lock(mutex_);
  const size_t enough = CountOf(epoch) + count;
  EXPECT_TRUE(changed_.wait_for(lock, kPatience, [&] { return CountOf(epoch) >= enough; }));
}

std::shared_ptr<grpc::Channel> ConnectInsecurely(const std::string& endpoint) {
  return grpc::CreateChannel(endpoint, grpc::InsecureChannelCredentials());
}

CounterServer::CounterServer(const ServerOptions& options, CountLog& log, Form form,
                             const Connect& as_control_plane, const Connect& as_client)
    : name_(options.name),
      log_(log),
      service_(form == Form::kBlocking ? NewBlockingCounter(*this) : NewCallbackCounter(*this)),
      server_(options) {
  EXPECT_TRUE(server_.Start(*this, {service_.get()}).ok());
  commander_ = std::make_unique<Commander>(as_control_plane(server_.endpoint()), name_, 1);
  stub_ = Counter::NewStub(as_client(server_.endpoint()));
  EXPECT_TRUE(commander_->Add("first", 1).ok());
  EXPECT_TRUE(Eventually([this] { return server_.Admit(ShardId("first")).ok(); }));
}

CounterServer::~CounterServer() {
  for (Turnstile* turnstile : {&adding, &dropping, &reading}) turnstile->Open();
  server_.Shutdown();
}

absl::Status CounterServer::AddShard(const ShardGrant&, const LoadProgress&) {
  adding.Pass();
  return absl::OkStatus();
}

absl::Status CounterServer::DropShard(const ShardId&) {
  dropping.Pass();
  return absl::OkStatus();
}

grpc::Status CounterServer::Process(grpc::ServerContextBase& context, ShardEpoch epoch,
                                    uint64_t number, counter::CountResponse* response) {
  Fill(epoch, number, response);
  if (process) return process(context);
  log_.Add({epoch.value(), number});
  return grpc::Status::OK;
}

void CounterServer::Fill(ShardEpoch epoch, uint64_t number,
                         counter::CountResponse* response) const {
  response->set_server(name_);
  response->set_epoch(epoch.value());
  response->set_number(number);
}

}  // namespace shardmanager
