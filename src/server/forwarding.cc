#include "server/forwarding.h"

#include <grpcpp/grpcpp.h>

#include <string_view>
#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "model/request_metadata.h"
#include "server/request_reader.h"
#include "wire/request_address.h"

namespace shardmanager::server {
namespace {

namespace meta = request_metadata;

std::string ToString(grpc::string_ref text) { return {text.data(), text.size()}; }

// gRPC's own, which it makes anew, and for whom it is, which is another now.
bool Passes(std::string_view key) {
  return key != "user-agent" && key != "content-type" && key != "te" && key != meta::kServer &&
         key != meta::kTo && key.substr(0, 5) != "grpc-" && key.substr(0, 1) != ":";
}

}  // namespace

void Forwarding::Connect(const std::string& endpoint, TimePoint until, std::function<void()> then) {
  std::shared_ptr<wire::ServerChannel> channel = channels_.Get(endpoint);
  if (channel->IsConnected()) return then();
  connects().Await(channel, until, [channel, then = std::move(then)](bool) { then(); });
}

std::shared_ptr<wire::ServerChannel> Forwarding::Reach(const Successor& to, TimePoint until) {
  std::shared_ptr<wire::ServerChannel> channel = channels_.Get(to.endpoint);
  return channel->WaitConnected(until) ? channel : nullptr;
}

void Forwarding::Reach(const Successor& to, TimePoint until,
                       std::function<void(std::shared_ptr<wire::ServerChannel>)> reached) {
  std::shared_ptr<wire::ServerChannel> channel = channels_.Get(to.endpoint);
  if (channel->IsConnected()) return reached(std::move(channel));
  connects().Await(channel, until, [channel, reached = std::move(reached)](bool connected) {
    reached(connected ? channel : nullptr);
  });
}

wire::ConnectionWaits& Forwarding::connects() {
  std::call_once(first_wait_, [this] { connects_ = std::make_unique<wire::ConnectionWaits>(); });
  return *connects_;
}

std::unique_ptr<grpc::ClientContext> Forwarding::Onward(const grpc::ServerContextBase& from,
                                                        const Successor& to) const {
  auto onward = grpc::ClientContext::FromServerContext(from);
  for (const auto& [key, value] : from.client_metadata()) {
    if (Passes({key.data(), key.size()})) onward->AddMetadata(ToString(key), ToString(value));
  }
  AddressTo(to, from, *onward);
  onward->AddMetadata(meta::kForwardedBy, self_);
  onward->AddMetadata(meta::kForwardedTo, absl::StrCat(to.epoch.value()));
  return onward;
}

// In the form that all servers understand: the new owner may be an older one.
void Forwarding::AddressTo(const Successor& to, const grpc::ServerContextBase& from,
                           grpc::ClientContext& onward) const {
  onward.AddMetadata(meta::kServer, to.server);
  const std::string_view header = Header(from, meta::kTo);
  if (header.empty()) return;
  const wire::AddressReader::Read address = read_address_(header);
  onward.AddMetadata(meta::kApp, app_);
  onward.AddMetadata(meta::kShard, std::string(address.shard));
  if (address.for_primary) onward.AddMetadata(meta::kRole, meta::kPrimary);
}

void Forwarding::PassInitialMetadata(const grpc::ClientContext& onward,
                                     grpc::ServerContextBase& from) {
  for (const auto& [key, value] : onward.GetServerInitialMetadata()) {
    if (Passes({key.data(), key.size()})) from.AddInitialMetadata(ToString(key), ToString(value));
  }
}

void Forwarding::PassTrailingMetadata(const grpc::ClientContext& onward,
                                      grpc::ServerContextBase& from) {
  for (const auto& [key, value] : onward.GetServerTrailingMetadata()) {
    if (Passes({key.data(), key.size()})) from.AddTrailingMetadata(ToString(key), ToString(value));
  }
}

}  // namespace shardmanager::server
