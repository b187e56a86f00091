// What `shardctl place` shows of a plan. Pure.
#pragma once

#include <string>

#include "shardmanager/v1/placer.pb.h"

namespace shardmanager::cli {

// Tables of the metrics and the rules, before and after, and a line that sums it up.
std::string PlanText(const v1::PlaceResponse& plan, bool colour);

// One move a line: "- s1  a" for the place that is left, "+ s1  b" for the one that is
// taken.
std::string MovesText(const v1::PlaceResponse& plan, bool colour);

// The problem with its shards where the plan has them.
v1::PlacementProblem After(const v1::PlacementProblem& problem, const v1::PlaceResponse& plan);

// "[#####     ]  52%", without a line's end.
std::string ProgressText(double part);

}  // namespace shardmanager::cli
