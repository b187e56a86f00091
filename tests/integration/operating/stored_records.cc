#include "tests/integration/operating/stored_records.h"

#include <algorithm>
#include <future>
#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "coordination/envelope.h"
#include "coordination/zookeeper/zookeeper_store.h"
#include "shardmanager/v1/access.pb.h"
#include "shardmanager/v1/stored.pb.h"

namespace shardmanager::testing {
namespace {

using google::protobuf::FieldDescriptor;
using google::protobuf::Message;

template <typename Result, typename Ask>
Result Wait(Ask ask) {
  auto answer = std::make_shared<std::promise<Result>>();
  ask([answer](Result result) { answer->set_value(std::move(result)); });
  return answer->get_future().get();
}

// As stored.proto says. Null: no record.
std::unique_ptr<Message> RecordOf(const std::string& path) {
  if (absl::EndsWith(path, "/config")) return std::make_unique<v1::CellConfig>();
  if (absl::EndsWith(path, "/policy")) return std::make_unique<v1::StoredPolicy>();
  if (absl::EndsWith(path, "/leader/holder")) return std::make_unique<v1::LeaderRecord>();
  if (absl::EndsWith(path, "/spec")) return std::make_unique<v1::StoredSpec>();
  if (absl::EndsWith(path, "/operations")) return std::make_unique<v1::StoredOperations>();
  if (absl::StrContains(path, "/servers/")) return std::make_unique<v1::ServerRecord>();
  if (absl::StrContains(path, "/live/")) return std::make_unique<v1::LiveRecord>();
  if (absl::StrContains(path, "/assignments/")) return std::make_unique<v1::AssignmentRecord>();
  return nullptr;
}

void ChangeWithin(Message& message, const StoredRecords::Change& change) {
  std::vector<const FieldDescriptor*> fields;
  message.GetReflection()->ListFields(message, &fields);
  for (const FieldDescriptor* field : fields) {
    if (field->cpp_type() != FieldDescriptor::CPPTYPE_MESSAGE || field->is_map()) continue;
    if (!field->is_repeated()) {
      ChangeWithin(*message.GetReflection()->MutableMessage(&message, field), change);
      continue;
    }
    for (int i = 0; i < message.GetReflection()->FieldSize(message, field); ++i) {
      ChangeWithin(*message.GetReflection()->MutableRepeatedMessage(&message, field, i), change);
    }
  }
  change(message);
}

}  // namespace

StoredRecords::StoredRecords(const std::string& zookeeper, const std::string& cell)
    : root_("/" + cell), store_(ZookeeperStoreFactory(zookeeper).NewSession({})) {}

StoredRecords::~StoredRecords() = default;

absl::StatusOr<std::vector<std::string>> StoredRecords::Paths() {
  std::vector<std::string> paths;
  if (absl::Status s = Collect(root_, &paths); !s.ok()) return s;
  std::sort(paths.begin(), paths.end());
  return paths;
}

absl::Status StoredRecords::Collect(const std::string& path, std::vector<std::string>* paths) {
  if (RecordOf(path) != nullptr) {
    const auto bytes = Bytes(path);
    if (!bytes.ok()) return bytes.status();
    if (!bytes->empty()) paths->push_back(path);  // a bucket is empty
  }
  const auto children = Wait<absl::StatusOr<std::vector<std::string>>>(
      [&](auto done) { store_->GetChildren(path, done); });
  if (!children.ok()) return children.status();
  for (const std::string& child : *children) {
    if (absl::Status s = Collect(absl::StrCat(path, "/", child), paths); !s.ok()) return s;
  }
  return absl::OkStatus();
}

absl::StatusOr<std::string> StoredRecords::Bytes(const std::string& path) {
  const auto node =
      Wait<absl::StatusOr<Node>>([&](auto done) { store_->Get(path, std::move(done)); });
  if (!node.ok()) return node.status();
  return node->data;
}

absl::Status StoredRecords::Write(const std::string& path, const std::string& bytes) {
  return Wait<absl::Status>([&](auto done) {
    store_->Multi({SetNode{path, bytes}}, [done](const WriteResult& r) { done(r.status); });
  });
}

absl::StatusOr<std::unique_ptr<Message>> StoredRecords::Read(const std::string& path) {
  const auto bytes = Bytes(path);
  if (!bytes.ok()) return bytes.status();
  std::unique_ptr<Message> record = RecordOf(path);
  if (record == nullptr) return absl::NotFoundError(path + " has no record");
  if (absl::Status s = Open(*bytes, record.get()); !s.ok()) return s;
  return record;
}

absl::Status StoredRecords::ChangeAll(const Change& change) {
  const auto paths = Paths();
  if (!paths.ok()) return paths.status();
  for (const std::string& path : *paths) {
    if (absl::StrContains(path, "/servers/")) continue;
    const auto record = Read(path);
    if (!record.ok()) return record.status();
    ChangeWithin(**record, change);
    if (absl::Status s = Write(path, Seal(**record)); !s.ok()) return s;
  }
  return absl::OkStatus();
}

}  // namespace shardmanager::testing
