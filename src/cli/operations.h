// Container operations, as tables and texts. Pure, like render.h.
#pragma once

#include <string>

#include "cli/render.h"
#include "shardmanager/v1/admin.pb.h"

namespace shardmanager::cli {

// ID SERVER KIND STATE FOR REASON; with APP when there are several; wide: MANAGER and LIFE, too.
std::string OperationsTable(const v1::GetOperationsResponse& response, Style style);

// All about one: what it is, where it stands, and each reason why it waits.
std::string DescribeOperation(const v1::OperationStatus& operation);

}  // namespace shardmanager::cli
