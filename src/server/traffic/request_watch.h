// What the hooks of ServerOptions see of one request (observe.h).
#pragma once

#include <grpcpp/server_context.h>

#include <memory>
#include <optional>
#include <string_view>

#include "base/time.h"
#include "shardmanager/observe.h"
#include "shardmanager/server.h"

namespace shardmanager::server_internal {

// One request that was admitted, until its admission goes. Used by one thread at a time, but for
// Ended(), which comes before the last of these threads lets it go.
class Watched {
 public:
  Watched(const ServerOptions& options, const grpc::ServerContextBase& context,
          const Admission& admission);
  ~Watched();
  void Ended(const grpc::Status& status);

 private:
  const ServerOptions& options_;
  const TimePoint begin_;
  std::unique_ptr<Span> span_;
  std::optional<grpc::StatusCode> code_;
};

// The hooks of one server. Thread-safe.
class RequestHooks {
 public:
  // `options` must outlive this.
  explicit RequestHooks(const ServerOptions& options) : options_(options) {}

  // False: nothing has to be told.
  bool any() const { return options_.metrics != nullptr || options_.tracer != nullptr; }
  // A request has this answer. Returns what watches it, if it was admitted.
  std::shared_ptr<Watched> Answered(const grpc::ServerContextBase& context,
                                    const Admission& admission) const;
  // A request was sent on to the new owner.
  void Forwarded() const { Count("forwarded"); }

 private:
  // As metric::kServerRequests has it.
  void Count(std::string_view outcome) const;

  const ServerOptions& options_;
};

}  // namespace shardmanager::server_internal
