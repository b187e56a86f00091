#include "cli/completion/complete.h"

#include <algorithm>
#include <array>
#include <map>
#include <set>
#include <string_view>
#include <utility>

#include "absl/strings/str_cat.h"
#include "cli/command_tree.h"

namespace shardmanager::cli {
namespace {

bool IsFlag(const std::string& word) { return word.size() > 1 && word[0] == '-'; }

std::string LongName(const CLI::Option& option) {
  return option.get_lnames().empty() ? option.get_name() : "--" + option.get_lnames().front();
}

bool TakesValue(const CLI::Option& option) { return option.get_items_expected_max() > 0; }

std::vector<const CLI::Option*> Positionals(const CLI::App& command) {
  return command.get_options([](const CLI::Option* option) { return option->get_positional(); });
}

std::vector<const CLI::App*> CommandsOf(const CLI::App& command) {
  return command.get_subcommands({});
}

// The words before the cursor, as the command tree understands them.
class Reader {
 public:
  explicit Reader(const CLI::App& root) : root_(root) {}

  void Read(const std::string& word) {
    if (const CLI::Option* flag = std::exchange(open_flag_, nullptr)) {
      values_[LongName(*flag)] = word;
    } else if (IsFlag(word)) {
      ReadFlag(word);
    } else if (AwaitsCommand()) {
      ReadCommand(word);
    } else if (const CLI::Option* argument = NextArgument()) {
      values_[argument->get_name()] = word;
      ++arguments_;
    }
  }

  // The innermost one that was given; null: none was given yet.
  const CLI::App* command() const { return command_; }
  // The next argument is a command, or a command of a command ("maintenance add").
  bool AwaitsCommand() const { return command_ == nullptr || !CommandsOf(*command_).empty(); }
  // False: a word stands where a command should that is none.
  bool is_known() const { return is_known_; }
  // The flag whose value comes next, or null.
  const CLI::Option* open_flag() const { return open_flag_; }
  // The argument of the command that comes next, or null. The last one may be repeated.
  const CLI::Option* NextArgument() const {
    const auto all = Positionals(*command_);
    if (arguments_ < all.size()) return all[arguments_];
    const bool repeats = !all.empty() && all.back()->get_expected_max() > 1;
    return repeats ? all.back() : nullptr;
  }
  // Of a flag without a value: "--insecure", for example.
  bool Has(const std::string& name) const { return given_.contains(name); }
  // "--server" or "NAME", for example; "": not given.
  std::string ValueOf(const std::string& name) const {
    const auto found = values_.find(name);
    return found == values_.end() ? "" : found->second;
  }

 private:
  void ReadCommand(const std::string& word) {
    const auto named = [&](const CLI::App* command) { return command->get_name() == word; };
    const auto found = (command_ == nullptr ? root_ : *command_).get_subcommands(named);
    is_known_ = !found.empty();
    if (is_known_) command_ = found.front();
  }

  void ReadFlag(const std::string& word) {
    const size_t equals = word.find('=');
    const std::string name = word.substr(0, equals);
    const CLI::Option* flag = command_ == nullptr ? nullptr : command_->get_option_no_throw(name);
    if (flag == nullptr) flag = root_.get_option_no_throw(name);
    if (flag == nullptr) return;
    given_.insert(LongName(*flag));
    if (!TakesValue(*flag)) return;
    if (equals == std::string::npos) {
      open_flag_ = flag;
    } else {
      values_[LongName(*flag)] = word.substr(equals + 1);
    }
  }

  const CLI::App& root_;
  const CLI::App* command_ = nullptr;
  bool is_known_ = true;
  const CLI::Option* open_flag_ = nullptr;
  size_t arguments_ = 0;
  std::map<std::string, std::string> values_;
  std::set<std::string> given_;  // flags
};

class Completer {
 public:
  Completer(CommandTree& tree, const Reader& line, const GetNames& get_names)
      : tree_(tree), line_(line), get_names_(get_names) {}

