#include "console/shard_rows.h"

#include <algorithm>
#include <cstring>
#include <numeric>

#include "absl/strings/ascii.h"

namespace shardmanager::console {
namespace {

constexpr uint8_t kPinned = 1, kHot = 2, kReplaced = 4;

}  // namespace

uint32_t ShardRows::Texts::Number(const std::string& text) {
  const auto [it, is_new] = numbers_.try_emplace(text, static_cast<uint32_t>(texts_.size()));
  if (is_new) texts_.push_back(text);
  return it->second;
}

uint32_t ShardRows::Texts::Find(const std::string& text) const {
  const auto it = numbers_.find(text);
  return it == numbers_.end() ? kNone : it->second;
}

ShardRows::ShardRows(const v1::GetShardsResponse& shards, const v1::GetServersResponse& servers) {
  for (const v1::ServerStatus& server : servers.servers()) {
    servers_.Number(server.server());
    region_of_.push_back(server.fault_domain().region());
  }
  rows_.reserve(static_cast<size_t>(shards.shards_size()));
  for (const v1::ShardStatus& shard : shards.shards()) Add(shard);
  lowered_ = absl::AsciiStrToLower(names_);
}

void ShardRows::Add(const v1::ShardStatus& shard) {
  Row row{.name_begin = static_cast<uint32_t>(names_.size()),
          .name_size = static_cast<uint32_t>(shard.shard().size()),
          .replicas_begin = static_cast<uint32_t>(replicas_.size()),
          .replicas_size = static_cast<uint32_t>(shard.replicas_size()),
          .reason = texts_.Number(shard.reason()),
          .state = static_cast<uint16_t>(texts_.Number(shard.state())),
          .moving = false,
          .marks = 0,
          .requests = static_cast<float>(shard.traffic().requests_per_s())};
  names_ += shard.shard();
  for (const v1::ReplicaStatus& replica : shard.replicas()) {
    const uint32_t server = servers_.Number(replica.server());
    if (server == region_of_.size()) region_of_.emplace_back();  // one that is not listed
    replicas_.push_back({.server = server,
                         .state = static_cast<uint16_t>(texts_.Number(replica.state())),
                         .primary = replica.role() == v1::PRIMARY,
                         .solo = replica.role() == v1::ROLE_UNSPECIFIED});
    row.moving |= replica.state() != "serving" && replica.state() != "unreachable" &&
                  replica.state() != "failed";
  }
  if (shard.has_pin()) row.marks |= kPinned;
  if (shard.traffic().hot()) row.marks |= kHot;
  if (shard.has_reshape()) row.marks |= kReplaced;
  ++counts_[shard.state()];
  if (row.moving) ++counts_["moving"];
  rows_.push_back(row);
}

int ShardRows::WorstFirst(const Row& row) const {
  const std::string& state = texts_[row.state];
  if (state == "unserved") return 0;
  if (state == "degraded") return 1;
  return row.moving ? 2 : 3;
}

bool ShardRows::HasServerIn(const Row& row, const std::vector<char>& wanted) const {
  for (uint32_t i = 0; i < row.replicas_size; ++i) {
    if (wanted[replicas_[row.replicas_begin + i].server] != 0) return true;
  }
  return false;
}

ShardRows::Page ShardRows::Find(const ShardQuery& query) const {
  const std::string filter = absl::AsciiStrToLower(query.filter);
  const uint32_t state = texts_.Find(query.state);
  const bool by_server = !query.server.empty() || !query.region.empty();
  std::vector<char> wanted(servers_.size(), 0);
  for (uint32_t i = 0; i < servers_.size(); ++i) {
    wanted[i] = (query.server.empty() || servers_[i] == query.server) &&
                (query.region.empty() || region_of_[i] == query.region);
  }
  std::vector<uint32_t> found;
  for (uint32_t i = 0; i < rows_.size(); ++i) {
    const Row& row = rows_[i];
    if (query.state == "moving" ? !row.moving : !query.state.empty() && row.state != state)
      continue;
    if (by_server && !HasServerIn(row, wanted)) continue;
    if (!filter.empty() && memmem(lowered_.data() + row.name_begin, row.name_size, filter.data(),
                                  filter.size()) == nullptr) {
      continue;
    }
    found.push_back(i);
  }
  const auto sort_by = [&](auto key) {
    std::stable_sort(found.begin(), found.end(), [&](uint32_t a, uint32_t b) {
      return query.descending ? key(rows_[b]) < key(rows_[a]) : key(rows_[a]) < key(rows_[b]);
    });
  };
  if (query.sort == "state") sort_by([&](const Row& row) { return WorstFirst(row); });
  if (query.sort == "requests") sort_by([](const Row& row) { return -row.requests; });
  if (query.sort == "name") sort_by([&](const Row& row) { return NameOf(row); });
  if ((query.sort.empty() || query.sort == "key") && query.descending) {
    std::reverse(found.begin(), found.end());
  }
  Page page{.total = found.size()};
  const size_t begin = std::min(query.offset, found.size());
  const size_t end = std::min(begin + query.limit, found.size());
  page.rows.assign(found.begin() + static_cast<ptrdiff_t>(begin),
                   found.begin() + static_cast<ptrdiff_t>(end));
  return page;
}

void ShardRows::Write(uint32_t number, Json& json) const {
  const Row& row = rows_[number];
  json.Begin('[').Text(NameOf(row)).Text(texts_[row.state]).Text(texts_[row.reason]).Begin('[');
  for (uint32_t i = 0; i < row.replicas_size; ++i) {
    const Replica& replica = replicas_[row.replicas_begin + i];
    json.Begin('[')
        .Text(servers_[replica.server])
        .Text(replica.solo      ? ""
              : replica.primary ? "primary"
                                : "secondary")
        .Text(texts_[replica.state])
        .End(']');
  }
  std::string marks;
  if ((row.marks & kPinned) != 0) marks += 'P';
  if ((row.marks & kHot) != 0) marks += 'H';
  if ((row.marks & kReplaced) != 0) marks += 'R';
  json.End(']').Number(row.requests).Text(marks).End(']');
}

}  // namespace shardmanager::console
