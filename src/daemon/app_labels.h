// Bounds the number of values of the label `app`, so that a metrics page stays usable in a cell
// with ten thousand apps.
#pragma once

#include <cstddef>
#include <set>
#include <string>

namespace shardmanager::daemon {

// The first kMost apps have series of their own; all others share one. Not thread-safe.
class AppLabels {
 public:
  static constexpr size_t kMost = 200;
  static constexpr char kOther[] = "_other";  // no app can have that name

  std::string Of(const std::string& app) {
    if (app.empty() || known_.contains(app)) return app;
    if (known_.size() >= kMost) return kOther;
    known_.insert(app);
    return app;
  }

 private:
  std::set<std::string> known_;
};

}  // namespace shardmanager::daemon
