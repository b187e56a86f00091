
#include <grpcpp/generic/async_generic_service.h>
#include <gtest/gtest.h>

#include <chrono>
#include <cstdlib>
#include <string>

#include "wire/transport.h"

namespace shardmanager::wire {
namespace {

using std::chrono::seconds;
using std::chrono::system_clock;

// Of this process, for as long as it lives.
class HttpProxyOfTheEnvironment {
 public:
  explicit HttpProxyOfTheEnvironment(const char* url) { setenv("http_proxy", url, 1); }
  ~HttpProxyOfTheEnvironment() { unsetenv("http_proxy"); }
};

TEST(ProxyTest, AnHttpProxyForTheOutsideIsNotUsed) {
  grpc::CallbackGenericService anything;
  grpc::ServerBuilder builder;
  builder.RegisterCallbackGenericService(&anything);
  int port = 0;
  Transport::Insecure()->ListenAt("127.0.0.1:0", {}, builder, &port);
  const auto server = builder.BuildAndStart();
  ASSERT_GT(port, 0);
  const std::string endpoint = "127.0.0.1:" + std::to_string(port);
  const HttpProxyOfTheEnvironment nobody("http://127.0.0.1:1");

  const auto plain = grpc::CreateChannel(endpoint, grpc::InsecureChannelCredentials());
  grpc_connectivity_state state = plain->GetState(/*try_to_connect=*/true);
  while (state != GRPC_CHANNEL_TRANSIENT_FAILURE) {
    ASSERT_NE(state, GRPC_CHANNEL_READY) << "the proxy is not used by anybody: nothing is tested";
    ASSERT_TRUE(plain->WaitForStateChange(state, system_clock::now() + seconds(20)));
    state = plain->GetState(true);
  }
  EXPECT_TRUE(OpenWith(nullptr, endpoint, {})->WaitForConnected(system_clock::now() + seconds(20)));
}

}  // namespace
}  // namespace shardmanager::wire
