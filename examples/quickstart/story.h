// The quickstart's story: a cluster comes up, words are loaded while things go
// wrong, everything is read back.
#pragma once

#include <chrono>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "runtime/signals.h"
#include "screen.h"
#include "shardmanager/router.h"
#include "tests/local_cluster/cluster.h"
#include "word_load.h"

namespace quickstart {

struct StoryOptions {
  std::string words = "/usr/share/dict/words";
  std::string spec = "examples/kvstore/kv.yaml";
  std::string folder;     // empty: a private one, removed at the end
  bool insecure = false;  // no TLS
  int threads = 12;
  int seconds = 20;  // that the load takes
};

class Story {
 public:
  Story(StoryOptions options, shardmanager::StopSignals& stop)
      : options_(std::move(options)), stop_(stop) {}

  // The chapters, in this order. CANCELLED: the user pressed Ctrl-C.
  absl::Status SetUp();
  absl::Status LoadWhileThingsGoWrong();
  absl::Status ReadBack();

  // The figures. False: something was lost or left undone.
  bool Report();
  // Prints what to try and leaves the cluster up until Ctrl-C.
  void Keep();

  // The ends of the processes' logs, for whoever must find out what went wrong.
  std::string Logs() const { return cluster_ ? cluster_->Logs() : ""; }

 private:
  struct Step {
    std::chrono::milliseconds at;
    void (Story::*act)();
  };

  absl::Status StartServers();
  absl::Status ApplySpec();
  void StartServer(int number);

  // What goes wrong, and right again.
  void KillServer();
  void AddServer();
  void StopControlPlane();
  void StartControlPlane();

  // Shows the progress until the load is finished, taking the steps in time.
  absl::Status Watch(const std::string& what, const WordLoad& load, std::vector<Step> steps);
  void Draw(const std::string& what, const Progress& progress, double seconds);
  std::string ServerLine(const std::string& name, size_t shards);
  std::string StateOf(const std::string& name);
  // Waits for what the control plane said about the failover.
  void MeasureFailover();
  void Say(const std::string& line);

  const StoryOptions options_;
  shardmanager::StopSignals& stop_;
  Screen screen_;
  std::unique_ptr<shardmanager::local::Cluster> cluster_;
  std::unique_ptr<shardmanager::local::MapWatcher> map_;
  std::unique_ptr<shardmanager::local::EventWatcher> events_;
  std::unique_ptr<shardmanager::Router> router_;
  std::map<std::string, std::string> regions_;  // of the servers
  std::vector<std::string> words_;
  std::unique_ptr<WordStore> store_;

  std::chrono::steady_clock::time_point chapter_;
  shardmanager::TimePoint killed_at_{};
  size_t killed_shards_ = 0;
  std::optional<std::chrono::milliseconds> detection_, repair_;
  Progress written_, read_;
  const WordLoad* load_ = nullptr;  // the one under way
  size_t written_at_stop_ = 0;      // words, when the control plane was stopped
  size_t written_without_control_ = 0;
  absl::Status step_failed_;
};

}  // namespace quickstart
