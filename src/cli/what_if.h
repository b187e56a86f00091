// What `shardctl simulate` shows. Pure.
#pragma once

#include <string>

#include "shardmanager/v1/what_if.pb.h"

namespace shardmanager::cli {

// "lose region eu-west; 4 servers join in eu-west". Nothing: "none".
std::string ChangeText(const v1::ImaginedChange& change);
// Before, after and the difference, as a table with a few lines above it.
std::string WhatIfText(const v1::AppSnapshot& snapshot, const v1::ImaginedChange& change,
                       const v1::WhatIfReport& report, bool colour);

std::string CapacityText(const v1::AppSnapshot& snapshot, const v1::CapacityQuestion& question,
                         const v1::CapacityReport& report, bool colour);

}  // namespace shardmanager::cli
