// Calls of one message, and the order of them all, while a shard goes from kv-1 to kv-2.
#include <algorithm>
#include <atomic>
#include <chrono>
#include <future>
#include <map>
#include <memory>
#include <numeric>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "gmock/gmock.h"
#include "tests/coordination/tcp_proxy.h"
#include "tests/server/forwarding/forwarding_fixture.h"

namespace shardmanager {
namespace {

namespace meta = request_metadata;
using std::chrono::milliseconds;
using std::chrono::system_clock;
using ::testing::IsEmpty;

// All that a client gets, but the response.
struct Answer {
  Answer(const grpc::Status& status, const grpc::ClientContext& context)
      : code(status.error_code()),
        message(status.error_message()),
        details(status.error_details()),
        initial(ToMetadata(context.GetServerInitialMetadata())),
        trailing(ToMetadata(context.GetServerTrailingMetadata())) {}
  friend bool operator==(const Answer&, const Answer&) = default;

  grpc::StatusCode code;
  std::string message;
  std::string details;
  Metadata initial;
  Metadata trailing;
};

INSTANTIATE_TEST_SUITE_P(Forms, ForwardingTest, ::testing::Values(Form::kBlocking, Form::kCallback),
                         NameOf);

// ---- the promise

// One after the other, until it is told to stop; what it did not get.
struct Client {
  std::vector<uint64_t> counted;
  std::vector<std::string> errors;
};
Client CountOn(CounterServer& at, uint64_t from, const std::atomic<bool>& stop) {
  Client client;
  uint64_t epoch = 0;
  for (uint64_t number = from; !stop; ++number) {
    Call call(at, number);
    const grpc::Status status = Count(at, call);
    if (!status.ok()) client.errors.push_back(status.error_message());
    if (call.response.epoch() < epoch) client.errors.push_back("the epoch went back");
    epoch = call.response.epoch();
    client.counted.push_back(call.response.number());
  }
  return client;
}

TEST_P(ForwardingTest, EveryCallIsAnsweredAndProcessedOnceAndInOrder) {
  constexpr uint64_t kClients = 3;
  constexpr uint64_t kApart = 1'000'000;
  constexpr size_t kSome = 20;
  ServeAtOld();
  std::atomic<bool> stop{false};
  std::vector<std::future<Client>> clients;
  for (uint64_t i = 0; i < kClients; ++i) {
    clients.push_back(
        std::async(std::launch::async, [&, i] { return CountOn(old_, i * kApart, stop); }));
  }
  log_.AwaitMoreOf(kOldEpoch, kSome);
  PrepareNew();
  log_.AwaitMoreOf(kOldEpoch, kSome);
  EXPECT_TRUE(LetOldGo());
  log_.AwaitMoreOf(kNewEpoch, kSome);
  ServeAtNew();
  log_.AwaitMoreOf(kNewEpoch, kSome);
  DropAtOld();
  log_.AwaitMoreOf(kNewEpoch, kSome);
  stop = true;

  std::map<uint64_t, std::vector<uint64_t>> processed;  // by client
  uint64_t epoch = 0;
  std::vector<Client> ended;
  for (auto& client : clients) ended.push_back(client.get());
  for (const CountLog::Entry& entry : log_.entries()) {
    EXPECT_GE(entry.epoch, epoch);  // nothing at the old owner after the new one has begun
    epoch = entry.epoch;
    processed[entry.number / kApart].push_back(entry.number);
  }
  for (uint64_t i = 0; i < kClients; ++i) {
    EXPECT_THAT(ended[i].errors, IsEmpty());
    EXPECT_EQ(processed[i], ended[i].counted);
  }
}

// Writes without waiting for any answer: a stream.
struct Pipeline {
  explicit Pipeline(CounterServer& to)
      : call(to), writer(to.stub().CountEach(&call.context, &call.response)) {}
  void Write(uint64_t from, uint64_t to) {
    for (; from <= to; ++from) {
      call.request.set_number(from);
      EXPECT_TRUE(writer->Write(call.request));
    }
  }
  // How many of them were processed.
  uint64_t End() {
    writer->WritesDone();
    const grpc::Status status = writer->Finish();
    EXPECT_TRUE(status.ok()) << status.error_message();
    return call.response.number();
  }

