// Stored records: torn, from elsewhere, of another type. What is read back is what was
// written, or an error; never a part of it.
#include <google/protobuf/util/message_differencer.h>

#include <memory>
#include <string>

#include "coordination/envelope.h"
#include "shardmanager/v1/stored.pb.h"
#include "tests/fuzz/fuzz_target.h"

namespace shardmanager {
namespace {

using google::protobuf::Message;

std::unique_ptr<Message> NewRecord(uint32_t kind) {
  switch (kind) {
    case 0:
      return std::make_unique<v1::CellConfig>();
    case 1:
      return std::make_unique<v1::LeaderRecord>();
    case 2:
      return std::make_unique<v1::StoredSpec>();
    case 3:
      return std::make_unique<v1::ServerRecord>();
    case 4:
      return std::make_unique<v1::LiveRecord>();
    default:
      return std::make_unique<v1::AssignmentRecord>();
  }
}

bool Same(const Message& a, const Message& b) {
  google::protobuf::util::DefaultFieldComparator comparator;
  comparator.set_treat_nan_as_equal(true);
  google::protobuf::util::MessageDifferencer differencer;
  differencer.set_field_comparator(&comparator);
  return differencer.Compare(a, b);
}

void CheckKept(const Message& record, fuzz::FuzzInput& input) {
  std::string sealed = Seal(record);
  const std::unique_ptr<Message> back(record.New());
  SM_CHECK(Open(sealed, back.get()).ok(), "what was sealed opens");
  SM_CHECK(Same(record, *back), "what was sealed comes back");
  const size_t damage = 1 + input.Below(3);
  for (size_t i = 0; i < damage && !sealed.empty(); ++i) {
    const size_t at = (input.Byte() << 8 | input.Byte()) % sealed.size();
    if (input.Flag()) {
      sealed[at] = static_cast<char>(sealed[at] ^ (1 << input.Below(8)));
    } else {
      sealed.resize(at);
    }
  }
  // A record without a byte is like one that was never written.
  if (Open(sealed, back.get()).ok() && !sealed.empty()) {
    SM_CHECK(Same(record, *back), "a damaged record is refused, not half-read");
  }
}

}  // namespace

SM_FUZZ_TARGET(stored_record) {
  const std::unique_ptr<Message> record = NewRecord(input.Below(6));
  if (input.Flag()) {  // the envelope as it comes
    if (Open(input.Rest(), record.get()).ok()) CheckKept(*record, input);
    return;
  }
  const std::string bytes = input.Text(4'096);  // one that was sealed, then damaged
  if (record->ParseFromString(bytes)) CheckKept(*record, input);
}

}  // namespace shardmanager
