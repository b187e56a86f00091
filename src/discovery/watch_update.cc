#include "discovery/watch_update.h"

#include <string_view>
#include <utility>

#include "model/map/message_fields.h"

namespace shardmanager::discovery {
namespace {

constexpr int kSnapshot = v1::WatchResponse::kSnapshotFieldNumber;

bool IsUpdate(const MessageField& field) {
  return field.number == kSnapshot || field.number == v1::WatchResponse::kDeltaFieldNumber ||
         field.number == v1::WatchResponse::kHeartbeatFieldNumber;
}

}  // namespace

WatchUpdate::WatchUpdate(v1::WatchResponse response) : rest(std::move(response)) {
  if (!rest.has_snapshot()) return;
  part.emplace(rest.snapshot());
  rest.clear_snapshot();
}

absl::StatusOr<WatchUpdate> WatchUpdate::Parse(PageString bytes) {
  std::string_view snapshot;
  std::string others;
  int updates = 0;
  const bool is_message = ForEachField(bytes, [&](const MessageField& field) {
    if (IsUpdate(field)) ++updates;
    if (field.number == kSnapshot && field.has_body) {
      snapshot = field.body;
    } else {
      others.append(field.all);
    }
    return true;
  });
  const bool has_part = snapshot.data() != nullptr;
  v1::WatchResponse response;
  // Several updates in one message nobody sends: it is read as any message is.
  const std::string_view text = has_part && updates == 1 ? others : std::string_view(bytes);
  if (!is_message || !response.ParseFromArray(text.data(), static_cast<int>(text.size()))) {
    return absl::InvalidArgumentError("it is no message, or has text that is not UTF-8");
  }
  if (!has_part || updates > 1) return WatchUpdate(std::move(response));
  const auto begin = static_cast<size_t>(snapshot.data() - bytes.data());
  bytes.resize(begin + snapshot.size());
  bytes.erase(0, begin);
  auto part = SnapshotPart::Parse(std::move(bytes));
  if (!part.ok()) return part.status();
  WatchUpdate update(std::move(response));
  update.part = *std::move(part);
  return update;
}

}  // namespace shardmanager::discovery
