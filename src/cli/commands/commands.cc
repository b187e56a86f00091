#include "cli/commands/commands.h"

#include <algorithm>
#include <cctype>
#include <chrono>
#include <cstdlib>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "cli/render.h"
#include "cli/time_text.h"
#include "cli/yaml/proto_to_text.h"

namespace shardmanager::cli {
namespace {

bool Confirmed(const std::string& app, Terminal& terminal) {
  *terminal.err << "Delete app \"" << app << "\" and drop all its shards? [y/N] " << std::flush;
  std::string answer;
  std::getline(*terminal.in, answer);
  std::transform(answer.begin(), answer.end(), answer.begin(),
                 [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
  return answer == "y" || answer == "yes";
}

// A watch that lost its leader looks for the next one so often.
constexpr std::chrono::milliseconds kWatchRetry{500};

std::string WhyEnded(const absl::Status& status) {
  return status.message().empty() ? "the stream ended" : std::string(status.message());
}

}  // namespace

bool ShowForPrograms(const google::protobuf::Message& answer, Format format, Terminal& terminal) {
  if (format == Format::kJson) *terminal.out << ToJson(answer);
  if (format == Format::kYaml) *terminal.out << ToYaml(answer);
  return format == Format::kJson || format == Format::kYaml;
}

std::string User() {
  const char* user = std::getenv("USER");
  return user == nullptr ? "" : user;
}

std::string FollowText(const AdminClient& client) {
  return absl::StrCat("what follows from it: shardctl history operation ", client.operation(),
                      "\n");
}

bool MayPass(const absl::Status& status) {
  return status.ok() || absl::IsUnavailable(status) || absl::IsDeadlineExceeded(status) ||
         absl::IsFailedPrecondition(status);
}

ExitCode Wrong(const absl::Status& status, Terminal& terminal) {
  *terminal.err << "error: " << std::string(status.message()) << "\n";
  return absl::IsInvalidArgument(status) ? kUsage : kRefused;
}

ExitCode Fail(const absl::Status& status, const AdminClient& client, Terminal& terminal) {
  // Of several lines each is shown, but without any other control character.
  std::string message;
  std::string rest(status.message());
  for (size_t end; (end = rest.find('\n')) != std::string::npos; rest.erase(0, end + 1)) {
    absl::StrAppend(&message, Shown(rest.substr(0, end)), "\n");
  }
  message += Shown(rest);
  switch (status.code()) {
    case absl::StatusCode::kUnavailable:
      *terminal.err << "error: the control plane at " << client.server()
                    << " cannot answer: " << message << "\n";
      return kUnreachable;
    case absl::StatusCode::kDeadlineExceeded:
      *terminal.err << "error: no answer from the control plane at " << client.server()
                    << " within " << AgeText(client.timeout())
                    << (message.empty() ? "" : ": " + message) << "\n";
      return kUnreachable;
    case absl::StatusCode::kUnimplemented:
      *terminal.err << "error: the process at " << client.server()
                    << " is no control plane of this version: it does not know this call. A relay "
                       "(shard-discoveryd) serves shard maps alone: name a shardmanagerd with -s\n";
      return kRefused;
    case absl::StatusCode::kNotFound:
      *terminal.err << "error: " << message << "\n";
      return kNotFound;
    default:
      *terminal.err << "error: "
                    << (message.empty() ? absl::StatusCodeToString(status.code()) : message)
                    << "\n";
      return status.code() == absl::StatusCode::kInvalidArgument ? kUsage : kRefused;
  }
}

absl::StatusOr<std::string> ChooseApp(const std::string& app, AdminClient& client) {
  if (!app.empty()) return app;
  const auto apps = client.GetApps({});
  if (!apps.ok()) return apps.status();
  if (apps->apps_size() == 1) return apps->apps(0).spec().name();
  if (apps->apps().empty()) return absl::NotFoundError("there is no app yet");
  std::vector<std::string> names;
  for (const v1::AppStatus& status : apps->apps()) names.push_back(status.spec().name());
  return absl::InvalidArgumentError(
      absl::StrCat("which app? Say --app, one of: ", absl::StrJoin(names, ", ")));
}

ExitCode Delete(const DeleteCommand& command, AdminClient& client, Terminal& terminal) {
  if (!command.yes && !terminal.interactive) {
    *terminal.err << "error: nobody can be asked here; say --yes to delete app \"" << command.app
                  << "\"\n";
    return kUsage;
  }
  if (!command.yes && !Confirmed(command.app, terminal)) {
    *terminal.err << "nothing was deleted\n";
    return kRefused;
  }
  v1::DeleteAppRequest request;
  request.set_app(command.app);
  const auto response = client.DeleteApp(request);
  if (!response.ok()) return Fail(response.status(), client, terminal);
  *terminal.out << command.app << " deleted: its servers drop its shards now\n";
  return kOk;
}

ExitCode Release(const ReleaseCommand& command, AdminClient& client, Terminal& terminal) {
  const auto app = ChooseApp(command.app, client);
  if (!app.ok()) return Fail(app.status(), client, terminal);
  v1::ReleaseServerRequest request;
  request.set_app(*app);
  request.set_server(command.server);
  const auto response = client.ReleaseServer(request);
  if (!response.ok()) return Fail(response.status(), client, terminal);
  *terminal.out << command.server << " released: what its record may have granted is placed anew; "
                << "the record's bytes stay at " << Shown(response->kept_at()) << "\n";
  return kOk;
}

ExitCode Approve(const ApproveCommand& command, AdminClient& client, Terminal& terminal) {
  const auto app = ChooseApp(command.app, client);
  if (!app.ok()) return Fail(app.status(), client, terminal);
  v1::ApproveOperationRequest request;
  request.set_app(*app);
  request.set_id(command.operation);
  request.set_manager(command.manager);
  request.set_who(User());
  const auto response = client.ApproveOperation(request);
  if (!response.ok()) return Fail(response.status(), client, terminal);
  *terminal.out << command.operation << " is approved against the limits; its manager is told when "
                << "it reports: shardctl describe operation " << command.operation << " --app "
                << *app << "\n";
  return kOk;
}

// Follows the leader from one to the next, for as long as it takes.
ExitCode Watch(const WatchCommand& command, AdminClient& client, Terminal& terminal) {
  v1::WatchEventsRequest request;
  request.set_app(command.app);
  request.set_no_follow(command.no_follow);
  bool heard = false;  // of this stream
  bool ever_heard = false;
  while (true) {
    const absl::Status status = client.WatchEvents(request, [&](const v1::ControlEvent& event) {
      if (!std::exchange(heard, true) && std::exchange(ever_heard, true)) {
        *terminal.err << "watching the leader at " << client.server() << "\n";
      }
      if (event.position().leader_epoch() > 0) *request.mutable_after() = event.position();
      *terminal.out << (command.json ? ToJsonLine(event) : EventLine(event, terminal.colour))
                    << "\n"
                    << std::flush;
    });
    if (absl::IsOutOfRange(status)) {  // the cell is another one: what it has is all new
      *terminal.err << "begins anew: " << Shown(std::string(status.message())) << "\n";
      request.clear_after();
      continue;
    }
    if (command.no_follow && status.ok()) return kOk;
    if (command.no_follow || !ever_heard || !MayPass(status)) {
      return Fail(status, client, terminal);
    }
    if (!terminal.out->good()) return kOk;  // said by the caller
    if (std::exchange(heard, false)) {
      *terminal.err << "lost the leader at " << client.server() << " (" << Shown(WhyEnded(status))
                    << "); looking for the next one\n";
    }
    client.AwaitChange(kWatchRetry);
  }
}

}  // namespace shardmanager::cli
