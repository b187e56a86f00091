// A server of the benchmarks of this folder, as a process of its own.
#pragma once

namespace shardmanager {

// Takes the flags of tests/local_cluster/server_flags.h. Answers counter.Counter's Add. Reports of
// each shard how many "requests" a second come to it, and a "weight" of 1 to 20 that is always the
// same. Returns the exit code.
int RunCountingServer(int argc, char** argv);

}  // namespace shardmanager
