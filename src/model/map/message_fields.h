// The fields of a serialized message one by one, without objects:
// https://protobuf.dev/programming-guides/encoding
#pragma once

#include <google/protobuf/io/coded_stream.h>

#include <cstddef>
#include <cstdint>
#include <string_view>

namespace shardmanager {

struct MessageField {
  int number = 0;
  std::string_view all;   // its bytes, tag and all
  std::string_view body;  // of a message or text: without tag and length; else empty
  bool has_body;          // is it a message or text?
};

// Calls `visit(field)` with each field in order until it returns false. False: it did, or these
// bytes are no message.
template <typename Visit>
bool ForEachField(std::string_view message, const Visit& visit) {
  enum WireType { kVarint = 0, kFixed64 = 1, kLengthDelimited = 2, kFixed32 = 5 };
  if (message.size() > INT32_MAX) return false;
  google::protobuf::io::CodedInputStream input(reinterpret_cast<const uint8_t*>(message.data()),
                                               static_cast<int>(message.size()));
  const auto position = [&input] { return static_cast<size_t>(input.CurrentPosition()); };
  while (true) {
    const size_t begin = position();
    const uint32_t tag = input.ReadTag();
    if (tag == 0) return input.ConsumedEntireMessage();
    MessageField field;
    field.number = static_cast<int>(tag >> 3);
    field.has_body = (tag & 7) == kLengthDelimited;
    bool read = false;
    uint64_t number = 0;  // or size
    switch (tag & 7) {
      case kVarint:
        read = input.ReadVarint64(&number);
        break;
      case kFixed64:
        read = input.Skip(8);
        break;
      case kFixed32:
        read = input.Skip(4);
        break;
      case kLengthDelimited:
        read = input.ReadVarint64(&number) && number <= message.size() - position();
        if (!read) break;
        field.body = message.substr(position(), number);
        read = input.Skip(static_cast<int>(number));
        break;
      default:  // groups: no field of ours is one
        break;
    }
    if (!read) return false;
    field.all = message.substr(begin, position() - begin);
    if (!visit(field)) return false;
  }
}

}  // namespace shardmanager
