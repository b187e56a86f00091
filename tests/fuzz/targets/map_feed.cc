// The publisher of a map: whatever is published in whatever order, each subscriber that
// catches up holds what a plain map would hold.
#include "discovery/map_feed.h"

#include <array>
#include <string>
#include <utility>
#include <vector>

#include "tests/discovery/test_maps.h"
#include "tests/fuzz/fuzz_target.h"

namespace shardmanager::discovery {
namespace {

constexpr uint32_t kServers = 4;

class Trial {
 public:
  explicit Trial(fuzz::FuzzInput& input) : input_(input) {}

  void Step() {
    switch (input_.Below(8)) {
      case 0:
        return PublishWhole(1 + input_.Below(6));
      case 1:
      case 2:
        return PublishWhole(shards_);  // the same layout
      case 3:
      case 4:
      case 5:
        return PublishDelta();
      default:
        return CatchUp(subscribers_[input_.Below(3)]);
    }
  }

  void CheckAll() {
    for (PlainSubscriber& subscriber : subscribers_) CatchUp(subscriber);
  }

 private:
  std::vector<uint32_t> NextOwners() {
    std::vector<uint32_t> owners(input_.Below(3));
    for (uint32_t& owner : owners) owner = input_.Below(kServers + 1);  // one is not known
    return owners;
  }
  // Mostly the next one.
  MapVersion NextVersion() {
    const MapVersion at = feed_.version().value_or(MapVersion{});
    if (input_.Below(8) == 0) return {input_.Below(4), input_.Below(16)};
    return {at.leader_epoch, at.sequence + 1 + input_.Below(2)};
  }

  void PublishWhole(uint32_t shards) {
    Owners owners;
    for (uint32_t i = 0; i < shards; ++i) owners.push_back(NextOwners());
    const v1::MapSnapshot whole = MakeSnapshot(NextVersion(), owners, kServers);
    if (!Judge(feed_.Publish(whole))) return;
    shards_ = shards;
    plain_.Apply(whole);
  }

  void PublishDelta() {
    const MapVersion at = feed_.version().value_or(MapVersion{});
    const MapVersion from = input_.Below(8) == 0 ? MapVersion{1, input_.Below(8)} : at;
    v1::MapDelta delta = MakeDelta(from, NextVersion(), input_.Below(shards_ + 1), NextOwners());
    if (input_.Flag()) {  // a server moves
      v1::MapServer* server = delta.add_servers();
      server->set_index(input_.Below(kServers + 2));
      server->set_name("kv-new");
      server->set_endpoint("127.0.0.1:" + std::to_string(input_.Byte()));
    }
    if (Judge(feed_.Publish(delta))) plain_.Apply(delta);
  }

  bool Judge(const Verdict& verdict) {
    const bool applied = verdict.kind == Verdict::kApplied;
    SM_CHECK(applied == verdict.reason.empty(), "a refusal says why");
    const auto version = feed_.version();
    SM_CHECK(applied || version == version_, "what is refused changes nothing");
    SM_CHECK(!applied || !version_ || *version_ < *version, "versions go forward");
    version_ = version;
    return applied;
  }

  void CatchUp(PlainSubscriber& subscriber) {
    if (input_.Below(8) == 0) subscriber.OpenStream();
    for (const Message& message : feed_.CatchUpFrom(subscriber.known()).messages) {
      SM_CHECK(subscriber.Take(message).empty(), "a subscriber understands");
    }
    SM_CHECK(subscriber.held() == feed_.version(), "and is up to date");
    if (!feed_.version()) return;
    SM_CHECK(subscriber.map().Shards() == plain_.Shards(), "and sees what was published");
  }

  fuzz::FuzzInput& input_;
  MapFeed feed_{{.message_bytes = 120, .log = {.changes = 4, .bytes = 400}}};
  PlainMap plain_;
  std::optional<MapVersion> version_;
  uint32_t shards_ = 3;
  std::array<PlainSubscriber, 3> subscribers_;
};

}  // namespace

SM_FUZZ_TARGET(map_feed) {
  Trial trial(input);
  while (!input.empty()) trial.Step();
  trial.CheckAll();
}

}  // namespace shardmanager::discovery
