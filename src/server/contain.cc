#include "server/contain.h"

#include <spdlog/spdlog.h>

#include <exception>
#include <string>

#include "absl/strings/str_cat.h"

namespace shardmanager::server {
namespace {

absl::Status Thrown(std::string_view what, const char* exception) {
  const std::string text = absl::StrCat(std::string(what), " threw an exception: ", exception);
  spdlog::error("{}", text);
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
