// What would become of an app if something happened: the real core of the orchestrator plays it, on
// a copy of the app's state. Pure, and deterministic.
#pragma once

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "shardmanager/v1/what_if.pb.h"

namespace shardmanager::whatif {

// INVALID_ARGUMENT: a field of the snapshot or of the change that is wrong, "<path>: found <x>;
// allowed: <y>", a line each; or a change that concerns no server.
absl::StatusOr<v1::WhatIfReport> Simulate(v1::AppSnapshot snapshot,
                                          const v1::ImaginedChange& change);

}  // namespace shardmanager::whatif
