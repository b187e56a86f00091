#include "wire/placer_service.h"

#include <gmock/gmock.h>
#include <grpcpp/grpcpp.h>
#include <gtest/gtest.h>

#include <chrono>
#include <memory>
#include <string>

#include "shardmanager/v1/placer.grpc.pb.h"

namespace shardmanager::wire {
namespace {

class PlacerServiceTest : public testing::Test {
 protected:
  explicit PlacerServiceTest(int most_at_once = 1) : service_(most_at_once, Gate::OfAnOpenCell()) {
    grpc::ServerBuilder builder;
    int port = 0;
    builder.AddListeningPort("127.0.0.1:0", grpc::InsecureServerCredentials(), &port);
    builder.RegisterService(service_.service());
    server_ = builder.BuildAndStart();
    stub_ = v1::Placer::NewStub(grpc::CreateChannel("127.0.0.1:" + std::to_string(port),
                                                    grpc::InsecureChannelCredentials()));
  }
  ~PlacerServiceTest() override {
    service_.EndCalls();
    server_->Shutdown();
  }

  // Two servers, and load that no placement balances: it is looked at until time is over.
  static v1::PlaceRequest Request(uint32_t time_ms) {
    v1::PlaceRequest request;
    request.set_time_ms(time_ms);
    v1::PlacementProblem& p = *request.mutable_problem();
    p.add_metrics("cpu");
    for (const char* name : {"a", "b"}) {
      auto* server = p.add_servers();
      server->set_name(name);
      auto* capacity = server->add_capacity();
      capacity->set_metric("cpu");
      capacity->set_amount(10);
    }
    for (const char* name : {"s1", "s2", "s3"}) {
      auto* shard = p.add_shards();
      shard->set_name(name);
      auto* load = shard->add_load();
      load->set_metric("cpu");
      load->set_amount(3);
    }
    return request;
  }

  grpc::Status Call(const v1::PlaceRequest& request, v1::PlaceResponse* response) {
    grpc::ClientContext context;
    context.set_deadline(std::chrono::system_clock::now() + std::chrono::seconds(30));
    return stub_->Place(&context, request, response);
  }

  PlacerService service_;
  std::unique_ptr<grpc::Server> server_;
  std::unique_ptr<v1::Placer::Stub> stub_;
};

TEST_F(PlacerServiceTest, AnswersWithAPlan) {
  v1::PlaceResponse plan;
  const grpc::Status status = Call(Request(20), &plan);
  ASSERT_TRUE(status.ok()) << status.error_message();
  EXPECT_TRUE(plan.feasible());
  EXPECT_EQ(plan.moves_size(), 3);
}

TEST_F(PlacerServiceTest, NamesWhatIsWrongInTheProblem) {
  v1::PlaceRequest request = Request(20);
  request.mutable_problem()->mutable_shards(1)->set_name("s1");
  v1::PlaceResponse plan;
  grpc::Status status = Call(request, &plan);
  EXPECT_EQ(status.error_code(), grpc::StatusCode::INVALID_ARGUMENT);
  EXPECT_THAT(status.error_message(), testing::HasSubstr("shards[1].name"));
  status = Call(Request(60'001), &plan);
  EXPECT_THAT(status.error_message(), testing::HasSubstr("time_ms: found 60001"));
}

TEST_F(PlacerServiceTest, MakesRoomForOthersWhenTheCallerIsGone) {
  grpc::ClientContext context;
  context.set_deadline(std::chrono::system_clock::now() + std::chrono::milliseconds(50));
  v1::PlaceResponse plan;
  EXPECT_EQ(stub_->Place(&context, Request(60'000), &plan).error_code(),
            grpc::StatusCode::DEADLINE_EXCEEDED);
  // Long before the minute is over.
  grpc::Status status;
  do {
    status = Call(Request(1), &plan);
  } while (status.error_code() == grpc::StatusCode::RESOURCE_EXHAUSTED);
  EXPECT_TRUE(status.ok()) << status.error_message();
}

class FullPlacerServiceTest : public PlacerServiceTest {
 protected:
  FullPlacerServiceTest() : PlacerServiceTest(0) {}
};

TEST_F(FullPlacerServiceTest, SolvesNoMoreAtATimeThanItMay) {
  v1::PlaceResponse plan;
  EXPECT_EQ(Call(Request(1), &plan).error_code(), grpc::StatusCode::RESOURCE_EXHAUSTED);
  EXPECT_EQ(Call(Request(1), &plan).error_code(), grpc::StatusCode::RESOURCE_EXHAUSTED);
}

}  // namespace
}  // namespace shardmanager::wire
