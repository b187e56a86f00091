#include "orchestrator/control/cell_session.h"

#include <spdlog/spdlog.h>

#include <utility>

#include "coordination/cell.h"
#include "runtime/clock.h"

namespace shardmanager::orchestrator {
namespace {

constexpr Duration kRetryDelay = Milliseconds(500);

}  // namespace

CellSession::CellSession(const ControllerOptions& options, CoordinationStoreFactory& stores,
                         Executor& executor, Callbacks callbacks)
    : options_(options),
      stores_(stores),
      executor_(executor),
      callbacks_(std::move(callbacks)),
      paths_(options.cell.cell()),
      timeout_(options.cell.session_timeout_ms()) {}

void CellSession::Open() {
  if (closed_) return;
  const uint64_t session = ++number_;
  callbacks_.replaced();
  check_.reset();
  if (store_ != nullptr) store_->Close();
  joined_ = false;
  SessionOptions session_options;
  session_options.timeout = timeout_;
  session_options.on_state = [this, session](SessionState state) {
    executor_.Post([this, session, state] { OnState(session, state); });
  };
  store_ = stores_.NewSession(std::move(session_options));
}

void CellSession::Close() {
  closed_ = true;
  check_.reset();
  if (store_ != nullptr) store_->Close();
}

void CellSession::TryLater(std::function<void()> what) {
  executor_.PostAt(executor_.Now() + kRetryDelay,
                   [this, session = number_, what = std::move(what)] {
                     if (IsCurrent(session)) what();
                   });
}

void CellSession::OnState(uint64_t session, SessionState state) {
  if (!IsCurrent(session)) return;
  switch (state) {
    case SessionState::kConnected:
      unreachable_.Over("the coordination store is reached again");
      if (!joined_) return JoinCell();
      CheckAgain();
      return callbacks_.reached_again();
    case SessionState::kSuspended:
      unreachable_.Say("the connection to the coordination store is lost; trying again");
      return;
    case SessionState::kExpired:
      callbacks_.expired();
      return Open();
    case SessionState::kConnecting:
    case SessionState::kClosed:
      return;
  }
}

// The cell says which time-out to ask for, whatever our flags say: a session with another one is
// replaced. Sessions are checked before the cell is made, as its time-outs cannot be changed
// afterwards.
void CellSession::JoinCell() {
  LoadCell(*store_, options_.cell.cell(), [this, session = number_](auto config) {
    executor_.Post([this, session, config = std::move(config)]() mutable {
      if (!IsCurrent(session) || joined_) return;
      if (absl::IsNotFound(config.status())) config = options_.cell;
      if (!config.ok()) return OnCell(std::move(config));
      const std::chrono::milliseconds wanted(config->session_timeout_ms());
      if (std::exchange(timeout_, wanted) != wanted) return Open();
      CheckSessions(TermsOf(*config), [this, terms = TermsOf(*config)](absl::Status granted) {
        if (!granted.ok()) return OnCell(std::move(granted));
        MakeCell(terms);
      });
    });
  });
}

// Our own session, and what anybody's would be. `done` comes once, if our session lives until then.
void CellSession::CheckSessions(const SessionTerms& terms, std::function<void(absl::Status)> done) {
  check_ = std::make_unique<SessionCheck>(
      stores_, executor_, terms, options_.min_session_timeout_tells_tick,
      [this, terms, done = std::move(done)](absl::Status granted) {
        if (granted.ok()) granted = CheckGranted(terms, store_->session_timeout());
        check_.reset();
        done(std::move(granted));
      });
}

// ZooKeeper's members may have been started anew, one after the other, with another tickTime: no
// session ends by that, so nobody joins again and would find out.
void CellSession::CheckAgain() {
  CheckSessions(TermsOf(cell_), [this](const absl::Status& granted) {
    if (!granted.ok()) GiveUp("stay in", granted);
  });
}

int64_t CellSession::WallMs() const {
  return options_.wall_ms ? options_.wall_ms() : WallMilliseconds();
}

void CellSession::MakeCell(const SessionTerms& checked) {
  v1::CellConfig wanted = options_.cell;
  if (options_.wall_ms) wanted.set_made_ms(options_.wall_ms());
  EnsureCell(*store_, wanted, [this, checked, session = number_](auto config) {
    executor_.Post([this, checked, session, config = std::move(config)]() mutable {
      if (!IsCurrent(session)) return;
      // Another process made it meanwhile, with other time-outs.
      if (config.ok() && TermsOf(*config) != checked) return JoinCell();
      OnCell(std::move(config));
    });
  });
}

void CellSession::OnCell(absl::StatusOr<v1::CellConfig> config) {
  if (joined_) return;
  if (!config.ok()) {
    if (absl::IsUnavailable(config.status()) || absl::IsAborted(config.status())) {
      return TryLater([this] { JoinCell(); });
    }
    return GiveUp("join", config.status());
  }
  joined_ = true;
  joined_at_ = executor_.Now();
  cell_ = *std::move(config);
  if (options_.timeouts_were_named && TermsOf(cell_) != TermsOf(options_.cell)) {
    spdlog::warn(
        "cell {} keeps the time-outs that it was made with: --session-timeout-ms {} and "
        "--zookeeper-tick-ms {}; those of this process are not used",
        cell_.cell(), cell_.session_timeout_ms(), cell_.zookeeper_tick_ms());
  }
  callbacks_.joined();
}

void CellSession::GiveUp(const char* what, const absl::Status& why) {
  spdlog::error("cannot {} cell {}: {}", what, options_.cell.cell(), why.ToString());
  callbacks_.fatal(why);
}

}  // namespace shardmanager::orchestrator
