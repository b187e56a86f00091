#include "orchestrator/shell/difference.h"

#include <google/protobuf/text_format.h>

#include <functional>
#include <set>
#include <utility>

#include "absl/strings/str_cat.h"

namespace shardmanager::orchestrator {
namespace {

using google::protobuf::FieldDescriptor;
using google::protobuf::Message;
using google::protobuf::TextFormat;

constexpr size_t kMostLines = 50;
constexpr size_t kMostBytesOfLine = 300;
// A larger one is not written out: preferences of regions may name a million shards.
constexpr size_t kMostBytesOfValue = 10'000;

std::string Cut(std::string text) {
  if (text.size() <= kMostBytesOfLine) return text;
  size_t end = kMostBytesOfLine;
  while (end > 0 && (static_cast<unsigned char>(text[end]) & 0xC0U) == 0x80U) --end;
  return absl::StrCat(text.substr(0, end), "... (", text.size(), " bytes)");
}

// `index`: of a repeated field, else -1.
std::string ValueText(const Message& of, const FieldDescriptor& field, int index) {
  if (field.cpp_type() != FieldDescriptor::CPPTYPE_MESSAGE) {
    std::string text;
    TextFormat::PrintFieldValueToString(of, &field, index, &text);
    return text;
  }
  const Message& value = index < 0 ? of.GetReflection()->GetMessage(of, &field)
                                   : of.GetReflection()->GetRepeatedMessage(of, &field, index);
  const size_t bytes = value.ByteSizeLong();
  if (bytes <= kMostBytesOfValue) return value.ShortDebugString();
  return absl::StrCat(bytes, " bytes, of hash ",
                      absl::Hex(std::hash<std::string>()(value.SerializeAsString())));
}

std::multiset<std::string> Values(const Message& of, const FieldDescriptor& field) {
  std::multiset<std::string> values;
  const auto& reflection = *of.GetReflection();
  if (field.is_repeated()) {
    for (int i = 0; i < reflection.FieldSize(of, &field); ++i) {
      values.insert(ValueText(of, field, i));
    }
  } else if (reflection.HasField(of, &field)) {
    values.insert(ValueText(of, field, -1));
  }
  return values;
}

}  // namespace

std::vector<std::string> DifferenceOf(const Message& before, const Message& after,
                                      std::string_view left_out) {
  std::vector<std::string> lines;
  const auto& type = *before.GetDescriptor();
  for (int i = 0; i < type.field_count(); ++i) {
    const FieldDescriptor& field = *type.field(i);
    if (field.name() == left_out) continue;
    std::multiset<std::string> was = Values(before, field);
    for (const std::string& is : Values(after, field)) {
      if (const auto same = was.find(is); same != was.end()) {
        was.erase(same);
      } else {
        lines.push_back(Cut(absl::StrCat("+ ", field.name(), " ", is)));
      }
    }
    for (const std::string& gone : was) {
      lines.push_back(Cut(absl::StrCat("- ", field.name(), " ", gone)));
    }
  }
  if (lines.size() > kMostLines) {
    const size_t more = lines.size() - kMostLines;
    lines.resize(kMostLines);
    lines.push_back(absl::StrCat("and ", more, " lines more"));
  }
  return lines;
}

void Difference::Add(const std::vector<std::string>& lines) {
  std::lock_guard lock(mutex_);
  lines_.insert(lines_.end(), lines.begin(), lines.end());
}

void Difference::SetNone() {
  std::lock_guard lock(mutex_);
  is_none_ = true;
}

std::vector<std::string> Difference::lines() const {
  std::lock_guard lock(mutex_);
  return lines_;
}

bool Difference::is_none() const {
  std::lock_guard lock(mutex_);
  return is_none_;
}

void Difference::AddConsequence(std::string sentence) {
  if (!is_preview()) return;
  const std::scoped_lock lock(mutex_);
  consequences_.push_back(std::move(sentence));
}

std::vector<std::string> Difference::consequences() const {
  const std::scoped_lock lock(mutex_);
  return consequences_;
}

}  // namespace shardmanager::orchestrator
