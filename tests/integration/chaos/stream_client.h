// A client that puts through streams (kvstore's PutEach) and writes down what it saw.
#pragma once

#include <chrono>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "base/random.h"
#include "base/time.h"
#include "tests/integration/history.h"
#include "tests/support/kv_client.h"
#include "tests/support/kv_stream.h"

namespace shardmanager::testing {

struct StreamClientOptions {
  std::string name;  // values begin with it
  int shards = 0;    // of KvSpec()
  int keys_per_shard = 3;
  // From when a message is first sent until its answer, also over several streams.
  std::chrono::milliseconds timeout{500};
  uint64_t seed = 1;
};

struct StreamCounts {
  size_t acknowledged = 0;  // messages
  size_t failed = 0;        // messages that were not answered in time
  size_t resent = 0;        // sent once more, as their stream ended before they were answered
  size_t opened = 0;        // streams
  size_t reopened = 0;      // streams, in the place of one that ended
  size_t broken = 0;        // streams that ended, though the router sees no reason to open another
  size_t misnumbered = 0;   // answers that are not to the message that was sent next
  std::string first_error;  // of a message that failed, or a stream that broke

  StreamCounts& operator+=(const StreamCounts& more);
};

// Keeps some streams open at a time, each of them for seconds, so that their shards are moved, and
// their servers are killed, under them. A message without an answer on a stream that ended is a put
// of which nobody knows the outcome. It is sent again on the next stream, with another value, as
// another put. For one thread.
class StreamClient {
 public:
  static constexpr uint64_t kMostAtOnce = 3;
  static constexpr double kMessagesAtOnce = 2;  // on average

  StreamClient(KvClient& client, const StreamClientOptions& options);

  // Sends one to kMostAtOnce messages at once on one of the streams, and waits for the answers.
  void Step();
  // Ends all streams. What was seen.
  std::vector<Operation> Finish();

  const StreamCounts& counts() const { return counts_; }

 private:
  struct Slot {
    int shard = 0;
    int bursts_left = 0;  // 0: it is to be closed
    std::unique_ptr<KvStream> stream;
  };

  std::vector<KvStream::Message> DrawBurst(int shard);
  std::string NextValue();
  // False: there is no such stream.
  bool OpenOne(Slot& slot, TimePoint deadline);
  // False.
  bool NoteError(const absl::Status& error);
  // Sends `burst` on the slot's stream and takes what was answered out of it.
  void Send(Slot& slot, std::vector<KvStream::Message>& burst, TimePoint deadline);
  // `end`: how the stream ended, if that is about this message.
  void NoteUnanswered(const KvStream::Message& message, Micros invoked, const absl::Status& end);
  void Close(Slot& slot);

  KvClient& client_;
  const StreamClientOptions options_;
  Random random_;
  std::vector<Slot> slots_;
  uint64_t sequence_ = 0;  // of the last message
  uint64_t values_ = 0;
  StreamCounts counts_;
  std::vector<Operation> history_;
};

}  // namespace shardmanager::testing
