// Calls end soon when their connection is dead though nobody said so: the other host is gone, or
// the network between drops what is sent. Without it a call waits for its deadline.
#pragma once

#include <grpcpp/grpcpp.h>

#include "base/time.h"

namespace shardmanager::wire {

struct Keepalive {
  Duration ping_after;  // so long nothing was heard on a connection with calls
  Duration give_up;     // so long the ping was not answered: the connection is closed
};

// Who takes connections accepts pings that come no more often than this; gRPC's own limit is
// five minutes, after which it closes the connection.
constexpr Duration kQuickestPings = Seconds(5);

namespace keepalive_internal {

inline int Ms(Duration d) { return static_cast<int>(d / Milliseconds(1)); }

}  // namespace keepalive_internal

// Of the side that connects.
inline void SetKeepalive(const Keepalive& keepalive, grpc::ChannelArguments& arguments) {
  arguments.SetInt(GRPC_ARG_KEEPALIVE_TIME_MS, keepalive_internal::Ms(keepalive.ping_after));
  arguments.SetInt(GRPC_ARG_KEEPALIVE_TIMEOUT_MS, keepalive_internal::Ms(keepalive.give_up));
  // A call may wait for hours without sending anything.
  arguments.SetInt(GRPC_ARG_HTTP2_MAX_PINGS_WITHOUT_DATA, 0);
}

// Of the side that is connected to.
inline void AllowPings(grpc::ServerBuilder& builder) {
  builder.AddChannelArgument(GRPC_ARG_HTTP2_MIN_RECV_PING_INTERVAL_WITHOUT_DATA_MS,
                             keepalive_internal::Ms(kQuickestPings));
}
inline void SetKeepalive(const Keepalive& keepalive, grpc::ServerBuilder& builder) {
  AllowPings(builder);
  builder.AddChannelArgument(GRPC_ARG_KEEPALIVE_TIME_MS,
                             keepalive_internal::Ms(keepalive.ping_after));
  builder.AddChannelArgument(GRPC_ARG_KEEPALIVE_TIMEOUT_MS,
                             keepalive_internal::Ms(keepalive.give_up));
}

}  // namespace shardmanager::wire
