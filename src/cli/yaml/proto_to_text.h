// Protobuf messages as YAML and JSON.
#pragma once

#include <google/protobuf/message.h>

#include <string>

namespace shardmanager::cli {

// The fields that are set, in the order of declaration; enum values as in
// "primary-only". ReadYaml reads it back. REQUIRES: no fields of map type.
std::string ToYaml(const google::protobuf::Message& message);

// All fields, also those that are 0 or "", for scripts that look for them; enum values
// as in "PRIMARY_ONLY", 64-bit integers as strings (protobuf's JSON mapping); but bytes, which are
// keys, in their text form (model/keys/key_text.h), which ReadYaml reads back. Ends with a newline.
std::string ToJson(const google::protobuf::Message& message);

// On one line, for streams.
std::string ToJsonLine(const google::protobuf::Message& message);

}  // namespace shardmanager::cli
