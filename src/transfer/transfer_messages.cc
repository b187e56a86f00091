#include "transfer/transfer_messages.h"

#include <xxhash.h>

#include <utility>

#include "absl/strings/str_cat.h"
#include "transfer/row_total.h"

namespace shardmanager::transfer {
namespace {

constexpr size_t kMostKeyBytes = 64 << 10;
constexpr size_t kMostValueBytes = 2 << 20;
constexpr size_t kMostNameBytes = 512;

// Nothing: it is good.
std::string WhatIsWrong(size_t key_bytes, size_t value_bytes) {
  if (key_bytes == 0 || key_bytes > kMostKeyBytes) {
    return absl::StrCat("key: found ", key_bytes, " bytes; allowed: 1 to ", kMostKeyBytes);
  }
  if (value_bytes > kMostValueBytes) {
    return absl::StrCat("value: found ", value_bytes, " bytes; allowed: at most ", kMostValueBytes);
  }
  return "";
}

}  // namespace

absl::Status ToProto(std::vector<TransferRow> rows, ProtoRows* out) {
  out->Reserve(static_cast<int>(rows.size()));
  for (TransferRow& row : rows) {
    const std::string wrong = WhatIsWrong(row.key.size(), row.value ? row.value->size() : 0);
    if (!wrong.empty()) return absl::FailedPreconditionError(absl::StrCat("a row's ", wrong));
    v1::TransferRow* to = out->Add();
    to->set_key(std::move(row.key));
    to->set_gone(!row.value.has_value());
    if (row.value) to->set_value(*std::move(row.value));
  }
  return absl::OkStatus();
}

absl::StatusOr<std::vector<TransferRow>> FromProto(ProtoRows* rows, uint64_t checksum) {
  if (Checksum(*rows) != checksum) {
    return absl::DataLossError("a batch came with other bytes than it was sent with");
  }
  std::vector<TransferRow> out;
  out.reserve(static_cast<size_t>(rows->size()));
  for (v1::TransferRow& row : *rows) {
    const std::string wrong = WhatIsWrong(row.key().size(), row.value().size());
    if (!wrong.empty()) return absl::DataLossError(absl::StrCat("a row's ", wrong));
    TransferRow& to = out.emplace_back();
    to.key = std::move(*row.mutable_key());
    if (!row.gone()) to.value = std::move(*row.mutable_value());
  }
  return out;
}

uint64_t Checksum(const ProtoRows& rows) {
  uint64_t sum = static_cast<uint64_t>(rows.size());
  for (const v1::TransferRow& row : rows) {
    const uint64_t parts[] = {sum, row.gone() ? 1u : 0u, RowHash(row.key(), row.value())};
    sum = XXH64(parts, sizeof parts, 0);
  }
  return sum;
}

uint64_t BytesOf(const std::vector<TransferRow>& rows) {
  uint64_t bytes = 0;
  for (const TransferRow& row : rows) {
    bytes += row.key.size() + (row.value ? row.value->size() : 0);
  }
  return bytes;
}

absl::Status CheckHeader(const v1::TransferHeader& header) {
  const std::pair<const char*, const std::string*> fields[] = {
      {"server", &header.server()},
      {"shard", &header.shard()},
      {"taker", &header.taker()},
      {"taker_endpoint", &header.taker_endpoint()}};
  for (const auto& [field, value] : fields) {
    if (!value->empty() && value->size() <= kMostNameBytes) continue;
    return absl::InvalidArgumentError(absl::StrCat("header.", field, ": found ", value->size(),
                                                   " bytes; allowed: 1 to ", kMostNameBytes));
  }
  if (header.epoch() != 0) return absl::OkStatus();
  return absl::InvalidArgumentError("header.epoch: found 0; allowed: 1 or more");
}

}  // namespace shardmanager::transfer
