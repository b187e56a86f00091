// What differs between two messages, field by field, for people. Internal to
// CompareSpecs.
#pragma once

#include <google/protobuf/message.h>

#include <string>
#include <vector>

namespace shardmanager {

// Appends "<path>: <before> -> <after>" for each field whose value differs, in the
// order of declaration; an absent message counts as an empty one. Fields named in
// `skip` (paths) are left out. REQUIRES: both of one type.
void AppendFieldDifferences(const google::protobuf::Message& before,
                            const google::protobuf::Message& after, const std::string& skip,
                            std::vector<std::string>* lines);

}  // namespace shardmanager
