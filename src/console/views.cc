#include "console/views.h"

#include <utility>

#include "absl/strings/str_cat.h"

namespace shardmanager::console {
namespace {

// Of questions to the history: each page that somebody looks at is one.
constexpr size_t kMostHistories = 64;

}  // namespace

Views::Views(Source& source, std::function<TimePoint()> now, std::function<int64_t()> wall_ms)
    : source_(source),
      now_(std::move(now)),
      wall_ms_(std::move(wall_ms)),
      status_([this](const std::string&) { return source_.Status(); }, now_),
      apps_(
          [this](const std::string& app) -> absl::StatusOr<Apps> {
            auto answer = source_.Apps(app);
            if (!answer.ok()) return answer.status();
            for (v1::AppStatus& status : *answer->mutable_apps()) {
              status.mutable_spec()->clear_key_space();
            }
            return Apps{wall_ms_(), *std::move(answer)};
          },
          now_),
      servers_(
          [this](const std::string& app) -> absl::StatusOr<Servers> {
            auto answer = source_.Servers(app);
            if (!answer.ok()) return answer.status();
            return Servers{wall_ms_(), *std::move(answer)};
          },
          now_),
      shards_([this](const std::string& app) { return MakeShards(app); }, now_),
      histories_(
          [this](const std::string& question) -> absl::StatusOr<History> {
            v1::GetHistoryRequest request;
            request.ParseFromString(question);
            auto answer = source_.History(request);
            if (!answer.ok()) return answer.status();
            return History{wall_ms_(), *std::move(answer)};
          },
          now_, kMostHistories) {}

absl::StatusOr<Views::Shards> Views::MakeShards(const std::string& app) {
  const auto servers = ServersOf(app);
  if (!servers.ok()) return servers.status();
  const TimePoint asked = now_();
  const auto answer = source_.Shards(app);
  if (!answer.ok()) return answer.status();
  const double cost_ms = InSeconds(now_() - asked) * 1'000;
  return Shards{wall_ms_(), cost_ms, ShardRows(*answer, (*servers)->servers)};
}

absl::Status Views::Leads() {
  const auto status = Status();
  if (!status.ok()) return status.status();
  if ((*status)->leading()) return absl::OkStatus();
  if ((*status)->cut_off_ms() > 0) {
    return absl::UnavailableError(
        "this process is cut off from ZooKeeper: who leads, and where shards are, is unknown here");
  }
  if ((*status)->leader_endpoint().empty()) {
    return absl::UnavailableError("no process is known to lead the cell");
  }
  return absl::FailedPreconditionError(
      absl::StrCat("this process stands by; the leader is at ", (*status)->leader_endpoint()));
}

}  // namespace shardmanager::console
