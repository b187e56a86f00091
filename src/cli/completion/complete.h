// What may stand where the shell's cursor is: what the scripts of completion.h ask shardctl for.
#pragma once

#include <functional>
#include <string>
#include <vector>

namespace shardmanager::cli {

struct Candidate {
  std::string word;
  std::string description = {};  // may be empty
};
struct Candidates {
  std::vector<Candidate> words;
  bool files = false;  // the names of files, too
};

// Runs `shardctl get` with these arguments and "-o name", and returns the names.
using GetNames = std::function<std::vector<std::string>(const std::vector<std::string>& arguments)>;

// `words`: those of the command line after "shardctl"; the last one is at the cursor, and may be
// empty. Commands, flags and values come from the command tree, so that they are those that
// shardctl takes; the names of apps, servers and shards come from the control plane.
Candidates Complete(const std::vector<std::string>& words, const GetNames& get_names);

// A line for each word, "WORD<tab>DESCRIPTION", and the line ":files" if files may stand there.
std::string ToLines(const Candidates& candidates);

}  // namespace shardmanager::cli
