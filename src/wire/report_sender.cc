#include "wire/report_sender.h"

#include <grpcpp/grpcpp.h>

#include <chrono>
#include <limits>
#include <utility>

#include "absl/random/random.h"
#include "runtime/clock.h"
#include "runtime/logging.h"

namespace shardmanager::wire {

struct ReportSender::Call {
  grpc::ClientContext context;
  v1::ReportServersRequest request;
  v1::ReportServersResponse response;
};

ReportSender::ReportSender(Context context, AppName app, Ask ask)
    : context_(context),
      app_(std::move(app)),
      reporter_(absl::Uniform<uint64_t>(absl::BitGen(), 1, std::numeric_limits<uint64_t>::max())),
      random_(context.seed),
      ask_(std::move(ask)) {}

void ReportSender::Begin(Publisher publisher) {
  publisher_ = std::move(publisher);
  LookLater();
}

void ReportSender::Close() {
  closed_ = true;
  if (under_way_ != nullptr) under_way_->context.TryCancel();
}

// Not all clients at once, when all of them began at once.
void ReportSender::LookLater() {
  const auto half = static_cast<uint64_t>(context_.interval.count()) / 2;
  const Duration jitter(static_cast<int64_t>(random_.Below(half + 1)));
  const TimePoint next = MonotonicNow() + context_.interval * 3 / 4 + jitter;
  context_.executor.PostAt(next, [weak = weak_from_this()] {
    const auto sender = weak.lock();
    if (sender == nullptr || sender->closed_) return;
    sender->Look();
    sender->LookLater();
  });
}

void ReportSender::Look() {
  v1::ReportServersRequest report = ask_();
  if (under_way_ != nullptr) return;
  const bool is_due = !report.servers().empty() && MonotonicNow() - sent_at_ >= context_.again;
  std::string says;
  for (const v1::ServerSeen& seen : report.servers()) seen.AppendToString(&says);
  if (says == said_ && !is_due) return;
  said_ = std::move(says);
  Send(std::move(report));
}

void ReportSender::Send(v1::ReportServersRequest report) {
  sent_at_ = MonotonicNow();
  report.set_app(app_.value());
  if (report.reporter() == 0) report.set_reporter(reporter_);
  const auto call = std::make_shared<Call>();
  under_way_ = call;
  call->request = std::move(report);
  call->context.set_deadline(std::chrono::system_clock::now() + context_.again);
  context_.calls.Begin();
  publisher_().async()->ReportServers(
      &call->context, &call->request, &call->response,
      [context = context_, weak = weak_from_this(), call](const grpc::Status& status) mutable {
        // This reference must not be the last one on gRPC's thread, which could have to join
        // itself.
        context.executor.Post([weak, call = std::move(call), status] {
          const auto sender = weak.lock();
          if (sender == nullptr) return;
          sender->under_way_.reset();
          if (status.ok() || sender->closed_) return;
          LogDebug("a report of the servers of {} was not taken: {}", sender->app_.value(),
                   status.error_message());
        });
        context.calls.End();
      });
}

}  // namespace shardmanager::wire
