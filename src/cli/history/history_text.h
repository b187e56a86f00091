// What is kept of the past, as people read it. Pure.
#pragma once

#include <string>

#include "shardmanager/v1/admin.pb.h"

namespace shardmanager::cli {

// The event, as `watch` shows it, and a line for each thing that it changed.
std::string HistoryLines(const v1::ControlEvent& event, bool colour);
// Who has kept it, since when, and what is missing.
std::string HistoryNotes(const v1::GetHistoryResponse& history);

}  // namespace shardmanager::cli
