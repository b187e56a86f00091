// A client under load: the router's cores (map, choice of replica, call machine) over
// the simulated network. One call after another, each for a random shard.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "router/call_machine.h"
#include "router/map_holder.h"
#include "tests/simulation/cell/sim_feed.h"
#include "tests/simulation/cell/sim_server.h"

namespace shardmanager::simulation {

class SimClient {
 public:
  struct Context {
    Schedule& schedule;
    Network& network;
    Random& random;
    std::function<SimServer*(const std::string& endpoint)> server;
    std::vector<std::function<SimFeed*()>> publishers;
    // An attempt of this call is sent; a call that is not idempotent must be
    // processed once at most.
    std::function<void(uint64_t call, bool idempotent)> on_call;
  };
  struct Counts {
    uint64_t calls = 0;
    uint64_t answered = 0;
  };

  SimClient(Context context, std::shared_ptr<Process> process, uint64_t first_call,
            Duration between);

  const router::ShardMap* map() const { return maps_.map().get(); }
  const std::string& host() const { return process_->host(); }
  const Counts& counts() const { return counts_; }
  // Attempts that were refused, and calls that failed, by shard.
  const std::map<std::string, uint64_t>& trouble() const { return trouble_; }
  // The same of attempts that went to the primary, and calls of which the last attempt did.
  const std::map<std::string, uint64_t>& primary_trouble() const { return primary_trouble_; }

 private:
  struct Call {
    uint64_t id;
    bool idempotent;
    router::CallMachine machine;
    std::string shard;
    uint64_t attempt = 0;
    std::string failed_server;
    bool waits_for_map = false;
    bool for_primary = false;
  };

  void Begin();
  void NoteTrouble(const Call& call);
  void Step(const std::shared_ptr<Call>& call, router::CallMachine::Step step);
  void Try(const std::shared_ptr<Call>& call);
  void Send(const std::shared_ptr<Call>& call, const router::MappedServer& server);
  void OnAttemptEnd(const std::shared_ptr<Call>& call, uint64_t attempt, router::AttemptEnd end);
  void Finish(const std::shared_ptr<Call>& call, bool answered);
  template <typename Update>
  bool Apply(const Update& update);
  std::optional<MapVersion> Version() const;
  // Ends the wait of the call that waits, if it is this one and its attempt.
  void Go(const std::shared_ptr<Call>& call, uint64_t attempt);

  const Context context_;
  const std::shared_ptr<Process> process_;
  const Duration between_;
  uint64_t next_call_;
  router::MapHolder maps_;
  std::shared_ptr<Call> call_;
  Counts counts_;
  std::map<std::string, uint64_t> trouble_;
  std::map<std::string, uint64_t> primary_trouble_;
  std::unique_ptr<SimSubscriber> subscriber_;
};

}  // namespace shardmanager::simulation
