// Who can reach whom, and how long it takes.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <utility>

#include "base/random.h"
#include "tests/simulation/cell/process.h"
#include "tests/simulation/cell/schedule.h"

namespace shardmanager::simulation {

struct NetworkHabits {
  Duration least{Milliseconds(0)};
  Duration most{Milliseconds(2)};
  double loss = 0;                        // of a message: its sender is not told at once
  double duplication = 0;                 // of a command: it comes again, later (Network::Follow)
  Duration straggler{Milliseconds(300)};  // how much later, at most
};

// Hosts are names; "store" is the coordination store.
class Network {
 public:
  Network(Schedule& schedule, Random& random) : schedule_(schedule), random_(random) {}

  NetworkHabits habits;

  // One way. Repeats nest.
  void Cut(const std::string& from, const std::string& to) { ++cuts_[{from, to}]; }
  void Mend(const std::string& from, const std::string& to);
  void Isolate(const std::string& host) { ++isolated_[host]; }
  void Rejoin(const std::string& host);
  bool Open(const std::string& from, const std::string& to) const;

  // Runs `task` in the process `to` once the message has got there. If it does not, `lost` is
  // called, in no process, when and where that is decided. True: it is on its way.
  bool Send(const std::string& from, const std::shared_ptr<Process>& to, std::function<void()> task,
            std::function<void()> lost = nullptr);
  Duration Delay();
  // Call it for each message about `subject`, with `again` to deliver the message once more. The
  // message before it about the same subject may then be repeated, up to a second after this one,
  // with the chance habits.duplication. A message of the same name is a retry, and repeats nothing.
  void Follow(const std::string& subject, const std::string& message, std::function<void()> again);
  bool Lucky(double chance) { return chance > 0 && random_.Fraction() < chance; }
  Random& random() { return random_; }

 private:
  Schedule& schedule_;
  Random& random_;
  std::map<std::pair<std::string, std::string>, int> cuts_;
  std::map<std::string, int> isolated_;
  struct Sent {
    std::string message;
    std::function<void()> again;
  };
  std::map<std::string, Sent> last_sent_;  // by subject
};

}  // namespace shardmanager::simulation
