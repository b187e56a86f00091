// Scalars of YAML into fields of protobuf messages. Internal to the YAML reader.
#pragma once

#include <google/protobuf/descriptor.h>
#include <google/protobuf/message.h>

#include <string>

#include "cli/yaml/yaml_events.h"

namespace shardmanager::cli {

// Sets the field, or adds to it if it is repeated. False: the text is no such value,
// and nothing is changed. REQUIRES: the field is no message, and there is a text.
bool PutScalar(google::protobuf::Message& message, const google::protobuf::FieldDescriptor& field,
               const YamlScalar& scalar);

// How a person recognizes it. Example: "!u16 "70000"", or "the number 4 without quotes".
std::string FoundText(const google::protobuf::FieldDescriptor& field, const YamlScalar& scalar);

// What may stand in the field, for people. Example: "a whole number from 0 to
// 4294967295". For one item of the field if it is repeated.
std::string AllowedValues(const google::protobuf::FieldDescriptor& field);

// The names of a message's fields.
std::vector<std::string> FieldNames(const google::protobuf::Descriptor& type);

}  // namespace shardmanager::cli
