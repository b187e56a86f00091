// What operators are answered when what they asked for is written, or was so before.
#pragma once

#include <algorithm>
#include <cstdint>
#include <functional>
#include <string>
#include <utility>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "model/text.h"
#include "orchestrator/control/led_apps.h"
#include "orchestrator/control/orders/drain_scopes.h"
#include "orchestrator/control/orders/spec_edits.h"
#include "orchestrator/shell/change_outcome.h"
#include "shardmanager/v1/types.pb.h"

namespace shardmanager::orchestrator {

// Replies with the response if the write succeeded, else with its error.
template <typename Response>
LedApps::Done AnswerWith(const std::function<void(absl::StatusOr<Response>)>& reply,
                         Response response) {
  return [reply, response = std::move(response)](absl::Status status) {
    if (!status.ok()) return reply(status);
    reply(response);
  };
}

// Replies when the change is durable, or why it is not made.
template <typename Response>
void WriteEdit(LedApps& apps, const absl::StatusOr<LedApps::SpecToWrite>& change,
               const std::function<void(absl::StatusOr<Response>)>& reply, const Wanted& wanted,
               Response response = {}) {
  if (!change.ok()) return reply(change.status());
  apps.WriteSpec(*change, AnswerWith(reply, std::move(response)), wanted);
}

// The answer to an order that was given before.
template <typename Response>
Response Already(int64_t since_ms, const std::string& by, const Wanted& wanted, Response response) {
  wanted.NoteNone();
  response.set_already_since_ms(std::max<int64_t>(1, since_ms));
  response.set_already_by(by);
  return response;
}

// But for who asks, when, and by which call.
template <typename Order>
bool SameOrder(Order one, Order other) {
  for (Order* order : {&one, &other}) {
    order->clear_who();
    order->clear_since_ms();
    if constexpr (requires { order->clear_operation(); }) order->clear_operation();
  }
  return one.SerializeAsString() == other.SerializeAsString();
}

// The drain, as all apps of `edits` have it already; null: one of them has not.
inline const v1::Drain* SameDrain(const LedApps& apps, const SpecEdits& edits,
                                  const v1::Drain& drain) {
  const v1::Drain* first = nullptr;
  for (const LedApps::SpecToWrite& edit : edits.specs) {
    const PartitionDriver* app = apps.Find(edit.spec.spec().name());
    const v1::Drain* before =
        app == nullptr ? nullptr : FindDrain(drain.scope(), app->spec().stored());
    if (before == nullptr || !SameOrder(*before, drain)) return nullptr;
    if (first == nullptr) first = before;
  }
  return first;
}

// Replies with the apps that operators are told of.
template <typename Response>
void WriteEdits(LedApps& apps, const SpecEdits& edits,
                const std::function<void(absl::StatusOr<Response>)>& reply, const Wanted& wanted) {
  Response response;
  response.mutable_apps()->Assign(edits.apps.begin(), edits.apps.end());
  for (const v1::DrainedApp& app : edits.apps) {
    wanted.NoteConsequence(absl::StrCat(
        "it is about ", shardmanager::Counted(app.replicas(), "replica"), " on ",
        shardmanager::Counted(app.servers(), "server"), " of app ", Quoted(app.app())));
  }
  apps.WriteSpecs(edits.specs, AnswerWith(reply, std::move(response)), wanted);
}

}  // namespace shardmanager::orchestrator
