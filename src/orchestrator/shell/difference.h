// What a change comes to: how a record was, and how it is.
#pragma once

#include <google/protobuf/message.h>

#include <cstdint>
#include <mutex>
#include <string>
#include <string_view>
#include <vector>

namespace shardmanager::orchestrator {

// A line for each field, or element of a repeated field, that `before` has and `after` has not
// ("- ..."), and the other way round ("+ ..."), by the field's name. Of the field `left_out`
// nothing is said. Elements are not said again that only stand elsewhere. Long values are cut, and
// so are many lines; the last one says so.
std::vector<std::string> DifferenceOf(const google::protobuf::Message& before,
                                      const google::protobuf::Message& after,
                                      std::string_view left_out = "");

// That of one change, for who records that it was made, or asks what it would come to. Thread-safe.
class Difference {
 public:
  // kPreview: the change is not made.
  enum class Purpose : uint8_t { kRecord, kPreview };
  explicit Difference(Purpose purpose = Purpose::kRecord) : purpose_(purpose) {}

  bool is_preview() const { return purpose_ == Purpose::kPreview; }
  void Add(const std::vector<std::string>& lines);
  // All was so before: there is nothing to record.
  void SetNone();
  std::vector<std::string> lines() const;
  bool is_none() const;
  // What follows from the change, in a sentence. Kept of previews only.
  void AddConsequence(std::string sentence);
  std::vector<std::string> consequences() const;

 private:
  const Purpose purpose_;
  mutable std::mutex mutex_;
  std::vector<std::string> lines_;
  std::vector<std::string> consequences_;
  bool is_none_ = false;
};

}  // namespace shardmanager::orchestrator
