// What the control plane asks of a server about a shard (shard_server.proto).
#pragma once

#include <array>
#include <cstdint>
#include <string_view>

namespace shardmanager {

enum class CommandKind : uint8_t {
  kAdd,          // serve it
  kDrop,         // let it go, and forget it
  kPrepareAdd,   // get ready; serve what the old owner forwards
  kPrepareDrop,  // let it go, and forward what comes to the new owner
};

constexpr std::string_view ToString(CommandKind kind) {
  constexpr std::array<std::string_view, 4> kNames = {"add", "drop", "prepare-add", "prepare-drop"};
  return kNames[static_cast<size_t>(kind)];
}

}  // namespace shardmanager
