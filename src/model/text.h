// Values as people read them: in problems, differences and tables. Pure.
#pragma once

#include <google/protobuf/generated_enum_reflection.h>

#include <string>
#include <string_view>

namespace shardmanager {

// Printable UTF-8 as it is; control characters, quotes, backslashes and bytes
// that are not UTF-8 escaped as in C ("\n", "\x9b"). Never more than one line, and
// never a terminal's escape sequence.
std::string Escaped(std::string_view bytes);

// Escaped, but for quotes and backslashes: for sentences.
std::string Printable(std::string_view bytes);

// Bytes of the longest prefix that is well-formed UTF-8.
size_t ValidUtf8Bytes(std::string_view bytes);

// Escaped, between double quotes, shortened with "..." past 60 bytes.
std::string Quoted(std::string_view bytes);

// ["start", "end"), with "first key" and "last key" for the open ends.
// Example: ["m", last key].
std::string RangeText(std::string_view start, std::string_view end);
// The same of hashes of keys (KeySpace.hash_keys). Example: hash [8, c), or hash [c, end].
std::string HashRangeText(std::string_view start, std::string_view end);

// An enum value as it is written in YAML and shown in tables: lower case, dashes.
// Example: PRIMARY_ONLY is "primary-only". A number that has no name: "7".
std::string EnumLabel(const google::protobuf::EnumDescriptor& type, int number);

template <typename Enum>
std::string EnumLabel(Enum value) {
  return EnumLabel(*google::protobuf::GetEnumDescriptor<Enum>(), static_cast<int>(value));
}

// The labels of all values but 0 ("unspecified"), separated by ", ".
std::string EnumLabels(const google::protobuf::EnumDescriptor& type);

// "1 shard", "3 shards".
std::string Counted(size_t count, const std::string& noun);

// Milliseconds since 1970, in UTC, as our logs write it: "2026-03-01T12:00:00.123Z".
std::string TimeText(int64_t time_ms);

}  // namespace shardmanager
