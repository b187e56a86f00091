#include "console/console_api.h"

#include <google/protobuf/util/json_util.h>

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "console/json.h"
#include "history/folding.h"

namespace shardmanager::console {
namespace {

namespace json = google::protobuf::util;

constexpr size_t kMostRows = 1'000;
constexpr size_t kMostServers = 10'000;
constexpr size_t kMostEvents = 200;
constexpr size_t kUsualEvents = 100;
constexpr int64_t kHourMs = 3'600'000;

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

// So that who asks again within it asks the same.
int64_t MinuteOf(int64_t ms) { return ms / 60'000 * 60'000; }

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
      {"history", &ConsoleApi::History}};
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

ConsoleApi::Answer ConsoleApi::History(Parameters& parameters) {
  v1::GetHistoryRequest request;
  request.set_app(parameters.Text("app"));
  request.set_server(parameters.Text("server"));
  request.set_shard(parameters.Text("shard"));
  request.set_operation(parameters.Text("operation"));
  if (parameters.OneOf("kind", {"all", "changes"}) == "changes") {
    request.add_kinds(std::string(history::kChangeKind));
    request.add_kinds(std::string(history::kDeniedKind));
  }
  const std::string since = parameters.OneOf("since", {"hour", "day", "all"});
  if (since == "hour") request.set_since_ms(MinuteOf(wall_ms_() - kHourMs));
  if (since == "day") request.set_since_ms(MinuteOf(wall_ms_() - 24 * kHourMs));
  request.set_limit(
      static_cast<uint32_t>(parameters.Number("limit", 1, kMostEvents, kUsualEvents)));
  request.set_page_token(parameters.Text("page_token"));
  if (absl::Status wrong = parameters.Done(); !wrong.ok()) return wrong;
  const auto history = views_.HistoryOf(request);
  if (!history.ok()) return history.status();
  Json json = Begun((*history)->taken_ms);
  return json.Key("history").Raw(JsonOf((*history)->history)).End('}').Take();
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
