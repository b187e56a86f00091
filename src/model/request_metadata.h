// gRPC metadata that ours say beside requests and answers: the router and the server
// library on every request, the control plane to operators.
#pragma once

#include <cstddef>
#include <cstdint>

namespace shardmanager::request_metadata {

// Request: for whom it is, in one header; see request_address.h. Servers before it do not know it,
// and refuse the request as "no-shard".
inline constexpr char kTo[] = "sm-to";

// Request: the same in several headers, which all servers understand: the app and the server that
// the router means to reach (a port may have passed to another process), and the shard.
inline constexpr char kApp[] = "sm-app";
inline constexpr char kServer[] = "sm-server";
inline constexpr char kShard[] = "sm-shard";

// Request: "primary" when the router means the shard's primary. A server that holds the
// shard as a secondary refuses it, or sends it on.
inline constexpr char kRole[] = "sm-role";
inline constexpr char kPrimary[] = "primary";

// Request: the region of the client, on one request in eight: by these the control plane knows
// where a shard's requests come from.
inline constexpr char kRegion[] = "sm-region";
inline constexpr uint64_t kOneInNamesRegion = 8;

// Request: its key, on one request in 64: by these servers know which keys are asked for most.
// Longer keys are not named.
inline constexpr char kKey[] = "sm-key-bin";
inline constexpr uint64_t kOneInNamesKey = 64;
inline constexpr size_t kLongestNamedKey = 256;

// Request: the server that forwards it as the old owner of a handover, and the epoch of the
// grant that it forwards to. Such a request is not forwarded again.
inline constexpr char kForwardedBy[] = "sm-forwarded-by";
inline constexpr char kForwardedTo[] = "sm-forwarded-to";

// Trailing, with UNAVAILABLE: the request was refused and NOT processed; the value
// says why (a Refusal name). Any request may be retried after it.
inline constexpr char kRefused[] = "sm-refused";

// Trailing: the request was admitted, so its status is the application's answer.
// Without it an UNAVAILABLE may as well be of a connection that broke: to gRPC's
// clients the two look alike. With OK it says nothing, and may be missing.
inline constexpr char kAdmitted[] = "sm-admitted";
// Its value, to a request with several headers: "2" when the server that answers understands kTo.
inline constexpr char kYes[] = "1";
inline constexpr char kYesAndKnowsTo[] = "2";

// Request, of an admin call: the id by which what follows from it is found in all logs and in the
// history (runtime/operation_id.h). Without it the leader makes one up. Trailing, in the answer:
// the same.
inline constexpr char kOperation[] = "sm-operation";
// Of such an id, or that of a container operation, in a command to a server (ShardGrant.operation).
inline constexpr size_t kLongestOperation = 128;

// Trailing, with a standby's FAILED_PRECONDITION to an admin call: the "host:port" of
// the control-plane process that leads.
inline constexpr char kLeader[] = "sm-leader";

// Values of kRefused.
inline constexpr char kNotOwner[] = "not-owner";        // no grant here: the map is stale
inline constexpr char kMoving[] = "moving";             // held too long in a handover
inline constexpr char kLoading[] = "loading";           // granted, not ready yet
inline constexpr char kLeaseLapsed[] = "lease-lapsed";  // cut off from the coordination store
inline constexpr char kWrongServer[] = "wrong-server";  // another process has this port now
inline constexpr char kStopping[] = "stopping";         // shutting down
inline constexpr char kNoShard[] = "no-shard";          // the request names no shard

}  // namespace shardmanager::request_metadata
