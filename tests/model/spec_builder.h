// Specs for tests, from protobuf's text format.
#pragma once

#include <google/protobuf/text_format.h>

#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "gtest/gtest.h"
#include "model/spec/spec_validation.h"
#include "shardmanager/v1/app_spec.pb.h"

namespace shardmanager {

inline v1::AppSpec SpecFromText(const std::string& text) {
  v1::AppSpec spec;
  EXPECT_TRUE(google::protobuf::TextFormat::ParseFromString(text, &spec)) << text;
  return spec;
}

// A valid spec but for what `more` sets: an app with two shards, cut at "m".
inline v1::AppSpec SpecWith(const std::string& more) {
  v1::AppSpec spec = SpecFromText(R"(
    name: "kv"
    key_space { split_points: "m" }
    replication { strategy: SECONDARY_ONLY })");
  EXPECT_TRUE(google::protobuf::TextFormat::MergeFromString(more, &spec)) << more;
  return spec;
}

// A valid spec but for its key space.
inline v1::AppSpec SpecWithKeySpace(const std::string& key_space) {
  return SpecFromText(absl::StrCat("name: 'kv' replication { strategy: PRIMARY_ONLY } key_space { ",
                                   key_space, " }"));
}

inline std::vector<std::string> ProblemsOf(const v1::AppSpec& spec) {
  std::vector<std::string> lines;
  for (const SpecProblem& problem : ValidateSpec(spec)) lines.push_back(problem.ToString());
  return lines;
}

}  // namespace shardmanager
