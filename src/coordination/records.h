// Reading stored records by kind: each must open (envelope.h), name what its path names,
// and hold no value that this build does not know.
//
// Errors of all: DATA_LOSS, damaged, or it belongs elsewhere. UNIMPLEMENTED: a newer
// version wrote it; what of it is new is named. The record is unspecified after an error.
#pragma once

#include <string_view>

#include "absl/status/status.h"
#include "coordination/paths.h"
#include "shardmanager/types.h"
#include "shardmanager/v1/stored.pb.h"

namespace shardmanager {

absl::Status OpenSpec(std::string_view bytes, const AppName& app, v1::StoredSpec* spec);
// No bytes: registered for the first time right now.
absl::Status OpenServer(std::string_view bytes, const ServerName& server, v1::ServerRecord* record);
absl::Status OpenLive(std::string_view bytes, const LiveName& live, v1::LiveRecord* record);
absl::Status OpenAssignment(std::string_view bytes, const ServerName& server,
                            v1::AssignmentRecord* record);

}  // namespace shardmanager
