#include "tests/integration/chaos/verdict.h"

#include <algorithm>
#include <iostream>
#include <map>

#include "absl/strings/str_cat.h"
#include "tests/integration/chaos/shard_files.h"

namespace shardmanager::testing {
namespace {

absl::Status ToStatus(const std::string& of, const Verdict& verdict) {
  if (!verdict) return absl::OkStatus();
  return absl::DataLossError(absl::StrCat(of, ": ", *verdict));
}

// The fence is the second line: what it met came from servers that were stopped after
// they had admitted a call, for so long that no client waited for it.
absl::Status CheckFence(const std::vector<AuditRow>& audit, const WhatHappened& what) {
  size_t fenced = 0;
  std::map<std::string, int> may_be_fenced;
  for (const auto& [server, stops] : what.stops) may_be_fenced[server] = stops * what.clients;
  for (const AuditRow& row : audit) {
    if (row.accepted) continue;
    ++fenced;
    // A grant that was overtaken. It admits nothing.
    if (what.overlapping && row.what == "open") continue;
    if (may_be_fenced[row.server]-- > 0) continue;
    return absl::InternalError(absl::StrCat(row.server, " met the fence of ", row.shard, " (",
                                            row.what, ", token ", row.epoch,
                                            ") without having been stopped in a call"));
  }
  std::cout << audit.size() << " rows in the databases' audit, " << fenced
            << " of them refused by the fence\n";
  return absl::OkStatus();
}

// What happened in the databases of the shards where something met the fence, around that.
std::string AroundTheFence(const std::vector<AuditRow>& audit) {
  constexpr size_t kRows = 4;  // of the shard, before and after
  std::string text;
  std::map<std::string, std::vector<const AuditRow*>> shards;
  for (const AuditRow& row : audit) shards[row.shard].push_back(&row);
  for (const auto& [shard, rows] : shards) {
    size_t told = 0;  // up to this one
    for (size_t i = 0; i < rows.size(); ++i) {
      if (rows[i]->accepted) continue;
      const size_t end = std::min(rows.size(), i + kRows + 1);
      for (size_t j = std::max(told, i - std::min(i, kRows)); j < end; ++j) {
        const AuditRow& row = *rows[j];
        absl::StrAppend(&text, "\n  ", shard, " row ", j, ": ", row.server, " ", row.what, " ",
                        row.key, " token ", row.epoch, row.accepted ? "" : ": REFUSED");
      }
      told = std::max(told, end);
    }
  }
  return text;
}

}  // namespace

absl::Status JudgeClients(const std::vector<Operation>& history) {
  for (const absl::Status& status : {ToStatus("what clients saw", CheckRegisters(history)),
                                     ToStatus("what clients were told", CheckRefusals(history)),
                                     ToStatus("tokens that clients saw", CheckTokens(history))}) {
    if (!status.ok()) return status;
  }
  return absl::OkStatus();
}

absl::Status Judge(const std::vector<Operation>& history, const std::string& data_folder,
                   const WhatHappened& what) {
  const auto audit = ReadAudit(data_folder);
  if (!audit.ok()) return audit.status();
  if (const absl::Status clients = JudgeClients(history); !clients.ok()) {
    return absl::Status(
        clients.code(),
        absl::StrCat(clients.message(), "; in the databases:", AroundTheFence(*audit)));
  }
  for (const absl::Status& status :
       {ToStatus("puts in the databases", CheckCommits(history, *audit)),
        ToStatus("tokens in the databases", CheckAudit(*audit)), CheckFence(*audit, what)}) {
    if (!status.ok()) return status;
  }
  return absl::OkStatus();
}

}  // namespace shardmanager::testing
