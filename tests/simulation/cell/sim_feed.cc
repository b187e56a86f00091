#include "tests/simulation/cell/sim_feed.h"

#include <algorithm>
#include <utility>

namespace shardmanager::simulation {
namespace {

constexpr Duration kHeartbeat = Seconds(1);
// As long as a subscriber bears a silent stream.
constexpr Duration kSilence = Seconds(3);

}  // namespace

// ---- publisher ----

SimFeed::SimFeed(Network& network, std::shared_ptr<Process> process)
    : network_(network), process_(std::move(process)) {
  Beat();
}

bool SimFeed::Publish(const v1::MapSnapshot& map) { return PushIf(feed_.Publish(map)); }
bool SimFeed::Publish(const v1::MapDelta& delta) { return PushIf(feed_.Publish(delta)); }

void SimFeed::SetStale(bool stale) {
  stale_ = stale;
  UpdateStale();
}
void SimFeed::SetUpstreamStale(bool stale) {
  upstream_stale_ = stale;
  UpdateStale();
}
void SimFeed::UpdateStale() {
  const bool stale = stale_ || upstream_stale_;
  if (feed_.stale() == stale) return;
  feed_.SetStale(stale);
  for (const auto& stream : streams_) Send(stream, feed_.Heartbeat());
}

bool SimFeed::PushIf(const discovery::Verdict& verdict) {
  if (verdict.kind == discovery::Verdict::kApplied) Push();
  return verdict.kind == discovery::Verdict::kApplied || verdict.kind == discovery::Verdict::kStale;
}

void SimFeed::Open(std::shared_ptr<Process> to, std::optional<MapVersion> known,
                   std::weak_ptr<Deliver> deliver) {
  const auto stream = std::make_shared<Stream>(Stream{std::move(to), known, std::move(deliver)});
  streams_.push_back(stream);
  Push();
  if (feed_.stale()) Send(stream, feed_.Heartbeat());
}

void SimFeed::Push() {
  std::erase_if(streams_,
                [](const auto& stream) { return stream->broken || stream->deliver.expired(); });
  for (const auto& stream : streams_) {
    const auto catch_up = feed_.CatchUpFrom(stream->at);
    if (catch_up.messages.empty()) continue;
    stream->at = catch_up.version;
    for (const discovery::Message& message : catch_up.messages) Send(stream, message);
  }
}

void SimFeed::Beat() {
  process_->RunAfter(kHeartbeat, [this, alive = std::weak_ptr<int>(alive_)] {
    if (alive.expired()) return;
    for (const auto& stream : streams_) Send(stream, feed_.Heartbeat());
    Beat();
  });
}

// A stream keeps its order; a message that is lost breaks it, and nothing follows.
void SimFeed::Send(const std::shared_ptr<Stream>& stream, const discovery::Message& message) {
  if (stream->broken) return;
  if (!network_.Open(process_->host(), stream->to->host())) {
    stream->broken = true;
    return;
  }
  Schedule& schedule = process_->schedule();
  stream->last_arrival = std::max(stream->last_arrival, schedule.now() + network_.Delay());
  schedule.At(stream->last_arrival,
              [&network = network_, from = process_->host(), stream, message] {
                if (!network.Open(from, stream->to->host())) stream->broken = true;
                if (stream->broken) return;
                stream->to->Run([stream, message] {
                  v1::WatchResponse response;
                  const auto deliver = stream->deliver.lock();
                  if (deliver != nullptr && response.ParseFromString(*message))
                    (*deliver)(response);
                });
              });
}

// ---- subscriber ----

SimSubscriber::SimSubscriber(Network& network, std::shared_ptr<Process> process, Options options)
    : network_(network),
      process_(std::move(process)),
      options_(std::move(options)),
      receiver_(options_.held()),
      policy_(options_.publishers.size(), {}, network_.random().Next()) {
  Connect();
}

void SimSubscriber::Connect() {
  const uint64_t stream = ++stream_;
  heard_ = process_->LocalNow();
  deliver_ = std::make_shared<SimFeed::Deliver>(
      [this](v1::WatchResponse response) { Receive(std::move(response)); });
  receiver_.StreamOpened();
  process_->RunAfter(kSilence, [this, stream, alive = std::weak_ptr(deliver_)] {
    if (!alive.expired()) CheckSilence(stream);
  });
  SimFeed* feed = options_.publishers[policy_.endpoint()]();
  if (feed == nullptr) return Fail();
  network_.Send(process_->host(), feed->process(),
                [this, publisher = options_.publishers[policy_.endpoint()], to = process_,
                 known = receiver_.known(), deliver = std::weak_ptr(deliver_)] {
                  SimFeed* found = publisher();
                  if (found != nullptr) found->Open(to, known, deliver);
                });
}

void SimSubscriber::Fail() {
  deliver_ = std::make_shared<SimFeed::Deliver>();  // what was under way finds nobody
  ++stream_;
  const bool has_map = !options_.is_relay && receiver_.known().has_value();
  process_->RunAfter(policy_.OnFailure(has_map).delay, [this, alive = std::weak_ptr(deliver_)] {
    if (!alive.expired()) Connect();
  });
}

void SimSubscriber::CheckSilence(uint64_t stream) {
  if (stream != stream_) return;
  const TimePoint now = process_->LocalNow();
  if (now >= heard_ + kSilence) return Fail();
  process_->RunAfter(heard_ + kSilence - now, [this, stream, alive = std::weak_ptr(deliver_)] {
    if (!alive.expired()) CheckSilence(stream);
  });
}

void SimSubscriber::Receive(v1::WatchResponse response) {
  heard_ = process_->LocalNow();
  discovery::Received received = receiver_.Receive(std::move(response));
  if (std::holds_alternative<discovery::Broken>(received)) return Fail();
  if (!std::holds_alternative<discovery::Nothing>(received)) policy_.OnUseful();
  bool used = true;
  if (const auto* map = std::get_if<WholeMap>(&received)) {
    used = options_.on_snapshot(map->ToSnapshot());
  }
  if (const auto* delta = std::get_if<v1::MapDelta>(&received)) used = options_.on_delta(*delta);
  if (used) return TakeStale(receiver_.stale());
  receiver_.Distrust(options_.held());
  Fail();
}

void SimSubscriber::TakeStale(bool stale) {
  if (options_.on_stale) options_.on_stale(stale);
  if (stale && policy_.OnStale()) Fail();
}

}  // namespace shardmanager::simulation
