// Scalars of YAML into fields of protobuf messages. Internal to the YAML reader.
#pragma once

#include <google/protobuf/descriptor.h>
#include <google/protobuf/message.h>

#include <string>

namespace shardmanager::cli {

// Sets the field, or adds to it if it is repeated. False: `text` is no such value,
// and nothing is changed. REQUIRES: the field is no message.
bool PutScalar(google::protobuf::Message& message, const google::protobuf::FieldDescriptor& field,
               const std::string& text);

// What may stand in the field, for people. Example: "a whole number from 0 to
// 4294967295". For one item of the field if it is repeated.
std::string AllowedValues(const google::protobuf::FieldDescriptor& field);

// The names of a message's fields.
std::vector<std::string> FieldNames(const google::protobuf::Descriptor& type);

}  // namespace shardmanager::cli
