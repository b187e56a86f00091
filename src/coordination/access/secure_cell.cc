#include "coordination/access/secure_cell.h"

#include <algorithm>
#include <memory>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "coordination/access/access_walk.h"
#include "coordination/cell.h"
#include "coordination/envelope.h"
#include "coordination/paths.h"

namespace shardmanager {
namespace {

// Each pass after the first finds only what was made while the one before it went.
constexpr int kMostPasses = 10;
constexpr uint64_t kNodesBetweenReports = 1'000;

// For whom the lists are to be made.
Credentials WantedOf(Credentials credentials, bool only_newest) {
  if (only_newest) credentials.secrets.resize(1);
  return credentials;
}

// Keeps itself alive by what it awaits. On the session's thread.
class Secure : public std::enable_shared_from_this<Secure> {
 public:
  using Done = std::function<void(absl::StatusOr<SecureReport>)>;

  Secure(CoordinationStore& store, SecureOptions options, Done done)
      : store_(store),
        access_(*store.access()),
        options_(std::move(options)),
        wanted_(WantedOf(access_.credentials(), options_.only_newest)),
        paths_(options_.cell),
        done_(std::move(done)) {}

  void Begin() {
    LoadMadeCell(store_, options_.cell, [self = shared_from_this()](const auto& config) {
      if (!config.ok()) return self->done_(config.status());
      self->report_.security = static_cast<CellSecurity>(config->security());
      self->Start();
    });
  }

 private:
  void Start() {
    switch (options_.action) {
      case SecureAction::kLook:
        return Pass(false, [self = shared_from_this()] { self->Finish(); });
      case SecureAction::kClose:
        // Whoever has no credentials of the cell is found before anything is changed.
        return Pass(false, [self = shared_from_this()] {
          if (self->Unready()) return;
          self->SetSecurity(CellSecurity::kSecuring, [self] { self->Close(); });
        });
      case SecureAction::kOpen:
        return SetSecurity(CellSecurity::kOpen, [self = shared_from_this()] {
          self->MendAll([self] { self->Finish(); });
        });
    }
  }

  void Close() {
    MendAll([self = shared_from_this()] {
      if (self->Unready()) return;
      self->SetSecurity(CellSecurity::kSecure, [self] { self->Finish(); });
    });
  }

  // Somebody would be shut out.
  bool Unready() {
    if (report_.without_credentials.empty()) return false;
    done_(absl::FailedPreconditionError(
        absl::StrCat("these run without ZooKeeper credentials of cell \"", options_.cell,
                     "\" and would be shut out: ", absl::StrJoin(report_.without_credentials, ", "),
                     ". Restart them with credentials, then run this again (or delete the live "
                     "nodes, if no such server runs)",
                     report_.security == CellSecurity::kOpen
                         ? ""
                         : "; until then they serve on, and new nodes are closed already")));
    return true;
  }

  // Passes until one finds nothing to mend.
  void MendAll(std::function<void()> then, int passes = kMostPasses) {
    Pass(true, [self = shared_from_this(), then = std::move(then), passes] {
      self->report_.changed += self->report_.differing;
      if (self->report_.differing == 0) return then();
      if (passes > 1) return self->MendAll(then, passes - 1);
      self->done_(absl::UnavailableError(
          absl::StrCat("nodes that differ are made as fast as they are mended, for example ",
                       self->report_.differing_paths.front(),
                       ": does a process of another version run? Run this again")));
    });
  }

