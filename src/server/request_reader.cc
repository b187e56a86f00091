#include "server/request_reader.h"

#include <grpcpp/server_context.h>

#include "absl/strings/numbers.h"
#include "model/request_metadata.h"

namespace shardmanager::server {

namespace meta = request_metadata;

std::string_view Header(const grpc::ServerContextBase& context, std::string_view name) {
  const auto found = context.client_metadata().find(grpc::string_ref(name.data(), name.size()));
  if (found == context.client_metadata().end()) return {};
  return {found->second.data(), found->second.size()};
}

void SayAdmitted(grpc::ServerContextBase& context, bool maybe_error) {
  if (!Header(context, meta::kTo).empty()) {
    if (maybe_error) context.AddTrailingMetadata(meta::kAdmitted, meta::kYes);
    return;
  }
  // Of a request that was sent on, the client would take it for the word of who sent it.
  const bool sent_on = !Header(context, meta::kForwardedBy).empty();
  context.AddTrailingMetadata(meta::kAdmitted, sent_on ? meta::kYes : meta::kYesAndKnowsTo);
}

Addressed RequestReader::operator()(const grpc::ServerContextBase& context) const {
  using Verdict = wire::AddressReader::Verdict;
  const std::string_view to = Header(context, meta::kTo);
  if (to.empty()) return ReadSeveral(context);
  const wire::AddressReader::Read address = read_address_(to);
  if (address.verdict == Verdict::kForOthers) return {.refusal = meta::kWrongServer};
  if (address.verdict == Verdict::kUnknown || address.shard.empty()) {
    return {.refusal = meta::kNoShard};
  }
  return {.shard = address.shard, .for_primary = address.for_primary};
}

// As all routers say it to servers that they do not know yet, and servers to those to whom they
// send a request on.
Addressed RequestReader::ReadSeveral(const grpc::ServerContextBase& context) const {
  const std::string_view app = Header(context, meta::kApp);
  const std::string_view server = Header(context, meta::kServer);
  if ((!app.empty() && app != app_) || (!server.empty() && server != server_)) {
    return {.refusal = meta::kWrongServer};
  }
  Addressed addressed{.shard = Header(context, meta::kShard),
                      .for_primary = Header(context, meta::kRole) == meta::kPrimary};
  if (addressed.shard.empty()) return {.refusal = meta::kNoShard};
  const std::string_view by = Header(context, meta::kForwardedBy);
  if (by.empty()) return addressed;
  addressed.forwarder = Forwarder{.server = by};
  uint64_t epoch = 0;
  const std::string_view to = Header(context, meta::kForwardedTo);
  if (absl::SimpleAtoi(absl::string_view(to.data(), to.size()), &epoch)) {
    addressed.forwarder->epoch = ShardEpoch(epoch);
  }
  return addressed;
}

}  // namespace shardmanager::server
