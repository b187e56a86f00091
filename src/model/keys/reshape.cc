#include "model/keys/reshape.h"

#include <algorithm>
#include <set>
#include <string>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "model/layout.h"
#include "model/spec/spec_names.h"
#include "model/spec/spec_validation.h"
#include "model/text.h"

namespace shardmanager {
namespace {

using Shards = google::protobuf::RepeatedPtrField<v1::Shard>;

std::string NamesOf(const Shards& shards) {
  return absl::StrJoin(shards, ", ",
                       [](std::string* out, const v1::Shard& shard) { *out += shard.id(); });
}

absl::Status Problem(const std::string& field, const std::string& found,
                     const std::string& allowed) {
  return absl::InvalidArgumentError(absl::StrCat(field, ": found ", found, "; allowed: ", allowed));
}

// As the spec would name it, one by one: with the region that it asks for by itself.
v1::Shard ToShard(const v1::AppSpec& spec, const LayoutShard& entry) {
  v1::Shard shard;
  shard.set_id(entry.id.value());
  shard.mutable_range()->set_start(entry.start);
  shard.mutable_range()->set_end(entry.end);
  if (entry.preferred_region != spec.placement().preferred_region()) {
    shard.set_preferred_region(entry.preferred_region);
  }
  return shard;
}

// The shards that are meant, in key order.
absl::StatusOr<std::vector<v1::Shard>> FindShards(const v1::AppSpec& spec,
                                                  const v1::ReshapeShardsRequest& request) {
  const auto& from = request.from();
  if (from.empty() || from.size() > kMostReshaped) {
    return Problem("from", Counted(static_cast<size_t>(from.size()), "shard"),
                   absl::StrCat("1 to ", kMostReshaped));
  }
  std::set<std::string> asked;
  for (const std::string& id : from) {
    if (!asked.insert(id).second) return Problem("from", Quoted(id) + " twice", "each shard once");
  }
  const std::vector<LayoutShard> layout = ExpandLayout(spec);
  std::vector<v1::Shard> found;
  size_t last = 0;
  for (size_t i = 0; i < layout.size(); ++i) {
    if (asked.erase(layout[i].id.value()) == 0) continue;
    if (!layout[i].has_range) {
      return absl::FailedPreconditionError(
          absl::StrCat("app ", Quoted(spec.name()),
                       " addresses its shards by id: they have no ranges to split or merge"));
    }
    if (!found.empty() && i != last + 1) {
      return Problem("from",
                     absl::StrCat(Quoted(found.back().id()), " and ", Quoted(layout[i].id.value()),
                                  ", with other shards between them"),
                     "neighbours");
    }
    last = i;
    found.push_back(ToShard(spec, layout[i]));
  }
  if (asked.empty()) return found;
  return absl::NotFoundError(
      absl::StrCat("app ", Quoted(spec.name()), " has no shard ", Quoted(*asked.begin())));
}

// The parts of `shard`, without names.
absl::StatusOr<std::vector<v1::Shard>> Cut(const v1::Shard& shard,
                                           const v1::ReshapeShardsRequest& request) {
  const auto& cuts = request.cuts();
  if (cuts.empty() || cuts.size() >= kMostReshaped) {
    return Problem("cuts", Counted(static_cast<size_t>(cuts.size()), "cut"),
                   absl::StrCat("1 to ", kMostReshaped - 1, ", to split a shard"));
  }
  std::vector<v1::Shard> parts(1, shard);
  for (int i = 0; i < cuts.size(); ++i) {
    const std::string& start = parts.back().range().start();
    const std::string& end = shard.range().end();
    if (cuts[i] <= start || (!end.empty() && cuts[i] >= end)) {
      return Problem(absl::StrCat("cuts[", i, "]"), Quoted(cuts[i]),
                     absl::StrCat("a key after ", start.empty() ? "the first one" : Quoted(start),
                                  end.empty() ? "" : absl::StrCat(" and before ", Quoted(end))));
    }
    parts.back().mutable_range()->set_end(cuts[i]);
    parts.push_back(shard);
    parts.back().mutable_range()->set_start(cuts[i]);
  }
  return parts;
}

// All of their keys; in the region that all of them ask for, if they do.
absl::StatusOr<std::vector<v1::Shard>> Join(const std::vector<v1::Shard>& shards,
                                            const v1::ReshapeShardsRequest& request) {
  if (!request.cuts().empty()) {
    return Problem("cuts", Quoted(request.cuts(0)), "nothing, to merge shards");
  }
  v1::Shard whole = shards.front();
  whole.mutable_range()->set_end(shards.back().range().end());
  for (const v1::Shard& shard : shards) {
    if (shard.preferred_region() != whole.preferred_region()) whole.clear_preferred_region();
  }
  return std::vector<v1::Shard>(1, whole);
}

absl::Status GiveNames(const v1::AppSpec& spec, const v1::ReshapeShardsRequest& request,
                       std::vector<v1::Shard>& parts) {
  const auto& into = request.into();
  const bool merges = parts.size() == 1;
  if ((merges || !into.empty()) && static_cast<size_t>(into.size()) != parts.size()) {
    return Problem(
        "into", Counted(static_cast<size_t>(into.size()), "name"),
        absl::StrCat(parts.size(), merges ? ", to merge shards" : ", one for each part"));
  }
  std::set<std::string> taken;
  for (const LayoutShard& entry : ExpandLayout(spec)) taken.insert(entry.id.value());
  for (size_t i = 0; i < parts.size(); ++i) {
    const std::string name =
        into.empty() ? absl::StrCat(parts[i].id(), ".", i) : into[static_cast<int>(i)];
    if (!IsPlainName(name, kMostShardIdBytes)) {
      return Problem("into", Quoted(name), PlainNameRule(kMostShardIdBytes));
    }
    if (!taken.insert(name).second) {
      return Problem("into", Quoted(name) + ", which is a shard's id", "ids that no shard has");
    }
    parts[i].set_id(name);
  }
  return absl::OkStatus();
}

}  // namespace

absl::StatusOr<v1::Reshape> MakeReshape(const v1::AppSpec& spec,
                                        const v1::ReshapeShardsRequest& request) {
  const auto from = FindShards(spec, request);
  if (!from.ok()) return from.status();
  auto parts = from->size() == 1 ? Cut(from->front(), request) : Join(*from, request);
  if (!parts.ok()) return parts.status();
  if (absl::Status named = GiveNames(spec, request, *parts); !named.ok()) return named;
  v1::Reshape reshape;
  reshape.mutable_from()->Assign(from->begin(), from->end());
  reshape.mutable_to()->Assign(parts->begin(), parts->end());
  reshape.set_hash_keys(HashesKeys(spec.key_space()));
  const auto problems = ValidateSpec(WithReshape(spec, reshape));
  if (!problems.empty()) return ToStatus(problems);  // a cut among hashes that is no hash
  return reshape;
}

v1::AppSpec WithReshape(const v1::AppSpec& spec, const v1::Reshape& reshape) {
  std::set<std::string> goes;
  for (const v1::Shard& shard : reshape.from()) goes.insert(shard.id());
  v1::AppSpec changed = spec;
  v1::KeySpace& keys = *changed.mutable_key_space();
  keys.Clear();
  keys.set_hash_keys(HashesKeys(spec.key_space()));
  for (const LayoutShard& entry : ExpandLayout(spec)) {
    if (entry.id.value() == reshape.from(0).id()) keys.mutable_shards()->MergeFrom(reshape.to());
    if (!goes.contains(entry.id.value())) *keys.add_shards() = ToShard(spec, entry);
  }
  return changed;
}

v1::Reshape Undone(const v1::Reshape& reshape) {
  v1::Reshape undone = reshape;
  undone.mutable_from()->Swap(undone.mutable_to());
  return undone;
}

bool HasShardsOf(const v1::AppSpec& spec, const v1::Reshape& reshape) {
  absl::flat_hash_map<std::string, const v1::Shard*> wanted;
  for (const v1::Shard& shard : reshape.to()) wanted[shard.id()] = &shard;
  for (const LayoutShard& entry : ExpandLayout(spec)) {
    const auto found = wanted.find(entry.id.value());
    if (found == wanted.end()) continue;
    const v1::KeyRange& range = found->second->range();
    const bool same = entry.has_range && entry.hashed == reshape.hash_keys() &&
                      entry.start == range.start() && entry.end == range.end();
    if (same) wanted.erase(found);
  }
  return wanted.empty();
}

std::string ReshapeText(const v1::Reshape& reshape) {
  return absl::StrCat(NamesOf(reshape.from()), " into ", NamesOf(reshape.to()));
}

}  // namespace shardmanager
