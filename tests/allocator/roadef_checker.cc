#include "tests/allocator/roadef_checker.h"

#include <algorithm>
#include <map>
#include <set>
#include <sstream>
#include <vector>

namespace shardmanager::roadef {
namespace {

using Numbers = std::vector<int64_t>;
using Rows = std::vector<Numbers>;

struct Facts {
  Numbers transient, load_weight;   // by resource
  Numbers neighborhood, location;   // by machine
  Rows capacity, safety, distance;  // by machine
  Numbers spread;                   // by service
  Rows needs;                       // by service
  Numbers service_of, move_cost;    // by process
  Rows requirement;                 // by process
  Rows balances;                    // r1, r2, target, weight
  int64_t process_weight = 0, service_weight = 0, machine_weight = 0;
};

int64_t One(std::istream& in) {
  int64_t number = -1;
  in >> number;
  return number;
}

Numbers Many(std::istream& in, int64_t n) {
  Numbers numbers;
  for (int64_t i = 0; i < n; ++i) numbers.push_back(One(in));
  return numbers;
}

Facts Read(const std::string& model) {
  std::istringstream in(model);
  Facts f;
  const int64_t resources = One(in);
  for (int64_t i = 0; i < resources; ++i) {
    f.transient.push_back(One(in));
    f.load_weight.push_back(One(in));
  }
  const int64_t machines = One(in);
  for (int64_t i = 0; i < machines; ++i) {
    f.neighborhood.push_back(One(in));
    f.location.push_back(One(in));
    f.capacity.push_back(Many(in, resources));
    f.safety.push_back(Many(in, resources));
    f.distance.push_back(Many(in, machines));
  }
  const int64_t services = One(in);
  for (int64_t i = 0; i < services; ++i) {
    f.spread.push_back(One(in));
    f.needs.push_back(Many(in, One(in)));
  }
  const int64_t processes = One(in);
  for (int64_t i = 0; i < processes; ++i) {
    f.service_of.push_back(One(in));
    f.requirement.push_back(Many(in, resources));
    f.move_cost.push_back(One(in));
  }
  const int64_t balances = One(in);
  for (int64_t i = 0; i < balances; ++i) f.balances.push_back(Many(in, 4));
  f.process_weight = One(in);
  f.service_weight = One(in);
  f.machine_weight = One(in);
  return f;
}

Rows Usage(const Facts& f, const Numbers& where) {
  Rows usage(f.capacity.size(), Numbers(f.transient.size(), 0));
  for (size_t p = 0; p < where.size(); ++p) {
    for (size_t r = 0; r < f.transient.size(); ++r) usage[where[p]][r] += f.requirement[p][r];
  }
  return usage;
}

bool FitsCapacity(const Facts& f, const Numbers& m0, const Numbers& m) {
  Rows usage = Usage(f, m);
  for (size_t p = 0; p < m.size(); ++p) {
    if (m[p] == m0[p]) continue;
    for (size_t r = 0; r < f.transient.size(); ++r) {
      if (f.transient[r] == 1) usage[m0[p]][r] += f.requirement[p][r];
    }
  }
  for (size_t i = 0; i < usage.size(); ++i) {
    for (size_t r = 0; r < f.transient.size(); ++r) {
      if (usage[i][r] > f.capacity[i][r]) return false;
    }
  }
  return true;
}

std::string BrokenServiceRule(const Facts& f, const Numbers& m) {
  std::vector<std::set<int64_t>> machines(f.spread.size());
  std::vector<std::set<int64_t>> locations(f.spread.size());
  std::vector<std::set<int64_t>> neighborhoods(f.spread.size());
  for (size_t p = 0; p < m.size(); ++p) {
    const size_t s = static_cast<size_t>(f.service_of[p]);
    if (!machines[s].insert(m[p]).second) return "conflict";
    locations[s].insert(f.location[m[p]]);
    neighborhoods[s].insert(f.neighborhood[m[p]]);
  }
  for (size_t s = 0; s < f.spread.size(); ++s) {
    if (static_cast<int64_t>(locations[s].size()) < f.spread[s]) return "spread";
    for (int64_t t : f.needs[s]) {
      if (!std::includes(neighborhoods[t].begin(), neighborhoods[t].end(), neighborhoods[s].begin(),
                         neighborhoods[s].end())) {
        return "dependency";
      }
    }
  }
  return "";
}

int64_t LoadAndBalanceCost(const Facts& f, const Numbers& m) {
  const Rows usage = Usage(f, m);
  int64_t cost = 0;
  for (size_t i = 0; i < usage.size(); ++i) {
    for (size_t r = 0; r < f.transient.size(); ++r) {
      cost += f.load_weight[r] * std::max<int64_t>(0, usage[i][r] - f.safety[i][r]);
    }
    for (const Numbers& b : f.balances) {
      const int64_t first = f.capacity[i][b[0]] - usage[i][b[0]];
      const int64_t second = f.capacity[i][b[1]] - usage[i][b[1]];
      cost += b[3] * std::max<int64_t>(0, b[2] * first - second);
    }
  }
  return cost;
}

int64_t MoveCost(const Facts& f, const Numbers& m0, const Numbers& m) {
  int64_t process = 0, machine = 0, service = 0;
  std::map<int64_t, int64_t> moved;
  for (size_t p = 0; p < m.size(); ++p) {
    if (m[p] == m0[p]) continue;
    process += f.move_cost[p];
    machine += f.distance[m0[p]][m[p]];
    service = std::max(service, ++moved[f.service_of[p]]);
  }
  return f.process_weight * process + f.service_weight * service + f.machine_weight * machine;
}

}  // namespace

Verdict Judge(const std::string& model, const std::string& original, const std::string& solution) {
  const Facts f = Read(model);
  const int64_t processes = static_cast<int64_t>(f.service_of.size());
  std::istringstream before(original), after(solution);
  const Numbers m0 = Many(before, processes);
  const Numbers m = Many(after, processes);
  std::string rest;
  if (after >> rest) return {"more numbers than processes"};
  for (int64_t machine : m) {
    if (machine < 0 || machine >= static_cast<int64_t>(f.capacity.size()))
      return {"no such machine"};
  }
  Verdict verdict;
  if (!FitsCapacity(f, m0, m)) verdict.broken = "capacity";
  if (verdict.broken.empty()) verdict.broken = BrokenServiceRule(f, m);
  verdict.cost = LoadAndBalanceCost(f, m) + MoveCost(f, m0, m);
  return verdict;
}

}  // namespace shardmanager::roadef
