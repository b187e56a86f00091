#include "server/cell_link.h"

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "base/defect.h"
#include "coordination/access/store_access.h"
#include "coordination/cell.h"
#include "coordination/envelope.h"
#include "coordination/quarantine.h"
#include "coordination/records.h"
#include "coordination/session_check.h"
#include "runtime/process_name.h"
#include "server/control/assignment_of.h"

namespace shardmanager::server {
namespace {

// Of a read that found nothing, or nothing certain.
Answer ToAnswer(const absl::Status& status) {
  if (status.ok()) return Answer::kOk;
  return absl::IsNotFound(status) ? Answer::kNotYet : Answer::kUnknown;
}

// `id`: of the session that asks.
Standing WithLife(Standing standing, const Node& node, int64_t id) {
  v1::LiveRecord record;
  standing.ours = node.stat.ephemeral_session == id;
  if (Open(node.data, &record).ok()) {
    standing.who = absl::StrCat(record.endpoint(), " (", record.process(), ")");
  }
  return standing;
}

absl::Status RegistrationRefused(const Register& action, const absl::Status& why) {
  if (action.known) return why;
  return absl::PermissionDeniedError(
      absl::StrCat("the cell does not know this server yet, and its ZooKeeper credentials cannot "
                   "register it: run `shardctl cell credentials server` with --zookeeper for it. ",
                   std::string(why.message())));
}

}  // namespace

CellLink::CellLink(const ServerOptions& options, std::string endpoint,
                   CoordinationStoreFactory& stores, Executor& executor, Callbacks callbacks)
    : options_(options),
      endpoint_(std::move(endpoint)),
      app_(options.app),
      name_(options.name),
      paths_(options.cell),
      stores_(stores),
      executor_(executor),
      callbacks_(std::move(callbacks)) {}

CellLink::~CellLink() { Close(); }

void CellLink::Close() {
  ++session_;
  if (store_ != nullptr) store_->Close();
  store_.reset();
}

void CellLink::NewSession() {
  Close();
  SessionOptions session_options;
  session_options.timeout = session_timeout_;
  session_options.on_state = [this, session = session_](SessionState state) {
    executor_.Post([this, session, state] { OnState(session, state); });
  };
  asked_at_ = executor_.Now();
  store_ = stores_.NewSession(std::move(session_options));
}

void CellLink::OnState(uint64_t session, SessionState state) {
  if (session != session_) return;
  if (state == SessionState::kConnected) {
    callbacks_.event(
        SessionUp{std::chrono::duration_cast<Duration>(store_->session_timeout()), asked_at_});
  } else if (state == SessionState::kExpired) {
    callbacks_.event(SessionExpired{});
  }
}

// The cell says which time-out to ask for: a first session that was made with another
// one is replaced.
void CellLink::Do(const ReadCell& action) {
  LoadCell(*store_, options_.cell, [this, session = session_, action](auto config) {
    executor_.Post([this, session, action, config = std::move(config)] {
      if (session != session_) return;
      if (config.ok()) {
        const std::chrono::milliseconds wanted(config->session_timeout_ms());
        buckets_ = config->buckets();
        if (!std::exchange(timeout_known_, true) && wanted != session_timeout_) {
          session_timeout_ = wanted;
          callbacks_.event(SessionReplaced{});
          return;
        }
        callbacks_.event(
            CellAnswer{action.ticket, Answer::kOk, absl::OkStatus(), TermsOf(*config)});
        return;
      }
      const bool never = absl::IsFailedPrecondition(config.status()) ||
                         absl::IsUnimplemented(config.status()) ||
                         absl::IsPermissionDenied(config.status());
      callbacks_.event(CellAnswer{
          action.ticket, never ? Answer::kRefused : ToAnswer(config.status()), config.status()});
    });
  });
}

void CellLink::Do(const ReadApp& action) {
  store_->Get(paths_.spec(app_), [this, action](absl::StatusOr<Node> node) {
    AppAnswer answer{action.ticket, ToAnswer(node.status())};
    if (absl::IsPermissionDenied(node.status())) answer.why = node.status();
    v1::StoredSpec spec;
    if (node.ok()) answer.why = OpenSpec(node->data, app_, &spec);
    // What cannot be read may say so.
    answer.on_partition =
        answer.why.ok() ? FromProto(spec.spec().failover().on_partition()) : OnPartition::kStopAll;
    callbacks_.event(answer);
  });
}

// The registration first, the live nodes second: a life that is not listed then is
// over, or its registration is newer than what was read and the write will fail.
void CellLink::Do(const ReadStanding& action) {
  const std::string path = paths_.server(app_, name_, buckets_);
  store_->Get(path, [this, session = session_, action](absl::StatusOr<Node> node) {
    executor_.Post([this, session, action, node = std::move(node)] {
      if (session != session_) return;
      Standing standing;
      standing.known = node.ok();
      if (node.ok()) standing.version = node->stat.version;
      v1::ServerRecord record;
      absl::Status sense = node.ok() ? OpenServer(node->data, name_, &record) : absl::OkStatus();
      if (!sense.ok()) return KeepRegistration(action.ticket, standing, *node, std::move(sense));
      if (node.ok() || absl::IsNotFound(node.status())) return ReadLives(action.ticket, standing);
      StandingAnswer unknown{action.ticket, Answer::kUnknown, {}};
      if (absl::IsPermissionDenied(node.status())) unknown.why = node.status();
      callbacks_.event(std::move(unknown));
    });
  });
}

// Of the registration only its version counts, so one that is damaged is written anew;
// its bytes are kept first, unless the cell is secure: then only the control plane may make nodes
// there. What a newer version wrote is left to that version.
void CellLink::KeepRegistration(uint64_t ticket, Standing standing, const Node& node,
                                absl::Status why) {
  if (absl::IsUnimplemented(why)) {
    return callbacks_.event(StandingAnswer{ticket, Answer::kUnknown, standing, std::move(why)});
  }
  const std::string path = paths_.server(app_, name_, buckets_);
  KeepBytes(*store_, paths_, path, node, {},
            [this, session = session_, ticket, standing, why](absl::Status kept) {
              executor_.Post([this, session, ticket, standing, why, kept] {
                if (session != session_) return;
                if (kept.ok() || absl::IsPermissionDenied(kept)) {
                  return ReadLives(ticket, standing);
                }
                callbacks_.event(StandingAnswer{ticket, Answer::kUnknown, standing, why});
              });
            });
}

// A server with credentials may not list live nodes, and need not: it knows which names its own
// may have.
void CellLink::ReadLives(uint64_t ticket, Standing standing) {
  if (store_->access() == nullptr) return ListLives(ticket, standing);
  ProbeLives(ticket, standing);
}

void CellLink::ListLives(uint64_t ticket, Standing standing) {
  const std::string folder = Paths::bucket(paths_.live(app_), BucketOf(name_.value(), buckets_));
  store_->GetChildren(folder, [this, session = session_, ticket,
                               standing](absl::StatusOr<std::vector<std::string>> lives) mutable {
    LiveName newest;
    if (lives.ok()) {
      for (const std::string& child : *lives) {
        auto name = ParseLiveName(child);
        if (!name || name->server != name_) continue;
        standing.live = true;
        if (name->incarnation >= newest.incarnation) newest = *std::move(name);
      }
    }
    standing.incarnation = newest.incarnation;
    if (lives.ok() && standing.live) {
      executor_.Post([this, session, ticket, standing, newest] {
        if (session == session_) ReadLife(ticket, standing, newest);
      });
      return;
    }
    callbacks_.event(StandingAnswer{ticket, ToAnswer(lives.status()), standing});
  });
}

void CellLink::ReadLife(uint64_t ticket, Standing standing, const LiveName& name) {
  store_->Get(paths_.live(app_, name, buckets_), [this, id = store_->session_id(), ticket,
                                                  standing](absl::StatusOr<Node> node) mutable {
    if (node.ok()) standing = WithLife(standing, *node, id);
    callbacks_.event(StandingAnswer{ticket, ToAnswer(node.status()), standing});
  });
}

// A life's live node is made with the registration of its number. Nothing raises that number while
// the node is there but the good-bye, once.
std::vector<LiveName> CellLink::PossibleLives(int32_t registration) const {
  const StoreAccess& access = *store_->access();
  std::vector<LiveName> names;
  for (int32_t life = std::max(1, registration - 1); life <= registration; ++life) {
    const Incarnation incarnation(static_cast<uint64_t>(life));
    for (std::string& proof : access.ProofsOf(app_, name_, incarnation)) {
      names.push_back({name_, incarnation, std::move(proof)});
    }
    // Of the time before this server had credentials.
    if (access.security() != CellSecurity::kSecure) names.push_back({name_, incarnation});
  }
  return names;
}

// Reads all of them, and answers after the last. One that may not be read is there, and another's.
void CellLink::ProbeLives(uint64_t ticket, const Standing& standing) {
  const std::vector<LiveName> names = PossibleLives(standing.known ? standing.version : 0);
  if (names.empty()) return callbacks_.event(StandingAnswer{ticket, Answer::kOk, standing});
  struct Found {
    StandingAnswer answer;
    size_t left;
  };
  auto found =
      std::make_shared<Found>(Found{StandingAnswer{ticket, Answer::kOk, standing}, names.size()});
  for (const LiveName& name : names) {
    store_->Get(paths_.live(app_, name, buckets_),
                [this, found, life = name.incarnation, id = store_->session_id()](auto node) {
                  StandingAnswer& answer = found->answer;
                  if (node.ok() || absl::IsPermissionDenied(node.status())) {
                    answer.standing.live = true;
                    answer.standing.incarnation = life;
                    answer.standing.who = node.ok() ? "" : std::string(node.status().message());
                    if (node.ok()) answer.standing = WithLife(answer.standing, *node, id);
                  } else if (!absl::IsNotFound(node.status())) {
                    answer.answer = Answer::kUnknown;
                  }
                  if (--found->left == 0) callbacks_.event(answer);
                });
  }
}

void CellLink::Do(const Register& action) {
  const std::string path = paths_.server(app_, name_, buckets_);
  std::vector<WriteOp> ops;
  if (!action.known) ops.push_back(CreateNode{path, ""});
  ops.push_back(SetNode{path, ServerRecordBytes(/*departed=*/false), action.version});
  ops.push_back(CreateNode{LivePath(action.incarnation), LiveRecordBytes(action.incarnation),
                           /*ephemeral=*/true});
  store_->Multi(std::move(ops), [this, action](WriteResult result) {
    RegisterAnswer answer{action.ticket, ToAnswer(result.status)};
    if (absl::IsPermissionDenied(result.status)) {
      answer.why = RegistrationRefused(action, result.status);
    }
    callbacks_.event(std::move(answer));
  });
}

void CellLink::Do(const ReadAssignment& action) {
  const std::string path = paths_.assignment(app_, name_, buckets_);
  // Sync: the record must not be older than the registration that guards it.
  store_->Sync([this, session = session_, path, action](absl::Status synced) {
    executor_.Post([this, session, path, action, synced] {
      if (session != session_) return;
      if (!synced.ok()) {
        return callbacks_.event(AssignmentAnswer{action.ticket, Answer::kUnknown});
      }
      store_->Get(path, [this, session, action](absl::StatusOr<Node> node) {
        v1::AssignmentRecord record;
        absl::Status status = node.status();
        if (absl::IsNotFound(status)) status = absl::OkStatus();  // nothing is assigned
        absl::Status sense =
            node.ok() ? OpenAssignment(node->data, name_, &record) : absl::OkStatus();
        if (status.ok()) status = sense;
        if (status.ok() && !record.replicas().empty()) {
          executor_.Post([this, session, action, record = std::move(record)]() mutable {
            if (session == session_) ReadOrigins(action.ticket, std::move(record));
          });
          return;
        }
        if (status.ok()) callbacks_.assigned({});
        callbacks_.event(AssignmentAnswer{action.ticket, ToAnswer(status), std::move(sense)});
      });
    });
  });
}

// After the record: of what that grants, the spec knows then what it was made of. (A spec that is
// damaged does not know it. Of an app that is gone nothing is being made.)
void CellLink::ReadOrigins(uint64_t ticket, v1::AssignmentRecord record) {
  store_->Get(paths_.spec(app_),
              [this, ticket, record = std::move(record)](const absl::StatusOr<Node>& node) {
                v1::StoredSpec spec;
                const absl::Status& status = node.status();
                if (!status.ok() && !absl::IsNotFound(status)) {
                  return callbacks_.event(AssignmentAnswer{ticket, ToAnswer(status)});
                }
                if (node.ok() && !OpenSpec(node->data, app_, &spec).ok()) spec.Clear();
                callbacks_.assigned(AssignmentOf(record, spec));
                callbacks_.event(AssignmentAnswer{ticket, Answer::kOk});
              });
}

// Sync goes through the store's leader, which a follower that is cut off cannot
// reach: only then does the read prove that the session lives; and only the write, that the
// leader is one. All are sent at once; the store answers them in order.
void CellLink::Do(const RenewLease& action) {
  const std::string path = LivePath(action.incarnation);
  const TimePoint sent_at = executor_.Now();
  struct Before {
    bool written = false;
    absl::Status synced;
  };
  auto before = std::make_shared<Before>();
  if (action.with_write) {
    store_->Multi({CheckVersion{path, kAnyVersion}},
                  [before](const WriteResult& result) { before->written = result.status.ok(); });
  }
  if (!Planted(Defect::kLeaseByPlainRead)) {
    store_->Sync([before](absl::Status status) { before->synced = std::move(status); });
  }
  store_->Get(
      path, [this, action, sent_at, before, id = store_->session_id()](absl::StatusOr<Node> node) {
        LeaseAnswer answer{action.ticket, ToAnswer(node.status()), sent_at, before->written};
        if (!before->synced.ok()) answer.answer = Answer::kUnknown;
        if (node.ok() && node->stat.ephemeral_session != id) answer.answer = Answer::kNotYet;
        callbacks_.event(answer);
      });
}

// A server with credentials may delete no live node: its own goes with the session, which is closed
// next.
void CellLink::Do(const SayGoodBye& action) {
  std::vector<WriteOp> ops;
  ops.push_back(SetNode{paths_.server(app_, name_, buckets_), ServerRecordBytes(/*departed=*/true),
                        static_cast<int32_t>(action.incarnation.value())});
  if (store_->access() == nullptr) ops.push_back(DeleteNode{LivePath(action.incarnation)});
  store_->Multi(std::move(ops),
                [this, action](WriteResult) { callbacks_.event(LeaveAnswer{action.ticket}); });
}

std::string CellLink::LivePath(Incarnation incarnation) const {
  const StoreAccess* access = store_->access();
  const std::string proof = access == nullptr ? "" : access->ProofOf(app_, name_, incarnation);
  return paths_.live(app_, LiveName{name_, incarnation, proof}, buckets_);
}

v1::FaultDomain CellLink::Place() const {
  v1::FaultDomain place;
  place.set_region(options_.fault_domain.region);
  place.set_datacenter(options_.fault_domain.datacenter);
  place.set_rack(options_.fault_domain.rack);
  return place;
}

std::string CellLink::ServerRecordBytes(bool departed) const {
  v1::ServerRecord record;
  record.set_server(name_.value());
  record.set_departed(departed);
  *record.mutable_fault_domain() = Place();
  return Seal(record);
}

std::string CellLink::LiveRecordBytes(Incarnation incarnation) const {
  v1::LiveRecord record;
  record.set_server(name_.value());
  record.set_incarnation(incarnation.value());
  record.set_endpoint(endpoint_);
  *record.mutable_fault_domain() = Place();
  record.set_capacity(options_.capacity);
  record.mutable_metric_capacity()->insert(options_.metric_capacity.begin(),
                                           options_.metric_capacity.end());
  record.set_process(HostAndPid());
  return Seal(record);
}

}  // namespace shardmanager::server
