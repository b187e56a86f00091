#include "model/pause.h"

#include <cstddef>

#include "absl/strings/str_cat.h"
#include "model/text.h"

namespace shardmanager {
namespace {

// Of a Pause or a Pin: since when, by whom and why, as far as that is known.
template <typename Order>
std::string Since(const Order& order) {
  return absl::StrCat(" since ", TimeText(order.since_ms()),
                      order.who().empty() ? "" : absl::StrCat(", by ", order.who()),
                      order.reason().empty() ? "" : ": ", order.reason());
}

template <typename Order>
absl::Status ValidateNotes(const std::string& path, const Order& order) {
  absl::Status reason = ValidateNote(path + ".reason", order.reason());
  return reason.ok() ? ValidateNote(path + ".who", order.who()) : reason;
}

}  // namespace

absl::Status ValidateNote(std::string_view field, const std::string& text) {
  constexpr size_t kMostBytes = 200;
  if (text.size() <= kMostBytes) return absl::OkStatus();
  return absl::InvalidArgumentError(absl::StrCat(std::string(field), ": found ", text.size(),
                                                 " bytes; allowed: at most ", kMostBytes));
}

absl::Status ValidatePause(const v1::Pause& pause) {
  if (pause.only_balance() && pause.failover()) {
    return absl::InvalidArgumentError(
        "pause.failover: found true; allowed with pause.only_balance: false, as what is lost is "
        "given to other servers anyhow");
  }
  return ValidateNotes("pause", pause);
}

absl::Status ValidatePin(const v1::Pin& pin) { return ValidateNotes("pin", pin); }

std::string PauseText(const v1::Pause& pause) {
  return absl::StrCat(pause.only_balance() ? "the app's balance is paused" : "the app is paused",
                      Since(pause));
}

std::string PinText(const v1::Pin& pin) { return absl::StrCat("pinned", Since(pin)); }

}  // namespace shardmanager
