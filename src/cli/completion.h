// Completion scripts for shells.
#pragma once

#include <string>

namespace shardmanager::cli {

// Completes commands, resources, flags, and the names of apps, servers and shards, for
// which the script asks shardctl. `shell` is "bash", "zsh" or "fish"; "" for another.
std::string CompletionScript(const std::string& shell);

}  // namespace shardmanager::cli
