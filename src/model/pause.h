// The orders of an operator to leave an app as it is, or one of its shards: Pause and Pin in
// types.proto.
#pragma once

#include <string>
#include <string_view>

#include "absl/status/status.h"
#include "shardmanager/v1/types.pb.h"

namespace shardmanager {

// Of one app.
inline constexpr int kMostPins = 200;

absl::Status ValidatePause(const v1::Pause& pause);
// But for the shard's name, which the app has or has not.
absl::Status ValidatePin(const v1::Pin& pin);
// `field` names it in the error. At most 200 bytes.
absl::Status ValidateNote(std::string_view field, const std::string& text);

// "the app is paused since 2026-11-25T08:00:00.000Z, by jo: the reason".
std::string PauseText(const v1::Pause& pause);
// "pinned since 2026-11-25T08:00:00.000Z, by jo: the reason".
std::string PinText(const v1::Pin& pin);

}  // namespace shardmanager
