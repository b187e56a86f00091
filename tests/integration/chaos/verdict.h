// Was what clients saw, and what the shards' databases have, right?
#pragma once

#include <map>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "tests/integration/history.h"

namespace shardmanager::testing {

struct WhatHappened {
  // How often each server was stopped (SIGSTOP): each time it may have had one call of
  // each client admitted, which went on when its right had passed to another.
  const std::map<std::string, int>& stops;
  int clients = 0;
  // Faults overlapped: grants were overtaken while they were carried out.
  bool overlapping = false;
};

// Prints what it looked at. An error: an acknowledged write was lost, or a request was
// processed twice, or by a server that had no right to. REQUIRES: nobody writes any more,
// and `history` has every put.
absl::Status Judge(const std::vector<Operation>& history, const std::string& data_folder,
                   const WhatHappened& what);

// By what clients saw alone: where each server has its own files, no file tells who wrote.
absl::Status JudgeClients(const std::vector<Operation>& history);

}  // namespace shardmanager::testing
