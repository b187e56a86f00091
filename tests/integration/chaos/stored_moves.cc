#include "tests/integration/chaos/stored_moves.h"

#include <cstdio>
#include <future>
#include <vector>

#include "coordination/cell.h"
#include "coordination/envelope.h"
#include "coordination/paths.h"
#include "coordination/zookeeper/zookeeper_store.h"
#include "shardmanager/v1/stored.pb.h"

namespace shardmanager::testing {
namespace {

// The store's answers, waited for.
class BlockingStore {
 public:
  explicit BlockingStore(const std::string& zookeeper)
      : store_(ZookeeperStoreFactory(zookeeper).NewSession({})) {}
  ~BlockingStore() { store_->Close(); }

  absl::StatusOr<v1::CellConfig> Cell(const std::string& cell) {
    return Await<v1::CellConfig>([&](auto done) { LoadCell(*store_, cell, done); });
  }
  absl::StatusOr<std::vector<std::string>> Children(const std::string& path) {
    return Await<std::vector<std::string>>([&](auto done) { store_->GetChildren(path, done); });
  }
  absl::StatusOr<Node> Get(const std::string& path) {
    return Await<Node>([&](auto done) { store_->Get(path, done); });
  }

 private:
  template <typename T, typename Ask>
  absl::StatusOr<T> Await(Ask ask) {
    std::promise<absl::StatusOr<T>> answer;
    ask([&answer](absl::StatusOr<T> value) { answer.set_value(std::move(value)); });
    return answer.get_future().get();
  }

  std::unique_ptr<CoordinationStore> store_;
};

absl::Status AddMoves(BlockingStore& store, const std::string& path, std::set<int>& shards) {
  const auto node = store.Get(path);
  if (!node.ok()) return node.status();
  v1::AssignmentRecord record;
  if (absl::Status status = Open(node->data, &record); !status.ok()) return status;
  for (const v1::AssignedReplica& replica : record.replicas()) {
    int shard = -1;
    std::sscanf(replica.shard().c_str(), "shard-%d", &shard);
    if (replica.phase() != v1::GRANTED) shards.insert(shard);
  }
  return absl::OkStatus();
}

}  // namespace

absl::StatusOr<std::set<int>> ShardsInMotion(const std::string& zookeeper, const std::string& cell,
                                             const std::string& app) {
  BlockingStore store(zookeeper);
  const auto config = store.Cell(cell);
  if (!config.ok()) return config.status();
  const std::string folder = Paths(cell).assignments(AppName(app));
  std::set<int> shards;
  for (uint32_t bucket = 0; bucket < config->buckets(); ++bucket) {
    const std::string path = Paths::bucket(folder, bucket);
    const auto records = store.Children(path);
    if (!records.ok()) return records.status();
    for (const std::string& record : *records) {
      if (absl::Status s = AddMoves(store, path + "/" + record, shards); !s.ok()) return s;
    }
  }
  return shards;
}

}  // namespace shardmanager::testing
