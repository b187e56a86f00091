// Every spec there is.
#pragma once

#include "allocator/solver/specs/balance.h"            // IWYU pragma: export
#include "allocator/solver/specs/capacity.h"           // IWYU pragma: export
#include "allocator/solver/specs/company.h"            // IWYU pragma: export
#include "allocator/solver/specs/dependency.h"         // IWYU pragma: export
#include "allocator/solver/specs/group_move.h"         // IWYU pragma: export
#include "allocator/solver/specs/group_specs.h"        // IWYU pragma: export
#include "allocator/solver/specs/headroom_ratio.h"     // IWYU pragma: export
#include "allocator/solver/specs/in_use.h"             // IWYU pragma: export
#include "allocator/solver/specs/least_load.h"         // IWYU pragma: export
#include "allocator/solver/specs/move_distance.h"      // IWYU pragma: export
#include "allocator/solver/specs/overage.h"            // IWYU pragma: export
#include "allocator/solver/specs/parallel_failover.h"  // IWYU pragma: export
#include "allocator/solver/specs/place_specs.h"        // IWYU pragma: export
