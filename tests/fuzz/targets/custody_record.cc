// Custody records from an application's disk: damaged, or not ours. What is read back is what
// was written, or an error.
#include <string>

#include "tests/fuzz/fuzz_target.h"
#include "transfer/custody.h"

namespace shardmanager::transfer {

SM_FUZZ_TARGET(custody_record) {
  if (input.Flag()) {  // as it comes
    const auto custody = Unseal(input.Rest());
    if (custody.ok()) SM_CHECK(*Unseal(Seal(*custody)) == *custody, "what was sealed comes back");
    return;
  }
  Custody custody{.state = static_cast<CopyState>(input.Below(4)),
                  .epoch = ShardEpoch(input.Number()),
                  .floor = ShardEpoch(input.Number()),
                  .lineage = input.Number()};
  custody.place = {input.Flag(), input.Text(300), input.Flag(), input.Number()};
  custody.other = {input.Text(20), input.Text(20)};
  custody.other_epoch = ShardEpoch(input.Number());
  custody.confirmed = input.Flag();
  std::string sealed = Seal(custody);
  SM_CHECK(*Unseal(sealed) == custody, "what was sealed comes back");
  const size_t at = (input.Byte() << 8 | input.Byte()) % sealed.size();
  if (input.Flag()) {
    sealed[at] = static_cast<char>(sealed[at] ^ (1 << input.Below(8)));
  } else {
    sealed.resize(at);
  }
  const auto damaged = Unseal(sealed);
  SM_CHECK(!damaged.ok() || sealed.empty() || *damaged == custody,
           "a damaged record is refused, not half-read");
}

}  // namespace shardmanager::transfer
