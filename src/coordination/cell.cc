#include "coordination/cell.h"

#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "coordination/access/store_access.h"
#include "coordination/envelope.h"
#include "coordination/paths.h"

namespace shardmanager {
namespace {

static_assert(static_cast<int>(CellSecurity::kSecure) == v1::CELL_SECURE &&
              static_cast<int>(CellSecurity::kSecuring) == v1::CELL_SECURING);

absl::Status NotLetIn(const std::string& cell, const absl::Status& why, const StoreAccess* access) {
  if (access == nullptr) {
    return absl::PermissionDeniedError(absl::StrCat(
        "cell \"", cell,
        "\" is secure, and this process has no ZooKeeper credentials: "
        "give it a file of them (--zookeeper-credentials FILE, or "
        "ServerOptions::zookeeper_credentials; `shardctl cell credentials` makes one). ",
        std::string(why.message())));
  }
  return absl::PermissionDeniedError(absl::StrCat(
      "the ZooKeeper credentials of ", access->party(),
      " are not, or not any more, those of the cell: make new ones with `shardctl cell "
      "credentials`. ",
      std::string(why.message())));
}

absl::StatusOr<v1::CellConfig> Parse(const std::string& cell, const absl::StatusOr<Node>& node,
                                     const StoreAccess* access) {
  if (absl::IsPermissionDenied(node.status())) return NotLetIn(cell, node.status(), access);
  if (!node.ok()) return node.status();
  const std::string path = Paths(cell).config();
  v1::CellConfig config;
  if (absl::Status status = Open(node->data, &config); !status.ok()) {
    if (absl::IsUnimplemented(status)) return status;
    return absl::FailedPreconditionError(
        absl::StrCat(path, " is not a cell's config: ", std::string(status.message())));
  }
  if (config.cell() != cell) {
    return absl::FailedPreconditionError(
        absl::StrCat(path, " belongs to cell \"", config.cell(), "\", not to \"", cell, "\""));
  }
  if (config.buckets() == 0) {
    return absl::FailedPreconditionError(absl::StrCat(path, " has no buckets"));
  }
  return config;
}

void Learn(CoordinationStore& store, const absl::StatusOr<v1::CellConfig>& config) {
  if (store.access() == nullptr || !config.ok()) return;
  store.access()->SetSecurity(static_cast<CellSecurity>(config->security()));
}

// Until the session is over.
void FollowSecurity(CoordinationStore& store, const std::string& cell) {
  if (store.access() == nullptr) return;
  store.Get(
      Paths(cell).config(),
      [&store, cell](absl::StatusOr<Node> node) {
        if (absl::IsUnavailable(node.status())) return FollowSecurity(store, cell);
        Learn(store, Parse(cell, node, store.access()));
      },
      [&store, cell] { FollowSecurity(store, cell); });
}

// A cell that an early build made has no identity yet. Of several processes that give it
// one, one wins.
void Identify(CoordinationStore& store, const v1::CellConfig& wanted, CellCallback done) {
  const std::string path = Paths(wanted.cell()).config();
  store.Get(path, [&store, path, wanted, done](absl::StatusOr<Node> node) {
    absl::StatusOr<v1::CellConfig> config = Parse(wanted.cell(), node, store.access());
    if (absl::IsUnavailable(config.status())) return EnsureCell(store, wanted, done);
    if (!config.ok() || config->made_ms() != 0) return done(std::move(config));
    config->set_made_ms(wanted.made_ms());
    std::vector<WriteOp> ops;
    ops.push_back(SetNode{path, Seal(*config), node->stat.version});
    store.Multi(std::move(ops), [&store, wanted, config, done](WriteResult result) {
      if (result.status.ok()) return done(config);
      if (absl::IsAborted(result.status)) return done(result.status);
      // Somebody was faster, or nobody knows: look again.
      EnsureCell(store, wanted, done);
    });
  });
}

void CreateCell(CoordinationStore& store, v1::CellConfig wanted, CellCallback done) {
  const Paths paths(wanted.cell());
  if (store.access() != nullptr) wanted.set_security(v1::CELL_SECURE);
  Learn(store, wanted);
  std::vector<WriteOp> ops;
  ops.push_back(CreateNode{paths.root(), ""});
  ops.push_back(CreateNode{paths.config(), Seal(wanted)});
  ops.push_back(CreateNode{paths.leader(), ""});
  ops.push_back(CreateNode{paths.leader_epoch(), ""});
  ops.push_back(CreateNode{paths.apps(), ""});
  store.Multi(std::move(ops), [&store, wanted, done](WriteResult result) {
    if (result.status.ok()) {
      FollowSecurity(store, wanted.cell());
      return done(wanted);
    }
    // Unknown whether it was made: look again, which waits for the connection.
    if (absl::IsUnavailable(result.status)) return EnsureCell(store, wanted, done);
    if (!absl::IsAlreadyExists(result.status)) return done(result.status);
    // Somebody was faster, or the path is taken by something else.
    LoadCell(store, wanted.cell(), [wanted, done](absl::StatusOr<v1::CellConfig> config) {
      if (!absl::IsNotFound(config.status())) return done(std::move(config));
      done(absl::FailedPreconditionError(
          absl::StrCat(Paths(wanted.cell()).root(), " exists in the store and is not a cell")));
    });
  });
}

}  // namespace

void EnsureCell(CoordinationStore& store, const v1::CellConfig& wanted, CellCallback done) {
  LoadCell(store, wanted.cell(), [&store, wanted, done](absl::StatusOr<v1::CellConfig> config) {
    if (absl::IsUnavailable(config.status())) return EnsureCell(store, wanted, done);
    if (absl::IsNotFound(config.status())) return CreateCell(store, wanted, done);
    if (config.ok() && config->made_ms() == 0 && wanted.made_ms() != 0) {
      return Identify(store, wanted, done);
    }
    done(std::move(config));
  });
}

void LoadCell(CoordinationStore& store, const std::string& cell, CellCallback done,
              CoordinationStore::Watch changed) {
  store.Get(
      Paths(cell).config(),
      [&store, cell, done](absl::StatusOr<Node> node) {
        auto config = Parse(cell, node, store.access());
        Learn(store, config);
        if (config.ok()) FollowSecurity(store, cell);
        done(std::move(config));
      },
      std::move(changed));
}

void LoadMadeCell(CoordinationStore& store, const std::string& cell, CellCallback done) {
  LoadCell(store, cell, [&store, cell, done](absl::StatusOr<v1::CellConfig> config) {
    if (absl::IsUnavailable(config.status())) return LoadMadeCell(store, cell, done);
    if (absl::IsNotFound(config.status())) {
      return done(
          absl::NotFoundError(absl::StrCat("there is no cell \"", cell, "\" in this ZooKeeper")));
    }
    done(std::move(config));
  });
}

std::string CellIdentity(const v1::CellConfig& config) {
  return absl::StrCat(config.cell(), "@", config.made_ms());
}

}  // namespace shardmanager
