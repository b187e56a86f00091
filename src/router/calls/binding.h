// A key bound to the server that holds it now, and the streams to there.
#pragma once

#include <grpcpp/client_context.h>

#include <memory>
#include <string>

#include "router/calls/call_state.h"
#include "router/calls/sending.h"
#include "wire/channel_pool.h"

namespace shardmanager::router_internal {

// Immutable.
class Binding {
 public:
  Binding(AppRouter& app, const CallOptions& options, const Route& route,
          std::shared_ptr<wire::ServerChannel> channel)
      : app_(app),
        options_(options),
        route_(route),
        shard_(route.map->layout().id(route.shard)),
        channel_(std::move(channel)) {}

  AppRouter& app() const { return app_; }
  const CallOptions& options() const { return options_; }
  const Route& route() const { return route_; }
  const std::string& shard() const { return shard_; }

 private:
  AppRouter& app_;
  const CallOptions options_;
  const Route route_;
  const std::string shard_;
  const std::shared_ptr<wire::ServerChannel> channel_;  // not the last to go, see ChannelPool
};

class StreamState {
 public:
  explicit StreamState(std::shared_ptr<const Binding> binding);
  ~StreamState();

  grpc::ClientContext& context() { return *context_; }
  const Route& route() const { return binding_->route(); }
  // It has ended.
  bool ShouldReopen(const grpc::Status& status);
  // For whoever reads the error of the next one.
  const std::string& end() const { return end_; }

 private:
  const std::shared_ptr<const Binding> binding_;
  std::unique_ptr<grpc::ClientContext> context_;
  AppRouter::InFlight in_flight_;
  HeaderForm form_ = HeaderForm::kSeveral;
  bool registered_ = false;
  bool superseded_ = false;
  std::string end_;
};

}  // namespace shardmanager::router_internal
