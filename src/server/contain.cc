#include "server/contain.h"

#include <exception>
#include <string>

#include "absl/strings/str_cat.h"
#include "runtime/logging.h"

namespace shardmanager::server {
namespace {

absl::Status Thrown(std::string_view what, const char* exception) {
  const std::string text = absl::StrCat(std::string(what), " threw an exception: ", exception);
  LogError("{}", text);
  return absl::InternalError(text);
}

}  // namespace

absl::Status Contained(std::string_view what, absl::FunctionRef<absl::Status()> work) {
  try {
    return work();
  } catch (const std::exception& exception) {
    return Thrown(what, exception.what());
  } catch (...) {
    return Thrown(what, "not a std::exception");
  }
}

}  // namespace shardmanager::server
