// What the commands of shardctl ask of the control plane. Pure.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace shardmanager::cli {

// Commands, and a few words for what programs do. Example: "drain".
std::vector<std::string> VerbWords();
// The call, as access.proto has it; "": there is no such verb. Example: "Admin.Drain".
std::string_view CallOfVerb(std::string_view verb);

}  // namespace shardmanager::cli
