// How a record becomes a znode's bytes and back.
#pragma once

#include <string>
#include <string_view>

#include "absl/status/status.h"
#include "google/protobuf/message_lite.h"

namespace shardmanager {

// The newest record format this build writes and understands.
inline constexpr uint32_t kFormatVersion = 1;
// A reader refuses records that claim more than this, in bytes.
inline constexpr size_t kMaxRecordBytes = 64u << 20;

// Serialized, compressed with zstd when that pays, with version and checksum.
std::string Seal(const google::protobuf::MessageLite& record);

// Fills `record`. DATA_LOSS: truncated, checksum mismatch, not ours.
// UNIMPLEMENTED: written by a newer version (named in the message).
// `record` is unspecified after an error.
absl::Status Open(std::string_view bytes, google::protobuf::MessageLite* record);

}  // namespace shardmanager
