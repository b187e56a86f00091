// What a publisher may send: torn, old, contradictory. A subscriber and the router's map
// go forward or complain; what they hold can be looked up, and a relay passes it on.
#include <optional>
#include <string>
#include <utility>
#include <variant>

#include "discovery/map_feed.h"
#include "discovery/map_receiver.h"
#include "router/map_holder.h"
#include "tests/fuzz/fuzz_target.h"

namespace shardmanager {
namespace {

using discovery::MapFeed;
using discovery::MapReceiver;
using router::MapHolder;
using router::ShardMap;

void LookAround(const ShardMap& map, const std::string& key) {
  const router::MapLayout& layout = map.layout();
  const ShardIndex by_key = layout.FindByKey(key);
  SM_CHECK(!by_key.valid() || by_key.index() < layout.size(), "a shard of this map");
  for (size_t i = 0; i < layout.size(); ++i) {
    const ShardIndex shard(i);
    SM_CHECK(layout.FindById(layout.id(shard)) == shard, "each shard is found by its id");
    for (const router::MappedReplica& replica : map.replicas(shard)) {
      SM_CHECK(map.server(replica.server()).name.size() < SIZE_MAX, "each server is there");
    }
  }
}

// A relay's subscriber that begins now ends where the relay is.
void CheckNewcomer(MapFeed& feed) {
  MapReceiver newcomer;
  for (const discovery::Message& message : feed.CatchUpFrom(std::nullopt).messages) {
    auto update = discovery::WatchUpdate::Parse(PageString(*message));
    SM_CHECK(update.ok(), "a relay sends well-formed messages");
    const discovery::Received received = newcomer.Receive(*std::move(update));
    SM_CHECK(!std::holds_alternative<discovery::Broken>(received), "and whole snapshots");
  }
  SM_CHECK(newcomer.held() == feed.version(), "a newcomer is brought up to date");
}

class Subscriber {
 public:
  void Take(discovery::WatchUpdate update) {
    const std::optional<MapVersion> before = receiver_.known();
    discovery::Received received = receiver_.Receive(std::move(update));
    if (const auto* whole = std::get_if<WholeMap>(&received)) Apply(*whole, before);
    if (const auto* delta = std::get_if<v1::MapDelta>(&received)) Apply(*delta, before);
    if (std::holds_alternative<discovery::Broken>(received)) receiver_.StreamOpened();
  }
  void NewStream() { receiver_.StreamOpened(); }
  const MapHolder& holder() const { return holder_; }

 private:
  static MapVersion VersionOf(const WholeMap& whole) { return whole.version(); }
  static MapVersion VersionOf(const v1::MapDelta& delta) {
    return MapVersion::From(delta.version());
  }
  template <typename Update>
  void Apply(const Update& update, const std::optional<MapVersion>& before) {
    SM_CHECK(!before || *before < VersionOf(update), "nothing older comes out");
    const std::shared_ptr<const ShardMap> map = holder_.map();
    const absl::Status applied = holder_.Apply(update);
    SM_CHECK(applied.ok() || holder_.map() == map, "what is refused changes nothing");
    holder_.TakeAbandonedEndpoints();
    if (!applied.ok()) receiver_.Distrust(map ? std::optional(map->version()) : std::nullopt);
    if (feed_.Publish(update).kind == discovery::Verdict::kApplied) CheckNewcomer(feed_);
  }

  MapReceiver receiver_;
  MapHolder holder_;
  MapFeed feed_{{.message_bytes = 200}};
};

}  // namespace

SM_FUZZ_TARGET(map_stream) {
  Subscriber subscriber;
  while (!input.empty()) {
    if (input.Below(16) == 0) subscriber.NewStream();
    auto update = discovery::WatchUpdate::Parse(PageString(input.Text(2'048)));
    if (!update.ok()) continue;
    subscriber.Take(*std::move(update));
    if (subscriber.holder().map()) LookAround(*subscriber.holder().map(), input.Text(8));
  }
}

}  // namespace shardmanager
