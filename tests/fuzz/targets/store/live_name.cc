// The names of live nodes, which any process with access to the store may make.
#include <optional>
#include <string>

#include "coordination/paths.h"
#include "tests/fuzz/fuzz_target.h"

namespace shardmanager {

SM_FUZZ_TARGET(live_name) {
  const uint32_t buckets = 1 + input.Below(200);
  const std::string node(input.Rest());
  const std::optional<LiveName> name = ParseLiveName(node);
  SM_CHECK(BucketOf(node, buckets) < buckets, "a bucket of the cell");
  if (!name) return;
  // What is taken apart can be put together again, up to leading zeros.
  const std::string path = Paths("cell").live(AppName("app"), *name, buckets);
  const std::optional<LiveName> again = ParseLiveName(path.substr(path.rfind('/') + 1));
  const bool plain = node.find('/') == std::string::npos;
  SM_CHECK(!plain || again.has_value(), "a name that was made here is read");
  SM_CHECK(!plain || *again == *name, "a name stands for one life");
}

}  // namespace shardmanager
