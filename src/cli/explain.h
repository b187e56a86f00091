// What `shardctl explain` shows. Pure, like render.h.
#pragma once

#include <string>

#include "shardmanager/v1/admin.pb.h"

namespace shardmanager::cli {

// `one_server`: only one candidate was asked for: all that speaks for and against it is
// shown.
std::string ExplainText(const std::string& app, const v1::ExplainShardResponse& explained,
                        bool one_server, bool colour);

}  // namespace shardmanager::cli
