// The rate limiter's server: a callback service. Counts go with their shard, through a folder that
// all servers can read.
#include "shardmanager/server.h"

#include <grpcpp/server_builder.h>

#include <cstdio>
#include <fstream>
#include <map>
#include <mutex>
#include <string>

#include "limits.grpc.pb.h"
#include "shardmanager/shard_table.h"

namespace {

using shardmanager::Admission;
using Stub = limits::RateLimiter::Stub;

constexpr uint64_t kMostTokens = 1'000'000;

struct Counts {
  std::mutex mutex;
  std::map<uint64_t, uint64_t> taken;  // by account
};
using Shards = shardmanager::ShardTable<Counts>;

class Store final : public shardmanager::ShardHandler {
 public:
  explicit Store(std::string folder) : folder_(std::move(folder)) {}

  absl::Status AddShard(const shardmanager::ShardGrant& grant,
                        const shardmanager::LoadProgress&) override {
    auto counts = Shards::New();
    std::ifstream file(PathOf(grant.shard));
    for (uint64_t account = 0; file >> account;) file >> counts->taken[account];
    shards.Insert(grant.shard, std::move(counts));
    return absl::OkStatus();
  }

  absl::Status DropShard(const shardmanager::ShardId& shard) override {
    const auto counts = shards.Remove(shard);
    if (!counts) return absl::OkStatus();
    std::ofstream file(PathOf(shard));
    for (const auto& [account, taken] : counts->taken) file << account << " " << taken << "\n";
    return file.flush() ? absl::OkStatus() : absl::DataLossError("the counts are not written");
  }

  Shards shards;

 private:
  std::string PathOf(const shardmanager::ShardId& shard) const {
    return folder_ + "/" + shard.value();
  }

  const std::string folder_;
};

// Sends the account's tokens one by one. The shard may move between two messages.
class Follower final : public grpc::ServerWriteReactor<limits::TakeResponse> {
 public:
  Follower(shardmanager::Server& server, Store& store, const Admission& admission,
           const limits::FollowRequest& request)
      : server_(server),
        store_(store),
        shard_(admission.shard()),
        account_(request.account()),
        next_(request.first()) {
    SendNext(admission);
  }

  void OnWriteDone(bool ok) override {
    if (!ok) return Finish(grpc::Status::CANCELLED);
    ++next_;
    server_.Admit(shard_, std::chrono::seconds(2),
                  [this](const Admission& admission) { SendNext(admission); });
  }
  void OnDone() override { delete this; }

 private:
  void SendNext(const Admission& admission) {
    if (!admission.ok()) return Finish(admission.status());  // the client opens another stream
    if (next_ > Taken()) return Finish(grpc::Status::OK);
    message_.set_token(next_);
    message_.set_epoch(admission.epoch().value());
    StartWrite(&message_);
  }

  uint64_t Taken() {
    Counts& counts = *store_.shards.Find(shard_);
    std::lock_guard lock(counts.mutex);
    return counts.taken[account_];
  }

  shardmanager::Server& server_;
  Store& store_;
  const shardmanager::ShardId shard_;
  const uint64_t account_;
  uint64_t next_;
  limits::TakeResponse message_;
};

class Service final : public limits::RateLimiter::CallbackService {
 public:
  Service(shardmanager::Server& server, Store& store) : server_(server), store_(store) {}

  grpc::ServerUnaryReactor* Take(grpc::CallbackServerContext* context,
                                 const limits::TakeRequest* request,
                                 limits::TakeResponse* response) override {
    return server_.Admit<limits::RateLimiter>(
        *context, &Stub::async::Take, request, response, [=, this](const Admission& admission) {
          Counts& counts = *store_.shards.Find(admission.shard());
          std::lock_guard lock(counts.mutex);
          uint64_t& taken = counts.taken[request->account()];
          if (taken < kMostTokens) response->set_token(++taken);
          response->set_epoch(admission.epoch().value());
          return grpc::Status::OK;
        });
  }

  grpc::ServerWriteReactor<limits::TakeResponse>* Follow(
      grpc::CallbackServerContext* context, const limits::FollowRequest* request) override {
    return server_.Admit<limits::RateLimiter>(
        *context, &Stub::async::Follow, request, [=, this](const Admission& admission) {
          return new Follower(server_, store_, admission, *request);
        });
  }

 private:
  shardmanager::Server& server_;
  Store& store_;
};

}  // namespace

int main(int argc, char** argv) {
  if (argc != 4) {
    std::fprintf(stderr, "usage: limiter_server NAME ZOOKEEPER FOLDER\n");
    return 2;
  }
  Store store(argv[3]);
  shardmanager::Server server({
      .app = "limits",
      .name = argv[1],
      .zookeeper = argv[2],
      .listen = "127.0.0.1:0",
      .builder = [](grpc::ServerBuilder& builder) { builder.SetMaxReceiveMessageSize(1 << 20); },
  });
  Service service(server, store);
  const absl::Status status = server.Run(store, {&service});  // until SIGTERM
  if (!status.ok()) std::fprintf(stderr, "limiter_server: %s\n", status.ToString().c_str());
  return status.ok() ? 0 : 1;
}
