#include "router/server_report.h"

#include <string>
#include <utility>

namespace shardmanager::router {

std::optional<v1::ReportServersRequest> ServerReporter::Next(const ShardMap& map) {
  v1::ReportServersRequest trouble;
  v1::ReportServersRequest well;
  size_t used = 0;
  map.ForEachServer([&](const MappedServer& server) {
    if (!server.health->TakeUsed()) return;
    ++used;
    const bool in_trouble = server.health->in_trouble();
    if (!in_trouble && !suspects_.contains(server.name)) return;
    v1::ServerSeen& seen = *(in_trouble ? trouble : well).add_servers();
    seen.set_server(server.name);
    in_trouble ? seen.set_in_trouble(1) : seen.set_well(1);
    if (in_trouble) seen.set_problem(std::string(ToString(server.health->problem())));
  });
  const auto troubled = static_cast<size_t>(trouble.servers_size());
  const bool own_network = troubled > 1 && troubled * 4 > used;
  if (own_network) trouble.clear_servers();
  if (used == 0 && !std::exchange(said_something_, false)) return std::nullopt;
  trouble.mutable_servers()->MergeFrom(well.servers());
  said_something_ = used > 0;
  return trouble;
}

}  // namespace shardmanager::router
