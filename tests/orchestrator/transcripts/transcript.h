// What a partition hears and what it asks for, a line each: for people who read how it works
// (transcripts/*.txt), and to tell whether two builds decide alike (recordings/*.txt).
#pragma once

#include <cstdint>
#include <string>

#include "orchestrator/state/partition_io.h"
#include "orchestrator/state/tables.h"

namespace shardmanager::orchestrator {

// Epochs are written "leader.number": 2.5 is the fifth grant of the leader with epoch 2.
class Transcript {
 public:
  enum class Detail : uint8_t {
    kBrief,  // of plans only what they are for; no loads
    kWhole,  // every field
  };
  explicit Transcript(Detail detail) : detail_(detail) {}

  // `tables`: as they are before the event, or after the action.
  void Hears(TimePoint now, const Event& event, const Tables& tables);
  void Asks(TimePoint now, const Action& action, const Tables& tables);
  // A heading, or a remark by the author of a scenario.
  void Remark(const std::string& text);

  const std::string& text() const { return text_; }

 private:
  void Add(TimePoint now, const char* mark, const std::string& line);

  const Detail detail_;
  std::string text_;
};

}  // namespace shardmanager::orchestrator
