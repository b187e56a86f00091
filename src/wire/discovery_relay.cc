#include "wire/discovery_relay.h"

#include <utility>

#include "absl/strings/str_cat.h"
#include "runtime/logging.h"

namespace shardmanager::wire {

using discovery::Verdict;

// One app's subscription upstream.
class DiscoveryRelay::App final : public MapSink {
 public:
  App(DiscoveryRelay& relay, AppName app) : relay_(relay), app_(std::move(app)) {
    watch_ = relay_.upstream_->Watch(app_, relay_.hub_.Version(app_), *this);
  }
  ~App() override {
    watch_.reset();
    relay_.reports_.SetSuspectsElsewhere(app_, {});
    relay_.hub_.SetNoSuchApp(app_, "");
    SetConnected(false);
    SetStale(false);
  }

  void OnSnapshot(WholeMap whole) override {
    relay_.PassOn(app_, relay_.hub_.Publish(app_, whole));
  }

  bool OnDelta(v1::MapDelta delta) override {
    return relay_.PassOn(app_, relay_.hub_.Publish(app_, delta));
  }

  std::optional<MapVersion> Held() const override { return relay_.hub_.Version(app_); }

  v1::ReportServersRequest Report() override { return relay_.reports_.Sum(app_); }

  void OnSuspects(std::vector<std::string> suspects) override {
    relay_.reports_.SetSuspectsElsewhere(app_, std::move(suspects));
  }

  void OnNoSuchApp(const std::string& cell) override { relay_.hub_.SetNoSuchApp(app_, cell); }

  // The mark stays when this upstream is replaced, until the next one has said something.
  void OnStale(bool stale) override {
    SetStale(stale);
    relay_.hub_.SetStale(app_, stale);
    if (stale) {
      lost_.Say(absl::StrCat("the map of ", app_.value(),
                             " may not be the newest, and subscribers are told so: upstream is "
                             "cut off, or not heard"));
    } else if (connected_) {
      SayHeard();
    }
  }

  void OnStreamState(const absl::Status& status) override {
    SetConnected(status.ok());
    if (status.ok() && !stale_) {
      SayHeard();
    } else if (!status.ok()) {
      lost_.Say(absl::StrCat(
          "the map of ", app_.value(),
          " is not heard from upstream; serving the last one: ", std::string(status.message())));
    }
  }

 private:
  void SayHeard() {
    lost_.Over(absl::StrCat("the map of ", app_.value(), " is heard from upstream again"));
  }
  void SetConnected(bool connected) {
    if (std::exchange(connected_, connected) == connected) return;
    connected ? ++relay_.connected_ : --relay_.connected_;
  }
  void SetStale(bool stale) {
    if (std::exchange(stale_, stale) == stale) return;
    stale ? ++relay_.stale_ : --relay_.stale_;
  }

  DiscoveryRelay& relay_;
  const AppName app_;
  Repeater lost_;
  bool connected_ = false;
  bool stale_ = false;
  std::unique_ptr<MapWatch> watch_;
};

DiscoveryRelay::DiscoveryRelay(DiscoveryClientOptions upstream)
    : options_(std::move(upstream)),
      executor_("sm-relay"),
      hub_({.limits = {},
            .wanted = [this](const AppName& app) { executor_.Post([=, this] { Want(app); }); },
            .unwanted =
                [this](const AppName& app) { executor_.Post([=, this] { Unwant(app); }); }}) {
  // Relays are few, and many wait for what they hear.
  options_.longest_backoff_with_map = options_.longest_backoff;
  SetUpstream(options_.endpoints);
}

DiscoveryRelay::~DiscoveryRelay() {
  executor_.Stop();
  apps_.clear();  // while the hub that they publish to is there
}

void DiscoveryRelay::SetUpstream(std::vector<std::string> endpoints) {
  executor_.Post([this, endpoints = std::move(endpoints)] { Connect(endpoints); });
}

void DiscoveryRelay::Connect(std::vector<std::string> endpoints) {
  if (upstream_ != nullptr && endpoints == options_.endpoints) return;
  for (auto& [name, app] : apps_) app.reset();
  upstream_.reset();
  options_.endpoints = std::move(endpoints);
  if (options_.endpoints.empty()) {
    for (const auto& [name, app] : apps_) hub_.SetStale(name, false);
    return;
  }
  upstream_ = std::make_unique<DiscoveryClient>(options_);
  for (auto& [name, app] : apps_) app = Subscribe(name);
}

std::unique_ptr<DiscoveryRelay::App> DiscoveryRelay::Subscribe(const AppName& app) {
  if (upstream_ == nullptr) return nullptr;
  LogInfo("subscribing upstream to the map of {}", app.value());
  return std::make_unique<App>(*this, app);
}

void DiscoveryRelay::Want(const AppName& app) {
  auto [entry, is_new] = apps_.try_emplace(app);
  if (is_new) entry->second = Subscribe(app);
  app_count_ = apps_.size();
}

void DiscoveryRelay::Unwant(const AppName& app) {
  if (apps_.erase(app) > 0) LogInfo("nobody asks for {} any more", app.value());
  app_count_ = apps_.size();
}

bool DiscoveryRelay::PassOn(const AppName& app, const Verdict& verdict) {
  const bool fits = verdict.kind == Verdict::kApplied || verdict.kind == Verdict::kStale;
  ++(fits ? updates_ : refused_);
  if (!fits) LogWarning("an update of {} is refused: {}", app.value(), verdict.reason);
  return fits;
}

DiscoveryRelay::Stats DiscoveryRelay::stats() const {
  return {hub_.subscribers(), app_count_, connected_, stale_, updates_, refused_};
}

}  // namespace shardmanager::wire