  // `word`: at the cursor, as far as it is written.
  Candidates At(const std::string& word) {
    if (!line_.is_known()) return {};
    if (line_.open_flag() != nullptr) {
      AddValues(*line_.open_flag());
    } else if (!word.empty() && word[0] == '-') {
      if (line_.command() != nullptr) AddFlags(*line_.command());
      AddFlags(tree_.cli());
    } else if (line_.AwaitsCommand()) {
      for (const CLI::App* command :
           CommandsOf(line_.command() == nullptr ? tree_.cli() : *line_.command())) {
        found_.words.push_back({command->get_name(), command->get_description()});
      }
    } else if (const CLI::Option* argument = line_.NextArgument()) {
      AddValues(*argument);
    }
    std::erase_if(found_.words,
                  [&](const Candidate& candidate) { return candidate.word.rfind(word, 0) != 0; });
    return std::move(found_);
  }

 private:
  void AddFlags(const CLI::App& command) {
    for (const CLI::Option* option : command.get_options({})) {
      if (option->get_positional()) continue;
      const std::string name = LongName(*option);
      bool known = false;  // each command has a --help of its own
      for (const Candidate& candidate : found_.words) known |= candidate.word == name;
      if (!known) found_.words.push_back({name, option->get_description()});
    }
  }

  void AddValues(const CLI::Option& option) {
    for (const std::string& value : tree_.ValuesOf(option)) found_.words.push_back({value});
    const std::string kind = option.get_positional() ? option.get_name() : option.get_type_name();
    if (kind == "FILE" || kind == "OUTPUT") found_.files = true;
    if (kind == "APP") AddNames("apps");
    if (kind == "SERVER") AddNames("servers");
    if (kind == "SHARD") AddNames("shards");
    if (kind == "NAME") AddNames(absl::StrCat(line_.ValueOf("RESOURCE"), line_.ValueOf("LEVEL")));
  }

  // `resource`: a word that RESOURCE or LEVEL may be.
  void AddNames(std::string resource) {
    if (resource.empty()) return;
    if (resource.back() != 's') resource += "s";
    constexpr std::array<std::string_view, 4> kListed = {"apps", "servers", "shards", "operations"};
    if (std::find(kListed.begin(), kListed.end(), resource) == kListed.end()) return;
    std::vector<std::string> arguments{resource};
    const std::string app = absl::StrCat(line_.ValueOf("--app"), line_.ValueOf("APP"));
    if (resource != "apps" && !app.empty()) arguments.insert(arguments.end(), {"--app", app});
    for (const char* flag :
         {"--server", "--certs", "--tls-ca", "--tls-cert", "--tls-key", "--tls-migration"}) {
      if (const std::string value = line_.ValueOf(flag); !value.empty()) {
        arguments.insert(arguments.end(), {flag, value});
      }
    }
    if (line_.Has("--insecure")) arguments.emplace_back("--insecure");
    for (std::string& name : get_names_(arguments)) found_.words.push_back({std::move(name)});
  }

  CommandTree& tree_;
  const Reader& line_;
  const GetNames& get_names_;
  Candidates found_;
};

}  // namespace

Candidates Complete(const std::vector<std::string>& words, const GetNames& get_names) {
  CommandTree tree;
  Reader line(tree.cli());
  for (size_t i = 0; i + 1 < words.size(); ++i) line.Read(words[i]);
  return Completer(tree, line, get_names).At(words.empty() ? "" : words.back());
}

std::string ToLines(const Candidates& candidates) {
  std::string lines;
  for (const Candidate& candidate : candidates.words) {
    absl::StrAppend(&lines, candidate.word, "\t", candidate.description, "\n");
  }
  if (candidates.files) absl::StrAppend(&lines, ":files\n");
  return lines;
}

}  // namespace shardmanager::cli
