// Commands to servers, and questions what they hold. The core speaks of indexes; the wire, of
// names.
#pragma once

#include <functional>
#include <vector>

#include "orchestrator/core/partition.h"
#include "orchestrator/shell/batch_writer.h"
#include "orchestrator/shell/ports.h"

namespace shardmanager::orchestrator {

// On the driver's thread. Answers become events of the partition.
class ServerCalls {
 public:
  // All must outlive it.
  struct Context {
    CommandSender& sender;
    AppName app;
    LeaderEpoch leader_epoch;
    PostFn post;
    const PartitionState& state;
    std::function<void(Event)> handle;
    Meter* meter = nullptr;  // null: nothing is measured
  };

  explicit ServerCalls(Context context) : context_(std::move(context)) {}

  void Send(const SendCommands& action);
  void Ask(const Collect& action);
  // Asks all servers that hold one of `reshape.from`. `done` comes once, on the driver's thread:
  // OK, or which one does not agree, and why.
  void AskReshape(const v1::Reshape& reshape, std::function<void(absl::Status)> done);

 private:
  void Measure(CommandKind kind, const std::vector<NamedResult>& results, TimePoint sent_at) const;
  void OnResults(ServerIndex server, Incarnation incarnation, CommandKind kind,
                 std::vector<NamedResult> results);
  void AddOrigin(const Grant& grant, NamedGrant& named) const;
  std::vector<NamedGrant> Named(const std::vector<Grant>& grants) const;
  Members Named(const std::vector<ServerIndex>& servers) const;
  ServerAddress AddressOf(ServerIndex server, Incarnation incarnation) const;

  const Context context_;
};

}  // namespace shardmanager::orchestrator
