#pragma once

namespace shardmanager::local {

// A TCP port on 127.0.0.1 that nobody listens on and that the kernel will not give
// to an outgoing connection, so that a program that comes back after a pause finds
// it free again. Aborts when there is none.
int StablePort();

}  // namespace shardmanager::local
