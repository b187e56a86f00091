#include "orchestrator/control/controller.h"

#include <algorithm>
#include <utility>

#include "runtime/serial_executor.h"

namespace shardmanager::orchestrator {
namespace {

std::unique_ptr<Executor> OrThread(std::unique_ptr<Executor> given, const char* name) {
  return given != nullptr ? std::move(given) : std::make_unique<SerialExecutor>(name);
}

}  // namespace

Controller::Controller(ControllerOptions options, CoordinationStoreFactory& stores,
                       CommandSender& sender, MapPublisher& publisher, EventLog& events,
                       Executors executors)
    : options_(std::move(options)),
      events_(events),
      solver_(OrThread(std::move(executors.solver), "solver")),
      executor_(OrThread(std::move(executors.control), "control")),
      session_(options_, stores, *executor_, SessionCallbacks()),
      leadership_(session_, *executor_, events, LeadershipCallbacks()),
      apps_({session_, *executor_, *solver_, sender, publisher, events,
             [this] {
               leadership_.Lose("another process has a higher leader epoch");
               session_.Open();
             },
             options_.meter}),
      policy_({session_, leadership_, *executor_, events}),
      client_drains_({session_, leadership_, apps_, *executor_, events, options_.client_views}),
      operations_({session_, leadership_, apps_, client_drains_, *executor_, *solver_, events}),
      levers_({apps_, *executor_, *solver_},
              LedThread({session_, leadership_, apps_, *executor_})) {}

Controller::~Controller() { Stop(); }

CellSession::Callbacks Controller::SessionCallbacks() {
  CellSession::Callbacks callbacks;
  callbacks.replaced = [this] { leadership_.NewSession(); };
  callbacks.joined = [this] {
    leadership_.Beat();
    leadership_.Stand();
  };
  callbacks.reached_again = [this] {
    leadership_.RenewAnew();
    apps_.Relook();
  };
  callbacks.expired = [this] {
    leadership_.Lose("the session with the coordination store has expired");
  };
  callbacks.fatal = [this](const absl::Status& why) {
    if (on_fatal) on_fatal(why);
  };
  return callbacks;
}

Leadership::Callbacks Controller::LeadershipCallbacks() {
  Leadership::Callbacks callbacks;
  callbacks.elected = [this](LeaderEpoch epoch) {
    apps_.Begin(epoch);
    policy_.Begin(epoch);
  };
  callbacks.ended = [this] {
    policy_.End();
    apps_.End();
  };
  callbacks.touch = [this](bool in_touch) {
    if (on_touch) on_touch(in_touch);
  };
  callbacks.leader = [this](const std::string& other_leader) {
    if (on_leader) on_leader(other_leader);
  };
  return callbacks;
}

void Controller::Start(const std::string& endpoint) {
  executor_->Post([this, endpoint] {
    v1::LeaderRecord self;
    self.set_process(options_.process);
    self.set_endpoint(endpoint);
    leadership_.Start(self);
    session_.Open();
    leadership_.Beat();
    client_drains_.Start();
  });
}

void Controller::Stop() {
  std::call_once(stop_once_, [this] {
    executor_->RunThere([this] {
      leadership_.End();
      session_.Close();
    });
    solver_->Stop();
    executor_->Stop();
    session_.Free();
  });
}

// Without a lease we may have been deposed, and `known` may be of our successor. If the lease holds
// after the subscriber has come, no successor had been elected: then the epochs of the cell were
// set back.
void Controller::GetHealth(std::function<void(CellHealth)> reply) {
  executor_->Post([this, reply = std::move(reply)] {
    reply(LookAtCell(session_, leadership_, apps_, executor_->Now()));
  });
}

void Controller::SubscriberIsAhead(const AppName& app, MapVersion held) {
  executor_->Post([this, app, held] {
    if (!apps_.begun()) return;
    const auto [ahead, first] = ahead_.try_emplace(app, held);
    ahead->second = std::max(ahead->second, held);
    if (!first) return;  // many may come while the lease does not hold
    leadership_.OnceInTouch(TimePoint::max(), [this, app] {
      const MapVersion known = ahead_.extract(app).mapped();
      const auto& epoch = leadership_.epoch();
      if (!epoch || known.leader_epoch <= epoch->value()) return;
      if (auto* driver = apps_.Find(app.value())) {
        driver->Hear(LaterLeaderSeen{
            absl::StrCat("a client or relay holds map ", known.ToString(), ", of leader epoch ",
                         known.leader_epoch, ", and takes no map of this leader, whose epoch is ",
                         epoch->value())});
      }
    });
  });
}

}  // namespace shardmanager::orchestrator
