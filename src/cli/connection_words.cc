#include "cli/connection_words.h"

#include <vector>

#include "absl/strings/str_cat.h"
#include "base/endpoint.h"
#include "cli/time_text.h"
#include "runtime/operation_id.h"

namespace shardmanager::cli {
namespace {

std::string CheckOperation(const std::string& text) {
  return std::string(CheckOperationId(text).message());
}

}  // namespace

std::string CheckEndpoints(const std::string& text, const std::string& example) {
  const std::vector<std::string> endpoints = EndpointList(text);
  if (endpoints.empty()) return WhatIsWrongWithEndpoint(text);
  for (const std::string& endpoint : endpoints) {
    const std::string wrong = WhatIsWrongWithEndpoint(endpoint);
    if (!wrong.empty()) return absl::StrCat(wrong, ", as in ", example);
  }
  return "";
}

std::string CheckTimeout(const std::string& text) {
  const auto timeout = ParseAge(text);
  if (timeout.has_value() && timeout->count() > 0) return "";
  return absl::StrCat("found \"", text, "\"; allowed: a time such as 500ms, 10s or 2m");
}

void AddConnection(CLI::App& cli, ConnectionWords& words) {
  cli.add_option(
         "-s,--server", words.server,
         "Where the control plane answers; of several, the first that can be reached is asked")
      ->envname("SHARDCTL_SERVER")
      ->check(CLI::Validator([example = words.server](
                                 const std::string& text) { return CheckEndpoints(text, example); },
                             ""))
      ->type_name("HOST:PORT[,...]")
      ->capture_default_str();
  cli.add_option("--timeout", words.timeout, "How long to wait for one answer")
      ->check(CLI::Validator(CheckTimeout, ""))
      ->type_name("TIME")
      ->capture_default_str();
  cli.add_option(
         "--operation-id", words.operation,
         "Of a change: what follows from it has this id in all logs and in the history (a new "
         "one); as in INC-4711")
      ->check(CLI::Validator(CheckOperation, ""))
      ->type_name("ID");
  security::AddFlags(cli, words.security);
}

}  // namespace shardmanager::cli
