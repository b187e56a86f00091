// What of an app's stored records cannot be read: said once in log and events, kept in the
// quarantine folder, and told to operators for as long as it lasts (decision 0010).
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "coordination/store.h"
#include "orchestrator/shell/batch_writer.h"
#include "orchestrator/shell/event_log.h"

namespace shardmanager::orchestrator {

enum class RecordKind : uint8_t { kSpec, kRegistration, kLive, kAssignment };

struct DamagedRecord {
  RecordKind kind = RecordKind::kSpec;
  std::string server;  // empty: of the app
  std::string path;
  Node node;
  absl::Status why;
  absl::Status kept = absl::UnavailableError("being copied");  // are the bytes at kept_at?
  std::string kept_at;

  // A newer version wrote it: that one can read it.
  bool newer() const { return absl::IsUnimplemented(why); }
};

// On the driver's thread only.
class DamagedRecords {
 public:
  // A record whose `kind` is kAssignment has changed: what was made of it is void.
  using Changed = std::function<void(const DamagedRecord&)>;

  DamagedRecords(WriterOptions options, EventLog& events, Changed changed)
      : options_(std::move(options)), events_(events), changed_(std::move(changed)) {}

  // REQUIRES: `node` was read at `path`, and cannot be read because of `why`.
  void Add(RecordKind kind, const std::string& server, const std::string& path, const Node& node,
           absl::Status why);
  // There is a node where none of its name belongs; `right`: where it does; "": no name of ours.
  // It is not read.
  void Misplaced(const std::string& path, const std::string& right);
  // It was read well since, or is gone.
  void Resolved(const std::string& path) { records_.erase(path); }
  // Reads all again, to see which were mended or went.
  void Relook();

  // Null: none.
  const DamagedRecord* Find(RecordKind kind, const std::string& server) const;
  // For people, a line each: which, what is wrong, what holds meanwhile, what to do.
  std::vector<std::string> Describe() const;

 private:
  void Keep(const DamagedRecord& record);
  void OnRead(const std::string& path, const absl::StatusOr<Node>& node);
  static std::string SentenceOfMisplaced(const std::string& path, const std::string& right);

  const WriterOptions options_;
  EventLog& events_;
  const Changed changed_;
  std::map<std::string, DamagedRecord> records_;  // by path
  std::map<std::string, std::string> misplaced_;  // path -> where it belongs
};

}  // namespace shardmanager::orchestrator
