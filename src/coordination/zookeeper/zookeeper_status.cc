#include "coordination/zookeeper/zookeeper_status.h"

#include <zookeeper/zookeeper.h>

#include "absl/strings/str_format.h"

namespace shardmanager {
namespace {

absl::StatusCode CodeOf(int rc) {
  switch (rc) {
    case ZOK:
      return absl::StatusCode::kOk;
    case ZNONODE:
      return absl::StatusCode::kNotFound;
    case ZNODEEXISTS:
      return absl::StatusCode::kAlreadyExists;
    case ZBADVERSION:
    case ZNOTEMPTY:
    case ZNOCHILDRENFOREPHEMERALS:
      return absl::StatusCode::kFailedPrecondition;
    case ZCONNECTIONLOSS:
    case ZOPERATIONTIMEOUT:
    // The C client breaks the connection for these, and answers all that was under way with them:
    // an answer that did not belong to the oldest request, or that could not be read.
    case ZRUNTIMEINCONSISTENCY:
    case ZDATAINCONSISTENCY:
    case ZMARSHALLINGERROR:
    case ZSYSTEMERROR:
    case ZSESSIONMOVED:
    case ZTHROTTLEDOP:
      return absl::StatusCode::kUnavailable;
    case ZSESSIONEXPIRED:
    case ZINVALIDSTATE:
    case ZCLOSING:
      return absl::StatusCode::kAborted;
    case ZNOAUTH:
    case ZAUTHFAILED:
    case ZINVALIDACL:
      return absl::StatusCode::kPermissionDenied;
    case ZBADARGUMENTS:
      return absl::StatusCode::kInvalidArgument;
    default:
      return absl::StatusCode::kInternal;
  }
}

}  // namespace

absl::Status ZookeeperStatus(int rc, std::string_view what) {
  const absl::StatusCode code = CodeOf(rc);
  if (code == absl::StatusCode::kOk) return absl::OkStatus();
  // After expiry the C client calls every request an "invalid zhandle state".
  const char* why = rc == ZINVALIDSTATE ? "session expired" : zerror(rc);
  return absl::Status(code, absl::StrFormat("%s: %s", what, why));
}

}  // namespace shardmanager
