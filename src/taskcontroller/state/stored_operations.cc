#include "taskcontroller/state/stored_operations.h"

#include <cstdint>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "model/spec/spec_problems.h"
#include "model/text.h"

namespace shardmanager::taskcontroller {
namespace {

constexpr int kMostOperations = 10'000;
constexpr size_t kMostManagerBytes = 63;
constexpr size_t kMostIdBytes = 127;
constexpr size_t kMostServerBytes = 127;
constexpr size_t kMostTextBytes = 200;
constexpr uint32_t kDayMs = 86'400'000;
constexpr uint64_t kThirtyDaysMs = uint64_t{30} * kDayMs;
constexpr uint32_t kDefaultExpectedMs = 60'000;

v1::HeldStage ToProto(HeldStage stage) {
  switch (stage) {
    case HeldStage::kPreparing:
      return v1::HELD_PREPARING;
    case HeldStage::kApproved:
      return v1::HELD_APPROVED;
    case HeldStage::kBegun:
      return v1::HELD_BEGUN;
  }
  return v1::HELD_STAGE_UNSPECIFIED;
}

absl::StatusOr<HeldStage> FromProto(v1::HeldStage stage) {
  switch (stage) {
    case v1::HELD_PREPARING:
      return HeldStage::kPreparing;
    case v1::HELD_APPROVED:
      return HeldStage::kApproved;
    case v1::HELD_BEGUN:
      return HeldStage::kBegun;
    case v1::HELD_STAGE_UNSPECIFIED:
      return absl::DataLossError("an operation has no stage");
    default:
      return absl::UnimplementedError(absl::StrCat(
          "an operation has stage ", static_cast<int>(stage), ", which this build does not know"));
  }
}

// Of names: letters, digits, and some of these.
bool IsName(const std::string& name, size_t most, std::string_view also) {
  if (name.empty() || name.size() > most) return false;
  for (const char c : name) {
    const bool plain = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9');
    if (!plain && also.find(c) == also.npos) return false;
  }
  return true;
}

class Parser {
 public:
  absl::StatusOr<Report> Parse(const v1::ReportRequest& request) {
    CheckName("manager", request.manager(), kMostManagerBytes, "._-");
    if (request.manager_life() == 0) problems_.Add("manager_life", "0", "a number above 0");
    if (request.sequence() == 0) problems_.Add("sequence", "0", "a number above 0");
    if (request.operations_size() > kMostOperations) {
      problems_.Add("operations", absl::StrCat(request.operations_size(), " operations"),
                    absl::StrCat("at most ", kMostOperations));
      return ToStatus(problems_.Take());
    }
    Report report{.manager = request.manager(),
                  .manager_life = request.manager_life(),
                  .sequence = request.sequence()};
    for (int i = 0; i < request.operations_size() && !problems_.full(); ++i) {
      report.operations.push_back(
          ParseOperation(absl::StrCat("operations[", i, "]"), request.operations(i)));
    }
    if (absl::Status status = ToStatus(problems_.Take()); !status.ok()) return status;
    return report;
  }

 private:
  ReportedOperation ParseOperation(const std::string& path, const v1::ContainerOperation& in) {
    problems_.CheckKnown(path, in);
    CheckName(path + ".id", in.id(), kMostIdBytes, "._:/-");
    if (!ids_.insert(in.id()).second) {
      problems_.Add(path + ".id", Quoted(in.id()) + " (a second time)", "each id once");
    }
    CheckName(path + ".server", in.server(), kMostServerBytes, "._-");
    if (!v1::OperationKind_IsValid(in.kind()) || in.kind() == v1::OPERATION_KIND_UNSPECIFIED) {
      problems_.Add(path + ".kind", EnumLabel(in.kind()),
                    EnumLabels(*v1::OperationKind_descriptor()));
    }
    if (!v1::OperationStage_IsValid(in.stage())) {
      problems_.Add(path + ".stage", EnumLabel(in.stage()),
                    EnumLabels(*v1::OperationStage_descriptor()));
    }
    CheckText(path + ".container", in.container());
    CheckText(path + ".reason", in.reason());
    CheckMost(path + ".expected_ms", in.expected_ms(), kDayMs);
    CheckMost(path + ".deadline_ms", in.deadline_ms(), kThirtyDaysMs);
    CheckMost(path + ".pending_ms", in.pending_ms(), kThirtyDaysMs);
    return Converted(in);
  }

