// `shardctl prefer`: in which region shards should be.
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "absl/strings/string_view.h"
#include "absl/strings/strip.h"
#include "cli/commands/commands.h"
#include "cli/render.h"
#include "cli/text_file.h"
#include "model/region_preferences.h"
#include "model/text.h"

namespace shardmanager::cli {
namespace {

constexpr char kAsInSpec[] = "-";

// A file of many lines that are wrong is not answered with as many.
constexpr size_t kMostProblems = 20;

// The preferences of a file, and the line of each.
struct PreferenceFile {
  std::string name;
  std::vector<size_t> lines;
  v1::PreferRegionsRequest request;
};

void Add(const std::string& shard, const std::string& region, uint32_t weight,
         v1::PreferRegionsRequest& request) {
  v1::ShardPreference& entry = *request.add_preferences();
  entry.set_shard(shard);
  if (region != kAsInSpec) entry.set_region(region);
  entry.set_weight(weight);
}

// Reads the lines; what is wrong with them is in `problems`.
class LineReader {
 public:
  explicit LineReader(PreferenceFile& file) : file_(file) {}

  void Read(absl::string_view text) {
    size_t number = 0;
    for (absl::string_view line : absl::StrSplit(text, '\n')) {
      ReadLine(++number, line.substr(0, line.find('#')));
      if (problems_.size() >= kMostProblems) return Say(number, "more is not looked at");
    }
    if (file_.lines.empty() && problems_.empty()) {
      problems_.push_back(absl::StrCat(file_.name, ": found no shard; allowed: a shard and its ",
                                       "region in each line"));
    }
  }

  const std::vector<std::string>& problems() const { return problems_; }

 private:
  void ReadLine(size_t number, absl::string_view line) {
    const std::vector<std::string> words =
        absl::StrSplit(line, absl::ByAnyChar(" \t\r"), absl::SkipEmpty());
    if (words.empty()) return;
    if (words.size() != 2 && words.size() != 3) {
      return Say(number, absl::StrCat("found ", Counted(words.size(), "word"),
                                      "; allowed: a shard and a region, or - for what the spec "
                                      "says; and a weight, or none"));
    }
    uint32_t weight = 0;
    if (words.size() == 3 && !IsWeight(words[2], weight)) {
      return Say(number, absl::StrCat("weight: found ", Quoted(words[2]), "; allowed: ",
                                      kLeastPreferenceWeight, " to ", kMostPreferenceWeight));
    }
    const auto [first, is_new] = first_line_.try_emplace(words[0], number);
    if (!is_new) {
      return Say(number, absl::StrCat("found ", Quoted(words[0]), " again; allowed: each shard ",
                                      "once; line ", first->second, " has it too"));
    }
    Add(words[0], words[1], weight, file_.request);
    file_.lines.push_back(number);
  }

  static bool IsWeight(const std::string& word, uint32_t& weight) {
    return absl::SimpleAtoi(word, &weight) && weight >= kLeastPreferenceWeight &&
           weight <= kMostPreferenceWeight;
  }

  void Say(size_t number, const std::string& what) {
    problems_.push_back(absl::StrCat(file_.name, ":", number, ": ", what));
  }

  PreferenceFile& file_;
  absl::flat_hash_map<std::string, size_t> first_line_;  // by shard
  std::vector<std::string> problems_;
};

// Of a line like "preferences[3].shard: found ...": the 3, and what follows the first dot.
std::optional<std::pair<size_t, absl::string_view>> SplitPlace(absl::string_view line) {
  size_t index = 0;
  if (!absl::ConsumePrefix(&line, "preferences[")) return std::nullopt;
  const size_t end = line.find("].");
  if (end == absl::string_view::npos || !absl::SimpleAtoi(line.substr(0, end), &index)) {
    return std::nullopt;
  }
  return std::pair(index, line.substr(end + 2));
}

// The control plane names entries by their place in the list; people look at lines of the file.
void SayWithLines(const std::string& message, const PreferenceFile& file, Terminal& terminal) {
  for (absl::string_view line : absl::StrSplit(message, '\n')) {
    std::string text(line);
    if (const auto place = SplitPlace(line); place && place->first < file.lines.size()) {
      text = absl::StrCat(file.name, ":", file.lines[place->first], ": ", place->second);
    } else if (place) {
      text = std::string(place->second);
    }
    *terminal.err << Shown(text) << "\n";
  }
}

// Nothing: it is wrong, and the terminal says why.
std::optional<PreferenceFile> ReadPreferences(const PreferCommand& command, Terminal& terminal) {
  PreferenceFile file;
  if (command.file.empty()) {
    Add(command.shard, command.region, command.weight, file.request);
    return file;
  }
  const auto text = ReadTextFile(command.file, terminal);
  if (!text.ok()) {
    *terminal.err << std::string(text.status().message()) << "\n";
    return std::nullopt;
  }
  file.name = text->name;
  LineReader reader(file);
  reader.Read(text->text);
  for (const std::string& problem : reader.problems()) *terminal.err << Shown(problem) << "\n";
  if (!reader.problems().empty()) return std::nullopt;
  return file;
}

void ShowChange(const PreferCommand& command, const std::string& app,
                const v1::PreferRegionsResponse& response, Terminal& terminal) {
  *terminal.out << app << ": " << Counted(response.changed(), "shard") << " changed, "
                << response.unchanged() << " as before"
                << (command.dry_run ? " (dry run: nothing was changed)" : "") << "\n";
  for (const std::string& region : response.regions_without_servers()) {
    *terminal.out << "  no server of the app is in " << Shown(region)
                  << " now: its shards stay where they are until there is one\n";
  }
}

}  // namespace

ExitCode Prefer(const PreferCommand& command, AdminClient& client, Terminal& terminal) {
  if (command.file.empty() && command.shard.empty()) {
    *terminal.err << "error: which shards?  allowed: SHARD REGION, or --file FILE\n";
    return kUsage;
  }
  std::optional<PreferenceFile> file = ReadPreferences(command, terminal);
  if (!file) return kUsage;
  const auto app = ChooseApp(command.app, client);
  if (!app.ok()) return Fail(app.status(), client, terminal);
  v1::PreferRegionsRequest& request = file->request;
  request.set_app(*app);
  request.set_replace(command.replace);
  request.set_dry_run(command.dry_run);
  request.set_who(User());
  const auto response = client.PreferRegions(request);
  if (absl::IsInvalidArgument(response.status())) {
    SayWithLines(std::string(response.status().message()), *file, terminal);
    return kUsage;
  }
  if (!response.ok()) return Fail(response.status(), client, terminal);
  ShowChange(command, *app, *response, terminal);
  return kOk;
}

}  // namespace shardmanager::cli
