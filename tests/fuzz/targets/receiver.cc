// A source that answers anything, in any order. A copy is owned only when it equals what was
// claimed, or when nobody else ever will own it.
#include "transfer/receiver.h"

#include <optional>
#include <string>

#include "tests/fuzz/fuzz_target.h"

namespace shardmanager::transfer {
namespace {

ServerAt AnyServer(fuzz::FuzzInput& input) {
  const std::string name(1, static_cast<char>('p' + input.Below(3)));
  return {name, name + ":1"};
}

Total AnyTotal(fuzz::FuzzInput& input) { return {input.Below(3), input.Below(2)}; }

Receiver::Event AnyEvent(fuzz::FuzzInput& input) {
  switch (input.Below(9)) {
    case 0:
      return Opened{static_cast<CopyState>(input.Below(4)), input.Below(2), input.Below(4),
                    input.Below(6), AnyServer(input)};
    case 1:
      return RowsCame{input.Below(50), input.Text(3), input.Flag()};
    case 2:
      return ChangesCame{input.Below(9), input.Below(50), input.Below(6),
                         input.Flag(),   AnyTotal(input), input.Flag()};
    case 3:
      return Stored{AnyTotal(input)};
    case 4:
      return Counted{AnyTotal(input)};
    case 5:
      return Claimed{static_cast<Verdict>(input.Below(6)), input.Below(6), AnyTotal(input),
                     AnyServer(input), ShardEpoch(input.Below(9))};
    case 6:
      return Failed{input.Flag() ? absl::UnavailableError("") : absl::OutOfRangeError("")};
    case 7:
      return Confirmed{};
    default:
      return Take{};
  }
}

// May this answer come to what was asked?
bool Fits(const Receiver::Action& asked, const Receiver::Event& event) {
  if (std::holds_alternative<Failed>(event)) return true;
  if (std::holds_alternative<Opened>(event)) return std::holds_alternative<Open>(asked);
  if (std::holds_alternative<RowsCame>(event)) return std::holds_alternative<ReadRows>(asked);
  if (std::holds_alternative<ChangesCame>(event)) return std::holds_alternative<ReadChanges>(asked);
  if (std::holds_alternative<Counted>(event)) return std::holds_alternative<Count>(asked);
  if (std::holds_alternative<Claimed>(event)) return std::holds_alternative<SendClaim>(asked);
  if (std::holds_alternative<Confirmed>(event)) return std::holds_alternative<SendConfirm>(asked);
  return std::holds_alternative<Reset>(asked) || std::holds_alternative<StoreRows>(asked) ||
         std::holds_alternative<StoreChanges>(asked) || std::holds_alternative<Own>(asked);
}

bool Answers(const Receiver::Action& action) {
  return !std::holds_alternative<Ready>(action) && !std::holds_alternative<Finished>(action) &&
         !std::holds_alternative<GiveUp>(action) && !std::holds_alternative<Note>(action);
}

}  // namespace

SM_FUZZ_TARGET(receiver) {
  Custody custody{.state = static_cast<CopyState>(input.Below(4)), .lineage = input.Below(2)};
  custody.place = {input.Flag(), "k", input.Flag(), input.Below(6)};
  Receiver receiver({.self = {"q", "q:1"}, .bytes_per_second = input.Below(2) * 1'000u}, custody,
                    ShardEpoch(9), {"p", "p:1"});
  TimePoint now{Seconds(1)};
  std::optional<Receiver::Action> asked;
  std::optional<Claimed> claimed;
  Total here;
  const auto carry = [&](Output<Receiver::Action> output) {
    for (Receiver::Action& action : output.actions) {
      if (!Answers(action)) continue;
      SM_CHECK(!asked, "one request at a time");
      asked = std::move(action);
      const Own* own = std::get_if<Own>(&*asked);
      if (own == nullptr) continue;
      SM_CHECK(claimed.has_value(), "nothing is owned without a claim");
      const bool equal = own->custody.place.sequence == claimed->sequence && here == claimed->total;
      const bool given_up = claimed->verdict == Verdict::kGaveUp &&
                            custody.state == CopyState::kReleased && claimed->other.server == "q";
      SM_CHECK(given_up || (claimed->verdict == Verdict::kReleased && equal),
               "what is owned is what was claimed");
    }
  };
  carry(receiver.Start(now));
  while (!input.empty()) {
    now += Milliseconds(input.Below(200));
    carry(receiver.OnAdvance(now));
    const bool idle = receiver.OnAdvance(now).actions.empty();
    SM_CHECK(idle, "a spurious wake changes nothing");
    Receiver::Event event = AnyEvent(input);
    if (!std::holds_alternative<Take>(event)) {
      if (!asked || !Fits(*asked, event)) continue;
      asked.reset();
    }
    if (const auto* claim = std::get_if<Claimed>(&event)) claimed = *claim;
    if (const auto* stored = std::get_if<Stored>(&event)) here = stored->total;
    carry(receiver.OnEvent(now, std::move(event)));
  }
}

}  // namespace shardmanager::transfer
