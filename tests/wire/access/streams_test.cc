// What one identity may have open at a publisher of shard maps, over real connections.
#include <gmock/gmock.h>
#include <grpcpp/grpcpp.h>
#include <gtest/gtest.h>

#include <chrono>
#include <memory>
#include <string>

#include "absl/strings/str_cat.h"
#include "discovery/hub.h"
#include "security/limits.h"
#include "shardmanager/v1/discovery.grpc.pb.h"
#include "tests/security/cell_certs.h"
#include "wire/discovery_service.h"

namespace shardmanager::wire {
namespace {

using security::Refusal;
using shardmanager::testing::CellCerts;
using ::testing::AllOf;
using ::testing::HasSubstr;

const AppName kApp("kv");
constexpr std::chrono::seconds kPatience{20};

// Of many shards with long names: some megabytes, more than any window of a connection.
v1::MapSnapshot LargeMap(uint64_t sequence) {
  v1::MapSnapshot map;
  map.mutable_version()->set_leader_epoch(1);
  map.mutable_version()->set_sequence(sequence);
  map.set_last(true);
  for (int i = 0; i < 100'000; ++i) {
    v1::MapShard& shard = *map.add_shards();
    shard.set_index(static_cast<uint32_t>(i));
    shard.set_id(absl::StrCat("a-shard-whose-name-is-long-", sequence, "-", i));
  }
  return map;
}

class StreamLimitsTest : public ::testing::Test {
 protected:
  StreamLimitsTest() {
    transport_ = TransportOf(certs_.Of("spiffe://prod/control-plane/sm-1"));
    // A stream is quiet for longer than who does not read may stay.
    DiscoveryService::Options options{.heartbeat = Milliseconds(400),
                                      .slow = Milliseconds(200),
                                      .gate = Gate(transport_, /*policies=*/nullptr, limits_)};
    options.bulk.stall = Milliseconds(100);  // it looks that often
    service_ = std::make_unique<DiscoveryService>(hub_, options);
    grpc::ServerBuilder builder;
    transport_->ListenAt("127.0.0.1:0", {security::Anybody()}, builder, &port_);
    builder.RegisterService(service_->service());
    server_ = builder.BuildAndStart();
  }
  ~StreamLimitsTest() override {
    service_->EndStreams();
    server_->Shutdown();
  }

  std::shared_ptr<const Transport> TransportOf(const Security& security) {
    auto transport = Transport::Make(security, "", {security::Anybody()});
    EXPECT_TRUE(transport.ok()) << transport.status();
    return *std::move(transport);
  }

  // A stream of the map of kApp; it is being read when somebody reads it.
  struct Watch {
    std::unique_ptr<v1::Discovery::Stub> stub;
    std::unique_ptr<grpc::ClientContext> context = std::make_unique<grpc::ClientContext>();
    std::unique_ptr<grpc::ClientReader<v1::WatchResponse>> reader = nullptr;

    bool Read() {
      v1::WatchResponse message;
      return reader->Read(&message);
    }
    grpc::Status End() {
      context->TryCancel();
      return reader->Finish();
    }
  };
  Watch WatchAs(const std::string& path) {
    Watch watch{v1::Discovery::NewStub(
        TransportOf(certs_.Of("spiffe://prod/" + path))
            ->Open(absl::StrCat("127.0.0.1:", port_), security::AControlPlane()))};
    watch.context->set_deadline(std::chrono::system_clock::now() + kPatience);
    v1::WatchRequest request;
    request.set_app(kApp.value());
    watch.reader = watch.stub->Watch(watch.context.get(), request);
    return watch;
  }

  CellCerts certs_{"prod"};
  std::shared_ptr<security::Limits> limits_ =
      std::make_shared<security::Limits>(security::Limits::Options{.streams = 2});
  std::shared_ptr<const Transport> transport_;
  discovery::Hub hub_;
  std::unique_ptr<DiscoveryService> service_;
  int port_ = 0;
  std::unique_ptr<grpc::Server> server_;
};

TEST_F(StreamLimitsTest, AnIdentityOpensSoManyAndAnotherOneItsOwn) {
  Watch first = WatchAs("client/kv/web");
  Watch second = WatchAs("client/kv/web");
  ASSERT_TRUE(first.Read() && second.Read());
  Watch third = WatchAs("client/kv/web");
  EXPECT_FALSE(third.Read());
  const grpc::Status refused = third.reader->Finish();
  EXPECT_EQ(refused.error_code(), grpc::StatusCode::RESOURCE_EXHAUSTED);
  EXPECT_THAT(refused.error_message(), AllOf(HasSubstr("client/kv/web has 2 streams of shard maps"),
                                             HasSubstr("--streams")));
  EXPECT_EQ(limits_->refused(Refusal::kStreams), 1u);
  Watch other = WatchAs("client/kv/mobile");
  EXPECT_TRUE(other.Read());
  other.End();
  first.End();
  second.End();
}

TEST_F(StreamLimitsTest, AStreamThatEndsMakesRoom) {
  Watch first = WatchAs("client/kv/web");
  Watch second = WatchAs("client/kv/web");
  ASSERT_TRUE(first.Read() && second.Read());
  first.End();
  // Its end reaches the publisher when it does.
  const auto until = std::chrono::steady_clock::now() + kPatience;
  bool opened = false;
  while (!opened && std::chrono::steady_clock::now() < until) {
    Watch third = WatchAs("client/kv/web");
    opened = third.Read();
    opened ? (void)third.End() : (void)third.reader->Finish();
  }
  EXPECT_TRUE(opened);
  second.End();
}

TEST_F(StreamLimitsTest, WhoDoesNotReadIsCutOffAndThatIsCounted) {
  ASSERT_EQ(hub_.Publish(kApp, LargeMap(1)).reason, "");
  Watch slow = WatchAs("client/kv/slow");
  const auto until = std::chrono::steady_clock::now() + kPatience;
  // gRPC takes some maps for a client that does not read, and then no more.
  for (uint64_t sequence = 2;
       limits_->refused(Refusal::kSlowReader) == 0 && std::chrono::steady_clock::now() < until;
       ++sequence) {
    hub_.Publish(kApp, LargeMap(sequence));
  }
  ASSERT_EQ(limits_->refused(Refusal::kSlowReader), 1u);
  while (slow.Read()) continue;
  EXPECT_EQ(slow.reader->Finish().error_code(), grpc::StatusCode::CANCELLED);
}

TEST_F(StreamLimitsTest, WhoReadsOrIsQuietIsNotCutOff) {
  ASSERT_EQ(hub_.Publish(kApp, LargeMap(1)).reason, "");
  Watch reader = WatchAs("client/kv/web");
  v1::WatchResponse message;
  const auto begin = std::chrono::steady_clock::now();
  uint64_t sequence = 1;
  // For several times as long as who does not read may be there.
  while (std::chrono::steady_clock::now() < begin + std::chrono::milliseconds(1'000)) {
    ASSERT_TRUE(reader.reader->Read(&message));
    if (sequence < 3) hub_.Publish(kApp, LargeMap(++sequence));
  }
  EXPECT_EQ(limits_->refused(Refusal::kSlowReader), 0u);
  reader.End();
}

}  // namespace
}  // namespace shardmanager::wire
