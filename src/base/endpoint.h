// "host:port", as flags and options have it.
#pragma once

#include <string>
#include <vector>

namespace shardmanager {

// What is allowed instead, for people; "": the text is HOST:PORT, with a port of 0 to 65535 (0 only
// if `may_be_free`: any free port). The host may be empty, a name, an address, or "[...]" around
// one of IPv6.
std::string WhatIsWrongWithEndpoint(const std::string& text, bool may_be_free = false);

// "a:1,b:2" as its parts; blanks around them, and empty ones, are left out.
std::vector<std::string> EndpointList(const std::string& text);

}  // namespace shardmanager
