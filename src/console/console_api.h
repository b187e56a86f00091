// The console's data, as JSON: /api/v1/... Only a leader with proof answers, so that a page never
// shows what another process has changed meanwhile. Nothing is changed by it.
//
//   status                          of this process; answers always
//   apps, app?app=                  AppStatus of admin.proto, without the shards of the spec
//   servers?app=                    ServerStatus of each
//   shards?app=&filter=&state=&server=&region=&sort=&order=&offset=&limit=   rows (shard_rows.h)
//   shard?app=&shard=               ExplainShardResponse
//   operations?app=                 container operations, rollouts and maintenances
//   history?app=&server=&shard=&operation=&kind=&since=&limit=&page_token=
//                                   GetHistoryResponse: the newest that fit, the newest last.
//                                   kind: all, changes; since: hour, day, all; page_token: as there
//   whatif?app=                     POST: ImaginedChange; answers WhatIfReport without the
//   placement
//
// Errors: {"error": "limit: found \"x\"; allowed: 1 to 1000"}, and of one that does not lead
// "leader": where the leader answers shardctl.
#pragma once

#include <functional>
#include <string>

#include "absl/status/statusor.h"
#include "console/imagining.h"
#include "console/parameters.h"
#include "console/source.h"
#include "console/views.h"
#include "runtime/http_server.h"

namespace shardmanager::console {

// Thread-safe.
class ConsoleApi {
 public:
  struct Clocks {
    std::function<TimePoint()> now;
    std::function<int64_t()> wall_ms;
  };
  // `source` must outlive this.
  ConsoleApi(Source& source, const Clocks& clocks);

  // `name`: what stands after /api/v1/.
  HttpResponse Get(const std::string& name, const HttpRequest& request);
  HttpResponse Post(const std::string& name, const HttpRequest& request);

 private:
  using Answer = absl::StatusOr<std::string>;  // JSON

  HttpResponse Respond(const Answer& answer);

  Answer Status();
  Answer Apps(Parameters& parameters);
  Answer App(Parameters& parameters);
  Answer Servers(Parameters& parameters);
  Answer Shards(Parameters& parameters);
  Answer Shard(Parameters& parameters);
  Answer Operations(Parameters& parameters);
  Answer History(Parameters& parameters);
  Answer WhatIf(Parameters& parameters, const std::string& body);

  Source& source_;
  const std::function<int64_t()> wall_ms_;
  Views views_;
  Imagining imagining_;
};

}  // namespace shardmanager::console