  Call call;
  std::unique_ptr<grpc::ClientWriter<counter::CountRequest>> writer;
};

std::vector<uint64_t> ReadBack(CounterServer& at) {
  std::vector<uint64_t> numbers;
  Call call(at);
  auto reader = at.stub().List(&call.context, call.request);
  while (reader->Read(&call.response)) numbers.push_back(call.response.number());
  EXPECT_TRUE(reader->Finish().ok());
  return numbers;
}

// One client's writes, in streams that overlap: the first is under way when the old owner is to
// let go, the second is written before, while and after it is sent on.
TEST_P(ForwardingTest, PipelinedWritesAreReadBackInOrder) {
  ServeAtOld();
  PrepareNew();
  Pipeline first(old_);
  first.Write(1, 50);
  old_.reading.AwaitArrival();
  auto let_go = std::async(std::launch::async, [&] { return LetOldGo(); });
  EXPECT_TRUE(Eventually([&] { return !old_.server().Admit(ShardId("s")).ok(); }));
  Pipeline second(old_);
  second.Write(101, 150);  // is held
  first.Write(51, 100);
  EXPECT_EQ(first.End(), 100u);
  EXPECT_TRUE(let_go.get());
  second.Write(151, 200);
  ServeAtNew();
  second.Write(201, 250);
  DropAtOld();
  second.Write(251, 300);
  EXPECT_EQ(second.End(), 200u);
  Pipeline third(new_);
  third.Write(301, 310);
  EXPECT_EQ(third.End(), 10u);

  std::vector<uint64_t> written(310);
  std::iota(written.begin(), written.end(), 1);
  EXPECT_EQ(ReadBack(new_), written);
}

TEST_P(ForwardingTest, CallWaitsWhileTheOldOwnerDrops) {
  ServeAtOld();
  PrepareNew();
  old_.dropping.Close();
  auto let_go = std::async(std::launch::async, [&] { return LetOldGo(); });
  old_.dropping.AwaitArrival();
  Call call(old_);
  auto status = CountMeanwhile(old_, call);
  EXPECT_EQ(status.wait_for(kMoment), std::future_status::timeout);
  EXPECT_THAT(log_.entries(), IsEmpty());
  old_.dropping.Open();
  EXPECT_TRUE(status.get().ok());
  EXPECT_EQ(call.response.epoch(), kNewEpoch);
  EXPECT_EQ(call.response.server(), new_.name());
  EXPECT_TRUE(let_go.get());
}

TEST_P(ForwardingTest, FirstForwardedCallMakesTheNewOwnerLoadAndWaitsForIt) {
  HandOver();
  new_.adding.Close();
  Call call(old_);
  auto status = CountMeanwhile(old_, call);
  new_.adding.AwaitArrival();
  EXPECT_EQ(status.wait_for(milliseconds(0)), std::future_status::timeout);
  new_.adding.Open();
  EXPECT_TRUE(status.get().ok());
  EXPECT_EQ(call.response.epoch(), kNewEpoch);
  // Others it refuses until it is told to serve them.
  Call direct(new_);
  EXPECT_EQ(Count(new_, direct).error_code(), grpc::StatusCode::UNAVAILABLE);
  EXPECT_EQ(direct.refusal(), meta::kNotOwner);
}

TEST_P(ForwardingTest, ForwardedCallWaitsWhileTheNewOwnerLoadsForEverybody) {
  HandOver();
  new_.adding.Close();
  auto added =
      std::async(std::launch::async, [&] { return Done(new_.commander().Add("s", kNewEpoch)); });
  new_.adding.AwaitArrival();
  Call direct(new_);
  EXPECT_FALSE(Count(new_, direct).ok());
  EXPECT_EQ(direct.refusal(), meta::kLoading);
  Call call(old_);
  auto status = CountMeanwhile(old_, call);
  EXPECT_EQ(status.wait_for(kMoment), std::future_status::timeout);
  new_.adding.Open();
  EXPECT_TRUE(status.get().ok());
  EXPECT_EQ(call.response.epoch(), kNewEpoch);
  EXPECT_TRUE(added.get());
}

// ---- what passes through

// What the application sees of a call, and a client of the answer, is the same whether it is
// sent to the old owner or the new one.
TEST_P(ForwardingTest, MetadataDeadlineAndErrorPassThroughUnchanged) {
  const std::string bytes("\0\1\xff", 3);
  struct Seen {
    Metadata metadata;
    system_clock::time_point deadline;
  } seen;
  new_.process = [&](grpc::ServerContextBase& context) {
    seen = {ToMetadata(context.client_metadata()), context.deadline()};
    for (const char* ours : {meta::kTo, meta::kApp, meta::kServer, meta::kShard, meta::kForwardedBy,
                             meta::kForwardedTo}) {
      seen.metadata.erase(ours);
    }
    context.AddInitialMetadata("x-first", "1");
    context.AddInitialMetadata("x-first-bin", bytes);
    context.AddTrailingMetadata("x-last", "2");
    context.AddTrailingMetadata("x-last", "3");
    context.AddTrailingMetadata("x-last-bin", bytes);
    return grpc::Status(grpc::StatusCode::ABORTED, "not now", bytes);
  };
  const auto ask = [&](CounterServer& at) {
    Call call(at);
    const auto deadline = system_clock::now() + std::chrono::seconds(7);
    call.context.set_deadline(deadline);
    call.context.AddMetadata("x-plain", "a");
    call.context.AddMetadata("x-plain", "b");
    call.context.AddMetadata("x-data-bin", bytes);
    const grpc::Status status = Count(at, call);
    EXPECT_LT(std::chrono::abs(seen.deadline - deadline), std::chrono::seconds(1));
    return Answer(status, call.context);
  };

  HandOver();
  const Answer forwarded = ask(old_);
  const Metadata asked = seen.metadata;
  ServeAtNew();
  const Answer direct = ask(new_);
  EXPECT_EQ(asked, seen.metadata);
  EXPECT_EQ(forwarded, direct);
  EXPECT_EQ(forwarded.code, grpc::StatusCode::ABORTED);
  EXPECT_EQ(forwarded.details, bytes);
  EXPECT_EQ(forwarded.trailing.count("x-last"), 2u);
  EXPECT_EQ(asked.count("x-plain"), 2u);
}

TEST_P(ForwardingTest, CancellationPassesThrough) {
  HandOver();
  Turnstile processing;
  std::future<bool> cancelled = ProcessUntilCancelled(processing);
  Call call(old_);
  auto status = CountMeanwhile(old_, call);
  processing.AwaitArrival();
  call.context.TryCancel();
  EXPECT_EQ(status.get().error_code(), grpc::StatusCode::CANCELLED);
  EXPECT_TRUE(cancelled.get());
}

// ---- what is refused

TEST_P(ForwardingTest, ForwardedCallIsNotForwardedAgain) {
  HandOver();
  Call call(old_, 1, Headers::kSeveral);
  call.context.AddMetadata(meta::kForwardedBy, "kv-9");
  call.context.AddMetadata(meta::kForwardedTo, absl::StrCat(kOldEpoch));
  EXPECT_EQ(Count(old_, call).error_code(), grpc::StatusCode::UNAVAILABLE);
  EXPECT_EQ(call.refusal(), meta::kNotOwner);
  EXPECT_THAT(log_.entries(), IsEmpty());
}

TEST_P(ForwardingTest, SecondaryProcessesOnlyWhatIsNotForThePrimary) {
  ServeAtOld();
  ASSERT_TRUE(Done(old_.commander().Demote("s", kNewEpoch)));
  Call any(old_);
  EXPECT_TRUE(Count(old_, any).ok());
  EXPECT_EQ(any.response.epoch(), kNewEpoch);
  // Which is kv-9, and cannot be reached.
  Call for_primary(old_, 1, Headers::kOne, /*for_primary=*/true);
  EXPECT_EQ(Count(old_, for_primary).error_code(), grpc::StatusCode::UNAVAILABLE);
  EXPECT_EQ(for_primary.refusal(), meta::kMoving);
}

TEST_P(ForwardingTest, CallThatWaitsTooLongIsRefusedAsMoving) {
  ServerOptions options = Options("kv-3");
  options.hold_timeout = milliseconds(50);
  CounterServer impatient(options, log_, GetParam());
  ASSERT_TRUE(Done(impatient.commander().Add("s", kOldEpoch)));
  impatient.dropping.Close();
  auto let_go = std::async(std::launch::async, [&] {
    return Done(impatient.commander().PrepareDrop("s", kOldEpoch, new_.As(kNewEpoch)));
  });
  impatient.dropping.AwaitArrival();
  Call call(impatient);
  EXPECT_EQ(Count(impatient, call).error_code(), grpc::StatusCode::UNAVAILABLE);
  EXPECT_EQ(call.refusal(), meta::kMoving);
  EXPECT_THAT(log_.entries(), IsEmpty());
  impatient.dropping.Open();
  EXPECT_TRUE(let_go.get());
}

// gRPC cancels what it meets while it shuts down: until clients know, the doors stay open.
TEST_P(ForwardingTest, ServerThatLetAShardGoJustNowDoesNotCloseItsDoorsYet) {
  HandOver();
  ServeAtNew();
  const auto before = std::chrono::steady_clock::now();
  DropAtOld();
  old_.server().Shutdown();
  EXPECT_GE(std::chrono::steady_clock::now() - before, milliseconds(200));
}

TEST_P(ForwardingTest, UntilTheNewOwnerIsConnectedToTheOldOneProcesses) {
  ServeAtOld();
  PrepareNew();
  const std::string& endpoint = new_.server().endpoint();
  TcpProxy link(std::stoi(endpoint.substr(endpoint.rfind(':') + 1)));
  link.Set(TcpProxy::Mode::kBlackhole);
  auto let_go = std::async(std::launch::async, [&] {
    const std::string slow = absl::StrCat("127.0.0.1:", link.port());
    return Done(old_.commander().PrepareDrop("s", kOldEpoch, {new_.name(), slow, kNewEpoch}));
  });
  link.AwaitAccepted(0);  // it connects
  Call call(old_);
  EXPECT_TRUE(Count(old_, call).ok());
  EXPECT_EQ(call.response.epoch(), kOldEpoch);
  EXPECT_NE(let_go.wait_for(milliseconds(0)), std::future_status::ready);
  EXPECT_TRUE(let_go.get());  // in the end without a connection
  EXPECT_FALSE(old_.server().Admit(ShardId("s")).ok());
}

TEST_P(ForwardingTest, NewOwnerThatCannotBeReachedIsRefusedAsMoving) {
  ServeAtOld();
  ASSERT_TRUE(
      Done(old_.commander().PrepareDrop("s", kOldEpoch, {"kv-9", "127.0.0.1:1", kNewEpoch})));
  Call call(old_);
  EXPECT_EQ(Count(old_, call).error_code(), grpc::StatusCode::UNAVAILABLE);
  EXPECT_EQ(call.refusal(), meta::kMoving);
}

TEST_P(ForwardingTest, RefusalOfTheNewOwnerPassesThrough) {
  ServeAtOld();
  ASSERT_TRUE(LetOldGo());  // though nobody has prepared
  Call call(old_);
  EXPECT_EQ(Count(old_, call).error_code(), grpc::StatusCode::UNAVAILABLE);
  EXPECT_EQ(call.refusal(), meta::kNotOwner);
}

TEST_P(ForwardingTest, MethodThatDoesNotSayHowItIsCalledRefusesWhatWouldBeSentOn) {
  HandOver();
  Call call(old_);
  const grpc::Status status = old_.stub().CountHere(&call.context, call.request, &call.response);
  EXPECT_EQ(status.error_code(), grpc::StatusCode::UNAVAILABLE);
  EXPECT_EQ(call.refusal(), meta::kMoving);
  ServeAtNew();
  Call direct(new_);
  EXPECT_TRUE(new_.stub().CountHere(&direct.context, direct.request, &direct.response).ok());
}

}  // namespace
}  // namespace shardmanager
