// The gates of admission, against a plain table of what is open. The shard's name is what
// a request's metadata says, so it may be any bytes.
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
        return table_.SetLease(lease_);
      case 4:
        g_now += Milliseconds(100 * input_.Byte());
        return;
      case 5:
        stop_all_ = input_.Flag();
        return table_.SetStopAll(stop_all_);
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
    gate = {true, false, 0, role, ShardEpoch(input_.Number())};
    table_.Open(ShardId(shard), gate.role, gate.epoch);
  }

  void Admit(const std::string& shard) {
    const auto found = gates_.find(shard);
    const Gate gate = found == gates_.end() ? Gate{} : found->second;
    const bool leased = g_now < lease_ || (gate.role == Role::kSecondary && !stop_all_);
    const AdmissionTable::Admitted admitted = table_.Admit(shard);
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
  bool stop_all_ = false;
};

}  // namespace

SM_FUZZ_TARGET(admission) {
  Trial trial(input);
  while (!input.empty()) trial.Step();
}

}  // namespace shardmanager::server
