// A stream of puts of the kvstore example (PutEach), as tests want it.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "base/time.h"

namespace shardmanager::testing {

// Made by KvClient::OpenStream(), which it must not outlive. For one thread.
class KvStream {
 public:
  struct Message {
    std::string key;  // all of one shard
    std::string value;
  };
  struct Ack {
    uint64_t sequence = 0;  // of the message that it answers
    TimePoint at;
    std::string server;
    std::string shard;
    uint64_t epoch = 0;
  };
  class Call;

  explicit KvStream(std::unique_ptr<Call> call);
  ~KvStream();  // cancels the call, if it has not ended

  // Sends them all, numbered from `first`, and waits until each is answered, or the stream has
  // ended; at `deadline` the client cancels it. The answers, in the order in which they came: fewer
  // than messages means that the stream has ended.
  std::vector<Ack> Put(uint64_t first, const std::vector<Message>& messages, TimePoint deadline);

  // Says that there are no more messages and waits until the server has ended the stream.
  void Close(TimePoint deadline);

  // Nothing can be sent any more.
  bool Ended() const;
  // How it ended. REQUIRES: Ended(), or fewer answers than messages.
  absl::Status End();
  // StreamContext::ShouldReopen(). REQUIRES: as End().
  bool ShouldReopen();

 private:
  friend class KvClient;
  const std::unique_ptr<Call> call_;
};

}  // namespace shardmanager::testing
