// Positions in the solver's tables.
#pragma once

#include <cstddef>
#include <vector>

#include "base/dense_id.h"

namespace shardmanager::solver {

using ObjectId = DenseId<struct ObjectTag>;        // what is placed: a replica, a process
using ContainerId = DenseId<struct ContainerTag>;  // where: a server, a machine
using GroupId = DenseId<struct GroupTag>;          // objects that belong together: a shard
using MetricId = DenseId<struct MetricTag>;
using ScopeId = DenseId<struct ScopeTag>;    // a way to divide the containers: rack, region
using DomainId = DenseId<struct DomainTag>;  // one part of a scope: this rack

// A vector that is indexed by one kind of id.
template <typename Id, typename T>
class Table {
 public:
  Table() = default;
  explicit Table(size_t size, const T& value = T()) : values_(size, value) {}

  decltype(auto) operator[](Id id) { return values_[id.index()]; }
  decltype(auto) operator[](Id id) const { return values_[id.index()]; }
  size_t size() const { return values_.size(); }
  bool empty() const { return values_.empty(); }
  void reserve(size_t n) { values_.reserve(n); }
  void resize(size_t n, const T& value = T()) { values_.resize(n, value); }
  void assign(size_t n, const T& value) { values_.assign(n, value); }
  Id push_back(T value) {
    values_.push_back(std::move(value));
    return Id(values_.size() - 1);
  }
  auto begin() { return values_.begin(); }
  auto end() { return values_.end(); }
  auto begin() const { return values_.begin(); }
  auto end() const { return values_.end(); }
  const T* data() const { return values_.data(); }
  T* data() { return values_.data(); }

 private:
  std::vector<T> values_;
};

}  // namespace shardmanager::solver
