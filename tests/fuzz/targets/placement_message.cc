// A request to the Placer service.
#include <string>

#include "tests/fuzz/placement_check.h"

namespace shardmanager {

SM_FUZZ_TARGET(placement_message) {
  v1::PlaceRequest request;
  if (request.ParseFromString(std::string(input.Rest()))) fuzz::SolveAndCheck(request.problem());
}

}  // namespace shardmanager
