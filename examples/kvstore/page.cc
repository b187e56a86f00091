#include "page.h"

#include <cstddef>
#include <utility>

namespace kvstore {

absl::StatusOr<KvShard::Page> ReadPage(Statement& rows_from, const KvShard::Range& range) {
  KvShard::Page page;
  rows_from.Bind(1, range.start);
  for (size_t bytes = 0; rows_from.Step();) {
    if (!range.end.empty() && rows_from.View(0) >= range.end) break;
    if (page.rows.size() >= range.max_rows || bytes >= range.max_bytes) {
      page.more = true;
      break;
    }
    KvShard::Row row{rows_from.Bytes(0), rows_from.Bytes(1)};
    bytes += row.key.size() + row.value.size();
    page.rows.push_back(std::move(row));
  }
  if (absl::Status s = rows_from.Reset(); !s.ok()) return s;
  return page;
}

}  // namespace kvstore
