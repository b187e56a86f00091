// One attempt on the wire: the context that it is sent with, and what its end means.
#pragma once

#include <grpcpp/client_context.h>
#include <grpcpp/support/status.h>

#include <memory>
#include <optional>

#include "router/calls/call_state.h"

namespace shardmanager::router_internal {

// A server that does not answer the connect at once is probably gone: look again at
// the map after this, while the connect goes on.
inline constexpr Duration kConnectPatience = Milliseconds(250);

// For a context whose call ends then.
gpr_timespec ToGrpc(TimePoint deadline);
// How a request says for whom it is; see request_metadata.h.
enum class HeaderForm { kOne, kSeveral };
// What tells the server for whom a request is, in the form that it understands.
HeaderForm Address(AppRouter& app, const Route& route, grpc::ClientContext& context);
// What the end of a request that was sent in this form tells of the server. REQUIRES: it has ended.
void LearnForm(const Route& route, HeaderForm used, const grpc::ClientContext& context);
// The reason why the server refused; empty: it did not.
std::string RefusalOf(const grpc::Status& status, const grpc::ClientContext& context);
// Is the status the application's? A connection that breaks gives a status of its own,
// which nothing but this tells from one that the other side sent.
bool WasAdmitted(const grpc::ClientContext& context);

class Sending {
 public:
  // Both must outlive it.
  Sending(CallState& call, const Route& route);
  ~Sending();

  grpc::ClientContext& context() { return child_ == nullptr ? *own_ : *child_; }

  // Comes right before it is sent. False: the map names other servers already, do not send it.
  bool Begin(TimePoint deadline);

  enum class GivenUp { kNo, kCancelled, kOutrun };
  // `given_up`: TryCancel() was called as nobody waits for it any more, or as another attempt has
  // been answered.
  router::AttemptEnd End(const grpc::Status& status, GivenUp given_up = GivenUp::kNo);

 private:
  router::AttemptEnd Judge(const grpc::Status& status, bool given_up);

  CallState& call_;
  const Route& route_;
  // One of them: out of the server's own call, or not.
  std::optional<grpc::ClientContext> own_;
  std::unique_ptr<grpc::ClientContext> child_;
  AppRouter::InFlight in_flight_;
  std::unique_ptr<Span> span_;  // null: it is not traced
  bool registered_ = false;
  HeaderForm form_ = HeaderForm::kSeveral;
  TimePoint sent_at_;
};

}  // namespace shardmanager::router_internal
