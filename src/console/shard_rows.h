// The shards of an app as a table of rows: filtered, sorted and paged in a few milliseconds, also
// where there are a million. Pure.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "console/json.h"
#include "shardmanager/v1/admin.pb.h"

namespace shardmanager::console {

// Which rows, and in which order. Empty members say nothing.
struct ShardQuery {
  std::string filter;  // a part of the shard's name, in any case
  std::string state;   // "serving", "degraded", "unserved", "moving"
  std::string server;  // has a replica there
  std::string region;  // has a replica there
  std::string sort;    // "key" (as the map has them), "state" (worst first), "requests", "name"
  bool descending = false;
  size_t offset = 0;
  size_t limit = 100;
};

class ShardRows {
 public:
  ShardRows() = default;
  ShardRows(const v1::GetShardsResponse& shards, const v1::GetServersResponse& servers);

  struct Page {
    size_t total = 0;            // rows that fit
    std::vector<uint32_t> rows;  // those from offset on, at most limit
  };
  Page Find(const ShardQuery& query) const;

  // As an array: [name, state, reason, [[server, role, state], ...], requests/s, marks]. Marks: "P"
  // pinned, "H" hot, "R" to be replaced.
  void Write(uint32_t row, Json& json) const;

  size_t size() const { return rows_.size(); }
  // Of all rows, by state; "moving" beside them.
  const std::map<std::string, size_t>& counts() const { return counts_; }

 private:
  struct Replica {
    uint32_t server;
    uint16_t state;
    bool primary;
    bool solo;  // no role to speak of
  };
  struct Row {
    uint32_t name_begin;
    uint32_t name_size;
    uint32_t replicas_begin;
    uint32_t replicas_size;
    uint32_t reason;
    uint16_t state;
    bool moving;
    uint8_t marks;
    float requests;
  };
  // Texts that repeat.
  class Texts {
   public:
    uint32_t Number(const std::string& text);
    // Of one that is there, else kNone.
    uint32_t Find(const std::string& text) const;
    const std::string& operator[](uint32_t number) const { return texts_[number]; }
    size_t size() const { return texts_.size(); }
    static constexpr uint32_t kNone = UINT32_MAX;

   private:
    std::map<std::string, uint32_t> numbers_;
    std::vector<std::string> texts_;
  };

  void Add(const v1::ShardStatus& shard);
  std::string_view NameOf(const Row& row) const {
    return std::string_view(names_).substr(row.name_begin, row.name_size);
  }
  int WorstFirst(const Row& row) const;
  bool HasServerIn(const Row& row, const std::vector<char>& wanted) const;

  std::string names_;    // one after the other
  std::string lowered_;  // the same in lower case
  std::vector<Row> rows_;
  std::vector<Replica> replicas_;
  Texts texts_;  // states and reasons
  Texts servers_;
  std::vector<std::string> region_of_;  // by server
  std::map<std::string, size_t> counts_;
};

}  // namespace shardmanager::console
