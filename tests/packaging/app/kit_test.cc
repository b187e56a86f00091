// Uses each library that no other part of the application does, so that one that is not whole does
// not link.
#include <cstdio>

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
  shardmanager::v1::AppSpec spec;
  spec.set_name("kit");
  std::printf("%s; admitted: %d; %s\n", status.ToString().c_str(), admitted,
              spec.ShortDebugString().c_str());
  server.Shutdown();
  return status.ok() && admitted ? 0 : 1;
}
