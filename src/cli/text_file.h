// Files that commands read and write, in full.
#pragma once

#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "cli/shardctl.h"

namespace shardmanager::cli {

struct TextFile {
  std::string name;  // as errors call it
  std::string text;
};

// "-": the terminal's standard input. INVALID_ARGUMENT: it cannot be read. Of longer
// files than YAML may be (kMostYamlBytes) only the beginning is read.
absl::StatusOr<TextFile> ReadTextFile(const std::string& name, Terminal& terminal);

// Through a file beside it, so that nobody sees half of it. UNAVAILABLE: it cannot be
// written.
absl::Status WriteTextFile(const std::string& name, const std::string& text);

}  // namespace shardmanager::cli
