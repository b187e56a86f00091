#include "discovery/hub.h"

#include <algorithm>
#include <iterator>
#include <map>
#include <utility>
#include <vector>

#include "absl/container/flat_hash_set.h"
#include "model/map/cell_identity.h"

namespace shardmanager::discovery {

struct Topic {
  explicit Topic(AppName name, FeedLimits limits) : app(std::move(name)), feed(limits) {}

  const AppName app;
  // Guarded by the hub's mutex.
  bool wanted = false;
  bool stale = false;
  std::string no_such_app_in;  // by SetNoSuchApp

  std::mutex mutex;
  MapFeed feed;
  // Those who pulled all there was. A subscription takes itself out in its
  // destructor, under the mutex, so one found here can still be asked for a
  // shared_ptr (and says no when it is being destroyed).
  absl::flat_hash_set<Subscription*> waiting;
  bool changed = false;  // since they began to wait: they are to be woken
  // Those of them that were waiting at a change, and were not woken yet, by source. None is empty.
  std::map<std::string, absl::flat_hash_set<Subscription*>> due;
  bool wake_posted = false;  // some are about to be woken

  // REQUIRES: mutex held.
  std::vector<std::shared_ptr<Subscription>> TakeDue(size_t most);
  // What on_ahead was told last: the leader epoch published here, and that of a subscriber.
  std::pair<uint64_t, uint64_t> told_ahead;
};

std::vector<std::shared_ptr<Subscription>> Topic::TakeDue(size_t most) {
  if (std::exchange(changed, false)) {
    for (Subscription* subscription : waiting) due[subscription->source_].insert(subscription);
    waiting.clear();
  }
  std::vector<std::shared_ptr<Subscription>> taken;
  const size_t of_each = std::max<size_t>(1, most / std::max<size_t>(1, due.size()));
  for (auto source = due.begin(); source != due.end();) {
    auto& those = source->second;
    size_t left = of_each;
    for (auto it = those.begin(); it != those.end() && left > 0; --left) {
      if (auto alive = (*it)->weak_from_this().lock()) taken.push_back(std::move(alive));
      those.erase(it++);
    }
    source = those.empty() ? due.erase(source) : std::next(source);
  }
  return taken;
}

Subscription::Subscription(Hub& hub, std::shared_ptr<Topic> topic, Subscriber who)
    : hub_(hub),
      topic_(std::move(topic)),
      wake_(std::move(who.wake)),
      cell_(std::move(who.cell)),
      source_(std::move(who.source)),
      at_(who.known) {}

Subscription::~Subscription() {
  {
    std::lock_guard lock(topic_->mutex);
    topic_->waiting.erase(this);
    const auto due = topic_->due.find(source_);
    if (due != topic_->due.end() && due->second.erase(this) > 0 && due->second.empty()) {
      topic_->due.erase(due);
    }
  }
  hub_.Forget(std::move(topic_));
}

Message Subscription::Pull() {
  std::lock_guard lock(topic_->mutex);
  Message next = PullUpdate();
  if (next == nullptr) next = PullNews();
  if (next == nullptr) topic_->waiting.insert(this);
  return next;
}

Message Subscription::PullUpdate() {
  if (pending_.empty()) {
    if (!IsOfCell(topic_->feed.cell(), cell_)) return nullptr;
    MapFeed::CatchUp catch_up = topic_->feed.CatchUpFrom(at_);
    if (catch_up.messages.empty()) {
      if (at_.has_value()) hub_.NoteIfAhead(*topic_, *at_);
      return nullptr;
    }
    // What is not a heartbeat says that nothing is stale, and that there is such an app.
    told_stale_ = false;
    told_no_such_app_in_.clear();
    at_ = catch_up.version;
    pending_ = std::move(catch_up.messages);
    std::reverse(pending_.begin(), pending_.end());
  }
  Message next = std::move(pending_.back());
  pending_.pop_back();
  return next;
}

// What only a heartbeat tells, and the subscriber does not know.
Message Subscription::PullNews() {
  const MapFeed& feed = topic_->feed;
  const bool other_cell = !IsOfCell(feed.cell(), cell_);
  const bool knows = told_stale_ == feed.stale() && told_suspects_ == feed.suspect_changes() &&
                     told_no_such_app_in_ == feed.no_such_app_in() &&
                     told_other_cell_ == other_cell;
  if (knows) return nullptr;
  told_stale_ = feed.stale();
  told_suspects_ = feed.suspect_changes();
  told_no_such_app_in_ = feed.no_such_app_in();
  told_other_cell_ = other_cell;
  return feed.Heartbeat();
}

Message Subscription::Heartbeat() const {
  std::lock_guard lock(topic_->mutex);
  return topic_->feed.Heartbeat();
}

Hub::Hub(HubOptions options) : options_(std::move(options)), fan_out_("sm-fan-out") {}

Hub::~Hub() { fan_out_.Stop(); }

Verdict Hub::Publish(const AppName& app, const v1::MapSnapshot& whole) {
  return PublishUpdate(app, whole);
}

Verdict Hub::Publish(const AppName& app, const WholeMap& whole) {
  return PublishUpdate(app, whole);
}

Verdict Hub::Publish(const AppName& app, const v1::MapDelta& delta) {
  return PublishUpdate(app, delta);
}

template <typename Update>
Verdict Hub::PublishUpdate(const AppName& app, const Update& update) {
  const std::shared_ptr<Topic> topic = GetTopic(app);
  std::lock_guard lock(topic->mutex);
  Verdict verdict = topic->feed.Publish(update);
  if (verdict.kind == Verdict::kApplied) Wake(topic);
  return verdict;
}

void Hub::SetStale(const AppName& app, bool stale) {
  const std::shared_ptr<Topic> topic = FindTopic(app);
  if (topic == nullptr) return;
  std::lock_guard lock(mutex_);
  topic->stale = stale;
  UpdateStale(topic);
}

void Hub::SetStale(bool stale) {
  std::lock_guard lock(mutex_);
  stale_ = stale;
  for (const auto& [name, topic] : topics_) UpdateStale(topic);
}

// REQUIRES: mutex_ held.
void Hub::UpdateStale(const std::shared_ptr<Topic>& topic) {
  const bool stale = stale_ || topic->stale;
  std::lock_guard lock(topic->mutex);
  if (topic->feed.stale() == stale) return;
  topic->feed.SetStale(stale);
  Wake(topic);
}

void Hub::SetApps(std::optional<Apps> apps) {
  std::lock_guard lock(mutex_);
  if (apps == apps_) return;
  apps_ = std::move(apps);
  for (const auto& [name, topic] : topics_) UpdateNoSuchApp(topic);
}

void Hub::SetNoSuchApp(const AppName& app, std::string cell) {
  const std::shared_ptr<Topic> topic = FindTopic(app);
  if (topic == nullptr) return;
  std::lock_guard lock(mutex_);
  topic->no_such_app_in = std::move(cell);
  UpdateNoSuchApp(topic);
}

// REQUIRES: mutex_ held.
void Hub::UpdateNoSuchApp(const std::shared_ptr<Topic>& topic) {
  std::string cell = topic->no_such_app_in;
  if (cell.empty() && apps_ && !apps_->names.contains(topic->app.value())) cell = apps_->cell;
  std::lock_guard lock(topic->mutex);
  if (topic->feed.SetNoSuchAppIn(std::move(cell))) Wake(topic);
}

void Hub::SetSuspects(const AppName& app, std::vector<std::string> suspects) {
  const std::shared_ptr<Topic> topic = FindTopic(app);
  if (topic == nullptr) return;
  std::lock_guard lock(topic->mutex);
  if (topic->feed.SetSuspects(std::move(suspects))) Wake(topic);
}

// REQUIRES: topic->mutex held.
void Hub::Wake(const std::shared_ptr<Topic>& topic) {
  if (topic->waiting.empty()) return;
  topic->changed = true;
  if (std::exchange(topic->wake_posted, true)) return;
  fan_out_.Post([this, topic] { WakeSome(topic); });
}

// REQUIRES: topic.mutex held. Asked again with each map that is published: the subscriber may have
// come before the first one.
void Hub::NoteIfAhead(Topic& topic, MapVersion known) const {
  const std::optional<MapVersion> here = topic.feed.version();
  if (!on_ahead || !here.has_value() || known.leader_epoch <= here->leader_epoch) return;
  // A version that does not tell its cell proves nothing.
  if (known.cell_made_ms == 0 || known.cell_made_ms != here->cell_made_ms) return;
  const std::pair ahead{here->leader_epoch, known.leader_epoch};
  if (ahead <= topic.told_ahead) return;
  topic.told_ahead = ahead;
  on_ahead(topic.app, known);
}

// Not all at once: meanwhile there may be another change, for those who have this one.
void Hub::WakeSome(const std::shared_ptr<Topic>& topic) {
  constexpr size_t kAtOnce = 256;
  std::vector<std::shared_ptr<Subscription>> woken;
  {
    std::lock_guard lock(topic->mutex);
    woken = topic->TakeDue(kAtOnce);
    topic->wake_posted = !topic->due.empty();
    if (topic->wake_posted) fan_out_.Post([this, topic] { WakeSome(topic); });
  }
  for (const auto& subscription : woken) subscription->wake_();
}

std::shared_ptr<Subscription> Hub::Subscribe(const AppName& app, Subscriber who) {
  std::shared_ptr<Topic> topic = GetTopic(app);
  {
    std::lock_guard lock(mutex_);
    ++subscribers_;
    if (!topic->wanted) {
      topic->wanted = true;
      if (options_.wanted) options_.wanted(app);
    }
  }
  return std::shared_ptr<Subscription>(new Subscription(*this, std::move(topic), std::move(who)));
}

void Hub::Forget(std::shared_ptr<Topic> topic) {
  std::lock_guard lock(mutex_);
  --subscribers_;
  constexpr long kOursAndTheTables = 2;
  if (topic.use_count() > kOursAndTheTables) return;  // others use it
  {
    std::lock_guard topic_lock(topic->mutex);
    if (topic->feed.version().has_value()) return;
  }
  if (topic->wanted && options_.unwanted) options_.unwanted(topic->app);
  topics_.erase(topic->app.value());
}

std::shared_ptr<Topic> Hub::GetTopic(const AppName& app) {
  std::lock_guard lock(mutex_);
  std::shared_ptr<Topic>& topic = topics_[app.value()];
  if (topic == nullptr) {
    topic = std::make_shared<Topic>(app, options_.limits);
    topic->feed.SetStale(stale_);
    UpdateNoSuchApp(topic);
  }
  return topic;
}

std::shared_ptr<Topic> Hub::FindTopic(const AppName& app) const {
  std::lock_guard lock(mutex_);
  auto topic = topics_.find(app.value());
  return topic == topics_.end() ? nullptr : topic->second;
}

std::optional<MapVersion> Hub::Version(const AppName& app) const {
  const std::shared_ptr<Topic> topic = FindTopic(app);
  if (topic == nullptr) return std::nullopt;
  std::lock_guard lock(topic->mutex);
  return topic->feed.version();
}

size_t Hub::subscribers() const {
  std::lock_guard lock(mutex_);
  return subscribers_;
}

}  // namespace shardmanager::discovery
