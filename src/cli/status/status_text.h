// The answer to `shardctl status`, for people. Pure.
#pragma once

#include <string>

#include "shardmanager/v1/admin.pb.h"

namespace shardmanager::cli {

// `asked`: the answer of the process at `where`. `leader`: that of the leader, if another process
// leads and answers; else null.
std::string StatusText(const v1::GetStatusResponse& asked, const v1::GetStatusResponse* leader,
                       const std::string& where, bool colour);

}  // namespace shardmanager::cli
