// Calls of several messages that are sent on.
#include <functional>
#include <future>

#include "gmock/gmock.h"
#include "tests/server/forwarding/forwarding_fixture.h"

namespace shardmanager {
namespace {

TEST_P(ForwardingTest, ServersStreamPassesThrough) {
  HandOver();
  Call call(old_, 100);
  auto reader = old_.stub().CountUp(&call.context, call.request);
  uint64_t read = 0;
  while (reader->Read(&call.response)) EXPECT_EQ(call.response.number(), ++read);
  EXPECT_TRUE(reader->Finish().ok());
  EXPECT_EQ(read, 100u);
  EXPECT_EQ(call.response.epoch(), kNewEpoch);
}

TEST_P(ForwardingTest, ErrorAfterAServersStreamPassesThrough) {
  HandOver();
  new_.process = [](grpc::ServerContextBase& context) {
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

TEST_P(ForwardingTest, ClientsStreamPassesThrough) {
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
TEST_P(ForwardingTest, ClientsStreamThatIsBrokenOffIsNotTakenForAWholeOne) {
  HandOver();
  std::promise<bool> cancelled;
  new_.process = [&](grpc::ServerContextBase& context) {
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

// ---- streams that are held before they are admitted

// They come to the new owner while it loads.
class HeldStreamTest : public ForwardingTest {
 protected:
  // `stream` runs meanwhile.
  void LoadDuring(const std::function<void()>& stream) {
    HandOver();
    new_.adding.Close();
    auto streamed = std::async(std::launch::async, stream);
    new_.adding.AwaitArrival();
    EXPECT_EQ(streamed.wait_for(kMoment), std::future_status::timeout);
    new_.adding.Open();
    streamed.get();
  }
};
INSTANTIATE_TEST_SUITE_P(Forms, HeldStreamTest, ::testing::Values(Form::kBlocking, Form::kCallback),
                         NameOf);

TEST_P(HeldStreamTest, ServersStreamIsAdmittedAfterwards) {
  LoadDuring([this] {
    Call call(old_, 50);
    auto reader = old_.stub().CountUp(&call.context, call.request);
    uint64_t read = 0;
    while (reader->Read(&call.response)) EXPECT_EQ(call.response.number(), ++read);
    EXPECT_TRUE(reader->Finish().ok());
    EXPECT_EQ(read, 50u);
    EXPECT_EQ(call.response.epoch(), kNewEpoch);
  });
}

TEST_P(HeldStreamTest, ClientsStreamIsAdmittedAfterwards) {
  LoadDuring([this] {
    Call call(old_);
    auto writer = old_.stub().Sum(&call.context, &call.response);
    for (uint64_t number = 1; number <= 50; ++number) {
      call.request.set_number(number);
      EXPECT_TRUE(writer->Write(call.request));
    }
    writer->WritesDone();
    EXPECT_TRUE(writer->Finish().ok());
    EXPECT_EQ(call.response.number(), 1'275u);
    EXPECT_EQ(call.response.epoch(), kNewEpoch);
  });
}

TEST_P(HeldStreamTest, ConversationIsAdmittedAfterwards) {
  LoadDuring([this] {
    Call call(old_);
    auto stream = old_.stub().Talk(&call.context);
    for (uint64_t number = 1; number <= 20; ++number) {
      call.request.set_number(number);
      EXPECT_TRUE(stream->Write(call.request));
      EXPECT_TRUE(stream->Read(&call.response));
      EXPECT_EQ(call.response.number(), number);
      EXPECT_EQ(call.response.epoch(), kNewEpoch);
    }
    stream->WritesDone();
    EXPECT_FALSE(stream->Read(&call.response));
    EXPECT_TRUE(stream->Finish().ok());
  });
}

// A conversation: each side goes by what the other one has said.
TEST_P(ForwardingTest, ConversationPassesThrough) {
  HandOver();
  new_.process = [](grpc::ServerContextBase& context) {
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

TEST_P(ForwardingTest, ConversationThatTheClientEndsPassesThrough) {
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

// The new owner does not admit others yet.
TEST_P(ForwardingTest, ConversationThatAsksForEachMessagePassesThrough) {
  HandOver();
  Call first(old_);
  ASSERT_TRUE(Count(old_, first).ok());
  const Admission message = new_.server().Admit(ShardId("s"));
  EXPECT_TRUE(message.ok()) << message.status().error_message();
  EXPECT_EQ(message.epoch(), ShardEpoch(kNewEpoch));
  std::promise<bool> admitted;
  new_.server().Admit(ShardId("s"), kMoment,
                      [&](const Admission& later) { admitted.set_value(later.ok()); });
  EXPECT_TRUE(admitted.get_future().get());
}

// A blocking server cannot tell it before it says something; it must not wait for ever.
TEST_P(ForwardingTest, ConversationThatTheNewOwnerEndsEndsForAClientThatOnlyListens) {
  HandOver();
  Call call(old_);
  auto stream = old_.stub().Talk(&call.context);
  call.request.set_number(0);
  EXPECT_TRUE(stream->Write(call.request));
  EXPECT_FALSE(stream->Read(&call.response));
  EXPECT_EQ(stream->Finish().error_code(),
            GetParam() == Form::kBlocking ? grpc::StatusCode::CANCELLED : grpc::StatusCode::OK);
}

TEST_P(ForwardingTest, CancelledConversationIsCancelledAtTheNewOwner) {
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
