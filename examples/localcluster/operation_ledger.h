// What a cluster manager wants of one app, and how far it is: what to report, and what an answer
// changes. Pure: no clock, no thread, no connection. See task_control.proto.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "shardmanager/v1/task_control.pb.h"

namespace shardmanager::local {

class OperationLedger {
 public:
  // `life`: greater than that of every ledger that the manager had before.
  OperationLedger(std::string app, std::string manager, uint64_t life)
      : app_(std::move(app)), manager_(std::move(manager)), life_(life) {}

  struct Entry {
    v1::ContainerOperation operation;  // as it is reported next
    bool acting = false;               // GO was heard
    v1::OperationAnswer heard;         // last
  };

  // From now on. Its id is new.
  void Want(v1::ContainerOperation operation);
  // Of all that is not going on: it is not wanted any more.
  void GiveUp();

  // The next report. The answer to an older one does not count any more.
  v1::ReportRequest NextReport();

  struct Heard {
    bool report_again = false;                // at once
    std::vector<v1::ContainerOperation> act;  // now
    // DONE (then it was FINISHED), or REFUSED: forgotten.
    std::vector<v1::ContainerOperation> ended;
  };
  // `uses`: is this approval to be used?
  using Uses = std::function<bool(const v1::ContainerOperation& operation)>;
  Heard Hear(uint64_t sequence, const v1::ReportResponse& response, const Uses& uses);

  // The life of the server that the operation is about, if it was not known when it was wanted.
  void SetLife(const std::string& id, uint64_t incarnation);
  // Nothing more will happen to the container.
  void Finish(const std::string& id);

  uint64_t life() const { return life_; }
  const std::map<std::string, Entry>& entries() const { return entries_; }  // by id
  bool HasOneOf(const std::string& server) const;
  // It is going on, or begins if GO is heard.
  bool MayStillAct(const std::string& id) const;

 private:
  std::string app_;
  std::string manager_;
  uint64_t life_;
  uint64_t sequence_ = 0;
  std::map<std::string, Entry> entries_;
};

}  // namespace shardmanager::local
