#include "tests/server/server_world.h"

#include <grpcpp/grpcpp.h>
#include <gtest/gtest.h>
#include <stdlib.h>

#include <condition_variable>
#include <filesystem>
#include <future>

#include "absl/strings/str_cat.h"
#include "coordination/cell.h"
#include "coordination/envelope.h"
#include "coordination/zookeeper/zookeeper_store.h"
#include "wire/grpc_status.h"

namespace shardmanager {
namespace {

constexpr std::chrono::seconds kPatience{20};
constexpr uint32_t kBuckets = 2;
const AppName kApp("kv");

// The last result that came.
absl::StatusOr<v1::ShardResult> Last(grpc::ClientReader<v1::ShardResults>& reader) {
  v1::ShardResult last;
  v1::ShardResults results;
  while (reader.Read(&results)) last = *results.results().rbegin();
  const grpc::Status status = reader.Finish();
  if (!status.ok()) return wire::FromGrpc(status);
  return last;
}

void SetDeadline(grpc::ClientContext& context) {
  context.set_deadline(std::chrono::system_clock::now() + kPatience);
}

}  // namespace

bool Eventually(const std::function<bool()>& done) {
  const auto deadline = std::chrono::steady_clock::now() + kPatience;
  std::mutex mutex;
  std::condition_variable never;
  std::unique_lock lock(mutex);
  while (!done()) {
    if (std::chrono::steady_clock::now() > deadline) return false;
    never.wait_for(lock, std::chrono::milliseconds(5));
  }
  return true;
}

ServerWorld::ServerWorld(const Timing& timing) {
  std::string pattern = testing::TempDir() + "/server.XXXXXX";
  folder_ = mkdtemp(pattern.data());
  auto started = PrivateZookeeper::Start(
      {.data_dir = folder_, .tick_ms = static_cast<int>(timing.tick_ms), .force_sync = false});
  if (!started.ok()) {
    ADD_FAILURE() << started.status();
    abort();
  }
  zookeeper_ = *std::move(started);
  link_ = std::make_unique<TcpProxy>(zookeeper_->port());
  // Longer than any pause of ZooKeeper in a test.
  store_ = ZookeeperStoreFactory(zookeeper_->connect_string()).NewSession({kPatience, nullptr});
  v1::CellConfig config;
  config.set_cell("cell");
  config.set_zookeeper_tick_ms(timing.tick_ms);
  config.set_session_timeout_ms(timing.session_timeout_ms);
  config.set_buckets(kBuckets);
  std::promise<absl::Status> made;
  EnsureCell(*store_, config, [&](auto result) { made.set_value(result.status()); });
  EXPECT_TRUE(made.get_future().get().ok());
}

ServerWorld::~ServerWorld() {
  store_->Close();
  zookeeper_.reset();
  std::error_code error;
  std::filesystem::remove_all(folder_, error);
}

absl::Status ServerWorld::Write(std::vector<WriteOp> ops) {
  std::promise<absl::Status> done;
  store_->Multi(std::move(ops), [&](WriteResult result) { done.set_value(result.status); });
  return done.get_future().get();
}

absl::StatusOr<std::string> ServerWorld::Read(const std::string& path) {
  std::promise<absl::StatusOr<std::string>> done;
  store_->Sync([](absl::Status) {});
  store_->Get(path, [&](absl::StatusOr<Node> node) {
    if (node.ok()) return done.set_value(std::move(node->data));
    done.set_value(node.status());
  });
  return done.get_future().get();
}

void ServerWorld::ApplyApp() {
  std::vector<WriteOp> ops;
  ops.push_back(CreateNode{paths_.app(kApp), ""});
  for (const std::string& folder :
       {paths_.servers(kApp), paths_.live(kApp), paths_.assignments(kApp)}) {
    ops.push_back(CreateNode{folder, ""});
    for (uint32_t b = 0; b < kBuckets; ++b) ops.push_back(CreateNode{Paths::bucket(folder, b), ""});
  }
  ops.push_back(CreateNode{paths_.spec(kApp), Seal(v1::StoredSpec())});
  EXPECT_TRUE(Write(std::move(ops)).ok());
}

void ServerWorld::Assign(const std::string& server, std::vector<v1::AssignedReplica> replicas) {
  v1::AssignmentRecord record;
  record.set_server(server);
  for (v1::AssignedReplica& replica : replicas) *record.add_replicas() = std::move(replica);
  const std::string path = paths_.assignment(kApp, ServerName(server), kBuckets);
  if (Write({SetNode{path, Seal(record)}}).ok()) return;
  EXPECT_TRUE(Write({CreateNode{path, Seal(record)}}).ok());
}

std::string ServerWorld::ServerPath(const std::string& server) const {
  return paths_.server(kApp, ServerName(server), kBuckets);
}

std::string ServerWorld::LivePath(const std::string& server, uint64_t incarnation) const {
  return paths_.live(kApp, ServerName(server), Incarnation(incarnation), kBuckets);
}

ServerOptions ServerWorld::Options(const std::string& name) const {
  ServerOptions options;
  options.app = kApp.value();
  options.name = name;
  options.cell = "cell";
  options.zookeeper = absl::StrCat("127.0.0.1:", link_->port());
  options.listen = "127.0.0.1:0";
  options.security.insecure = true;
  return options;
}

v1::AssignedReplica Granted(const std::string& shard, uint64_t epoch) {
  v1::AssignedReplica replica;
  replica.set_shard(shard);
  replica.set_role(v1::PRIMARY);
  replica.set_epoch(epoch);
  replica.set_phase(v1::GRANTED);
  return replica;
}

absl::Status RecordingHandler::AddShard(const ShardGrant& grant, const LoadProgress&) {
  std::lock_guard lock(mutex_);
  calls_.push_back(absl::StrCat("add ", grant.shard.value(), "@", grant.epoch.value()));
  return absl::OkStatus();
}

absl::Status RecordingHandler::DropShard(const ShardId& shard) {
  std::lock_guard lock(mutex_);
  calls_.push_back("drop " + shard.value());
  return absl::OkStatus();
}

std::vector<std::string> RecordingHandler::calls() const {
  std::lock_guard lock(mutex_);
  return calls_;
}

Commander::Commander(const std::string& endpoint, std::string server, uint64_t incarnation)
    : Commander(grpc::CreateChannel(endpoint, grpc::InsecureChannelCredentials()),
                std::move(server), incarnation) {}
Commander::Commander(const std::shared_ptr<grpc::Channel>& channel, std::string server,
                     uint64_t incarnation)
    : server_(std::move(server)),
      incarnation_(incarnation),
      stub_(v1::ShardServer::NewStub(channel)) {}

void Commander::FillHeader(v1::CommandHeader* header) const {
  header->set_app(kApp.value());
  header->set_server(server_);
  header->set_incarnation(incarnation_);
  header->set_leader_epoch(leader_epoch);
}

template <typename Request>
Request Commander::Fill(const std::string& shard, uint64_t epoch) const {
  Request request;
  FillHeader(request.mutable_header());
  v1::ShardGrant* grant = request.add_shards();
  grant->set_shard(shard);
  grant->set_role(v1::PRIMARY);
  grant->set_epoch(epoch);
  return request;
}

absl::StatusOr<v1::ShardResult> Commander::Add(const std::string& shard, uint64_t epoch) {
  grpc::ClientContext context;
  SetDeadline(context);
  return Last(*stub_->AddShard(&context, Fill<v1::AddShardRequest>(shard, epoch)));
}

absl::StatusOr<v1::ShardResult> Commander::Drop(const std::string& shard, uint64_t epoch) {
  grpc::ClientContext context;
  SetDeadline(context);
  return Last(*stub_->DropShard(&context, Fill<v1::DropShardRequest>(shard, epoch)));
}

absl::StatusOr<v1::ShardResult> Commander::PrepareAdd(const std::string& shard, uint64_t epoch,
                                                      const std::string& old_owner) {
  grpc::ClientContext context;
  SetDeadline(context);
  auto request = Fill<v1::PrepareAddShardRequest>(shard, epoch);
  request.set_current_owner(old_owner);
  return Last(*stub_->PrepareAddShard(&context, request));
}

absl::StatusOr<v1::ShardResult> Commander::PrepareDrop(const std::string& shard, uint64_t epoch,
                                                       const NewOwner& next) {
  grpc::ClientContext context;
  SetDeadline(context);
  auto request = Fill<v1::PrepareDropShardRequest>(shard, epoch);
  request.mutable_shards(0)->set_next_epoch(next.epoch);
  request.set_new_owner(next.server);
  request.set_new_owner_endpoint(next.endpoint);
  return Last(*stub_->PrepareDropShard(&context, request));
}

absl::StatusOr<v1::ShardResult> Commander::Demote(const std::string& shard, uint64_t epoch) {
  grpc::ClientContext context;
  SetDeadline(context);
  auto request = Fill<v1::ChangeRoleRequest>(shard, epoch);
  request.mutable_shards(0)->set_role(v1::SECONDARY);
  request.set_new_primary("kv-9");
  request.set_new_primary_endpoint("127.0.0.1:1");
  return Last(*stub_->ChangeRole(&context, request));
}

std::map<std::string, v1::ShardState> Commander::SetMembers(const std::vector<std::string>& shards,
                                                            uint64_t epoch, const Members& members,
                                                            uint64_t version) {
  grpc::ClientContext context;
  SetDeadline(context);
  v1::UpdateMembershipRequest request;
  FillHeader(request.mutable_header());
  for (const std::string& shard : shards) {
    v1::ShardGrant* grant = request.add_shards();
    grant->set_shard(shard);
    grant->set_epoch(epoch);
    grant->mutable_members()->set_version(version);
    for (const Peer& peer : members) {
      v1::ShardMember* member = grant->mutable_members()->add_members();
      member->set_server(peer.server.value());
      member->set_endpoint(peer.endpoint);
    }
  }
  std::map<std::string, v1::ShardState> states;
  const auto stream = stub_->UpdateMembership(&context, request);
  for (v1::ShardResults message; stream->Read(&message);) {
    for (const v1::ShardResult& result : message.results()) states[result.shard()] = result.state();
  }
  return states;
}

absl::StatusOr<v1::CollectLoadResponse> Commander::Collect() {
  grpc::ClientContext context;
  SetDeadline(context);
  v1::CollectLoadRequest request;
  FillHeader(request.mutable_header());
  v1::CollectLoadResponse response;
  const grpc::Status status = stub_->CollectLoad(&context, request, &response);
  if (!status.ok()) return wire::FromGrpc(status);
  return response;
}

}  // namespace shardmanager
