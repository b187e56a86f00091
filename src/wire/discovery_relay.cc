#include "wire/discovery_relay.h"

#include <spdlog/spdlog.h>

#include <utility>

#include "absl/strings/str_cat.h"
#include "runtime/logging.h"

namespace shardmanager::wire {

using discovery::Verdict;

// One app's subscription upstream.
class DiscoveryRelay::App final : public MapSink {
 public:
  App(DiscoveryRelay& relay, AppName app) : relay_(relay), app_(std::move(app)) {
    watch_ = relay_.upstream_.Watch(app_, relay_.hub_.Version(app_), *this);
  }
  ~App() override {
    watch_.reset();
    SetConnected(false);
  }

  void OnSnapshot(v1::MapSnapshot whole) override {
    relay_.PassOn(app_, relay_.hub_.Publish(app_, whole));
  }

  bool OnDelta(v1::MapDelta delta) override {
    return relay_.PassOn(app_, relay_.hub_.Publish(app_, delta));
  }

  void OnStreamState(const absl::Status& status) override {
    SetConnected(status.ok());
    if (status.ok()) {
      lost_.Over(absl::StrCat("the map of ", app_.value(), " is heard from upstream again"));
    } else {
      lost_.Say(absl::StrCat(
          "the map of ", app_.value(),
          " is not heard from upstream; serving the last one: ", std::string(status.message())));
    }
  }

 private:
  void SetConnected(bool connected) {
    if (std::exchange(connected_, connected) == connected) return;
    connected ? ++relay_.connected_ : --relay_.connected_;
  }

  DiscoveryRelay& relay_;
  const AppName app_;
  Repeater lost_;
  bool connected_ = false;
  std::unique_ptr<MapWatch> watch_;
};

DiscoveryRelay::DiscoveryRelay(DiscoveryClientOptions upstream)
    : upstream_(std::move(upstream)),
      executor_("sm-relay"),
      hub_({.limits = {},
            .wanted = [this](const AppName& app) { executor_.Post([=, this] { Want(app); }); },
            .unwanted =
                [this](const AppName& app) { executor_.Post([=, this] { Unwant(app); }); }}) {}

DiscoveryRelay::~DiscoveryRelay() {
  executor_.Stop();
  apps_.clear();  // while the hub that they publish to is there
}

void DiscoveryRelay::Want(const AppName& app) {
  if (apps_.contains(app)) return;
  spdlog::info("subscribing upstream to the map of {}", app.value());
  apps_.emplace(app, std::make_unique<App>(*this, app));
  app_count_ = apps_.size();
}

void DiscoveryRelay::Unwant(const AppName& app) {
  if (apps_.erase(app) > 0) spdlog::info("nobody asks for {} any more", app.value());
  app_count_ = apps_.size();
}

bool DiscoveryRelay::PassOn(const AppName& app, const Verdict& verdict) {
  const bool fits = verdict.kind == Verdict::kApplied || verdict.kind == Verdict::kStale;
  ++(fits ? updates_ : refused_);
  if (!fits) spdlog::warn("an update of {} is refused: {}", app.value(), verdict.reason);
  return fits;
}

DiscoveryRelay::Stats DiscoveryRelay::stats() const {
  return {hub_.subscribers(), app_count_, connected_, updates_, refused_};
}

}  // namespace shardmanager::wire
