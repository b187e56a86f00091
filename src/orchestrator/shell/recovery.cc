#include "orchestrator/shell/recovery.h"

#include <map>
#include <utility>
#include <vector>

#include "coordination/records.h"
#include "model/proto_values.h"
#include "orchestrator/shell/bulk_read.h"
#include "orchestrator/shell/damaged_records.h"
#include "shardmanager/v1/stored.pb.h"

namespace shardmanager::orchestrator {
namespace {

std::string LastPart(const std::string& path) { return path.substr(path.rfind('/') + 1); }

// One recovery under way.
class Run : public std::enable_shared_from_this<Run> {
 public:
  using Done = std::function<void(absl::StatusOr<RecoveredState>)>;

  Run(const WriterOptions& options, ServerWatch& watch, Done done)
      : options_(options), watch_(watch), done_(std::move(done)) {}

  void Start() {
    options_.store->Sync([self = shared_from_this()](absl::Status synced) {
      self->options_.post([self, synced] {
        if (!synced.ok()) return self->done_(synced);
        self->ReadFolder(self->options_.paths.servers(self->options_.app),
                         [self](auto& nodes) { return self->TakeRegistrations(nodes); });
      });
    });
  }

 private:
  using Nodes = std::vector<NamedNode>;

  // All nodes in all buckets of a folder; `then` on the driver's thread.
  void ReadFolder(const std::string& folder, std::function<void(Nodes&)> then) {
    std::vector<std::string> buckets;
    for (uint32_t b = 0; b < options_.buckets; ++b) buckets.push_back(Paths::bucket(folder, b));
    auto self = shared_from_this();
    ListAll(*options_.store, buckets, [self, then](auto paths) {
      if (!paths.ok()) return self->Fail(paths.status());
      ReadAll(*self->options_.store, *std::move(paths), [self, then](auto nodes) {
        if (!nodes.ok()) return self->Fail(nodes.status());
        self->options_.post([then, nodes = *std::move(nodes)]() mutable { then(nodes); });
      });
    });
  }

  void Fail(absl::Status status) {
    options_.post([self = shared_from_this(), status] { self->done_(status); });
  }

  void TakeRegistrations(const Nodes& nodes) {
    for (const NamedNode& node : nodes) {
      const std::string name = LastPart(node.path);
      const std::string right =
          options_.paths.server(options_.app, ServerName(name), options_.buckets);
      if (node.path != right) {
        options_.damaged->Misplaced(node.path, right);
        continue;
      }
      StoredServer& server = Server(name);
      server.registration_version = node.node.stat.version;
      v1::ServerRecord record;
      absl::Status status = OpenServer(node.node.data, ServerName(name), &record);
      if (status.ok()) {
        server.departed = record.departed();
        server.forgotten = record.forgotten();
        server.last_life = Incarnation(static_cast<uint64_t>(node.node.stat.version) -
                                       record.departed() - record.forgotten());
        const v1::FaultDomain& at = record.fault_domain();
        server.last_place = {at.region(), at.datacenter(), at.rack()};
      } else {
        Damaged(RecordKind::kRegistration, name, node, std::move(status));
      }
    }
    watch_.Begin([self = shared_from_this()](auto lives) {
      if (!lives.ok()) return self->done_(lives.status());
      for (ServerLife& life : *lives) self->Server(life.name).live = std::move(life);
      self->ReadFolder(self->options_.paths.assignments(self->options_.app),
                       [self](auto& nodes) { self->TakeAssignments(nodes); });
    });
  }

  void TakeAssignments(const Nodes& nodes) {
    for (const NamedNode& node : nodes) {
      const std::string name = LastPart(node.path);
      state_.records.insert(name);
      StoredServer& server = Server(name);
      v1::AssignmentRecord record;
      if (absl::Status status = OpenAssignment(node.node.data, ServerName(name), &record);
          !status.ok()) {
        server.unread = true;
        Damaged(RecordKind::kAssignment, name, node, std::move(status));
        continue;
      }
      for (const v1::AssignedReplica& r : record.replicas()) {
        server.assignment.push_back({r.shard(), FromProto(r.role()), ShardEpoch(r.epoch()),
                                     FromProto(r.phase()), r.member_life()});
      }
    }
    for (auto& [name, server] : servers_) state_.event.servers.push_back(std::move(server));
    done_(std::move(state_));
  }

  void Damaged(RecordKind kind, const std::string& server, const NamedNode& node,
               absl::Status why) {
    options_.damaged->Add(kind, server, node.path, node.node, std::move(why));
  }

  StoredServer& Server(const std::string& name) {
    StoredServer& server = servers_[name];
    server.name = name;
    return server;
  }

  const WriterOptions options_;
  ServerWatch& watch_;
  const Done done_;
  std::map<std::string, StoredServer> servers_;
  RecoveredState state_;
};

}  // namespace

void Recover(const WriterOptions& options, ServerWatch& watch,
             std::function<void(absl::StatusOr<RecoveredState>)> done) {
  std::make_shared<Run>(options, watch, std::move(done))->Start();
}

}  // namespace shardmanager::orchestrator