  static ReportedOperation Converted(const v1::ContainerOperation& in) {
    const uint32_t expected_ms = in.expected_ms() == 0 ? kDefaultExpectedMs : in.expected_ms();
    ReportedOperation out{.id = in.id()};
    out.info = {.kind = in.kind(),
                .server = in.server(),
                .life = Incarnation(in.incarnation()),
                .container = in.container(),
                .reason = in.reason(),
                .expected = Milliseconds(expected_ms),
                .state_lost = in.state_lost()};
    out.stage = in.stage() == v1::OPERATION_FINISHED ? ReportedStage::kFinished
                : in.stage() == v1::OPERATION_BEGIN  ? ReportedStage::kBegin
                                                     : ReportedStage::kWaiting;
    if (in.deadline_ms() > 0) out.deadline = Milliseconds(static_cast<int64_t>(in.deadline_ms()));
    out.pending = Milliseconds(static_cast<int64_t>(in.pending_ms()));
    return out;
  }

  void CheckName(const std::string& path, const std::string& name, size_t most,
                 std::string_view also) {
    if (IsName(name, most, also)) return;
    problems_.Add(path, name.empty() ? "nothing" : Quoted(name),
                  absl::StrCat("1 to ", most, " characters of [A-Za-z0-9", std::string(also), "]"));
  }
  void CheckText(const std::string& path, const std::string& text) {
    if (text.size() <= kMostTextBytes) return;
    problems_.Add(path, absl::StrCat(text.size(), " bytes"),
                  absl::StrCat("at most ", kMostTextBytes));
  }
  void CheckMost(const std::string& path, uint64_t value, uint64_t most) {
    if (value <= most) return;
    problems_.Add(path, absl::StrCat(value), absl::StrCat("0 to ", most));
  }

  SpecProblems problems_;
  std::set<std::string> ids_;
};

}  // namespace

v1::StoredOperations ToProto(const HeldOperations& held) {
  v1::StoredOperations stored;
  for (const auto& [key, operation] : held) {
    v1::StoredOperation& out = *stored.add_operations();
    out.set_manager(key.manager);
    out.set_id(key.id);
    out.set_kind(operation.info.kind);
    out.set_server(operation.info.server);
    out.set_incarnation(operation.info.life.value());
    out.set_container(operation.info.container);
    out.set_reason(operation.info.reason);
    out.set_expected_ms(static_cast<uint32_t>(operation.info.expected / Milliseconds(1)));
    out.set_state_lost(operation.info.state_lost);
    out.set_stage(ToProto(operation.stage));
    out.set_primaries_leave(operation.leaving.primaries);
    out.set_secondaries_leave(operation.leaving.secondaries);
    out.set_forced(operation.forced);
  }
  return stored;
}

absl::StatusOr<HeldOperations> FromProto(const v1::StoredOperations& stored) {
  HeldOperations held;
  for (const v1::StoredOperation& in : stored.operations()) {
    const absl::StatusOr<HeldStage> stage = FromProto(in.stage());
    if (!stage.ok()) return stage.status();
    if (!v1::OperationKind_IsValid(in.kind())) {
      return absl::UnimplementedError(absl::StrCat("an operation has kind ",
                                                   static_cast<int>(in.kind()),
                                                   ", which this build does not know"));
    }
    HeldOperation& operation = held[{in.manager(), in.id()}];
    operation.info = {.kind = in.kind(),
                      .server = in.server(),
                      .life = Incarnation(in.incarnation()),
                      .container = in.container(),
                      .reason = in.reason(),
                      .expected = Milliseconds(in.expected_ms()),
                      .state_lost = in.state_lost()};
    operation.stage = *stage;
    operation.leaving = {.primaries = in.primaries_leave(), .secondaries = in.secondaries_leave()};
    operation.forced = in.forced();
  }
  return held;
}

absl::StatusOr<Report> ParseReport(const v1::ReportRequest& request) {
  return Parser().Parse(request);
}

}  // namespace shardmanager::taskcontroller
