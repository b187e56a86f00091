#include "cli/text_file.h"

#include <cerrno>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <system_error>
#include <utility>

#include "absl/strings/str_cat.h"
#include "cli/yaml/yaml_to_proto.h"

namespace shardmanager::cli {
namespace {

absl::StatusOr<std::string> ReadAll(std::istream& in, const std::string& name) {
  std::string text;
  std::string block(size_t{1} << 16, '\0');
  // One block more than allowed is enough for the YAML reader to refuse it.
  while (text.size() <= kMostYamlBytes && in) {
    in.read(block.data(), static_cast<std::streamsize>(block.size()));
    text.append(block, 0, static_cast<size_t>(in.gcount()));
  }
  if (in.bad()) return absl::InvalidArgumentError(absl::StrCat(name, ": cannot be read"));
  return text;
}

std::string Reason() { return std::generic_category().message(errno); }

}  // namespace

absl::StatusOr<TextFile> ReadTextFile(const std::string& name, Terminal& terminal) {
  if (name == "-") {
    auto text = ReadAll(*terminal.in, "standard input");
    if (!text.ok()) return text.status();
    return TextFile{"standard input", *std::move(text)};
  }
  std::error_code error;
  if (std::filesystem::is_directory(name, error)) {
    return absl::InvalidArgumentError(absl::StrCat(name, ": found a folder; allowed: a file"));
  }
  std::ifstream in(name, std::ios::binary);
  if (!in.is_open()) {
    return absl::InvalidArgumentError(absl::StrCat(name, ": cannot be opened: ", Reason()));
  }
  auto text = ReadAll(in, name);
  if (!text.ok()) return text.status();
  return TextFile{name, *std::move(text)};
}

absl::Status WriteTextFile(const std::string& name, const std::string& text) {
  const std::string part = name + ".part";
  std::ofstream out(part, std::ios::binary | std::ios::trunc);
  if (out.is_open()) out.write(text.data(), static_cast<std::streamsize>(text.size()));
  out.close();
  if (!out.fail() && std::rename(part.c_str(), name.c_str()) == 0) return absl::OkStatus();
  const std::string reason = Reason();
  std::remove(part.c_str());
  return absl::UnavailableError(absl::StrCat(name, ": cannot be written: ", reason));
}

}  // namespace shardmanager::cli
