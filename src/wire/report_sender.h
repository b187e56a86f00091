// Sends what a subscriber has to say of servers: Discovery.ReportServers, the client's side.
#pragma once

#include <functional>
#include <memory>
#include <string>

#include "base/random.h"
#include "base/time.h"
#include "runtime/serial_executor.h"
#include "shardmanager/types.h"
#include "shardmanager/v1/discovery.grpc.pb.h"
#include "wire/calls_under_way.h"

namespace shardmanager::wire {

// Of one app. At most one report is under way; one that was not taken is made anew, not repeated.
// Everything here runs on the executor's thread.
class ReportSender final : public std::enable_shared_from_this<ReportSender> {
 public:
  struct Context {
    SerialExecutor& executor;
    CallsUnderWay& calls;
    // How often there is something to say is asked, more or less by a quarter.
    Duration interval;
    // How often a report that stays the same is sent, and how long an answer is waited for.
    Duration again;
    uint64_t seed;  // of the jitter
  };
  // See MapSink::Report.
  using Ask = std::function<v1::ReportServersRequest()>;
  // Who is asked for maps now.
  using Publisher = std::function<v1::Discovery::Stub&()>;

  ReportSender(Context context, AppName app, Ask ask);

  void Begin(Publisher publisher);
  // Neither is called again.
  void Close();

 private:
  struct Call;

  void LookLater();
  void Look();
  void Send(v1::ReportServersRequest report);

  Context context_;
  const AppName app_;
  const uint64_t reporter_;  // unless the report names another one
  Random random_;
  Ask ask_;
  Publisher publisher_;
  std::shared_ptr<Call> under_way_;
  std::string said_;  // last
  TimePoint sent_at_;
  bool closed_ = false;
};

}  // namespace shardmanager::wire
