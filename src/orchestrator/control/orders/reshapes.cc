#include "orchestrator/control/orders/reshapes.h"

#include <utility>

#include "absl/strings/str_cat.h"
#include "model/drain.h"
#include "model/keys/reshape.h"
#include "model/pause.h"
#include "orchestrator/control/orders/recording.h"
#include "orchestrator/control/orders/spec_edits.h"
#include "orchestrator/decide/keys/reshape_orders.h"

namespace shardmanager::orchestrator {
namespace {

using Reply = std::function<void(absl::StatusOr<v1::ReshapeShardsResponse>)>;

v1::ReshapeShardsResponse ResponseOf(const v1::Reshape& reshape) {
  v1::ReshapeShardsResponse response;
  *response.mutable_reshape() = reshape;
  return response;
}

// The applications have agreed.
void Order(const ReshapeContext& context, const v1::ReshapeShardsRequest& request,
           const Reply& reply) {
  if (absl::Status may = context.may_change(); !may.ok()) return reply(may);
  v1::Reshape ordered;
  const auto put = [&](const PartitionDriver& app, v1::StoredSpec& stored) {
    const auto reshape = PlanReshape(*app.state(), stored, request);  // things may have changed
    if (!reshape.ok()) return reshape.status();
    ordered = *reshape;
    return PutReshape(*app.state(), ordered, stored);
  };
  const auto change = EditSpecOf(context.apps, request.app(), put);
  if (!change.ok()) return reply(change.status());
  const std::string what = absl::StrCat("app ", request.app(), ", ", ReshapeText(ordered));
  const Reply recording =
      Recording(context.events, reply, {"ReshapeOrdered", what, request.who()}, context.wanted);
  context.apps.WriteSpec(
      *change,
      [recording, ordered](const absl::Status& status) {
        if (!status.ok()) return recording(status);
        recording(ResponseOf(ordered));
      },
      context.wanted);
}

}  // namespace

void AskAndOrderReshape(const ReshapeContext& context, const v1::ReshapeShardsRequest& request,
                        Reply reply) {
  if (absl::Status valid = ValidateNote("who", request.who()); !valid.ok()) return reply(valid);
  PartitionDriver* app = context.apps.Find(request.app());
  if (app == nullptr) return reply(context.apps.NoSuch(request.app()));
  if (absl::Status may = MayChangeSpec(*app); !may.ok()) return reply(may);
  if (absl::Status may = MayLookAt(request.app(), *app); !may.ok()) return reply(may);
  const auto reshape = PlanReshape(*app->state(), app->spec().stored(), request);
  if (!reshape.ok()) return reply(reshape.status());
  app->calls()->AskReshape(
      *reshape, [context, request, reply, reshape = *reshape](const absl::Status& agreed) {
        if (!agreed.ok()) return reply(agreed);
        if (request.dry_run()) return reply(ResponseOf(reshape));
        Order(context, request, reply);
      });
}

}  // namespace shardmanager::orchestrator
