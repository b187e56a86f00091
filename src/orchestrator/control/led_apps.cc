#include "orchestrator/control/led_apps.h"

#include <set>
#include <utility>

#include "absl/strings/str_cat.h"
#include "coordination/cell.h"
#include "model/text.h"

namespace shardmanager::orchestrator {
namespace {

constexpr Duration kRelookInterval = Seconds(10);

// Of what operators ordered: `app`, if there is one, has it as it is before. (Who applies a spec
// says itself what differs in that.)
std::vector<std::string> DifferenceOfSpec(const PartitionDriver* app, const v1::StoredSpec& after) {
  const v1::StoredSpec none;
  std::vector<std::string> lines =
      DifferenceOf(app == nullptr ? none : app->spec().stored(), after, "spec");
  if (after.spec().name().empty()) return lines;
  for (std::string& line : lines) line = absl::StrCat(after.spec().name(), ": ", line);
  return lines;
}

}  // namespace

void LedApps::Begin(LeaderEpoch epoch) {
  lead_.emplace(Lead{.epoch = epoch});
  Relook();
}

void LedApps::End() {
  lead_.reset();
  context_.publisher.ForgetApps();
}

void LedApps::Relook() {
  if (!lead_ || context_.session.closed()) return;
  for (auto& [name, driver] : lead_->drivers) driver->Relook();
  List();
  if (!std::exchange(relook_planned_, true)) {
    context_.executor.PostAt(context_.executor.Now() + kRelookInterval, [this] {
      relook_planned_ = false;
      Relook();
    });
  }
}

void LedApps::List() {
  CellSession& session = context_.session;
  session.store().GetChildren(session.paths().apps(), [this, number = session.number()](auto apps) {
    context_.executor.Post([this, number, apps = std::move(apps)] {
      if (!context_.session.IsCurrent(number) || !lead_) return;
      if (!apps.ok()) return context_.session.TryLater([this] { List(); });
      OnListed(*apps);
    });
  });
}

void LedApps::OnListed(const std::vector<std::string>& apps) {
  for (const std::string& app : apps) Add(app);
  lead_->listed = true;
  TellApps();
}

void LedApps::TellApps() const {
  if (!lead_->listed) return;
  std::set<std::string> names;
  for (const auto& [name, driver] : lead_->drivers) names.insert(name);
  context_.publisher.KnowApps(CellIdentity(context_.session.cell()), std::move(names));
}

void LedApps::Add(const std::string& app) {
  auto [it, fresh] = lead_->drivers.try_emplace(app);
  if (!fresh) return;
  const v1::CellConfig& cell = context_.session.cell();
  DriverContext context{.executor = &context_.executor,
                        .solver = &context_.solver,
                        .store = &context_.session.store(),
                        .sender = &context_.sender,
                        .publisher = &context_.publisher,
                        .events = &context_.events,
                        .paths = context_.session.paths(),
                        .buckets = cell.buckets(),
                        .leader_epoch = lead_->epoch,
                        .cell = CellIdentity(cell),
                        .cell_made_ms = cell.made_ms(),
                        .wall_ms = [this] { return context_.session.WallMs(); },
                        .meter = context_.meter};
  it->second = std::make_unique<PartitionDriver>(std::move(context), AppName(app),
                                                 lead_->counted[app], CallbacksFor(app));
  it->second->Start();
  TellApps();
}

// Each callback posts its work, which may destroy the driver that called it.
PartitionDriver::Callbacks LedApps::CallbacksFor(const std::string& app) {
  PartitionDriver::Callbacks callbacks;
  callbacks.deposed = [this, session = context_.session.number()] {
    context_.executor.Post([this, session] {
      if (context_.session.IsCurrent(session) && lead_) context_.deposed();
    });
  };
  const auto end = [this, app, epoch = lead_->epoch,
                    ended = std::make_shared<bool>(false)](bool again) {
    if (std::exchange(*ended, true)) return;  // what follows is about the driver after this one
    context_.executor.Post([this, app, epoch, again] {
      if (!lead_ || lead_->epoch != epoch) return;
      Remove(app);
      if (again) Add(app);
    });
  };
  callbacks.deleted = [end] { end(/*again=*/false); };
  callbacks.restart = [end] { end(/*again=*/true); };
  return callbacks;
}

void LedApps::Remove(const std::string& app) {
  auto driver = lead_->drivers.find(app);
  if (driver == lead_->drivers.end()) return;
  lead_->counted[app] = driver->second->counted();
  lead_->drivers.erase(driver);
  lead_->unserved.erase(app);
  TellApps();
}

PartitionDriver* LedApps::Find(const std::string& app) const {
  auto it = lead_->drivers.find(app);
  return it == lead_->drivers.end() || !it->second->spec().has_spec() ? nullptr : it->second.get();
}

Health LedApps::LookAtHealth(const std::string& app, TimePoint now) {
  return lead_->unserved[app].Look(*lead_->drivers.at(app)->state(), now);
}

absl::Status LedApps::NoSuch(const std::string& app) const {
  auto it = lead_->drivers.find(app);
  if (it != lead_->drivers.end() && !it->second->spec().has_spec()) {
    return absl::UnavailableError(absl::StrCat(
        "app \"", app, "\" is still being read from the coordination store",
        it->second->problem().ok() ? "" : ": ", std::string(it->second->problem().message())));
  }
  return absl::NotFoundError(absl::StrCat("no app \"", app, "\""));
}

SpecStore LedApps::Specs() const {
  return SpecStore(&context_.session.store(), context_.session.paths(),
                   context_.session.cell().buckets(), lead_->epoch);
}

absl::Status LedApps::CheckSize(const SpecToWrite& change) const {
  return Specs().CheckSize(AppName(change.spec.spec().name()), change.spec, change.base == kNewApp);
}

void LedApps::WriteSpec(const SpecToWrite& change, Done done, const Wanted& wanted) {
  const SpecStore specs = Specs();
  const AppName app(change.spec.spec().name());
  if (wanted.is_noted()) wanted.Note(DifferenceOfSpec(Find(app.value()), change.spec));
  if (wanted.is_preview()) return done(absl::OkStatus());
  auto posted = [this, done, change, epoch = lead_->epoch](absl::StatusOr<int32_t> version) {
    context_.executor.Post([this, done, change, epoch, version] {
      PartitionDriver* driver =
          lead_ && lead_->epoch == epoch ? Find(change.spec.spec().name()) : nullptr;
      // The caller may send its next change as soon as it has the answer: that must build on this
      // version.
      if (version.ok() && driver != nullptr) driver->TakeSpec(change.spec, *version);
      done(version.status());
    });
  };
  if (change.base == kNewApp) {
    specs.Create(app, change.spec, posted, wanted);
  } else {
    specs.Replace(app, change.spec, change.base, posted, wanted);
  }
}

void LedApps::WriteSpecs(const std::vector<SpecToWrite>& changes, Done done, const Wanted& wanted) {
  struct Progress {
    size_t left;
    absl::Status first_error;
  };
  auto progress = std::make_shared<Progress>(Progress{changes.size(), absl::OkStatus()});
  for (const SpecToWrite& change : changes) {
    const auto written = [progress, done, app = change.spec.spec().name()](absl::Status status) {
      if (!status.ok() && progress->first_error.ok()) {
        progress->first_error = absl::Status(
            status.code(), absl::StrCat("app ", Quoted(app), ": ", std::string(status.message())));
      }
      if (--progress->left == 0) done(progress->first_error);
    };
    WriteSpec(change, written, wanted);
  }
}

absl::Status MayLookAt(const std::string& name, const PartitionDriver& app) {
  if (app.state() != nullptr) return absl::OkStatus();
  return absl::UnavailableError(
      absl::StrCat("the records of app \"", name, "\" are still being read",
                   app.problem().ok() ? "" : ": ", std::string(app.problem().message())));
}

absl::StatusOr<PartitionDriver*> FindToLookAt(const LedApps& apps, const std::string& name) {
  PartitionDriver* app = apps.Find(name);
  if (app == nullptr) return apps.NoSuch(name);
  if (absl::Status may = MayLookAt(name, *app); !may.ok()) return may;
  return app;
}

absl::Status MayChangeSpec(const PartitionDriver& app) {
  if (DamagedSpec(app) == nullptr) return absl::OkStatus();
  return absl::FailedPreconditionError(
      absl::StrCat("app ", Quoted(app.spec().stored().spec().name()),
                   ": the stored spec cannot be read; put one in its place first: "
                   "`shardctl apply --force -f FILE`"));
}

}  // namespace shardmanager::orchestrator
