// Session, election and the list of apps. What operators ask is in admin.cc.
#include "orchestrator/control/controller.h"

#include <spdlog/spdlog.h>

#include <utility>

#include "absl/strings/str_cat.h"
#include "coordination/cell.h"
#include "runtime/serial_executor.h"

namespace shardmanager::orchestrator {
namespace {

constexpr Duration kRetryDelay = Milliseconds(500);
constexpr Duration kRelookInterval = Seconds(10);

std::unique_ptr<Executor> OrThread(std::unique_ptr<Executor> given, const char* name) {
  return given != nullptr ? std::move(given) : std::make_unique<SerialExecutor>(name);
}

}  // namespace

Controller::Controller(ControllerOptions options, CoordinationStoreFactory& stores,
                       CommandSender& sender, MapPublisher& publisher, EventLog& events,
                       Executors executors)
    : options_(std::move(options)),
      paths_(options_.cell.cell()),
      stores_(stores),
      sender_(sender),
      publisher_(publisher),
      events_(events),
      solver_(OrThread(std::move(executors.solver), "solver")),
      executor_(OrThread(std::move(executors.control), "control")) {}

Controller::~Controller() { Stop(); }

void Controller::Start(const std::string& endpoint) {
  executor_->Post([this, endpoint] {
    self_.set_process(options_.process);
    self_.set_endpoint(endpoint);
    lease_.Begin(executor_->Now());
    session_timeout_ = std::chrono::milliseconds(options_.cell.session_timeout_ms());
    NewSession();
    Beat();
  });
}

void Controller::Stop() {
  std::call_once(stop_once_, [this] {
    executor_->RunThere([this] {
      stopping_ = true;
      EndLead();
      election_.reset();
      session_check_.reset();
      // Closing ends the session: the holder node goes, a standby takes over at once.
      if (store_ != nullptr) store_->Close();
    });
    solver_->Stop();
    executor_->Stop();
    store_.reset();
  });
}

// ---- session ----

void Controller::NewSession() {
  if (stopping_) return;
  const uint64_t session = ++session_;
  EndLead();
  election_.reset();
  session_check_.reset();
  if (store_ != nullptr) store_->Close();
  joined_ = false;
  ++renewals_;
  renewing_ = false;
  leader_.reset();
  SessionOptions session_options;
  session_options.timeout = session_timeout_;
  session_options.on_state = [this, session](SessionState state) {
    executor_->Post([this, session, state] { OnSession(session, state); });
  };
  lease_.NewSession(executor_->Now());
  store_ = stores_.NewSession(std::move(session_options));
}

void Controller::OnSession(uint64_t session, SessionState state) {
  if (session != session_ || stopping_) return;
  switch (state) {
    case SessionState::kConnected:
      unreachable_.Over("the coordination store is reached again");
      if (!joined_) return JoinCell();
      CheckAgain();
      RenewAnew();
      return Relook();
    case SessionState::kSuspended:
      unreachable_.Say("the connection to the coordination store is lost; trying again");
      return;
    case SessionState::kExpired:
      OnLost("the session with the coordination store has expired");
      return NewSession();
    case SessionState::kConnecting:
    case SessionState::kClosed:
      return;
  }
}

void Controller::Later(uint64_t session, Duration delay, void (Controller::*what)()) {
  executor_->PostAt(executor_->Now() + delay, [this, session, what] {
    if (session == session_ && !stopping_) (this->*what)();
  });
}

// The cell says which time-out to ask for, whatever our flags say: a session with another one is
// replaced. Sessions are checked before the cell is made, as its time-outs cannot be changed
// afterwards.
void Controller::JoinCell() {
  LoadCell(*store_, options_.cell.cell(), [this, session = session_](auto config) {
    executor_->Post([this, session, config = std::move(config)]() mutable {
      if (session != session_ || stopping_ || joined_) return;
      if (absl::IsNotFound(config.status())) config = options_.cell;
      if (!config.ok()) return OnCell(std::move(config));
      const std::chrono::milliseconds wanted(config->session_timeout_ms());
      if (std::exchange(session_timeout_, wanted) != wanted) return NewSession();
      CheckSessions(TermsOf(*config), [this, terms = TermsOf(*config)](absl::Status granted) {
        if (!granted.ok()) return OnCell(std::move(granted));
        MakeCell(terms);
      });
    });
  });
}

// Our own session, and what anybody's would be. `done` comes once, if our session lives until then.
void Controller::CheckSessions(const SessionTerms& terms, std::function<void(absl::Status)> done) {
  session_check_ = std::make_unique<SessionCheck>(
      stores_, *executor_, terms, options_.min_session_timeout_tells_tick,
      [this, terms, done = std::move(done)](absl::Status granted) {
        if (granted.ok()) granted = CheckGranted(terms, store_->session_timeout());
        session_check_.reset();
        done(std::move(granted));
      });
}

// ZooKeeper's members may have been started anew, one after the other, with another tickTime: no
// session ends by that, so nobody joins again and would find out.
void Controller::CheckAgain() {
  CheckSessions(TermsOf(cell_), [this](const absl::Status& granted) {
    if (!granted.ok()) GiveUp("stay in", granted);
  });
}

void Controller::GiveUp(const char* what, const absl::Status& why) {
  spdlog::error("cannot {} cell {}: {}", what, options_.cell.cell(), why.ToString());
  if (on_fatal) on_fatal(why);
}

void Controller::MakeCell(const SessionTerms& checked) {
  v1::CellConfig wanted = options_.cell;
  if (options_.wall_ms) wanted.set_made_ms(options_.wall_ms());
  EnsureCell(*store_, wanted, [this, checked, session = session_](auto config) {
    executor_->Post([this, checked, session, config = std::move(config)]() mutable {
      if (session != session_ || stopping_) return;
      // Another process made it meanwhile, with other time-outs.
      if (config.ok() && TermsOf(*config) != checked) return JoinCell();
      OnCell(std::move(config));
    });
  });
}

void Controller::OnCell(absl::StatusOr<v1::CellConfig> config) {
  if (joined_) return;
  if (!config.ok()) {
    if (absl::IsUnavailable(config.status()) || absl::IsAborted(config.status())) {
      return Later(session_, kRetryDelay, &Controller::JoinCell);
    }
    return GiveUp("join", config.status());
  }
  joined_ = true;
  cell_ = *std::move(config);
  Beat();
  LeaderElection::Callbacks callbacks;
  callbacks.on_elected = [this, session = session_](LeaderEpoch epoch) {
    executor_->Post([this, session, epoch] {
      if (session == session_ && !stopping_) OnElected(epoch);
    });
  };
  callbacks.on_lost = [this, session = session_](std::string why) {
    executor_->Post([this, session, why] {
      if (session == session_) OnLost(why);
    });
  };
  callbacks.on_observed = [this, session = session_](std::optional<v1::LeaderRecord> leader) {
    executor_->Post([this, session, leader] {
      if (session == session_ && !stopping_) OnObserved(leader);
    });
  };
  election_ = std::make_unique<LeaderElection>(*store_, paths_, self_, callbacks);
  election_->Start();
}

void Controller::OnElected(LeaderEpoch epoch) {
  lead_.emplace(Lead{epoch, {}, {}});
  leads_ = InTouch();
  leader_ = self_;
  if (on_leader) on_leader("");
  Record("LeaderElected",
         absl::StrCat(self_.process(), " leads cell ", cell_.cell(), ", epoch ", epoch.value()));
  Relook();
}

void Controller::OnLost(const std::string& why) {
  if (!lead_) return;
  Record("LeaderLost", absl::StrCat(self_.process(), " does not lead any more: ", why));
  EndLead();
  leader_.reset();
}

void Controller::EndLead() {
  leads_ = false;
  lead_.reset();
}

void Controller::OnObserved(std::optional<v1::LeaderRecord> leader) {
  leader_ = std::move(leader);
  if (lead_ || !leader_ || !on_leader || leader_->endpoint().empty()) return;
  // A record of an earlier life of ours, whose session has not expired yet, names us.
  if (leader_->endpoint() != self_.endpoint()) on_leader(leader_->endpoint());
}

void Controller::Record(const char* kind, const std::string& message, bool trouble) {
  spdlog::log(trouble ? spdlog::level::warn : spdlog::level::info, "{} {}", kind, message);
  v1::ControlEvent event;
  event.set_kind(kind);
  event.set_message(message);
  events_.Append(std::move(event));
}

// ---- apps ----

void Controller::Relook() {
  if (!lead_ || stopping_) return;
  for (auto& [name, driver] : lead_->apps) driver->Relook();
  ListApps();
  if (!std::exchange(relook_timer_, true)) {
    executor_->PostAt(executor_->Now() + kRelookInterval, [this] {
      relook_timer_ = false;
      Relook();
    });
  }
}

void Controller::ListApps() {
  store_->GetChildren(paths_.apps(), [this, session = session_](auto apps) {
    executor_->Post([this, session, apps = std::move(apps)] {
      if (session != session_ || stopping_ || !lead_) return;
      if (!apps.ok()) return Later(session, kRetryDelay, &Controller::ListApps);
      OnApps(*apps);
    });
  });
}

void Controller::OnApps(const std::vector<std::string>& apps) {
  for (const std::string& app : apps) AddApp(app);
  lead_->listed = true;
}

// An app without a spec (deleted, or being made) leaves again by itself.
void Controller::AddApp(const std::string& app) {
  auto [it, fresh] = lead_->apps.try_emplace(app);
  if (!fresh) return;
  DriverContext context{.executor = executor_.get(),
                        .solver = solver_.get(),
                        .store = store_.get(),
                        .sender = &sender_,
                        .publisher = &publisher_,
                        .events = &events_,
                        .paths = paths_,
                        .buckets = cell_.buckets(),
                        .leader_epoch = lead_->epoch,
                        .cell = CellIdentity(cell_),
                        .cell_made_ms = cell_.made_ms()};
  PartitionDriver::Callbacks callbacks;
  // Later: a driver is not destroyed inside its own callback.
  callbacks.deposed = [this, session = session_] {
    executor_->Post([this, session] {
      if (session != session_ || !lead_) return;
      OnLost("another process has a higher leader epoch");
      NewSession();
    });
  };
  const auto end = [this, app, epoch = lead_->epoch](bool again) {
    executor_->Post([this, app, epoch, again] {
      if (!lead_ || lead_->epoch != epoch) return;
      RemoveApp(app);
      if (again) AddApp(app);
    });
  };
  callbacks.deleted = [end] { end(/*again=*/false); };
  callbacks.restart = [end] { end(/*again=*/true); };
  it->second = std::make_unique<PartitionDriver>(std::move(context), AppName(app),
                                                 lead_->counted[app], callbacks);
  it->second->Start();
}

void Controller::RemoveApp(const std::string& app) {
  auto driver = lead_->apps.find(app);
  if (driver == lead_->apps.end()) return;
  lead_->counted[app] = driver->second->counted();
  lead_->apps.erase(driver);
}

PartitionDriver* Controller::FindApp(const std::string& app) {
  auto it = lead_->apps.find(app);
  return it == lead_->apps.end() || !it->second->has_spec() ? nullptr : it->second.get();
}

}  // namespace shardmanager::orchestrator
