#include "tests/support/kv_client.h"

#include "kv.grpc.pb.h"
#include "shardmanager/router.h"
#include "tests/support/kv_stream_call.h"

namespace shardmanager::testing {
namespace {

template <typename Response>
KvAnswer Answer(const grpc::Status& status, const Response& response) {
  return {.status = absl::Status(static_cast<absl::StatusCode>(status.error_code()),
                                 status.error_message()),
          .server = response.served_by().server(),
          .shard = response.served_by().shard(),
          .epoch = response.served_by().epoch()};
}

}  // namespace

KvClient::KvClient(const std::string& discovery, const std::string& app,
                   const std::string& map_cache, const Security& security)
    : app_(app),
      router_(std::make_unique<Router>(
          RouterOptions{.discovery = {discovery}, .security = security, .map_cache = map_cache})) {}

KvClient::~KvClient() = default;

absl::Status KvClient::WaitReady(std::chrono::milliseconds timeout) {
  return router_->WaitReady(app_, timeout);
}

KvAnswer KvClient::Put(const std::string& key, const std::string& value,
                       std::chrono::milliseconds timeout) {
  kv::PutRequest request;
  request.set_key(key);
  request.set_value(value);
  kv::PutResponse response;
  auto client = router_->GetClient<kv::KeyValue>(app_, key);
  const grpc::Status status =
      client.Call(&kv::KeyValue::Stub::Put, request, &response, {.timeout = timeout});
  return Answer(status, response);
}

absl::StatusOr<std::unique_ptr<KvStream>> KvClient::OpenStream(const std::string& key,
                                                               std::chrono::milliseconds timeout,
                                                               const KvStream* ended) {
  auto client = router_->GetClient<kv::KeyValue>(app_, key);
  const auto bound =
      client.Bind({.timeout = timeout}, ended == nullptr ? nullptr : &ended->call_->context());
  if (!bound.ok()) {
    return absl::Status(static_cast<absl::StatusCode>(bound.status().error_code()),
                        bound.status().error_message());
  }
  return std::make_unique<KvStream>(std::make_unique<KvStream::Call>(bound));
}

KvAnswer KvClient::Get(const std::string& key, std::chrono::milliseconds timeout) {
  kv::GetRequest request;
  request.set_key(key);
  kv::GetResponse response;
  auto client = router_->GetClient<kv::KeyValue>(app_, key);
  const grpc::Status status = client.Call(&kv::KeyValue::Stub::Get, request, &response,
                                          {.timeout = timeout, .idempotent = true});
  KvAnswer answer = Answer(status, response);
  if (response.found()) answer.value = response.value();
  return answer;
}

}  // namespace shardmanager::testing
