// How large assignment records become in the store, by the lengths of the names in them.
//
// All sizes are upper bounds: of the serialized record before compression, with the longest numbers
// that its fields can hold. So a batch within kMostBatchBytes always fits into one write.
#pragma once

#include <cstddef>
#include <string_view>

namespace shardmanager::orchestrator {

// Most bytes of a batch. The store refuses writes above kMaxWriteBytes (coordination/store.h); the
// difference is left for the check of the leader epoch.
inline constexpr size_t kMostBatchBytes = 880'000;

// Most bytes of the replicas in one server's record: nothing is added to a fuller record. Below
// kMostBatchBytes, so that a change that moves a replica has room for the other server's record,
// too.
inline constexpr size_t kMostRecordBytes = 800'000;

// One v1::AssignedReplica.
constexpr size_t ReplicaBytes(std::string_view shard) {
  constexpr size_t kHeader = 1 + 2;  // of the replica in the record: tag, length
  constexpr size_t kName = 1 + 2;    // tag, length
  constexpr size_t kRoleAndPhase = 2 + 2;
  constexpr size_t kEpoch = 1 + 10;
  constexpr size_t kMemberLife = 1 + 5;
  return kHeader + kName + shard.size() + kRoleAndPhase + kEpoch + kMemberLife;
}

// The access list of a server's record in a secure cell, of 63 bytes, whose secret is being
// replaced (coordination/access): two identities each of the control plane and of the server.
constexpr size_t AccessListBytes(std::string_view app, std::string_view server) {
  constexpr size_t kEntry = 4 + 4 + 6 + 4;   // rights, scheme, lengths
  constexpr size_t kIdentity = 63 + 1 + 29;  // "<cell>/", ":<digest>"
  constexpr size_t kControlPlane = 13;
  constexpr size_t kServer = 7 + 1;  // "server/<app>/<server>"
  return 2 * (2 * (kEntry + kIdentity) + kControlPlane + kServer + app.size() + server.size());
}

// A write of a server's record, without its replicas: path, envelope, access list and the server's
// name.
constexpr size_t EmptyRecordBytes(std::string_view app, std::string_view server) {
  // "/<cell>/apps/<app>/assignments/<bucket>/<server>", with a cell of 63 bytes and a bucket of 10.
  constexpr size_t kPath = 1 + 63 + 6 + 13 + 10 + 1;
  constexpr size_t kOperation = 64;  // kWriteOpOverheadBytes (coordination/write_check.h)
  constexpr size_t kEnvelope = 2 + 2 + 9 + 5 + 5;
  constexpr size_t kName = 1 + 2;  // tag, length
  return kPath + app.size() + server.size() + kOperation + kEnvelope + kName + server.size() +
         AccessListBytes(app, server);
}

// The check of the registration of a server that is not live. Its path is not longer than the
// assignment's.
constexpr size_t CheckBytes(std::string_view app, std::string_view server) {
  return EmptyRecordBytes(app, server);
}

}  // namespace shardmanager::orchestrator
