// The history of one shardmanagerd: what it does itself, and what leaders do while it stands by.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <thread>

#include "history/history.h"
#include "orchestrator/shell/event_log.h"
#include "runtime/metrics.h"
#include "wire/events/history_follower.h"
#include "wire/transport.h"

namespace shardmanager::daemon {

struct HistoryFlags {
  std::string folder;  // "": as FolderOf() finds
  uint32_t most_mb = 256;
  uint32_t most_days = 14;
};

// Where the history is kept: the folder that was named, else one in systemd's $STATE_DIRECTORY,
// else in `data_dir`, which may be empty. "": nowhere.
std::string FolderOf(const HistoryFlags& flags, const std::string& data_dir);

// Follows the event log in a thread, so that who decides does not wait for a disk.
class HistoryKeeper {
 public:
  // All must outlive it. REQUIRES: FolderOf() found a folder.
  HistoryKeeper(const HistoryFlags& flags, const std::string& folder, const std::string& cell,
                orchestrator::EventLog& events, Metrics& metrics,
                std::shared_ptr<const wire::Transport> transport);
  ~HistoryKeeper();

  history::History& history() { return history_; }
  // The process that leads, or "": this one does.
  void LeaderIs(const std::string& other_leader) { follower_.Follow(other_leader); }

 private:
  void Follow(const std::stop_token& stop);

  orchestrator::EventLog& events_;
  history::History history_;
  wire::HistoryFollower follower_;
  Gauge bytes_, rows_, waiting_, problem_;
  std::jthread thread_;
};

}  // namespace shardmanager::daemon
