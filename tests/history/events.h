// Events for tests of the history.
#pragma once

#include <string>

#include "shardmanager/v1/admin.pb.h"

namespace shardmanager::history {

// A day in 2026.
inline constexpr int64_t kNowMs = 1'790'000'000'000;

inline v1::ControlEvent Event(uint64_t epoch, uint64_t sequence, const std::string& kind,
                              const std::string& app = "kv", const std::string& server = "") {
  v1::ControlEvent event;
  event.mutable_position()->set_leader_epoch(epoch);
  event.mutable_position()->set_sequence(sequence);
  event.set_time_ms(kNowMs + static_cast<int64_t>(1'000 * epoch + sequence));
  event.set_kind(kind);
  event.set_app(app);
  event.set_server(server);
  event.set_message(kind + " " + std::to_string(sequence));
  return event;
}

inline v1::GetHistoryRequest Query(const std::string& app = "") {
  v1::GetHistoryRequest query;
  query.set_app(app);
  return query;
}

}  // namespace shardmanager::history
