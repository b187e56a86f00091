#include "model/spec/spec_names.h"

#include <algorithm>

#include "absl/container/flat_hash_map.h"
#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "model/text.h"

namespace shardmanager {
namespace {

constexpr size_t kMostAppNameBytes = 63;
constexpr int kMostRegionsListed = 8;

bool IsPlainCharacter(char c) {
  return absl::ascii_isalnum(static_cast<unsigned char>(c)) || c == '.' || c == '_' || c == '-';
}

std::string ListedRegions(const v1::PlacementPolicy& placement) {
  std::string list = "one of placement.regions:";
  const int listed = std::min(placement.regions_size(), kMostRegionsListed);
  for (int i = 0; i < listed; ++i) {
    absl::StrAppend(&list, i > 0 ? ", " : " ", Quoted(placement.regions(i)));
  }
  if (placement.regions_size() > listed) list += ", ...";
  return list;
}

}  // namespace

bool IsAppName(const std::string& name) {
  const auto allowed = [](unsigned char c) {
    return absl::ascii_islower(c) || absl::ascii_isdigit(c) || c == '-';
  };
  return !name.empty() && name.size() <= kMostAppNameBytes &&
         absl::ascii_islower(static_cast<unsigned char>(name[0])) &&
         std::all_of(name.begin(), name.end(), allowed);
}

void CheckAppName(const std::string& name, SpecProblems* problems) {
  if (IsAppName(name)) return;
  problems->Add("name", name.empty() ? "nothing" : Quoted(name),
                "1 to 63 characters of [a-z0-9-], starting with a letter");
}

bool IsPlainName(const std::string& name, size_t most) {
  // "." and ".." mean something else where names become paths.
  return !name.empty() && name.size() <= most && name != "." && name != ".." &&
         std::all_of(name.begin(), name.end(), IsPlainCharacter);
}

std::string PlainNameRule(size_t most) {
  return absl::StrCat("1 to ", most, " characters of [A-Za-z0-9._-]");
}

KnownRegions::KnownRegions(const v1::PlacementPolicy& placement)
    : names_(placement.regions().begin(), placement.regions().end()) {
  if (!names_.empty()) allowed_ = ListedRegions(placement);
}

void KnownRegions::Check(const std::string& path, const std::string& region,
                         SpecProblems* problems) const {
  if (region.empty()) return;
  if (!IsPlainName(region, kMostRegionBytes)) {
    problems->Add(path, Quoted(region), PlainNameRule(kMostRegionBytes));
  } else if (!names_.empty() && !names_.contains(region)) {
    problems->Add(path, absl::StrCat(Quoted(region), " (unknown region)"), allowed_);
  }
}

void KnownRegions::CheckList(const std::string& path,
                             const google::protobuf::RepeatedPtrField<std::string>& regions,
                             SpecProblems* problems) const {
  absl::flat_hash_map<std::string, int> seen;
  for (int i = 0; i < regions.size() && !problems->full(); ++i) {
    const std::string& region = regions[i];
    const std::string place = absl::StrCat(path, "[", i, "]");
    if (!IsPlainName(region, kMostRegionBytes)) {
      problems->Add(place, Quoted(region), PlainNameRule(kMostRegionBytes));
    } else if (auto [first, is_new] = seen.emplace(region, i); !is_new) {
      problems->Add(place,
                    absl::StrCat(Quoted(region), " (already ", path, "[", first->second, "])"),
                    "each region once");
    } else {
      Check(place, region, problems);
    }
  }
}

}  // namespace shardmanager
