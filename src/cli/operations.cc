#include "cli/operations.h"

#include <chrono>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "cli/time_text.h"
#include "model/text.h"

namespace shardmanager::cli {
namespace {

constexpr int64_t kSilentMs = 30'000;

std::string Age(int64_t ms) { return AgeText(std::chrono::milliseconds(ms)); }

// Why it does not go on, if so.
std::string ReasonOf(const v1::OperationStatus& operation) {
  if (!operation.delays().empty()) return Shown(operation.delays(0).message());
  if (operation.silent_ms() < 0) return "its manager was not heard since the leader took over";
  if (operation.silent_ms() > kSilentMs) {
    return absl::StrCat("its manager was not heard for ", Age(operation.silent_ms()));
  }
  return "";
}

}  // namespace

std::string OperationsTable(const v1::GetOperationsResponse& response, Style style) {
  const bool several_apps = HasSeveralApps(response.operations());
  std::vector<std::string> header;
  if (several_apps) header.push_back("APP");
  for (const char* name : {"ID", "SERVER", "KIND", "STATE", "FOR"}) header.push_back(name);
  if (style.wide) {
    for (const char* name : {"MANAGER", "LIFE"}) header.push_back(name);
  }
  header.push_back("REASON");
  Table table(std::move(header));
  for (const v1::OperationStatus& operation : response.operations()) {
    std::vector<Cell> row;
    if (several_apps) row.push_back({Shown(operation.app())});
    row.push_back({Shown(operation.id())});
    row.push_back({Shown(operation.server())});
    row.push_back({EnumLabel(operation.kind())});
    row.push_back({Shown(operation.state())});
    row.push_back({Age(operation.since_ms())});
    if (style.wide) {
      row.push_back({Shown(operation.manager())});
      row.push_back({absl::StrCat(operation.incarnation())});
    }
    row.push_back({ReasonOf(operation)});
    table.AddRow(std::move(row));
  }
  return table.Render(style.colour, "");
}

std::string DescribeOperation(const v1::OperationStatus& operation) {
  std::string text = absl::StrCat("Operation:  ", Shown(operation.id()), "\n");
  const auto add = [&](const char* label, const std::string& value) {
    if (!value.empty()) absl::StrAppend(&text, label, value, "\n");
  };
  add("App:        ", Shown(operation.app()));
  add("Manager:    ",
      absl::StrCat(Shown(operation.manager()), ", ",
                   operation.silent_ms() < 0
                       ? "not heard since the leader took over"
                       : absl::StrCat("heard ", Age(operation.silent_ms()), " ago")));
  add("Kind:       ", EnumLabel(operation.kind()));
  add("Server:     ", absl::StrCat(Shown(operation.server()), ", life ", operation.incarnation()));
  add("Why:        ", Shown(operation.reason()));
  add("State:      ", absl::StrCat(Shown(operation.state()), " for ", Age(operation.since_ms()),
                                   operation.forced() ? ", approved by an operator" : ""));
  if (operation.delays().empty()) return text;
  text += "Waits for:\n";
  for (const v1::OperationDelay& delay : operation.delays()) {
    absl::StrAppend(&text, "  ", Shown(delay.reason()), ": ", Shown(delay.message()), "\n");
    if (!delay.ends_when().empty()) {
      absl::StrAppend(&text, "    ends when: ", Shown(delay.ends_when()), "\n");
    }
    if (!delay.servers().empty()) {
      absl::StrAppend(&text, "    servers: ", Shown(absl::StrJoin(delay.servers(), ", ")), "\n");
    }
    if (!delay.shard().empty()) {
      absl::StrAppend(&text, "    see: shardctl explain ", Shown(operation.app()), " ",
                      Shown(delay.shard()), "\n");
    }
  }
  return text;
}

}  // namespace shardmanager::cli
