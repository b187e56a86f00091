// YAML (and JSON, which is a part of it) into protobuf messages: the same field
// names, and errors that say where, what was found and what is allowed.
//
// Enum values are written in any case, with dashes or underscores ("primary-only").
// An empty list (`goals: []`) sets the message's field "no_goals" where it has one.
// Left out of YAML on purpose: aliases (a short file could grow without bound) and
// fields of protobuf's map type. yaml-cpp's exceptions do not leave this file.
#pragma once

#include <google/protobuf/message.h>

#include <memory>
#include <string>
#include <vector>

#include "absl/status/statusor.h"

namespace shardmanager::cli {

// Larger texts are refused: a million shards take about 80 MB.
inline constexpr size_t kMostYamlBytes = size_t{256} << 20;

struct YamlDocument {
  std::unique_ptr<google::protobuf::Message> message;
  // Its place in the text, from 0; for LocateFields.
  size_t index;
};

// All documents in `text` that are not empty, at least one; `file` names the text in
// errors. Errors: INVALID_ARGUMENT with a line for each problem, at most 20:
// "<file>:<line>:<column>: <path>: found <what>; allowed: <what>".
absl::StatusOr<std::vector<YamlDocument>> ReadYaml(const std::string& text, const std::string& file,
                                                   const google::protobuf::Message& prototype);

// For each path ("key_space.shards[3].id") the place, "<file>:<line>:<column>", where
// that field stands in the document, or else the innermost field around it.
// REQUIRES: ReadYaml read `text` with the same prototype.
std::vector<std::string> LocateFields(const std::string& text, const std::string& file,
                                      const google::protobuf::Message& prototype, size_t document,
                                      const std::vector<std::string>& paths);

// `message` has a line for each problem, which begins with a path and ": found ". The same with the
// place of each: the control plane and the placer name fields by path; a person wants lines of the
// file. A line that names no field gets the name of the file.
std::string WithPlaces(const std::string& message, const std::string& text, const std::string& file,
                       const google::protobuf::Message& prototype, size_t document);

}  // namespace shardmanager::cli
