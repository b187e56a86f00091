#include "tests/simulation/cell/store_pump.h"

#include <utility>
#include <vector>

#include "tests/simulation/cell/sim_server.h"

namespace shardmanager::simulation {

class StorePump::Factory final : public CoordinationStoreFactory {
 public:
  Factory(StorePump& pump, std::shared_ptr<Process> process, std::shared_ptr<StoreAccess> access)
      : pump_(pump), process_(std::move(process)), access_(std::move(access)) {}
  std::unique_ptr<CoordinationStore> NewSession(SessionOptions options) override {
    options.access = access_;
    return pump_.NewSession(process_, std::move(options));
  }

 private:
  StorePump& pump_;
  const std::shared_ptr<Process> process_;
  const std::shared_ptr<StoreAccess> access_;
};

namespace {

// The same in each run.
Credentials CellCredentials() {
  return {Credentials::Kind::kCell, kCell, {}, {}, {{std::string(64, '7'), "", "", ""}}};
}

}  // namespace

std::unique_ptr<CoordinationStoreFactory> StorePump::FactoryFor(std::shared_ptr<Process> process,
                                                                const ServerName& server,
                                                                const AppName& app) {
  std::shared_ptr<StoreAccess> access;
  if (secure_ && server.empty()) {
    access = std::make_shared<StoreAccess>(CellCredentials());
  } else if (secure_) {
    // Their names are not known before they come.
    Credentials credentials = AppCredentials(CellCredentials(), app);
    credentials.server = server;
    access = std::make_shared<StoreAccess>(std::move(credentials));
  }
  return std::make_unique<Factory>(*this, std::move(process), std::move(access));
}

std::string StorePump::LiveNode(const AppName& app, const ServerName& server,
                                Incarnation incarnation, uint32_t buckets) const {
  LiveName name{server, incarnation};
  if (secure_) name.proof = StoreAccess(CellCredentials()).ProofOf(app, server, incarnation);
  return Paths(kCell).live(app, name, buckets);
}

std::unique_ptr<CoordinationStore> StorePump::NewSession(const std::shared_ptr<Process>& process,
                                                         SessionOptions options) {
  ensemble_.AdvanceTo(schedule_.now());
  auto store = ensemble_.NewSession(std::move(options));
  const SessionNumber number = ensemble_.last_session();
  sessions_[number] = {.process = process};
  if (!Linked(*process)) {
    sessions_[number].cut = true;
    ensemble_.Disconnect(number);
  }
  return store;
}

bool StorePump::Linked(const Process& process) const {
  return process.running() && network_.Open(process.host(), kStoreHost) &&
         network_.Open(kStoreHost, process.host());
}

// Links change only where this is called.
void StorePump::NoteReach() {
  for (const auto& [number, session] : sessions_) {
    if (!session.process->alive()) continue;
    const std::string& host = session.process->host();
    if (up_ && Linked(*session.process)) {
      cut_off_.erase(host);
    } else {
      cut_off_.emplace(host, schedule_.now());
    }
  }
}

std::optional<TimePoint> StorePump::CutOffSince(const Process& process) const {
  const auto since = cut_off_.find(process.host());
  const auto slow = slow_.find(process.host());
  const bool late = slow != slow_.end() && slow->second > Duration(0);
  if (since == cut_off_.end() || late || (up_ && Linked(process))) return std::nullopt;
  return since->second;
}

Duration StorePump::Delay(const Process& process) {
  const auto slow = slow_.find(process.host());
  if (slow != slow_.end() && slow->second > Duration(0)) {
    return Duration(static_cast<int64_t>(random_.Below(slow->second.count() + 1)));
  }
  // Mostly quick; now and then a hiccup.
  if (random_.Below(200) == 0) return Duration(static_cast<int64_t>(random_.Below(60'000)));
  return Duration(static_cast<int64_t>(50 + random_.Below(800)));
}

void StorePump::Kick() {
  ensemble_.AdvanceTo(schedule_.now());
  if (!breaking_.empty()) MendBroken();
  for (const SessionNumber number : ensemble_.Appliable()) {
    Session& session = sessions_.at(number);
    if (std::exchange(session.applying, true)) continue;
    schedule_.After(Delay(*session.process), [this, number] {
      const auto session = sessions_.find(number);
      if (session == sessions_.end()) return;
      session->second.applying = false;
      if (ensemble_.CanApply(number)) ensemble_.Apply(number);
    });
  }
  for (const SessionNumber number : ensemble_.Deliverable()) {
    Session& session = sessions_.at(number);
    if (std::exchange(session.delivering, true)) continue;
    session.process->RunAfter(Delay(*session.process), [this, number] {
      const auto found = sessions_.find(number);
      if (found == sessions_.end()) return;
      found->second.delivering = false;
      if (ensemble_.CanDeliver(number)) ensemble_.Deliver(number);
    });
  }
}

// What the store has not been told of by the time of the break.
void StorePump::DrawTouchLag() {
  ensemble_.SetTouchLag(Duration(static_cast<int64_t>(random_.Below(touch_lag_.count() + 1))));
}

void StorePump::Cut(SessionNumber number) {
  DrawTouchLag();
  // Both ends know at once, or neither does.
  if (random_.Below(3) == 0) {
    ensemble_.Disconnect(number);
  } else {
    ensemble_.Cut(number);
  }
}

void StorePump::LookAtLinks() {
  CatchUp();
  NoteReach();
  for (auto& [number, session] : sessions_) {
    const bool linked = Linked(*session.process);
    if (linked != session.cut) continue;
    session.cut = !linked;
    if (linked) {
      ensemble_.Reconnect(number);
    } else if (session.process->paused()) {
      // A process that stands still is silent, but its connection stays up.
      DrawTouchLag();
      ensemble_.Cut(number);
    } else {
      Cut(number);
    }
  }
}

void StorePump::CatchUp() {
  ensemble_.AdvanceTo(schedule_.now());
  std::erase_if(sessions_, [this](const auto& entry) { return ensemble_.Forgotten(entry.first); });
}

void StorePump::Abandon(const Process& process) {
  CatchUp();
  for (auto& [number, session] : sessions_) {
    if (session.process.get() != &process || session.cut) continue;
    while (ensemble_.CanApply(number) && random_.Below(2) == 0) ensemble_.Apply(number);
    session.cut = true;
    DrawTouchLag();
    ensemble_.Cut(number);
  }
}

void StorePump::ExpireOneOf(const std::string& host) {
  CatchUp();
  for (auto& [number, session] : sessions_) {
    if (session.process->host() == host && session.process->alive()) ensemble_.Expire(number);
  }
}

void StorePump::LoseAnswerOf(const std::string& host) {
  CatchUp();
  for (auto& [number, session] : sessions_) {
    if (session.process->host() != host || session.cut) continue;
    if (random_.Below(2) == 0) LagNext(number);
    ensemble_.LoseNextAnswer(number);
    breaking_.insert(number);
  }
}

void StorePump::ComeBackToLag(const std::string& host) {
  CatchUp();
  for (auto& [number, session] : sessions_) {
    if (session.process->host() != host || session.cut) continue;
    LagNext(number);
    ensemble_.Disconnect(number);
    breaking_.insert(number);
  }
}

// Its next connection is to a server that is behind the others for a while.
void StorePump::LagNext(SessionNumber number) {
  ensemble_.LagAfterReconnect(number, Duration(static_cast<int64_t>(random_.Below(3'000'000))));
}

// The connection that broke comes back after a while.
void StorePump::MendBroken() {
  std::erase_if(breaking_, [this](SessionNumber number) {
    if (ensemble_.Connected(number)) return false;
    const auto pause = Milliseconds(static_cast<int64_t>(random_.Below(1'000)));
    schedule_.After(pause, [this, number] {
      CatchUp();
      const auto found = sessions_.find(number);
      if (found != sessions_.end() && !found->second.cut) ensemble_.Reconnect(number);
    });
    return true;
  });
}

void StorePump::Strand(const std::string& host, bool stranded) {
  CatchUp();
  DrawTouchLag();
  for (auto& [number, session] : sessions_) {
    if (session.process->host() == host && !session.cut) ensemble_.Strand(number, stranded);
  }
}

void StorePump::Depose(const std::string& host, bool deposed) {
  CatchUp();
  for (auto& [number, session] : sessions_) {
    if (session.process->host() == host && !session.cut) ensemble_.Depose(number, deposed);
  }
}

void StorePump::StopStore() {
  up_ = false;
  ++changes_;
  ensemble_.AdvanceTo(schedule_.now());
  ensemble_.StopStore();
  NoteReach();
}

void StorePump::Empty() {
  CatchUp();
  ensemble_.Empty();
}

void StorePump::StartStore() {
  up_ = true;
  ++changes_;
  ensemble_.AdvanceTo(schedule_.now());
  ensemble_.StartStore();
  NoteReach();
}

}  // namespace shardmanager::simulation
