#include "tests/integration/chaos/stream_client.h"

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "runtime/clock.h"
#include "tests/support/kv_spec.h"

namespace shardmanager::testing {
namespace {

constexpr size_t kStreams = 6;   // open at a time
constexpr int kMostBursts = 60;  // on one stream
constexpr std::chrono::seconds kClose{5};

Micros ToMicros(TimePoint time) { return time.time_since_epoch().count(); }

}  // namespace

StreamCounts& StreamCounts::operator+=(const StreamCounts& more) {
  acknowledged += more.acknowledged;
  failed += more.failed;
  resent += more.resent;
  opened += more.opened;
  reopened += more.reopened;
  broken += more.broken;
  misnumbered += more.misnumbered;
  if (first_error.empty()) first_error = more.first_error;
  return *this;
}

StreamClient::StreamClient(KvClient& client, const StreamClientOptions& options)
    : client_(client), options_(options), random_(options.seed), slots_(kStreams) {}

void StreamClient::Step() {
  Slot& slot = slots_[random_.Below(slots_.size())];
  if (slot.bursts_left == 0) {
    Close(slot);
    slot.shard = static_cast<int>(random_.Below(static_cast<uint64_t>(options_.shards)));
    slot.bursts_left = 1 + static_cast<int>(random_.Below(kMostBursts));
  }
  --slot.bursts_left;
  std::vector<KvStream::Message> burst = DrawBurst(slot.shard);
  const TimePoint deadline = MonotonicNow() + options_.timeout;
  for (bool again = false; !burst.empty() && OpenOne(slot, deadline); again = true) {
    if (again) {
      counts_.resent += burst.size();
      for (KvStream::Message& message : burst) message.value = NextValue();
    }
    Send(slot, burst, deadline);
    if (burst.empty() || slot.stream->ShouldReopen()) continue;
    NoteError(absl::Status(
        slot.stream->End().code(),
        absl::StrCat("shard ", slot.shard, ", ",
                     (MonotonicNow() - deadline).count() / 1'000 + options_.timeout.count(),
                     " ms after the message: ", slot.stream->End().message())));
    break;
  }
  counts_.failed += burst.size();
  if (!burst.empty()) slot.bursts_left = 0;
}

std::vector<KvStream::Message> StreamClient::DrawBurst(int shard) {
  std::vector<KvStream::Message> burst(1 + random_.Below(kMostAtOnce));
  for (KvStream::Message& message : burst) {
    const uint64_t n = random_.Below(static_cast<uint64_t>(options_.keys_per_shard));
    message = {KeyOf(shard, static_cast<int>(n)), NextValue()};
  }
  return burst;
}

std::string StreamClient::NextValue() { return absl::StrCat(options_.name, " put ", ++values_); }

bool StreamClient::NoteError(const absl::Status& error) {
  if (counts_.first_error.empty()) counts_.first_error = error.ToString();
  return false;
}

bool StreamClient::OpenOne(Slot& slot, TimePoint deadline) {
  if (slot.stream != nullptr && !slot.stream->Ended()) return true;
  // It may have ended while nothing was sent on it.
  const bool again = slot.stream != nullptr && slot.stream->ShouldReopen();
  if (slot.stream != nullptr && !again) {
    ++counts_.broken;
    NoteError(slot.stream->End());
  }
  const auto left =
      std::chrono::duration_cast<std::chrono::milliseconds>(deadline - MonotonicNow());
  if (left.count() <= 0) return NoteError(absl::DeadlineExceededError("no answer in time"));
  auto opened = client_.OpenStream(KeyOf(slot.shard), left, again ? slot.stream.get() : nullptr);
  if (!opened.ok()) return NoteError(opened.status());
  counts_.reopened += slot.stream != nullptr;
  slot.stream = *std::move(opened);
  ++counts_.opened;
  return true;
}

void StreamClient::Send(Slot& slot, std::vector<KvStream::Message>& burst, TimePoint deadline) {
  const Micros invoked = ToMicros(MonotonicNow());
  const uint64_t first = sequence_ + 1;
  sequence_ += burst.size();
  const std::vector<KvStream::Ack> acks = slot.stream->Put(first, burst, deadline);
  for (size_t i = 0; i < acks.size() && i < burst.size(); ++i) {
    const KvStream::Ack& ack = acks[i];
    counts_.misnumbered += ack.sequence != first + i;
    history_.push_back({.kind = Kind::kPut,
                        .key = burst[i].key,
                        .value = burst[i].value,
                        .outcome = Outcome::kOk,
                        .invoked = invoked,
                        .returned = ToMicros(ack.at),
                        .shard = ack.shard,
                        .server = ack.server,
                        .epoch = ack.epoch});
  }
  const size_t answered = std::min(acks.size(), burst.size());
  counts_.acknowledged += answered;
  counts_.misnumbered += acks.size() - answered;
  burst.erase(burst.begin(), burst.begin() + static_cast<std::ptrdiff_t>(answered));
  if (burst.empty()) return;
  const absl::Status end = slot.stream->End();
  for (size_t i = 0; i < burst.size(); ++i) {
    // Messages are stored one after the other: the error is that of the first one.
    NoteUnanswered(burst[i], invoked, i == 0 ? end : absl::OkStatus());
  }
}

void StreamClient::NoteUnanswered(const KvStream::Message& message, Micros invoked,
                                  const absl::Status& end) {
  Operation put{.kind = Kind::kPut,
                .key = message.key,
                .value = message.value,
                .outcome = Outcome::kUnknown,
                .invoked = invoked,
                .returned = ToMicros(MonotonicNow())};
  if (absl::IsAborted(end)) {  // the shard's database said no: it never will be written
    put.outcome = Outcome::kRefused;
    put.refusal = std::string(end.message());
  }
  history_.push_back(std::move(put));
}

void StreamClient::Close(Slot& slot) {
  if (slot.stream != nullptr && !slot.stream->Ended()) {
    slot.stream->Close(MonotonicNow() + kClose);
  }
  slot.stream.reset();
}

std::vector<Operation> StreamClient::Finish() {
  for (Slot& slot : slots_) Close(slot);
  return std::exchange(history_, {});
}

}  // namespace shardmanager::testing
