// The order of an operator to leave an app as it is: Pause in types.proto.
#pragma once

#include <string>
#include <string_view>

#include "absl/status/status.h"
#include "shardmanager/v1/types.pb.h"

namespace shardmanager {

absl::Status ValidatePause(const v1::Pause& pause);
// `field` names it in the error. At most 200 bytes.
absl::Status ValidateNote(std::string_view field, const std::string& text);

// "the app is paused since 2026-11-25T08:00:00.000Z, by jo: the reason".
std::string PauseText(const v1::Pause& pause);

}  // namespace shardmanager
