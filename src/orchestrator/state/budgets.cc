#include "orchestrator/state/budgets.h"

#include <algorithm>

namespace shardmanager::orchestrator {

void Budgets::Adopt(const v1::AppSpec& spec) {
  const auto of = [&](Cause cause) -> Budget& { return limits_[Index(cause)]; };
  const v1::MoveLimits& moves = spec.moves();
  const v1::FailoverPolicy& failover = spec.failover();
  of(Cause::kBalance) = {moves.max_concurrent(), moves.max_concurrent_per_server()};
  of(Cause::kDrain) = {moves.drain().max_concurrent(), moves.drain().max_concurrent_per_server()};
  of(Cause::kFailover).per_server = failover.max_concurrent_per_server();
  most_failovers_ = failover.max_concurrent();
  CapFailovers(failover_cap_);
}

void Budgets::CapFailovers(uint32_t most) {
  failover_cap_ = most;
  const bool none = failover_cap_ == 0 || most_failovers_ == 0;
  limits_[Index(Cause::kFailover)].total =
      none ? std::max(failover_cap_, most_failovers_) : std::min(failover_cap_, most_failovers_);
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
