#include "callers.h"

#include <grpcpp/grpcpp.h>

#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <functional>
#include <latch>
#include <optional>
#include <thread>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "base/random.h"

namespace shardmanager::call_bench {
namespace {

using ping::Ping;
using ping::SayRequest;
using ping::SayResponse;

constexpr std::chrono::seconds kTimeout{5};

void Expect(const grpc::Status& status) {
  if (status.ok()) return;
  std::fprintf(stderr, "a call failed: %d %s\n", status.error_code(),
               status.error_message().c_str());
  std::_Exit(1);
}

std::chrono::system_clock::time_point Deadline() {
  return std::chrono::system_clock::now() + kTimeout;
}

// What one client says.
class Script {
 public:
  explicit Script(int client) : random_(static_cast<uint64_t>(client) + 1) {}
  const SayRequest& Next() {
    request_.set_key(absl::StrFormat("user:%08d", random_.Below(10'000'000)));
    return request_;
  }

 private:
  Random random_;
  SayRequest request_;
};

std::string AppOf(const Variant& variant) {
  return AppOf(variant.form, variant.way == Way::kAdmitted ? Asks::kAdmit : Asks::kNobody);
}

bool IsPlain(const Variant& variant) {
  return variant.way == Way::kPlain || variant.way == Way::kBeside || variant.way == Way::kHeaded;
}

// Null: it is called without one.
Router* RouterOf(const Variant& variant, const Target& target) {
  if (IsPlain(variant)) return nullptr;
  return variant.way == Way::kMeasured ? target.measured : target.router;
}

std::string HeaderOf(const Variant& variant) {
  if (variant.way != Way::kHeaded) return "";
  return absl::StrCat("a/", AppOf(variant.form, Asks::kAdmit), "/", kServerName, "/", ShardName(0));
}

// ---- calls that block

using Once = std::function<uint64_t(Script& script)>;

// `to`: the header, or "" for none.
void Prepare(grpc::ClientContext& context, const std::string& to) {
  context.set_deadline(Deadline());
  if (!to.empty()) context.AddMetadata(kHeader, to);
}

uint64_t SayPlainly(Ping::Stub& stub, const std::string& to, Script& script) {
  grpc::ClientContext context;
  Prepare(context, to);
  SayResponse response;
  Expect(stub.Say(&context, script.Next(), &response));
  return 1;
}

uint64_t SayRouted(Router& router, const std::string& app, Script& script) {
  const SayRequest& request = script.Next();
  SayResponse response;
  Expect(router.GetClient<Ping>(app, request.key())
             .Call(&Ping::Stub::Say, request, &response, {.timeout = kTimeout}));
  return 1;
}

uint64_t TalkOn(grpc::ClientReaderWriter<SayRequest, SayResponse>& stream, Script& script) {
  SayResponse response;
  for (int i = 0; i < kMessages; ++i) {
    if (!stream.Write(script.Next()) || !stream.Read(&response)) break;
  }
  stream.WritesDone();
  Expect(stream.Finish());
  return kMessages;
}

uint64_t TalkPlainly(Ping::Stub& stub, const std::string& to, Script& script) {
  grpc::ClientContext context;
  Prepare(context, to);
  return TalkOn(*stub.Talk(&context), script);
}

uint64_t TalkRouted(Router& router, const std::string& app, Script& script) {
  const auto bound = router.GetClient<Ping>(app, script.Next().key())
                         .Bind({.timeout = kTimeout, .deadline = Deadline()});
  Expect(bound.status());
  const StreamContext context = bound.NewContext();
  return TalkOn(*bound->Talk(context.get()), script);
}

Once OnceOf(const Variant& variant, const Target& target) {
  if (IsPlain(variant)) {
    const std::shared_ptr<Ping::Stub> stub = Ping::NewStub(target.channel);
    const auto once = variant.kind == Kind::kUnary ? &SayPlainly : &TalkPlainly;
    return [stub, once, to = HeaderOf(variant)](Script& script) { return once(*stub, to, script); };
  }
  const auto once = variant.kind == Kind::kUnary ? &SayRouted : &TalkRouted;
  return [&router = *RouterOf(variant, target), app = AppOf(variant), once](Script& script) {
    return once(router, app, script);
  };
}

uint64_t BlockFor(std::chrono::milliseconds time, int threads, const Once& once) {
  const auto end = std::chrono::steady_clock::now() + time;
  std::atomic<uint64_t> calls{0};
  std::vector<std::thread> clients;
  for (int i = 0; i < threads; ++i) {
    clients.emplace_back([&, i] {
      Script script(i);
      uint64_t mine = 0;
      while (std::chrono::steady_clock::now() < end) mine += once(script);
      calls += mine;
    });
  }
  for (std::thread& client : clients) client.join();
  return calls;
}

// ---- calls with a callback

// Each call is begun by the callback of the one before.
class Chain {
 public:
  Chain(int client, const Variant& variant, const Target& target, std::latch& over)
      : script_(client),
        stub_(Ping::NewStub(target.channel)),
        router_(RouterOf(variant, target)),
        app_(AppOf(variant)),
        to_(HeaderOf(variant)),
        over_(over) {}

  void Begin(std::chrono::steady_clock::time_point end) {
    end_ = end;
    Next();
  }
  uint64_t calls() const { return calls_; }

 private:
  void Next() {
    const SayRequest& request = script_.Next();
    if (router_ != nullptr) {
      router_->GetClient<Ping>(app_, request.key())
          .CallAsync(&Ping::Stub::async::Say, request, &response_, {.timeout = kTimeout},
                     [this](const grpc::Status& status) { Done(status); });
      return;
    }
    context_.emplace();
    Prepare(*context_, to_);
    stub_->async()->Say(&*context_, &request, &response_,
                        [this](const grpc::Status& status) { Done(status); });
  }
  void Done(const grpc::Status& status) {
    Expect(status);
    ++calls_;
    if (std::chrono::steady_clock::now() < end_) return Next();
    over_.count_down();
  }

  Script script_;
  const std::unique_ptr<Ping::Stub> stub_;
  Router* const router_;  // null: plainly
  const std::string app_;
  const std::string to_;
  std::latch& over_;
  std::chrono::steady_clock::time_point end_;
  std::optional<grpc::ClientContext> context_;
  SayResponse response_;
  uint64_t calls_ = 0;
};

uint64_t CallBackFor(std::chrono::milliseconds time, const Variant& variant, const Target& target) {
  std::latch over(variant.threads);
  std::vector<std::unique_ptr<Chain>> chains;
  for (int i = 0; i < variant.threads; ++i) {
    chains.push_back(std::make_unique<Chain>(i, variant, target, over));
  }
  const auto end = std::chrono::steady_clock::now() + time;
  for (const auto& chain : chains) chain->Begin(end);
  over.wait();
  uint64_t calls = 0;
  for (const auto& chain : chains) calls += chain->calls();
  return calls;
}

}  // namespace

std::string NameOf(const Variant& variant) {
  return absl::StrCat(variant.wire == Wire::kTls ? "tls_" : "", ToString(variant.form),
                      variant.kind == Kind::kUnary ? "_unary_" : "_stream_", variant.threads);
}

uint64_t CallFor(std::chrono::milliseconds time, const Variant& variant, const Target& target) {
  if (variant.form == Form::kCallback && variant.kind == Kind::kUnary) {
    return CallBackFor(time, variant, target);
  }
  return BlockFor(time, variant.threads, OnceOf(variant, target));
}

}  // namespace shardmanager::call_bench
