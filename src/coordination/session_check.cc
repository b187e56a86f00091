#include "coordination/session_check.h"

#include <utility>

namespace shardmanager {

SessionTerms TermsOf(const v1::CellConfig& config) {
  return {.timeout = Milliseconds(config.session_timeout_ms()),
          .tick = Milliseconds(config.zookeeper_tick_ms())};
}

SessionCheck::SessionCheck(CoordinationStoreFactory& stores, Executor& executor,
                           const SessionTerms& terms, bool trust_min_timeout, Done done)
    : executor_(executor),
      terms_(terms),
      trust_min_timeout_(trust_min_timeout),
      done_(std::move(done)) {
  Ask(stores, terms_.timeout);
  Ask(stores, ShortestSession(terms_.tick));
}

SessionCheck::~SessionCheck() {
  for (Probe& probe : probes_) probe.session->Close();
}

void SessionCheck::Ask(CoordinationStoreFactory& stores, Duration timeout) {
  SessionOptions options;
  options.timeout = std::chrono::duration_cast<std::chrono::milliseconds>(timeout);
  options.on_state = [this, &executor = executor_, alive = std::weak_ptr(alive_),
                      probe = probes_.size()](SessionState state) {
    if (state != SessionState::kConnected) return;
    executor.Post([this, alive, probe] {
      if (!alive.expired()) OnGranted(probes_[probe]);
    });
  };
  probes_.push_back({stores.NewSession(std::move(options)), std::nullopt});
}

void SessionCheck::OnGranted(Probe& probe) {
  if (!done_) return;
  probe.granted = probe.session->session_timeout();
  const std::optional<Duration> servers = probes_[0].granted;
  const std::optional<Duration> shortest = probes_[1].granted;
  if (!servers || !shortest) return;
  for (Probe& p : probes_) p.session->Close();
  absl::Status status = CheckGranted(terms_, *servers);
  if (status.ok() && trust_min_timeout_) status = CheckTick(terms_.tick, *shortest);
  std::exchange(done_, nullptr)(std::move(status));
}

}  // namespace shardmanager
