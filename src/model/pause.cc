#include "model/pause.h"

#include <cstddef>

#include "absl/strings/str_cat.h"
#include "model/text.h"

namespace shardmanager {

absl::Status ValidateNote(std::string_view field, const std::string& text) {
  constexpr size_t kMostBytes = 200;
  if (text.size() <= kMostBytes) return absl::OkStatus();
  return absl::InvalidArgumentError(absl::StrCat(std::string(field), ": found ", text.size(),
                                                 " bytes; allowed: at most ", kMostBytes));
}

absl::Status ValidatePause(const v1::Pause& pause) {
  if (absl::Status reason = ValidateNote("pause.reason", pause.reason()); !reason.ok()) {
    return reason;
  }
  return ValidateNote("pause.who", pause.who());
}

std::string PauseText(const v1::Pause& pause) {
  return absl::StrCat("the app is paused since ", TimeText(pause.since_ms()),
                      pause.who().empty() ? "" : absl::StrCat(", by ", pause.who()),
                      pause.reason().empty() ? "" : absl::StrCat(": ", pause.reason()));
}

}  // namespace shardmanager
