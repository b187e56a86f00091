#include "wire/placer_service.h"

#include <grpcpp/grpcpp.h>

#include <algorithm>
#include <atomic>
#include <string>
#include <utility>

#include "absl/strings/str_cat.h"
#include "allocator/placer/placer.h"
#include "runtime/stopwatch.h"
#include "shardmanager/v1/placer.grpc.pb.h"
#include "wire/grpc_status.h"

namespace shardmanager::wire {
namespace {

constexpr uint32_t kUsualMs = 10'000;
constexpr uint32_t kMostMs = 60'000;

}  // namespace

class PlacerService::Impl final : public v1::Placer::Service {
 public:
  Impl(int most_at_once, Gate gate) : gate_(std::move(gate)), free_(most_at_once) {}

  void EndCalls() { ending_ = true; }

  grpc::Status Place(grpc::ServerContext* context, const v1::PlaceRequest* request,
                     v1::PlaceResponse* response) override {
    const absl::Status may = gate_.Check(context, RuleFor<v1::PlaceRequest>(), "");
    if (!may.ok()) return ToGrpc(may);
    if (request->time_ms() > kMostMs) {
      return {grpc::StatusCode::INVALID_ARGUMENT,
              absl::StrCat("time_ms: found ", request->time_ms(), "; allowed: 0 to ", kMostMs)};
    }
    if (--free_ < 0) {
      ++free_;
      return {grpc::StatusCode::RESOURCE_EXHAUSTED,
              "other problems are being solved; come back in a minute"};
    }
    const grpc::Status status = Solve(context, *request, response);
    ++free_;
    return status;
  }

 private:
  grpc::Status Solve(grpc::ServerContext* context, const v1::PlaceRequest& request,
                     v1::PlaceResponse* response) {
    const Stopwatch watch;
    auto placer =
        placer::Placer::Make(request.problem(), {.seed = std::max<uint64_t>(1, request.seed())});
    if (!placer.ok()) return ToGrpc(placer.status());
    const uint32_t time_ms = request.time_ms() == 0 ? kUsualMs : request.time_ms();
    (*placer)->Improve({
        .budget = {.seconds = time_ms * 1e-3},
        .clocks = [&] { return solver::Spent{.seconds = watch.seconds()}; },
        .go_on = [&](const auto&...) { return !ending_ && !context->IsCancelled(); },
    });
    *response = (*placer)->Answer();
    return grpc::Status::OK;
  }

  const Gate gate_;
  std::atomic<int> free_;
  std::atomic<bool> ending_ = false;
};

PlacerService::PlacerService(int most_at_once, Gate gate)
    : impl_(std::make_unique<Impl>(most_at_once, std::move(gate))) {}
PlacerService::~PlacerService() = default;
grpc::Service* PlacerService::service() { return impl_.get(); }
void PlacerService::EndCalls() { impl_->EndCalls(); }

}  // namespace shardmanager::wire
