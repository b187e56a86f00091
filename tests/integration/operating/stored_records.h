// All records of a cell in ZooKeeper, to be read and changed as builds of other versions do.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "coordination/store.h"
#include "google/protobuf/message.h"

namespace shardmanager::testing {

// Not thread-safe. Its calls block.
class StoredRecords {
 public:
  StoredRecords(const std::string& zookeeper, const std::string& cell);
  ~StoredRecords();

  // The paths of all nodes of the cell that have records, ascending.
  absl::StatusOr<std::vector<std::string>> Paths();
  absl::StatusOr<std::string> Bytes(const std::string& path);
  absl::Status Write(const std::string& path, const std::string& bytes);
  // The record there.
  absl::StatusOr<std::unique_ptr<google::protobuf::Message>> Read(const std::string& path);

  // Changes each record, and each message in it, innermost first. But for registrations: the
  // version of their nodes is a server's incarnation, so to write one is to begin a life.
  using Change = std::function<void(google::protobuf::Message& message)>;
  absl::Status ChangeAll(const Change& change);

 private:
  absl::Status Collect(const std::string& path, std::vector<std::string>* paths);

  const std::string root_;
  const std::unique_ptr<CoordinationStore> store_;
};

}  // namespace shardmanager::testing
