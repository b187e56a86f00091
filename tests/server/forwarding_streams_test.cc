// Calls of several messages that are sent on.
#include <future>

#include "gmock/gmock.h"
#include "tests/server/forwarding_fixture.h"

namespace shardmanager {
namespace {

TEST_F(ForwardingTest, ServersStreamPassesThrough) {
  HandOver();
  Call call(old_, 100);
  auto reader = old_.stub().CountUp(&call.context, call.request);
  uint64_t read = 0;
  while (reader->Read(&call.response)) EXPECT_EQ(call.response.number(), ++read);
  EXPECT_TRUE(reader->Finish().ok());
  EXPECT_EQ(read, 100u);
  EXPECT_EQ(call.response.epoch(), kNewEpoch);
}

TEST_F(ForwardingTest, ErrorAfterAServersStreamPassesThrough) {
  HandOver();
  new_.process = [](grpc::ServerContext& context) {
    context.AddTrailingMetadata("x-last", "1");
    return grpc::Status(grpc::StatusCode::DATA_LOSS, "torn");
  };
  Call call(old_, 3);
  auto reader = old_.stub().CountUp(&call.context, call.request);
  int read = 0;
  while (reader->Read(&call.response)) ++read;
  EXPECT_EQ(reader->Finish().error_code(), grpc::StatusCode::DATA_LOSS);
  EXPECT_EQ(read, 3);
  EXPECT_EQ(ToMetadata(call.context.GetServerTrailingMetadata()).count("x-last"), 1u);
}

TEST_F(ForwardingTest, ClientsStreamPassesThrough) {
  HandOver();
  Call call(old_);
  auto writer = old_.stub().Sum(&call.context, &call.response);
  for (uint64_t number = 1; number <= 100; ++number) {
    call.request.set_number(number);
    EXPECT_TRUE(writer->Write(call.request));
  }
  writer->WritesDone();
  EXPECT_TRUE(writer->Finish().ok());
  EXPECT_EQ(call.response.number(), 5'050u);
  EXPECT_EQ(call.response.epoch(), kNewEpoch);
}

// Half an upload must not look like a whole one to the new owner.
TEST_F(ForwardingTest, ClientsStreamThatIsBrokenOffIsNotTakenForAWholeOne) {
  HandOver();
  std::promise<bool> cancelled;
  new_.process = [&](grpc::ServerContext& context) {
    cancelled.set_value(context.IsCancelled());
    return grpc::Status::OK;
  };
  Call call(old_);
  auto writer = old_.stub().Sum(&call.context, &call.response);
  EXPECT_TRUE(writer->Write(call.request));
  new_.reading.AwaitArrival();
  call.context.TryCancel();
  EXPECT_EQ(writer->Finish().error_code(), grpc::StatusCode::CANCELLED);
  EXPECT_TRUE(cancelled.get_future().get());
}

// A conversation: each side goes by what the other one has said.
TEST_F(ForwardingTest, ConversationPassesThrough) {
  HandOver();
  new_.process = [](grpc::ServerContext& context) {
    context.AddTrailingMetadata("x-last", "1");
    return grpc::Status(grpc::StatusCode::ABORTED, "enough");
  };
  Call call(old_);
  auto stream = old_.stub().Talk(&call.context);
  for (uint64_t number = 1; number <= 50; ++number) {
    call.request.set_number(number);
    EXPECT_TRUE(stream->Write(call.request));
    EXPECT_TRUE(stream->Read(&call.response));
    EXPECT_EQ(call.response.number(), number);
    EXPECT_EQ(call.response.epoch(), kNewEpoch);
  }
  call.request.set_number(0);
  EXPECT_TRUE(stream->Write(call.request));
  stream->WritesDone();
  EXPECT_FALSE(stream->Read(&call.response));
  EXPECT_EQ(stream->Finish().error_message(), "enough");
  EXPECT_EQ(ToMetadata(call.context.GetServerTrailingMetadata()).count("x-last"), 1u);
}

TEST_F(ForwardingTest, ConversationThatTheClientEndsPassesThrough) {
  HandOver();
  Call call(old_);
  auto stream = old_.stub().Talk(&call.context);
  for (uint64_t number = 1; number <= 50; ++number) {
    call.request.set_number(number);
    EXPECT_TRUE(stream->Write(call.request));
  }
  stream->WritesDone();
  for (uint64_t number = 1; number <= 50; ++number) {
    EXPECT_TRUE(stream->Read(&call.response));
    EXPECT_EQ(call.response.number(), number);
  }
  EXPECT_FALSE(stream->Read(&call.response));
  EXPECT_TRUE(stream->Finish().ok());
}

// A blocking server cannot tell it before it says something; it must not wait for ever.
TEST_F(ForwardingTest, ConversationThatTheNewOwnerEndsIsBrokenOffIfTheClientOnlyListens) {
  HandOver();
  Call call(old_);
  auto stream = old_.stub().Talk(&call.context);
  call.request.set_number(0);
  EXPECT_TRUE(stream->Write(call.request));
  EXPECT_FALSE(stream->Read(&call.response));
  EXPECT_EQ(stream->Finish().error_code(), grpc::StatusCode::CANCELLED);
}

TEST_F(ForwardingTest, CancelledConversationIsCancelledAtTheNewOwner) {
  HandOver();
  Turnstile processing;
  std::future<bool> cancelled = ProcessUntilCancelled(processing);
  Call call(old_);
  auto stream = old_.stub().Talk(&call.context);
  call.request.set_number(0);
  EXPECT_TRUE(stream->Write(call.request));
  processing.AwaitArrival();
  call.context.TryCancel();
  EXPECT_EQ(stream->Finish().error_code(), grpc::StatusCode::CANCELLED);
  EXPECT_TRUE(cancelled.get());
}

}  // namespace
}  // namespace shardmanager
