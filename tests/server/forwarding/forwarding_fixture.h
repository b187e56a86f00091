// Calls while a shard goes from kv-1 to kv-2, over loopback: both real servers, the control
// plane's part spoken by hand. Their services are blocking ones, or use gRPC's callback API.
#pragma once

#include <chrono>
#include <future>
#include <map>
#include <memory>
#include <string>

#include "absl/strings/str_cat.h"
#include "gtest/gtest.h"
#include "model/request_metadata.h"
#include "tests/server/forwarding/counter_server.h"
#include "wire/request_address.h"

namespace shardmanager {

inline constexpr uint64_t kOldEpoch = 5;
inline constexpr uint64_t kNewEpoch = 6;
// Long enough to see that something waits, if it does.
inline constexpr std::chrono::milliseconds kMoment{50};

using Metadata = std::multimap<std::string, std::string>;

inline Metadata ToMetadata(const std::multimap<grpc::string_ref, grpc::string_ref>& from) {
  Metadata metadata;
  for (const auto& [key, value] : from) {
    metadata.emplace(std::string(key.data(), key.size()), std::string(value.data(), value.size()));
  }
  return metadata;
}

// How a call says for whom it is.
enum class Headers { kOne, kSeveral, kNone };

// A call to the shard at this server, as a router makes it.
struct Call {
  explicit Call(const CounterServer& to, uint64_t number = 1, Headers headers = Headers::kOne,
                bool for_primary = false) {
    namespace meta = request_metadata;
    if (headers == Headers::kOne) {
      std::string header;
      wire::Append({"kv", to.name(), "s", for_primary}, header);
      context.AddMetadata(meta::kTo, header);
    }
    if (headers == Headers::kSeveral) {
      context.AddMetadata(meta::kApp, "kv");
      context.AddMetadata(meta::kServer, to.name());
      context.AddMetadata(meta::kShard, "s");
      if (for_primary) context.AddMetadata(meta::kRole, meta::kPrimary);
    }
    context.set_deadline(std::chrono::system_clock::now() + std::chrono::seconds(20));
    request.set_number(number);
  }
  // "": it was not refused.
  std::string refusal() const {
    const Metadata trailing = ToMetadata(context.GetServerTrailingMetadata());
    const auto found = trailing.find(request_metadata::kRefused);
    return found == trailing.end() ? "" : found->second;
  }

  grpc::ClientContext context;
  counter::CountRequest request;
  counter::CountResponse response;
};

inline grpc::Status Count(CounterServer& at, Call& call) {
  return at.stub().Count(&call.context, call.request, &call.response);
}

inline std::future<grpc::Status> CountMeanwhile(CounterServer& at, Call& call) {
  return std::async(std::launch::async, [&] { return Count(at, call); });
}

inline std::string NameOf(const ::testing::TestParamInfo<Form>& info) {
  return info.param == Form::kBlocking ? "Blocking" : "Callback";
}

class ForwardingTest : public ::testing::TestWithParam<Form> {
 protected:
  explicit ForwardingTest(std::chrono::milliseconds hold_timeout = ServerOptions().hold_timeout)
      : hold_timeout_(hold_timeout) {}

  static void SetUpTestSuite() {
    world_ = std::make_unique<ServerWorld>();
    world_->ApplyApp();
  }
  static void TearDownTestSuite() { world_.reset(); }

  // Of a server that no other test has started.
  ServerOptions Options(const std::string& name) const {
    static int tests = 0;
    ServerOptions options = world_->Options(absl::StrCat(name, ".", ++tests));
    options.hold_timeout = hold_timeout_;
    return options;
  }

  static bool Done(const absl::StatusOr<v1::ShardResult>& result) {
    return result.ok() && result->state() == v1::DONE;
  }
  // The steps of a handover, in this order.
  void ServeAtOld() { ASSERT_TRUE(Done(old_.commander().Add("s", kOldEpoch))); }
  void PrepareNew() { ASSERT_TRUE(Done(new_.commander().PrepareAdd("s", kNewEpoch, old_.name()))); }
  bool LetOldGo() { return Done(old_.commander().PrepareDrop("s", kOldEpoch, new_.As(kNewEpoch))); }
  void ServeAtNew() { ASSERT_TRUE(Done(new_.commander().Add("s", kNewEpoch))); }
  void DropAtOld() { ASSERT_TRUE(Done(old_.commander().Drop("s", kOldEpoch))); }

  // Up to where the old owner forwards.
  void HandOver() {
    ServeAtOld();
    PrepareNew();
    ASSERT_TRUE(LetOldGo());
  }

  // The new owner waits in `processing`, then until the call is cancelled; tells whether it was.
  std::future<bool> ProcessUntilCancelled(Turnstile& processing) {
    auto cancelled = std::make_shared<std::promise<bool>>();
    new_.process = [&processing, cancelled](grpc::ServerContextBase& context) {
      processing.Pass();
      cancelled->set_value(Eventually([&] { return context.IsCancelled(); }));
      return grpc::Status::OK;
    };
    return cancelled->get_future();
  }

  static inline std::unique_ptr<ServerWorld> world_;
  const std::chrono::milliseconds hold_timeout_;
  CountLog log_;
  CounterServer old_{Options("kv-1"), log_, GetParam()};
  CounterServer new_{Options("kv-2"), log_, GetParam()};
};

}  // namespace shardmanager
