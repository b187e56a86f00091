#include "orchestrator/core/publication.h"

#include <chrono>
#include <utility>

#include "absl/strings/str_cat.h"

namespace shardmanager::orchestrator {
namespace {

// Changes within this time go out in one map version.
constexpr Duration kInterval = Milliseconds(5);

}  // namespace

bool Publication::Ready() const {
  return state_.recovered && (unreported_ == 0 || deadline_passed_ || published_);
}

void Publication::Flush() {
  const bool anything = agenda_.anything_to_publish() || whole_ || !finished_failovers_.empty();
  if (!Ready() || !anything) return;
  if (published_ && state_.now < last_ + kInterval) {
    if (!std::exchange(timer_set_, true)) {
      agenda_.SetTimer(last_ + kInterval - state_.now, TimerKind::kPublish);
    }
    return;
  }
  std::vector<ShardIndex> shards = agenda_.TakePublish();
  for (ShardIndex shard : shards) state_.tables.shard(shard).publish = false;
  if (whole_) shards.clear();
  if (whole_ || !shards.empty()) {
    agenda_.Do(Publish{std::exchange(whole_, false), std::move(shards)});
    last_ = state_.now;
    published_ = true;
  }
  for (ServerIndex server : std::exchange(finished_failovers_, {})) {
    const auto took = std::chrono::duration_cast<std::chrono::milliseconds>(
        state_.now - state_.tables.server(server).lost_at);
    agenda_.AddNote(
        NoteKind::kFailoverFinished, server, ShardIndex(),
        absl::StrCat("others serve what it had, ", took.count(), " ms after it was lost"));
  }
}

}  // namespace shardmanager::orchestrator
