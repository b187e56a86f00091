#include "coordination/cell.h"

#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "coordination/envelope.h"
#include "coordination/paths.h"

namespace shardmanager {
namespace {

absl::StatusOr<v1::CellConfig> Parse(const std::string& cell, const absl::StatusOr<Node>& node) {
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

// A cell that an early build made has no identity yet. Of several processes that give it
// one, one wins.
void Identify(CoordinationStore& store, const v1::CellConfig& wanted, CellCallback done) {
  const std::string path = Paths(wanted.cell()).config();
  store.Get(path, [&store, path, wanted, done](absl::StatusOr<Node> node) {
    absl::StatusOr<v1::CellConfig> config = Parse(wanted.cell(), node);
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

void CreateCell(CoordinationStore& store, const v1::CellConfig& wanted, CellCallback done) {
  const Paths paths(wanted.cell());
  std::vector<WriteOp> ops;
  ops.push_back(CreateNode{paths.root(), ""});
  ops.push_back(CreateNode{paths.config(), Seal(wanted)});
  ops.push_back(CreateNode{paths.leader(), ""});
  ops.push_back(CreateNode{paths.leader_epoch(), ""});
  ops.push_back(CreateNode{paths.apps(), ""});
  store.Multi(std::move(ops), [&store, wanted, done](WriteResult result) {
    if (result.status.ok()) return done(wanted);
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
      Paths(cell).config(), [cell, done](absl::StatusOr<Node> node) { done(Parse(cell, node)); },
      std::move(changed));
}

std::string CellIdentity(const v1::CellConfig& config) {
  return absl::StrCat(config.cell(), "@", config.made_ms());
}

}  // namespace shardmanager
