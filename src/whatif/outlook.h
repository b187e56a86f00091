// What a snapshot comes to, and how two of them differ. Pure.
#pragma once

#include "shardmanager/v1/what_if.pb.h"

namespace shardmanager::whatif {

v1::Outlook OutlookOf(const v1::AppSnapshot& snapshot);

// Fills in replicas_added, replicas_gone and primaries_changed.
void CountDifferences(const v1::AppSnapshot& before, const v1::AppSnapshot& after,
                      v1::WhatIfReport& report);

}  // namespace shardmanager::whatif
