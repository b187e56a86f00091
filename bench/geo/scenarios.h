// The parts of scripts/bench geo. Each fills FOLDER with what its picture is made of
// (bench/geo/*.gnuplot), and adds its FIGURE lines.
#pragma once

#include <string>
#include <vector>

#include "absl/status/status.h"

namespace shardmanager {

using Figures = std::vector<std::string>;

struct GeoFlags {
  std::string folder = "build/geo";
  int servers = 30;   // of each region
  int shards = 1000;  // region-loss, follow and what-if
  int day_s = 180;    // scaling
};

// A region is lost and comes back, as in Figure 19 of the paper: three regions; a caller in the
// first one calls the four tenths of the shards that prefer it, and one in the second the others.
//   region_loss_failed_calls  calls that failed, at any time: each shard has a replica elsewhere
//   region_loss_slowest_ms    the slowest call
//   region_loss_settle_s      from the kill until each shard has two replicas in two regions again
//   region_return_settle_s    from the first server's start until each shard that prefers the
//                             region has a replica there, in two regions each
//   region_latency_ms_before, _away, _after   of calls from there, on average: before, while the
//                             region is away (but for its first six seconds), and in the last ten
//                             seconds
absl::Status RunRegionLoss(const GeoFlags& flags, Figures& figures);

// Shards follow their partners' regions, as in Figure 20: four regions; each shard is called from
// one of them, that of its partner. Twice a quarter of the partners goes to another region, and ten
// seconds later another system says so (`shardctl prefer --file`).
//   follow_recover_s_1, _2   from that order until all these shards are where their callers are
//   follow_latency_ms_before, _away, _after   of calls of the first batch, on average
//   follow_failed_calls      of all calls
//   follow_refused_calls     attempts that a server refused, as it does not have the shard
//   follow_retried_calls     attempts that were not the first of their call
absl::Status RunFollow(const GeoFlags& flags, Figures& figures);

// The same by the requests alone (`placement.follow_demand`, after 15 s): nobody says where the
// partners are. 16 shards. demand_*: as follow_*; demand_recover_s_* from the partners' move on.
absl::Status RunDemand(const GeoFlags& flags, Figures& figures);

// The number of replicas follows the load: twelve shards on six servers. The load of half of the
// shards rises from 20 to 200 requests a second, stays, falls, and stays; a replica is to carry 50.
//   scaling_replicas_pct   replicas of those shards, in percent of as many as the highest load
//   needs scaling_over_pct       time in which one of their replicas carried more than the target
//   and its
//                          tolerance, in percent
//   scaling_over_pct_fixed the same, if each of them had one replica (by the requests that came)
//   scaling_failed_calls   of all calls
absl::Status RunScaling(const GeoFlags& flags, Figures& figures);

// What `shardctl simulate` says of a region's loss against what then happens: four regions, shards
// of different weights with two replicas in two regions each.
//   whatif_moves_agreement_pct   of the replicas that really came, as many as were predicted for
//   their
//                                region: whichever shards they are of
//   whatif_shards_agreement_pct  those in the region that was predicted for their shard
//   whatif_servers_agreement_pct those on the very server that was predicted
//   whatif_moves_predicted, whatif_moves_real   replicas that came
//   whatif_most_weight_predicted, _real   what the fullest server carries then
//   whatif_ms                    what `shardctl simulate` took, the snapshot included
absl::Status RunWhatIf(const GeoFlags& flags, Figures& figures);

}  // namespace shardmanager