  void Pass(bool mend, std::function<void()> then) {
    report_.nodes = report_.differing = report_.open = report_.denied = 0;
    report_.differing_paths.clear();
    report_.denied_paths.clear();
    report_.without_credentials.clear();
    WalkOptions walk{.root = paths_.root(), .mend = mend};
    const bool secure = options_.action != SecureAction::kOpen;
    walk.wanted = [this, secure](const std::string& path) { return wanted_.OfNode(path, secure); };
    walk.on_node = [this](const std::string& path, const AccessList& found) {
      LookForStrangers(path, found);
      if (++seen_ % kNodesBetweenReports == 0 && options_.on_progress) {
        options_.on_progress(
            seen_,
            report_.changed + (options_.action == SecureAction::kLook ? 0 : report_.differing));
      }
    };
    walk.on_differing = [this](const std::string& path, const AccessList& found) {
      ++report_.differing;
      if (IsOpen(found)) ++report_.open;
      if (report_.differing_paths.size() < kMostListed) report_.differing_paths.push_back(path);
    };
    walk.on_denied = [this](const std::string& path) {
      ++report_.denied;
      if (report_.denied_paths.size() < kMostListed) report_.denied_paths.push_back(path);
    };
    WalkAccess(store_, std::move(walk), [self = shared_from_this(), then](const auto& result) {
      if (!result.ok()) return self->done_(result.status());
      self->report_.nodes = result->nodes;
      then();
    });
  }

  // A process with credentials names the control plane in the lists of what it makes, and its live
  // node is proven.
  void LookForStrangers(const std::string& path, const AccessList& found) {
    const NodePlace place = PlaceOf(path, options_.cell);
    if (place.kind == NodeKind::kLive) {
      const auto name = ParseLiveName(path.substr(path.rfind('/') + 1));
      if (wanted_.IsProven(place.app, *name) || IsJunk(place.app, *name)) return;
      AddStranger(absl::StrCat("server ", name->server.value(), " of app ", place.app.value(),
                               " (life ", name->incarnation.value(), ")"));
    } else if (path == paths_.leader_holder() && !NamesUs(found)) {
      AddStranger("the shardmanagerd that leads");
    }
  }

  // No server of a secure cell made it. Only who knows the older secret, too, can tell.
  bool IsJunk(const AppName& app, const LiveName& name) const {
    return report_.security == CellSecurity::kSecure && access_.credentials().secrets.size() > 1 &&
           !access_.IsProven(app, name);
  }

  void AddStranger(std::string who) {
    auto& all = report_.without_credentials;
    if (std::find(all.begin(), all.end(), who) == all.end()) all.push_back(std::move(who));
  }

  bool NamesUs(const AccessList& list) const {
    for (const StoreLogin& login : wanted_.logins()) {
      for (const AccessEntry& entry : list) {
        if (entry.who == DigestOf(login)) return true;
      }
    }
    return false;
  }

  void SetSecurity(CellSecurity security, std::function<void()> then) {
    const std::string path = paths_.config();
    store_.Get(path, [self = shared_from_this(), path, security, then](const auto& node) {
      if (absl::IsUnavailable(node.status())) return self->SetSecurity(security, then);
      if (!node.ok()) return self->done_(node.status());
      v1::CellConfig config;
      if (absl::Status s = Open(node->data, &config); !s.ok()) return self->done_(s);
      // One that is secure already stays so while its nodes are looked through again.
      const bool stays =
          config.security() == v1::CELL_SECURE && security == CellSecurity::kSecuring;
      const auto wanted = stays ? v1::CELL_SECURE : static_cast<v1::CellSecurity>(security);
      self->access_.SetSecurity(static_cast<CellSecurity>(wanted));
      self->report_.security = static_cast<CellSecurity>(wanted);
      if (config.security() == wanted) return then();
      config.set_security(wanted);
      self->store_.Multi({SetNode{path, Seal(config), node->stat.version}},
                         [self, security, then](const WriteResult& result) {
                           const bool again = absl::IsUnavailable(result.status) ||
                                              absl::IsFailedPrecondition(result.status);
                           if (again) return self->SetSecurity(security, then);
                           if (!result.status.ok()) return self->done_(result.status);
                           then();
                         });
    });
  }

  void Finish() { done_(report_); }

  CoordinationStore& store_;
  StoreAccess& access_;
  const SecureOptions options_;
  const StoreAccess wanted_;
  const Paths paths_;
  const Done done_;
  SecureReport report_;
  uint64_t seen_ = 0;
};

}  // namespace

void SecureCell(CoordinationStore& store, SecureOptions options,
                std::function<void(absl::StatusOr<SecureReport>)> done) {
  std::make_shared<Secure>(store, std::move(options), std::move(done))->Begin();
}

}  // namespace shardmanager
