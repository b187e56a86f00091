#include "orchestrator/state/budgets.h"

namespace shardmanager::orchestrator {

void Budgets::Adopt(const v1::AppSpec& spec) {
  const auto of = [&](Cause cause) -> Budget& { return limits_[Index(cause)]; };
  const v1::MoveLimits& moves = spec.moves();
  const v1::FailoverPolicy& failover = spec.failover();
  of(Cause::kBalance) = {moves.max_concurrent(), moves.max_concurrent_per_server()};
  of(Cause::kDrain) = {moves.drain().max_concurrent(), moves.drain().max_concurrent_per_server()};
  of(Cause::kFailover) = {failover.max_concurrent(), failover.max_concurrent_per_server()};
}

uint32_t Budgets::under_way(Cause cause, ServerIndex server) const {
  return server.index() < of_server_.size() ? of_server_[server.index()][Index(cause)] : 0;
}

void Budgets::Count(const Replica& replica, int change) {
  total_[Index(replica.cause)] += static_cast<uint32_t>(change);
  CountAt(replica.server, replica.cause, change);
  if (IsMove(replica.cause)) CountAt(replica.origin, replica.cause, change);
}

void Budgets::CountAt(ServerIndex server, Cause cause, int change) {
  if (server.index() >= of_server_.size()) of_server_.resize(server.index() + 1);
  of_server_[server.index()][Index(cause)] += static_cast<uint32_t>(change);
}

}  // namespace shardmanager::orchestrator
