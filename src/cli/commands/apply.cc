#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "cli/commands/commands.h"
#include "cli/render.h"
#include "cli/text_file.h"
#include "cli/yaml/yaml_to_proto.h"

namespace shardmanager::cli {
namespace {

// One app to apply, and where it came from.
struct Spec {
  v1::AppSpec spec;
  size_t file;      // position in the list of files
  size_t document;  // in that file
};

absl::StatusOr<std::vector<YamlDocument>> ReadDocuments(const absl::StatusOr<TextFile>& file) {
  if (!file.ok()) return file.status();
  return ReadYaml(file->text, file->name, v1::AppSpec());
}

// All specs of all files, which are read in full before anything is changed. None: something was
// wrong, and the terminal says what.
std::vector<Spec> ReadSpecs(const std::vector<std::string>& names, std::vector<TextFile>* files,
                            Terminal& terminal) {
  std::vector<Spec> specs;
  bool wrong = false;
  for (const std::string& name : names) {
    absl::StatusOr<TextFile> file = ReadTextFile(name, terminal);
    const auto documents = ReadDocuments(file);
    if (!documents.ok()) {
      *terminal.err << std::string(documents.status().message()) << "\n";
      wrong = true;
      continue;
    }
    for (const YamlDocument& document : *documents) {
      specs.push_back({{}, files->size(), document.index});
      specs.back().spec.GetReflection()->Swap(&specs.back().spec, document.message.get());
    }
    files->push_back(*std::move(file));
  }
  if (wrong) specs.clear();
  return specs;
}

std::string OutcomeText(const v1::ApplyAppResponse& response) {
  switch (response.outcome()) {
    case v1::ApplyAppResponse::CREATED:
      return "created";
    case v1::ApplyAppResponse::CONFIGURED:
      return "configured";
    case v1::ApplyAppResponse::UNCHANGED:
      return "unchanged";
    default:
      return "applied";
  }
}

v1::ApplyAppRequest RequestFor(const ApplyCommand& command, const Spec& spec) {
  v1::ApplyAppRequest request;
  *request.mutable_spec() = spec.spec;
  request.set_force(command.force);
  request.set_dry_run(command.dry_run);
  return request;
}

// Says why the spec is not taken.
ExitCode Refused(const absl::Status& status, const Spec& spec, const TextFile& file,
                 AdminClient& client, Terminal& terminal) {
  if (!absl::IsInvalidArgument(status)) return Fail(status, client, terminal);
  *terminal.err << WithPlaces(std::string(status.message()), file.text, file.name, v1::AppSpec(),
                              spec.document);
  return kUsage;
}

ExitCode ApplyOne(const ApplyCommand& command, const Spec& spec, const TextFile& file,
                  AdminClient& client, Terminal& terminal) {
  const auto response = client.ApplyApp(RequestFor(command, spec));
  if (!response.ok()) return Refused(response.status(), spec, file, client, terminal);
  *terminal.out << spec.spec.name() << " " << OutcomeText(*response)
                << (command.dry_run ? " (dry run: nothing was changed)" : "") << "\n";
  for (const std::string& change : response->changes()) {
    *terminal.out << "  " << Shown(change) << "\n";
  }
  return kOk;
}

// Would all be taken? One that would not be says why, and nothing is changed.
ExitCode CheckAll(ApplyCommand command, const std::vector<Spec>& specs,
                  const std::vector<TextFile>& files, AdminClient& client, Terminal& terminal) {
  command.dry_run = true;
  ExitCode code = kOk;
  for (const Spec& spec : specs) {
    const auto response = client.ApplyApp(RequestFor(command, spec));
    if (response.ok()) continue;
    const ExitCode one = Refused(response.status(), spec, files[spec.file], client, terminal);
    if (code == kOk) code = one;
    if (one == kUnreachable) break;
  }
  if (code != kOk && code != kUnreachable) {
    *terminal.err << "nothing was changed: one of several specs is not right\n";
  }
  return code;
}

}  // namespace

ExitCode Apply(const ApplyCommand& command, AdminClient& client, Terminal& terminal) {
  std::vector<TextFile> files;
  const std::vector<Spec> specs = ReadSpecs(command.files, &files, terminal);
  if (specs.empty()) return kUsage;
  ExitCode code = kOk;
  if (specs.size() > 1 && !command.dry_run) {
    code = CheckAll(command, specs, files, client, terminal);
    if (code != kOk) return code;
  }
  for (const Spec& spec : specs) {
    const ExitCode one = ApplyOne(command, spec, files[spec.file], client, terminal);
    if (code == kOk) code = one;
    if (one == kUnreachable) break;
  }
  return code;
}

}  // namespace shardmanager::cli
