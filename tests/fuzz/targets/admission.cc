// The gates of admission, against a plain table of what is open. The shard's name is what
// a request's metadata says, so it may be any bytes.
#include <algorithm>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "server/admission_table.h"
#include "tests/fuzz/fuzz_target.h"

namespace shardmanager::server {
namespace {

TimePoint g_now;
TimePoint Now() { return g_now; }

struct Gate {
  bool open = false;
  bool loading = false;
  int in_flight = 0;
  Role role = Role::kPrimary;
  ShardEpoch epoch;
  TimePoint opened_at = kNever;  // under that epoch
};

class Trial {
 public:
  explicit Trial(fuzz::FuzzInput& input) : input_(input) { g_now = TimePoint{}; }
  ~Trial() {
    while (!running_.empty()) End(0);
  }

  void Step() {
    const std::string shard = input_.Below(8) == 0 ? input_.Text(40) : std::string(1, Letter());
    switch (input_.Below(10)) {
      case 0:
        return Open(shard);
      case 1:
        gates_[shard].open = false;
        return table_.Close(ShardId(shard));
      case 2:
        gates_[shard].loading = true;
        return table_.ShowLoading(ShardId(shard));
      case 3:
        lease_ = g_now + Seconds(input_.Below(4));
        leased_ = std::max(std::min(leased_, g_now), lease_);
        return table_.SetLease(lease_);
      case 4:
        g_now += Milliseconds(100 * input_.Byte());
        return;
      case 5:
        policy_ = static_cast<OnPartition>(input_.Below(3));
        return table_.SetPolicy(policy_);
      case 6:
        if (!running_.empty()) End(input_.Byte() % running_.size());
        return;
      case 7:
        return Hold(shard);
      default:
        return Admit(shard);
    }
  }

 private:
  char Letter() { return static_cast<char>('a' + input_.Below(5)); }

  void Open(const std::string& shard) {
    Gate& gate = gates_[shard];
    SM_CHECK(!table_.Idle(ShardId(shard)) || (!gate.open && gate.in_flight == 0), "idle is idle");
    if (gate.open || gate.in_flight > 0) return;  // as the contract asks
    const Role role = input_.Flag() ? Role::kPrimary : Role::kSecondary;
    const ShardEpoch epoch(input_.Number());
    const bool again = gate.epoch == epoch;
    gate = {true, false, 0, role, epoch, again ? gate.opened_at : g_now};
    table_.Open(ShardId(shard), gate.role, gate.epoch);
  }

  void Admit(const std::string& shard) {
    const auto found = gates_.find(shard);
    const Gate gate = found == gates_.end() ? Gate{} : found->second;
    const bool kept = policy_ == OnPartition::kKeepServing && gate.opened_at < leased_;
    const bool leased = g_now < lease_ || kept ||
                        (gate.role == Role::kSecondary && policy_ != OnPartition::kStopAll);
    const AdmissionTable::Admitted admitted = table_.Admit({shard});
    SM_CHECK((admitted.slot != nullptr) == (gate.open && leased), "open, and under a lease");
    SM_CHECK((admitted.slot == nullptr) == (admitted.refusal != nullptr), "a refusal says why");
    if (admitted.slot == nullptr) return;
    SM_CHECK(admitted.epoch == gate.epoch && admitted.role == gate.role, "under its grant");
    Begin(shard, admitted.slot);
  }

  void Hold(const std::string& shard) {
    AdmissionSlot* slot = table_.Pin(shard);
    SM_CHECK((slot != nullptr) == gates_[shard].open, "only what is open can be held");
    if (slot != nullptr) Begin(shard, slot);
  }

  void Begin(const std::string& shard, AdmissionSlot* slot) {
    SM_CHECK(slot->shard().value() == shard, "the shard that was asked for");
    ++gates_[shard].in_flight;
    running_.emplace_back(shard, slot);
  }
  void End(size_t i) {
    const auto [shard, slot] = running_[i];
    running_.erase(running_.begin() + static_cast<std::ptrdiff_t>(i));
    Gate& gate = gates_[shard];
    drained_.clear();
    --gate.in_flight;
    slot->Release();
    const bool last = !gate.open && gate.in_flight == 0;
    SM_CHECK(!drained_.empty() == last, "the last one out reports the drain");
  }

  fuzz::FuzzInput& input_;
  std::vector<ShardId> drained_;
  AdmissionTable table_{[this](const ShardId& shard) { drained_.push_back(shard); }, Now};
  std::map<std::string, Gate> gates_;
  std::vector<std::pair<std::string, AdmissionSlot*>> running_;
  TimePoint lease_ = TimePoint::min();
  TimePoint leased_ = TimePoint::min();  // the end of the newest lease that there was
  OnPartition policy_ = OnPartition::kStopPrimaries;
};

}  // namespace

SM_FUZZ_TARGET(admission) {
  Trial trial(input);
  while (!input.empty()) trial.Step();
}

}  // namespace shardmanager::server
