#include "testing/memory_cell.h"

#include <algorithm>
#include <utility>

#include "base/check.h"
#include "coordination/cell.h"
#include "coordination/envelope.h"
#include "coordination/write_check.h"

namespace shardmanager::testing_internal {
namespace {

constexpr uint32_t kBuckets = 1;

}  // namespace

class MemoryCell::Factory final : public CoordinationStoreFactory {
 public:
  Factory(std::shared_ptr<MemoryCell> cell, ServerName server)
      : cell_(std::move(cell)), server_(std::move(server)) {}
  std::unique_ptr<CoordinationStore> NewSession(SessionOptions options) override {
    return cell_->NewSession(server_, std::move(options));
  }

 private:
  const std::shared_ptr<MemoryCell> cell_;
  const ServerName server_;
};

MemoryCell::MemoryCell(std::shared_ptr<VirtualLoop> loop, const std::string& cell, AppName app,
                       std::chrono::milliseconds session_timeout, v1::OnPartition on_partition)
    : loop_(std::move(loop)), paths_(cell), app_(std::move(app)) {
  loop_->Run([&] {
    pump_ = loop_->AddPump([this] { return Pump(); });
    SetUp(cell, session_timeout, on_partition);
  });
}

MemoryCell::~MemoryCell() {
  loop_->Run([this] {
    loop_->RemovePump(pump_);
    store_->Close();
    store_.reset();
  });
}

TimePoint MemoryCell::Pump() {
  ensemble_.AdvanceTo(VirtualLoop::Now());
  ensemble_.RunUntilIdle();
  return ensemble_.next_deadline();
}

void MemoryCell::SetUp(const std::string& cell, std::chrono::milliseconds session_timeout,
                       v1::OnPartition on_partition) {
  store_ = ensemble_.NewSession({session_timeout, nullptr});
  v1::CellConfig config;
  config.set_cell(cell);
  config.set_zookeeper_tick_ms(kTick.count());
  config.set_session_timeout_ms(session_timeout.count());
  config.set_buckets(kBuckets);
  absl::Status made = absl::UnknownError("not answered");
  EnsureCell(*store_, config, [&](const auto& result) { made = result.status(); });
  Pump();
  SM_CHECK(made.ok(), "a cell in memory can be made");
  std::vector<WriteOp> ops = {CreateNode{paths_.app(app_), ""}};
  for (const std::string& folder :
       {paths_.servers(app_), paths_.live(app_), paths_.assignments(app_)}) {
    ops.push_back(CreateNode{folder, ""});
    for (uint32_t b = 0; b < kBuckets; ++b) ops.push_back(CreateNode{Paths::bucket(folder, b), ""});
  }
  v1::StoredSpec spec;
  spec.mutable_spec()->set_name(app_.value());
  spec.mutable_spec()->mutable_failover()->set_on_partition(on_partition);
  ops.push_back(CreateNode{paths_.spec(app_), Seal(spec)});
  Write(std::move(ops));
}

void MemoryCell::Write(std::vector<WriteOp> ops) {
  absl::Status written = absl::UnknownError("not answered");
  store_->Multi(std::move(ops), [&](const WriteResult& result) { written = result.status; });
  Pump();
  SM_CHECK(written.ok(), "a store in memory can be written");
}

// ---- servers' sessions ----

std::unique_ptr<CoordinationStoreFactory> MemoryCell::FactoryFor(std::shared_ptr<MemoryCell> cell,
                                                                 const ServerName& server) {
  return std::make_unique<Factory>(std::move(cell), server);
}

std::unique_ptr<CoordinationStore> MemoryCell::NewSession(const ServerName& server,
                                                          SessionOptions options) {
  auto session = ensemble_.NewSession(std::move(options));
  sessions_.emplace(server, ensemble_.last_session());
  if (cut_off_.contains(server)) ensemble_.Disconnect(ensemble_.last_session());
  return session;
}

void MemoryCell::CutOff(const ServerName& server) {
  loop_->Run([&] {
    cut_off_.insert(server);
    const auto [begin, end] = sessions_.equal_range(server);
    for (auto it = begin; it != end; ++it) {
      if (!ensemble_.Forgotten(it->second)) ensemble_.Disconnect(it->second);
    }
  });
}

void MemoryCell::Reconnect(const ServerName& server) {
  loop_->Run([&] {
    if (cut_off_.erase(server) == 0) return;
    const auto [begin, end] = sessions_.equal_range(server);
    for (auto it = begin; it != end; ++it) {
      if (!ensemble_.Forgotten(it->second)) ensemble_.Reconnect(it->second);
    }
  });
}

// ---- records ----

absl::Status MemoryCell::Assign(const std::vector<v1::AssignmentRecord>& records) {
  absl::Status fits;
  loop_->Run([&] {
    std::vector<WriteOp> ops;
    for (const v1::AssignmentRecord& record : records) {
      const std::string path = paths_.assignment(app_, ServerName(record.server()), kBuckets);
      const bool known = ensemble_.tree().Get(path).ok();
      std::string data = Seal(record);
      ops.push_back(known ? WriteOp(SetNode{path, std::move(data)})
                          : WriteOp(CreateNode{path, std::move(data)}));
    }
    if (WriteBytes(ops) > kMaxWriteBytes) {
      fits = absl::ResourceExhaustedError("more shards than a server's record can hold");
    } else {
      Write(std::move(ops));
    }
  });
  return fits;
}

std::optional<MemoryCell::Life> MemoryCell::LifeOf(const ServerName& server) {
  std::optional<Life> life;
  loop_->Run([&] {
    const std::string folder = Paths::bucket(paths_.live(app_), BucketOf(server.value(), kBuckets));
    const auto names = ensemble_.tree().Children(folder);
    if (!names.ok()) return;
    for (const std::string& name : *names) {
      const auto parsed = ParseLiveName(name);
      if (!parsed || parsed->server != server) continue;
      const auto node =
          ensemble_.tree().Get(paths_.live(app_, server, parsed->incarnation, kBuckets));
      v1::LiveRecord record;
      if (!node.ok() || !Open(node->data, &record).ok()) continue;
      if (!life || life->incarnation < parsed->incarnation) {
        life = {parsed->incarnation, record.endpoint()};
      }
    }
  });
  return life;
}

}  // namespace shardmanager::testing_internal
