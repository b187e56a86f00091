// Uses each of the four libraries, so that one that is not whole does not link.
#include <cstdio>

#include "shardmanager/router.h"
#include "shardmanager/server.h"
#include "shardmanager/testing.h"
#include "shardmanager/transfer.h"
#include "shardmanager/v1/app_spec.pb.h"

class Handler final : public shardmanager::ShardHandler {
 public:
  absl::Status AddShard(const shardmanager::ShardGrant&,
                        const shardmanager::LoadProgress&) override {
    return absl::OkStatus();
  }
  absl::Status DropShard(const shardmanager::ShardId&) override { return absl::OkStatus(); }
};

int main() {
  shardmanager::TestCell cell;
  Handler handler;
  shardmanager::Server server(cell.Options("one"));
  absl::Status status = server.Start(handler, {});
  if (status.ok()) status = cell.Assign("users", "one");
  const bool admitted = server.Admit(shardmanager::ShardId("users")).ok();
  shardmanager::RowTotal rows;
  rows.Add("key", "value");
  const shardmanager::Router router({.discovery = {"127.0.0.1:1"}});
  std::printf("%s; admitted: %d\n", status.ToString().c_str(), admitted);
  server.Shutdown();
  return status.ok() && admitted ? 0 : 1;
}
