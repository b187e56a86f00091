// `shardctl rollout status`.
#include <algorithm>
#include <map>
#include <string>
#include <utility>

#include "absl/strings/str_cat.h"
#include "cli/commands/commands.h"
#include "cli/rollouts.h"

namespace shardmanager::cli {
namespace {

bool IsOver(const v1::GetRolloutsResponse& response) {
  return std::all_of(response.rollouts().begin(), response.rollouts().end(),
                     [](const auto& rollout) { return OperationsLeft(rollout) == 0; });
}

void ShowRollouts(const v1::GetRolloutsResponse& response, Format format, Terminal& terminal) {
  if (ShowForPrograms(response, format, terminal)) return;
  if (response.rollouts().empty()) {
    *terminal.err << "no rollout is under way, and none was in the last hour\n";
  } else {
    *terminal.out << RolloutsTable(response, {terminal.colour, format == Format::kWide});
  }
}

// A line for each rollout whose figures have changed.
class Progress {
 public:
  void Show(const v1::GetRolloutsResponse& response, Terminal& terminal) {
    std::map<std::string, std::string> figures;
    for (const v1::RolloutStatus& rollout : response.rollouts()) {
      const std::string key =
          absl::StrCat(rollout.app(), " ", rollout.manager(), " ", rollout.name());
      figures[key] = RolloutFigures(rollout);
      // One that was over before is no news.
      const auto before = shown_.find(key);
      const bool is_news =
          before == shown_.end() ? OperationsLeft(rollout) > 0 : before->second != figures[key];
      if (is_news) *terminal.out << RolloutLine(rollout) << "\n" << std::flush;
    }
    shown_ = std::move(figures);
  }

 private:
  std::map<std::string, std::string> shown_;
};

// Until no rollout has operations left. The next leader goes on telling when one goes.
ExitCode AwaitEnd(const v1::GetRolloutsRequest& request, v1::GetRolloutsResponse first,
                  Format format, AdminClient& client, Terminal& terminal) {
  const bool for_people = format == Format::kTable || format == Format::kWide;
  Progress progress;
  absl::StatusOr<v1::GetRolloutsResponse> response = std::move(first);
  while (true) {
    if (!MayPass(response.status())) return Fail(response.status(), client, terminal);
    if (response.ok() && for_people) progress.Show(*response, terminal);
    if (!terminal.out->good()) return kOk;  // said by the caller
    if (response.ok() && IsOver(*response)) break;
    client.AwaitChange(kLookAgain);
    response = client.GetRollouts(request);
  }
  if (for_people) {
    *terminal.out << "no operation is left\n";
  } else {
    ShowRollouts(*response, format, terminal);
  }
  return kOk;
}

}  // namespace

ExitCode Rollout(const RolloutCommand& command, AdminClient& client, Terminal& terminal) {
  v1::GetRolloutsRequest request;
  request.set_app(command.app);
  auto response = client.GetRollouts(request);
  if (!response.ok()) return Fail(response.status(), client, terminal);
  if (command.wait) {
    return AwaitEnd(request, *std::move(response), command.format, client, terminal);
  }
  ShowRollouts(*response, command.format, terminal);
  return kOk;
}

}  // namespace shardmanager::cli
