// All machines of a simulated cell, each running one life of its program or none.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "tests/simulation/cell/network.h"
#include "tests/simulation/cell/sim_client.h"
#include "tests/simulation/cell/sim_control.h"
#include "tests/simulation/cell/sim_demand.h"
#include "tests/simulation/cell/sim_feed.h"
#include "tests/simulation/cell/sim_loads.h"
#include "tests/simulation/cell/sim_server.h"
#include "tests/simulation/cell/store_pump.h"

namespace shardmanager::simulation {

struct ClusterOptions {
  int servers = 6;
  int regions = 2;
  int controls = 3;
  int clients = 2;
  Duration between_calls = Milliseconds(50);
  v1::CellConfig cell;
  bool secure = false;             // processes have ZooKeeper credentials
  int64_t most_drift_ppm = 9'000;  // the lease margin allows for 1%
  // What all clients say of servers. Null: they are not heard.
  std::function<std::vector<v1::ServerSeen>()> clients_say = nullptr;
};

// What stays broken when all other faults end. (Sick servers: AppHabits.)
struct Lasting {
  std::set<std::string> gone;                          // servers that never come back
  std::set<std::pair<std::string, std::string>> gray;  // servers that cannot reach each other

  bool IsGray(const std::string& a, const std::string& b) const {
    return gray.contains({a, b}) || gray.contains({b, a});
  }
};

class Cluster {
 public:
  Cluster(ClusterOptions options, uint64_t seed, ServerWitness& witness,
          std::function<void(uint64_t call, bool idempotent)> on_call);
  ~Cluster();

  Schedule schedule;
  Random random;
  Network network{schedule, random};
  StorePump store{schedule, network, random};
  AppHabits habits;
  bool replicates = false;     // shards have a primary and secondaries
  bool quorum = false;         // and acknowledge what most of them know
  bool durable = false;        // without quorum: what a server knows outlives its process, too
  bool keeps_serving = false;  // servers that are cut off serve on
  Orders orders;
  SimLoads loads;
  SimDemand demand;
  Lasting lasting;
  std::function<void()> on_made_anew = [] {};

  // ---- machines; names are hosts ----
  const std::vector<std::string>& servers() const { return server_names_; }
  const std::vector<std::string>& controls() const { return control_names_; }
  const std::vector<std::unique_ptr<SimClient>>& clients() const { return clients_; }
  // Null: no life runs there.
  SimServer* server(const std::string& name);
  SimControl* control(const std::string& name);
  const std::vector<std::string>& relays() const { return relay_names_; }
  const SimFeed& feed_of(size_t relay) const { return *relays_[relay].feed; }
  // A control-plane process that takes itself for the leader; "": there is none.
  std::string Leader();
  uint32_t buckets() const { return options_.cell.buckets(); }
  Duration session_timeout() const { return Milliseconds(options_.cell.session_timeout_ms()); }

  void AddServer();
  void Start(const std::string& host);
  void Kill(const std::string& host);
  // For good; the second one with a good-bye.
  void Leave(const std::string& host);
  void Retire(const std::string& host);
  void BreakLink(const std::string& one, const std::string& other);
  // Servers that could hold a shard: neither gone nor sick.
  std::set<std::string> healthy() const;
  // The store has lost everything, and a new cell of the same name is made. All but relays and
  // clients are started anew; what storage remembers of the old cell's epochs is reset.
  void MakeAnew();
  // SIGTERM. A server takes a while to go.
  void Terminate(const std::string& host);
  void Pause(const std::string& host);
  void Resume(const std::string& host);
  bool Alive(const std::string& host) { return ProcessOn(host) != nullptr; }
  // And not paused.
  bool Running(const std::string& host);
  void StartAll();

 private:
  struct Machine {
    std::string region;
    int lives = 0;
    Copies disk;
    std::unique_ptr<SimServer> server;
    std::unique_ptr<SimControl> control;
  };
  struct Relay {
    std::shared_ptr<Process> process;
    std::unique_ptr<SimFeed> feed;
    std::unique_ptr<SimSubscriber> subscriber;
  };

  std::shared_ptr<Process> NewProcess(const std::string& host);
  std::shared_ptr<Process> ProcessOn(const std::string& host);
  SimServer* Listening(const std::string& endpoint);
  std::vector<std::function<SimFeed*()>> ControlFeeds();
  // Hears from the first of them that delivers.
  void AddRelay(std::vector<std::function<SimFeed*()>> upstreams);
  std::function<SimFeed*()> FeedOfRelay(size_t number);
  void AddClient(int number, std::function<void(uint64_t, bool)> on_call);

  ClusterOptions options_;
  ServerWitness& witness_;
  std::vector<std::string> server_names_;
  std::vector<std::string> control_names_;
  std::vector<std::string> relay_names_;
  std::map<std::string, Machine> machines_;
  std::vector<Relay> relays_;
  std::vector<std::unique_ptr<SimClient>> clients_;
};

}  // namespace shardmanager::simulation
