// An instance of the ROADEF/EURO 2012 challenge (Google's machine reassignment) as it
// stands in its two files.
//
// Format, in whitespace-separated whole numbers: docs/data-placer.md.
#pragma once

#include <array>
#include <cstdint>
#include <string_view>
#include <vector>

#include "absl/status/statusor.h"

namespace shardmanager::roadef {

struct Resource {
  bool transient = false;  // used at both ends of a move
  int32_t load_weight = 0;
};

struct Machine {
  uint32_t neighborhood = 0;
  uint32_t location = 0;
  std::vector<int32_t> capacity;         // by resource
  std::vector<int32_t> safety_capacity;  // by resource
};

struct Service {
  uint32_t spread = 0;
  std::vector<uint32_t> needs;
};

struct Process {
  uint32_t service = 0;
  std::vector<int32_t> requirement;  // by resource
  int32_t move_cost = 0;
};

struct Balance {
  uint32_t first = 0;  // resources
  uint32_t second = 0;
  int32_t target = 0;
  int32_t weight = 0;
};

struct Instance {
  std::vector<Resource> resources;
  std::vector<Machine> machines;
  std::vector<int32_t> machine_move_cost;  // [from * machines + to]
  std::vector<Service> services;
  std::vector<Process> processes;
  std::vector<Balance> balances;
  int32_t process_move_weight = 0;
  int32_t service_move_weight = 0;
  int32_t machine_move_weight = 0;
  std::vector<uint32_t> assignment;  // the original machine of each process
};

// INVALID_ARGUMENT: which file, line and field, what was found and what is allowed.
absl::StatusOr<Instance> ParseInstance(std::string_view model, std::string_view assignment);

}  // namespace shardmanager::roadef
