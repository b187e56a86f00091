// The rules of AppSpec.key_space. Internal to the validation.
#pragma once

#include "model/spec/spec_names.h"
#include "model/spec/spec_problems.h"
#include "shardmanager/v1/app_spec.pb.h"

namespace shardmanager {

// O(n log n) for n shards.
void CheckKeySpace(const v1::AppSpec& spec, const KnownRegions& regions, SpecProblems* problems);

}  // namespace shardmanager
