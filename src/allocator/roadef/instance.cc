#include "allocator/roadef/instance.h"

#include "allocator/roadef/number_reader.h"

namespace shardmanager::roadef {
namespace {

// The challenge's own limits, or above them.
constexpr int64_t kMostResources = 20;
constexpr int64_t kMostMachines = 5'000;
constexpr int64_t kMostServices = 50'000;
constexpr int64_t kMostProcesses = 50'000;
constexpr int64_t kMostBalances = 100;
constexpr int64_t kMostNumber = INT32_MAX;
constexpr int64_t kMostTarget = 1'000'000;

int32_t Number(NumberReader& in, const char* field, int64_t index = -1) {
  return static_cast<int32_t>(in.Next(field, index, 0, kMostNumber));
}

uint32_t Index(NumberReader& in, const char* field, int64_t index, size_t end) {
  return static_cast<uint32_t>(in.Next(field, index, 0, static_cast<int64_t>(end) - 1));
}

void ReadResources(NumberReader& in, Instance& instance) {
  const int64_t resources = in.Next("number of resources", 1, kMostResources);
  for (int64_t i = 0; i < resources && in.ok(); ++i) {
    Resource& r = instance.resources.emplace_back();
    r.transient = in.Next("resource.transient", i, 0, 1) == 1;
    r.load_weight = Number(in, "resource.load_weight", i);
  }
}

void ReadMachines(NumberReader& in, Instance& instance) {
  const int64_t machines = in.Next("number of machines", 1, kMostMachines);
  for (int64_t i = 0; i < machines && in.ok(); ++i) {
    Machine& m = instance.machines.emplace_back();
    m.neighborhood = Index(in, "machine.neighborhood", i, static_cast<size_t>(kMostMachines));
    m.location = Index(in, "machine.location", i, static_cast<size_t>(kMostMachines));
    for (size_t r = 0; r < instance.resources.size(); ++r) {
      m.capacity.push_back(Number(in, "machine.capacity", i));
    }
    for (size_t r = 0; r < instance.resources.size(); ++r) {
      m.safety_capacity.push_back(Number(in, "machine.safety_capacity", i));
    }
    for (int64_t to = 0; to < machines && in.ok(); ++to) {
      instance.machine_move_cost.push_back(Number(in, "machine.move_cost", i));
    }
  }
}

void ReadServices(NumberReader& in, Instance& instance) {
  const int64_t services = in.Next("number of services", 1, kMostServices);
  for (int64_t i = 0; i < services && in.ok(); ++i) {
    Service& s = instance.services.emplace_back();
    s.spread = static_cast<uint32_t>(in.Next("service.spread", i, 0, kMostMachines));
    const int64_t needs = in.Next("service.number_of_dependencies", i, 0, services);
    for (int64_t k = 0; k < needs && in.ok(); ++k) {
      s.needs.push_back(Index(in, "service.dependency", i, static_cast<size_t>(services)));
    }
  }
}

void ReadProcesses(NumberReader& in, Instance& instance) {
  const int64_t processes = in.Next("number of processes", 1, kMostProcesses);
  for (int64_t i = 0; i < processes && in.ok(); ++i) {
    Process& p = instance.processes.emplace_back();
    p.service = Index(in, "process.service", i, instance.services.size());
    for (size_t r = 0; r < instance.resources.size(); ++r) {
      p.requirement.push_back(Number(in, "process.requirement", i));
    }
    p.move_cost = Number(in, "process.move_cost", i);
  }
}

void ReadCosts(NumberReader& in, Instance& instance) {
  const int64_t balances = in.Next("number of balance costs", 0, kMostBalances);
  for (int64_t i = 0; i < balances && in.ok(); ++i) {
    Balance& b = instance.balances.emplace_back();
    b.first = Index(in, "balance.first_resource", i, instance.resources.size());
    b.second = Index(in, "balance.second_resource", i, instance.resources.size());
    b.target = static_cast<int32_t>(in.Next("balance.target", i, 0, kMostTarget));
    b.weight = Number(in, "balance.weight", i);
  }
  instance.process_move_weight = Number(in, "process_move_weight");
  instance.service_move_weight = Number(in, "service_move_weight");
  instance.machine_move_weight = Number(in, "machine_move_weight");
  in.ExpectEnd();
}

}  // namespace

absl::StatusOr<Instance> ParseInstance(std::string_view model, std::string_view assignment) {
  Instance instance;
  NumberReader in("model", model);
  ReadResources(in, instance);
  ReadMachines(in, instance);
  ReadServices(in, instance);
  ReadProcesses(in, instance);
  ReadCosts(in, instance);
  if (!in.ok()) return in.status();
  NumberReader starts("assignment", assignment);
  for (size_t i = 0; i < instance.processes.size() && starts.ok(); ++i) {
    instance.assignment.push_back(
        Index(starts, "machine of process", static_cast<int64_t>(i), instance.machines.size()));
  }
  starts.ExpectEnd();
  if (!starts.ok()) return starts.status();
  return instance;
}

}  // namespace shardmanager::roadef
