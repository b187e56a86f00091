// How far behind the newest map a client may be while its publishers are well.
#pragma once

#include "base/time.h"

namespace shardmanager {

// A subscriber that has a map, and has lost its publisher, asks for a newer one at least this
// often. (One that came back sooner, and thousands with it, would keep the publisher busy.)
inline constexpr Duration kClientsReturnWithin = Seconds(4);

// A publisher that has nothing else to say to a subscriber says at least this often that it is
// alive. A stream without a word for three times as long is dead.
inline constexpr Duration kMapHeartbeat = Seconds(5);

}  // namespace shardmanager
