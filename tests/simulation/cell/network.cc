#include "tests/simulation/cell/network.h"

namespace shardmanager::simulation {
namespace {

// From a message until the one before it comes again.
constexpr Duration kStraggles = Seconds(1);

}  // namespace

void Network::Mend(const std::string& from, const std::string& to) {
  const auto cut = cuts_.find({from, to});
  if (cut != cuts_.end() && --cut->second == 0) cuts_.erase(cut);
}

void Network::Rejoin(const std::string& host) {
  const auto isolated = isolated_.find(host);
  if (isolated != isolated_.end() && --isolated->second == 0) isolated_.erase(isolated);
}

bool Network::Open(const std::string& from, const std::string& to) const {
  return !isolated_.contains(from) && !isolated_.contains(to) && !cuts_.contains({from, to});
}

Duration Network::Delay() {
  const auto spread = static_cast<uint64_t>((habits.most - habits.least).count() + 1);
  return habits.least + Duration(static_cast<int64_t>(random_.Below(spread)));
}

bool Network::Send(const std::string& from, const std::shared_ptr<Process>& to,
                   std::function<void()> task, std::function<void()> lost) {
  if (!Open(from, to->host()) || Lucky(habits.loss)) {
    if (lost) lost();
    return false;
  }
  schedule_.After(Delay(), [this, from, to, task = std::move(task), lost = std::move(lost)] {
    if (Open(from, to->host())) {
      to->Run(task);
    } else if (lost) {
      lost();  // a cut takes what is under way, too
    }
  });
  return true;
}

void Network::Follow(const std::string& subject, const std::string& message,
                     std::function<void()> again) {
  Sent& last = last_sent_[subject];
  if (last.message == message) return;
  const Sent former = std::exchange(last, {message, std::move(again)});
  if (former.message.empty() || !Lucky(habits.duplication)) return;
  const auto late = static_cast<int64_t>(random_.Below(kStraggles.count() + 1));
  schedule_.After(Duration(late), former.again);
}

}  // namespace shardmanager::simulation
