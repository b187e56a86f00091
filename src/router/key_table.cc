#include "router/key_table.h"

#include <algorithm>

namespace shardmanager::router {
namespace {

// `sorted` ascending: what its first and last have in common, all have.
std::string_view CommonPrefix(std::span<const std::string_view> sorted) {
  if (sorted.empty()) return {};
  const std::string_view first = sorted.front();
  const std::string_view last = sorted.back();
  const size_t most = std::min(first.size(), last.size());
  size_t length = 0;
  while (length < most && first[length] == last[length]) ++length;
  return first.substr(0, length);
}

}  // namespace

KeyTable::KeyTable(std::span<const std::string_view> sorted) : size_(sorted.size()) {
  // "" would leave the others no common prefix.
  if (!sorted.empty() && sorted.front().empty()) empty_ = 1;
  sorted = sorted.subspan(empty_);
  prefix_ = CommonPrefix(sorted);
  std::string padded = prefix_.substr(0, 8);
  padded.resize(8);
  prefix_word_ = Load<uint64_t>(padded.data());
  prefix_mask_ =
      prefix_.empty() ? 0 : ~uint64_t{0} << (64 - 8 * std::min<size_t>(8, prefix_.size()));

  const auto code_of = [&](size_t at) { return Code(sorted[at].substr(prefix_.size())); };
  PageVector<uint64_t> codes;
  codes.reserve(sorted.size());
  groups_.reserve(sorted.size() + 1);
  bool any_goes_on = false;
  for (size_t begin = 0, end = 0; begin < sorted.size(); begin = end) {
    const uint64_t code = code_of(begin);
    while (end < sorted.size() && code_of(end) == code) ++end;
    codes.push_back(code);
    any_goes_on = any_goes_on || GoesOn(code);
    const uint32_t where = AddRests(sorted.subspan(begin, end - begin), code);
    groups_.push_back({static_cast<uint32_t>(begin), where});
  }
  groups_.push_back({static_cast<uint32_t>(sorted.size()), 0});
  distinct_ = codes.size() == sorted.size();
  if (distinct_ && !any_goes_on) groups_ = {};
  codes_ = CodeTree(codes);
}

uint32_t KeyTable::AddRests(std::span<const std::string_view> group, uint64_t code) {
  constexpr size_t kMostPacked = 16;
  constexpr size_t kLongestPacked = 255;
  if (!GoesOn(code)) return 0;  // never looked at
  std::vector<std::string_view> rests(group.begin(), group.end());
  bool packs = group.size() <= kMostPacked && packed_.size() < kNested / 2;
  for (std::string_view& rest : rests) {
    rest.remove_prefix(prefix_.size() + kCodeBytes);
    packs = packs && rest.size() <= kLongestPacked;
  }
  if (!packs) {
    nested_.emplace_back(rests);
    return kNested + static_cast<uint32_t>(nested_.size() - 1);
  }
  const auto where = static_cast<uint32_t>(packed_.size());
  for (std::string_view rest : rests) {
    packed_.push_back(static_cast<char>(rest.size()));
    packed_.append(rest);
  }
  return where;
}

size_t KeyTable::ResolveTie(std::string_view key, size_t group) const {
  const std::string_view rest = key.substr(prefix_.size() + kCodeBytes);
  const size_t first = groups_[group].first;
  const uint32_t rests = groups_[group].rests;
  if (rests >= kNested) return first + nested_[rests - kNested].CountUpTo(rest);
  const char* packed = packed_.data() + rests;
  const size_t count = groups_[group + 1].first - first;
  for (size_t i = 0; i < count; ++i) {
    const size_t length = static_cast<unsigned char>(*packed);
    if (rest < std::string_view(packed + 1, length)) return first + i;
    packed += 1 + length;
  }
  return first + count;
}

}  // namespace shardmanager::router
