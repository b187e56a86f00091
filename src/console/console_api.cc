#include "console/console_api.h"

#include <google/protobuf/util/json_util.h>

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "console/json.h"

namespace shardmanager::console {
namespace {

namespace json = google::protobuf::util;

constexpr size_t kMostRows = 1'000;
constexpr size_t kMostServers = 10'000;

std::string JsonOf(const google::protobuf::Message& message) {
  json::JsonPrintOptions options;
  options.always_print_primitive_fields = true;
  std::string text;
  if (!json::MessageToJsonString(message, &text, options).ok()) return "null";
  return text;
}

int HttpStatusOf(const absl::Status& status) {
  switch (status.code()) {
    case absl::StatusCode::kInvalidArgument:
      return 400;
    case absl::StatusCode::kNotFound:
      return 404;
    case absl::StatusCode::kFailedPrecondition:
    case absl::StatusCode::kResourceExhausted:
    case absl::StatusCode::kUnavailable:
      return 503;
    default:
      return 500;
  }
}

// {"takenMs": ..., ..., and open.
Json Begun(int64_t taken_ms) {
  Json json;
  json.Begin('{').Key("takenMs").Number(static_cast<double>(taken_ms));
  return json;
}

void WriteAll(const google::protobuf::RepeatedPtrField<v1::AppStatus>& apps, Json& json) {
  json.Begin('[');
  for (const v1::AppStatus& app : apps) json.Raw(JsonOf(app));
  json.End(']');
}

bool Concerns(const v1::ControlEvent& event, const std::string& app, const std::string& server,
              const std::string& shard) {
  return (app.empty() || event.app().empty() || event.app() == app) &&
         (server.empty() || event.server() == server) && (shard.empty() || event.shard() == shard);
}

}  // namespace

ConsoleApi::ConsoleApi(Source& source, const Clocks& clocks)
    : source_(source),
      wall_ms_(clocks.wall_ms),
      views_(source, clocks.now, clocks.wall_ms),
      imagining_(source) {}

HttpResponse ConsoleApi::Get(const std::string& name, const HttpRequest& request) {
  if (name == "status") return Respond(Status());
  using Method = Answer (ConsoleApi::*)(Parameters&);
  static const std::map<std::string, Method> kMethods = {
      {"apps", &ConsoleApi::Apps},       {"app", &ConsoleApi::App},
      {"servers", &ConsoleApi::Servers}, {"shards", &ConsoleApi::Shards},
      {"shard", &ConsoleApi::Shard},     {"operations", &ConsoleApi::Operations},
      {"events", &ConsoleApi::Events}};
  const auto method = kMethods.find(name);
  if (method == kMethods.end()) {
    return Respond(absl::NotFoundError(absl::StrCat("nothing is at /api/v1/", name)));
  }
  if (absl::Status leads = views_.Leads(); !leads.ok()) return Respond(leads);
  Parameters parameters(request.query);
  return Respond((this->*method->second)(parameters));
}

HttpResponse ConsoleApi::Post(const std::string& name, const HttpRequest& request) {
  if (name != "whatif") {
    return Respond(absl::NotFoundError(absl::StrCat("nothing can be posted to /api/v1/", name)));
  }
  if (absl::Status leads = views_.Leads(); !leads.ok()) return Respond(leads);
  Parameters parameters(request.query);
  return Respond(WhatIf(parameters, request.body));
}

HttpResponse ConsoleApi::Respond(const Answer& answer) {
  HttpResponse response{.content_type = "application/json; charset=utf-8"};
  response.headers.emplace_back("Cache-Control", "no-store");
  if (answer.ok()) {
    response.body = *answer;
    return response;
  }
  const absl::Status& why = answer.status();
  response.status = HttpStatusOf(why);
  Json json;
  json.Begin('{').Key("error").Text(std::string(why.message()));
  if (absl::IsFailedPrecondition(why)) {
    const auto status = views_.Status();
    if (status.ok() && !(*status)->leading()) {
      json.Key("leader").Text((*status)->leader_endpoint());
    }
  }
  json.End('}');
  response.body = json.Take();
  return response;
}

ConsoleApi::Answer ConsoleApi::Status() {
  const auto status = views_.Status();
  if (!status.ok()) return status.status();
  return Begun(wall_ms_()).Key("status").Raw(JsonOf(**status)).End('}').Take();
}

ConsoleApi::Answer ConsoleApi::Apps(Parameters& parameters) {
  if (absl::Status wrong = parameters.Done(); !wrong.ok()) return wrong;
  const auto apps = views_.AllApps();
  if (!apps.ok()) return apps.status();
  Json json = Begun((*apps)->taken_ms);
  WriteAll((*apps)->apps.apps(), json.Key("apps"));
  return json.End('}').Take();
}

ConsoleApi::Answer ConsoleApi::App(Parameters& parameters) {
  const std::string app = parameters.Required("app");
  if (absl::Status wrong = parameters.Done(); !wrong.ok()) return wrong;
  const auto apps = views_.App(app);
  if (!apps.ok()) return apps.status();
  if ((*apps)->apps.apps().empty()) {
    return absl::NotFoundError(absl::StrCat("no app \"", app, "\""));
  }
  return Begun((*apps)->taken_ms).Key("app").Raw(JsonOf((*apps)->apps.apps(0))).End('}').Take();
}

ConsoleApi::Answer ConsoleApi::Servers(Parameters& parameters) {
  const std::string app = parameters.Required("app");
  if (absl::Status wrong = parameters.Done(); !wrong.ok()) return wrong;
  const auto view = views_.ServersOf(app);
  if (!view.ok()) return view.status();
  const auto& servers = (*view)->servers.servers();
  Json json = Begun((*view)->taken_ms);
  json.Key("total").Number(servers.size()).Key("servers").Begin('[');
  for (int i = 0; i < std::min<int>(servers.size(), kMostServers); ++i) {
    json.Raw(JsonOf(servers[i]));
  }
  return json.End(']').End('}').Take();
}

ConsoleApi::Answer ConsoleApi::Shards(Parameters& parameters) {
  const std::string app = parameters.Required("app");
  ShardQuery query;
  query.filter = parameters.Text("filter");
  query.state = parameters.OneOf("state", {"serving", "degraded", "unserved", "moving"});
  query.server = parameters.Text("server");
  query.region = parameters.Text("region");
  query.sort = parameters.OneOf("sort", {"key", "state", "requests", "name"});
  query.descending = parameters.OneOf("order", {"ascending", "descending"}) == "descending";
  query.offset = parameters.Number("offset", 0, 100'000'000, 0);
  query.limit = parameters.Number("limit", 1, kMostRows, query.limit);
  if (absl::Status wrong = parameters.Done(); !wrong.ok()) return wrong;
  const auto view = views_.ShardsOf(app);
  if (!view.ok()) return view.status();
  const ShardRows& rows = (*view)->rows;
  const ShardRows::Page page = rows.Find(query);
  Json json = Begun((*view)->taken_ms);
  json.Key("costMs").Number((*view)->cost_ms);
  json.Key("all").Number(static_cast<double>(rows.size()));
  json.Key("total").Number(static_cast<double>(page.total));
  json.Key("offset").Number(static_cast<double>(query.offset));
  json.Key("counts").Begin('{');
  for (const auto& [state, count] : rows.counts()) {
    json.Key(state).Number(static_cast<double>(count));
  }
  json.End('}').Key("rows").Begin('[');
  for (const uint32_t row : page.rows) rows.Write(row, json);
  return json.End(']').End('}').Take();
}

ConsoleApi::Answer ConsoleApi::Shard(Parameters& parameters) {
  const std::string app = parameters.Required("app");
  const std::string shard = parameters.Required("shard");
  if (absl::Status wrong = parameters.Done(); !wrong.ok()) return wrong;
  const auto explained = source_.Explain(app, shard);
  if (!explained.ok()) return explained.status();
  return Begun(wall_ms_()).Key("explained").Raw(JsonOf(*explained)).End('}').Take();
}

ConsoleApi::Answer ConsoleApi::Operations(Parameters& parameters) {
  const std::string app = parameters.Required("app");
  if (absl::Status wrong = parameters.Done(); !wrong.ok()) return wrong;
  const auto operations = source_.Operations(app);
  if (!operations.ok()) return operations.status();
  const auto rollouts = source_.Rollouts(app);
  if (!rollouts.ok()) return rollouts.status();
  const auto maintenances = source_.Maintenances(app);
  if (!maintenances.ok()) return maintenances.status();
  Json json = Begun(wall_ms_());
  json.Key("operations").Begin('[');
  for (int i = 0; i < std::min<int>(operations->operations_size(), kMostRows); ++i) {
    json.Raw(JsonOf(operations->operations(i)));
  }
  json.End(']').Key("operationsTotal").Number(operations->operations_size());
  json.Key("rollouts").Begin('[');
  for (const auto& rollout : rollouts->rollouts()) json.Raw(JsonOf(rollout));
  json.End(']').Key("maintenances").Begin('[');
  for (const auto& maintenance : maintenances->maintenances()) json.Raw(JsonOf(maintenance));
  return json.End(']').End('}').Take();
}

// The newest ones that fit, oldest first. What is kept is the log of this process in memory.
ConsoleApi::Answer ConsoleApi::Events(Parameters& parameters) {
  const std::string app = parameters.Text("app");
  const std::string server = parameters.Text("server");
  const std::string shard = parameters.Text("shard");
  uint64_t cursor = parameters.Number("after", 0, SIZE_MAX, 0);
  const size_t limit = parameters.Number("limit", 1, kMostRows, 100);
  if (absl::Status wrong = parameters.Done(); !wrong.ok()) return wrong;
  std::vector<v1::ControlEvent> found;
  for (v1::ControlEvent& event : source_.Events(&cursor)) {
    if (Concerns(event, app, server, shard)) found.push_back(std::move(event));
  }
  Json json = Begun(wall_ms_());
  json.Key("after").Number(static_cast<double>(cursor)).Key("events").Begin('[');
  for (size_t i = found.size() - std::min(found.size(), limit); i < found.size(); ++i) {
    json.Raw(JsonOf(found[i]));
  }
  return json.End(']').End('}').Take();
}

ConsoleApi::Answer ConsoleApi::WhatIf(Parameters& parameters, const std::string& body) {
  const std::string app = parameters.Required("app");
  if (absl::Status wrong = parameters.Done(); !wrong.ok()) return wrong;
  v1::ImaginedChange change;
  const auto parsed = json::JsonStringToMessage(body, &change);
  if (!parsed.ok()) {
    return absl::InvalidArgumentError(
        absl::StrCat("body: found what is no ImaginedChange in JSON (",
                     std::string(parsed.message()), "); allowed: {\"lose\": [...], ...}"));
  }
  const auto report = imagining_.Ask(app, change, wall_ms_());
  if (!report.ok()) return report.status();
  return Begun(wall_ms_()).Key("report").Raw(JsonOf(*report)).End('}').Take();
}

}  // namespace shardmanager::console
