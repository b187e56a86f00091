// One function for each command of shardctl. They write to the terminal and return
// the exit code.
#pragma once

#include <google/protobuf/message.h>

#include <chrono>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "cli/admin_client.h"
#include "cli/command_line.h"
#include "cli/render.h"
#include "cli/shardctl.h"
#include "model/text.h"

namespace shardmanager::cli {

ExitCode Apply(const ApplyCommand& command, AdminClient& client, Terminal& terminal);
ExitCode Get(const GetCommand& command, AdminClient& client, Terminal& terminal);
ExitCode Describe(const DescribeCommand& command, AdminClient& client, Terminal& terminal);
ExitCode Explain(const ExplainCommand& command, AdminClient& client, Terminal& terminal);
ExitCode Drain(const DrainCommand& command, AdminClient& client, Terminal& terminal);
ExitCode Delete(const DeleteCommand& command, AdminClient& client, Terminal& terminal);
ExitCode Release(const ReleaseCommand& command, AdminClient& client, Terminal& terminal);
ExitCode Approve(const ApproveCommand& command, AdminClient& client, Terminal& terminal);
ExitCode End(const EndCommand& command, AdminClient& client, Terminal& terminal);
ExitCode ExplainOperation(const ExplainCommand& command, AdminClient& client, Terminal& terminal);
ExitCode Pause(const PauseCommand& command, AdminClient& client, Terminal& terminal);
ExitCode Pin(const PinCommand& command, AdminClient& client, Terminal& terminal);
ExitCode Prefer(const PreferCommand& command, AdminClient& client, Terminal& terminal);
ExitCode Reshape(const ReshapeCommand& command, AdminClient& client, Terminal& terminal);
ExitCode Maintenance(const MaintenanceCommand& command, AdminClient& client, Terminal& terminal);
ExitCode Rollout(const RolloutCommand& command, AdminClient& client, Terminal& terminal);
ExitCode Snapshot(const SnapshotCommand& command, AdminClient& client, Terminal& terminal);
// `client` is asked for a snapshot unless the command names a file.
ExitCode Simulate(const SimulateCommand& command, AdminClient& client, Terminal& terminal);
ExitCode Capacity(const CapacityCommand& command, AdminClient& client, Terminal& terminal);
ExitCode Top(const TopCommand& command, AdminClient& client, Terminal& terminal);
ExitCode Watch(const WatchCommand& command, AdminClient& client, Terminal& terminal);
// Asks no control plane.
ExitCode Place(const PlaceCommand& command, Terminal& terminal);

// --- What they share ---------------------------------------------------------------

// Says what went wrong in a call and returns the exit code for it.
ExitCode Fail(const absl::Status& status, const AdminClient& client, Terminal& terminal);

// The same where no control plane was asked: kUsage for INVALID_ARGUMENT.
ExitCode Wrong(const absl::Status& status, Terminal& terminal);

// True: the answer was to be JSON or YAML, and is written. False: it is for people, and the command
// shows it.
bool ShowForPrograms(const google::protobuf::Message& answer, Format format, Terminal& terminal);

// With --wait: the control plane is asked again so often.
inline constexpr std::chrono::milliseconds kLookAgain{500};

// Who asks, for events: $USER; "" if that is not set.
std::string User();
// Of an order that was given before, a line that says so; else "".
template <typename Response>
std::string AlreadyText(const Response& response) {
  if (response.already_since_ms() == 0) return "";
  return absl::StrCat(
      "nothing was changed: it is so already since ", TimeText(response.already_since_ms()),
      response.already_by().empty() ? "" : ", by ", Shown(response.already_by()), "\n");
}

// How to find what follows from the change that was just made: a line.
std::string FollowText(const AdminClient& client);

// Whether an error is about who leads, or whether anybody does: that changes.
bool MayPass(const absl::Status& status);

// `app` if it is given, else the only app that there is. Errors: those of the call, and
// INVALID_ARGUMENT: there is none, or there are several, and which one is meant must be
// said.
absl::StatusOr<std::string> ChooseApp(const std::string& app, AdminClient& client);

}  // namespace shardmanager::cli
