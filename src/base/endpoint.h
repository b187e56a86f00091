// "host:port", as flags and options have it.
#pragma once

#include <string>
#include <vector>

namespace shardmanager {

// What is allowed instead, for people; "": the text is HOST:PORT. To connect to: with a host, and a
// port from 1 to 65535. `to_listen`: the host may be empty (every address), and the port 0 (any
// that is free). A host is a name, an address, or "[...]" around one of IPv6.
std::string WhatIsWrongWithEndpoint(const std::string& text, bool to_listen = false);

// The host without the "[...]" of IPv6, and the port; "": there is none.
struct HostAndPort {
  std::string host;
  std::string port;
};
HostAndPort SplitEndpoint(const std::string& text);

// "a:1,b:2" as its parts; blanks around them, and empty ones, are left out.
std::vector<std::string> EndpointList(const std::string& text);

}  // namespace shardmanager
