// Completion scripts for shells.
#pragma once

#include <string>

namespace shardmanager::cli {

// The hidden command with which a script asks shardctl what may stand at the cursor: complete.h.
// Its arguments are the words after "shardctl"; the last one is at the cursor.
inline constexpr char kCompleteCommand[] = "__complete";

// `shell` is "bash", "zsh" or "fish"; "" for another.
std::string CompletionScript(const std::string& shell);

}  // namespace shardmanager::cli
