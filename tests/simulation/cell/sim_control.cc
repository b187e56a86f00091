#include "tests/simulation/cell/sim_control.h"

#include <utility>

#include "tests/simulation/cell/command_call.h"

namespace shardmanager::simulation {

using orchestrator::ServerAddress;

class SimControl::Sender final : public orchestrator::CommandSender {
 public:
  explicit Sender(SimControl& control) : control_(control) {}

  void Send(const ServerAddress& to, orchestrator::ServerCommand command, Duration timeout,
            ResultsCallback on_results) override {
    StartCommand(Wires(), to, command, timeout, std::move(on_results));
  }

  void Collect(const ServerAddress& to, ReportCallback on_report) override {
    StartCollect(Wires(), to, std::move(on_report));
  }

  void AskReshape(const ServerAddress& to, const v1::Reshape&, StatusCallback on_answer) override {
    StartQuestion(Wires(), to, std::move(on_answer));
  }

 private:
  CallWires Wires() const {
    return {control_.context_.network, control_.process_, control_.context_.server,
            control_.context_.measure};
  }

  SimControl& control_;
};

class SimControl::Publisher final : public orchestrator::MapPublisher {
 public:
  explicit Publisher(SimFeed& feed) : feed_(feed) {}
  void Publish(const AppName&, v1::MapSnapshot map) override { feed_.Publish(map); }
  void Publish(const AppName&, v1::MapDelta delta) override { feed_.Publish(delta); }

 private:
  SimFeed& feed_;
};

SimControl::SimControl(Context context, std::shared_ptr<Process> process, v1::CellConfig cell)
    : context_(std::move(context)),
      process_(std::move(process)),
      stores_(context_.store.FactoryFor(process_)),
      feed_(context_.network, process_),
      sender_(std::make_unique<Sender>(*this)),
      publisher_(std::make_unique<Publisher>(feed_)) {
  orchestrator::Controller::Executors executors;
  executors.control =
      std::make_unique<SimExecutor>(process_, context_.network.random(), Duration(50));
  executors.solver =
      std::make_unique<SimExecutor>(process_, context_.network.random(), Milliseconds(30));
  orchestrator::ControllerOptions options{.cell = std::move(cell), .process = process_->host()};
  options.wall_ms = [this] { return process_->WallMs(); };
  if (context_.clients_say) {
    options.client_views = [this](const AppName&) { return context_.clients_say(); };
  }
  controller_ = std::make_unique<orchestrator::Controller>(
      std::move(options), *stores_, *sender_, *publisher_, events_, std::move(executors));
  controller_->on_leader = [this](const std::string& leader) { Follow(leader); };
  controller_->on_touch = [this](bool in_touch) { feed_.SetStale(!in_touch); };
  controller_->Start(process_->host());
}

SimControl::~SimControl() {
  if (!stopped_) context_.store.Abandon(*process_);
  Stop();
}

void SimControl::Stop() {
  if (std::exchange(stopped_, true)) return;
  const Process::Within within(*process_);
  upstream_.reset();
  controller_->Stop();
  process_->Kill();
}

void SimControl::Follow(const std::string& leader) {
  upstream_.reset();
  if (leader.empty()) return feed_.SetUpstreamStale(false);
  upstream_ = std::make_unique<SimSubscriber>(
      context_.network, process_,
      SimSubscriber::Options{{[control = context_.control, leader]() -> SimFeed* {
                               SimControl* found = control(leader);
                               return found == nullptr ? nullptr : &found->feed();
                             }},
                             [this](const v1::MapSnapshot& map) { return feed_.Publish(map); },
                             [this](const v1::MapDelta& delta) { return feed_.Publish(delta); },
                             [this] { return feed_.version(); },
                             [this](bool stale) { feed_.SetUpstreamStale(stale); },
                             /*is_relay=*/true});
}

}  // namespace shardmanager::simulation
