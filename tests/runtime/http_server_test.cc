#include "runtime/http_server.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <zlib.h>

#include <csignal>
#include <memory>
#include <string>
#include <vector>

#include "tests/support/http_get.h"

namespace shardmanager {
namespace {

using testing::Connection;
using ::testing::HasSubstr;
using testing::HttpGet;
using ::testing::IsEmpty;
using ::testing::Not;
using ::testing::StartsWith;

class HttpServerTest : public ::testing::Test {
 protected:
  void Start(HttpServer::Options options = {}) {
    options.listen = "127.0.0.1:0";
    auto server = HttpServer::Start(options, Routes());
    ASSERT_TRUE(server.ok()) << server.status();
    server_ = *std::move(server);
  }
  static std::vector<HttpRoute> Routes() {
    const auto echo = [](const HttpRequest& request) {
      return HttpResponse{.body = request.method + " " + request.path + "?" + request.query + " " +
                                  request.body};
    };
    const auto large = [](const HttpRequest&) {
      HttpResponse response{.body = std::string(100'000, 'x'), .etag = "abc"};
      response.headers.emplace_back("X-More", "1");
      return response;
    };
    return {{.path = "/echo", .get = echo, .post = echo},
            {.path = "/large", .get = large},
            {.path = "/tree/", .get = echo},
            {.path = "/tree/deep/",
             .get = [](const HttpRequest&) { return HttpResponse{.body = "deep"}; }},
            {.path = "/take", .post = echo}};
  }
  std::string Ask(const std::string& request) const {
    const Connection connection(server_->port());
    if (!connection.connected() || !connection.Send(request)) return "";
    return connection.ReadAll();
  }
  static std::string BodyOf(const std::string& answer) {
    const size_t head = answer.find("\r\n\r\n");
    return head == std::string::npos ? "" : answer.substr(head + 4);
  }

  std::unique_ptr<HttpServer> server_;
};

TEST_F(HttpServerTest, AnswersByTheLongestRouteThatFits) {
  Start();
  EXPECT_EQ(BodyOf(HttpGet(server_->port(), "/echo?a=1&b=2")), "GET /echo?a=1&b=2 ");
  EXPECT_EQ(BodyOf(HttpGet(server_->port(), "/tree/a/b")), "GET /tree/a/b? ");
  EXPECT_EQ(BodyOf(HttpGet(server_->port(), "/tree/deep/er")), "deep");
  EXPECT_THAT(HttpGet(server_->port(), "/"), HasSubstr("404 Not Found"));
  EXPECT_THAT(HttpGet(server_->port(), "/echo/more"), HasSubstr("404 Not Found"));
}

TEST_F(HttpServerTest, PathsAreDecodedAndCannotLeaveTheirRoute) {
  Start();
  EXPECT_EQ(BodyOf(HttpGet(server_->port(), "/tree/a%20b")), "GET /tree/a b? ");
  EXPECT_EQ(BodyOf(HttpGet(server_->port(), "/tree/../echo")), "GET /echo? ");
}

TEST_F(HttpServerTest, AHeadHasNoBodyAndSaysItsLength) {
  Start();
  const std::string answer = Ask("HEAD /large HTTP/1.1\r\nHost: x\r\n\r\n");
  EXPECT_THAT(answer, HasSubstr("Content-Length: 100000\r\n"));
  EXPECT_THAT(BodyOf(answer), IsEmpty());
}

TEST_F(HttpServerTest, OtherMethodsAreRefusedWithWhatIsAllowed) {
  Start();
  const std::string answer = Ask("DELETE /large HTTP/1.1\r\nHost: x\r\n\r\n");
  EXPECT_THAT(answer, HasSubstr("405 Method Not Allowed"));
  EXPECT_THAT(answer, HasSubstr("Allow: GET, HEAD\r\n"));
  EXPECT_THAT(HttpGet(server_->port(), "/take"), HasSubstr("Allow: POST\r\n"));
}

TEST_F(HttpServerTest, PostsHaveABodyOfBoundedSize) {
  Start({.most_body_bytes = 10});
  const std::string post = "POST /echo HTTP/1.1\r\nHost: x\r\n";
  EXPECT_EQ(BodyOf(Ask(post + "Content-Length: 4\r\n\r\nbody")), "POST /echo? body");
  EXPECT_THAT(Ask(post + "Content-Length: 11\r\n\r\nhello world"),
              HasSubstr("413 Content Too Large"));
  EXPECT_THAT(Ask(post + "\r\n"), HasSubstr("411 Length Required"));
}

TEST_F(HttpServerTest, TooLongAPathIsRefused) {
  Start({.most_path_bytes = 100});
  EXPECT_THAT(HttpGet(server_->port(), "/echo?" + std::string(90, 'x')), HasSubstr("200 OK"));
  EXPECT_THAT(HttpGet(server_->port(), "/echo?" + std::string(101, 'x')),
              HasSubstr("414 URI Too Long"));
}

TEST_F(HttpServerTest, WhatIsNoHttpIsRefused) {
  Start();
  EXPECT_THAT(Ask("hello\r\n\r\n"), StartsWith("HTTP/1.1 400 "));
  EXPECT_THAT(Ask("GET /echo HTTP/1.1\r\nX: " + std::string(20'000, 'x') + "\r\n\r\n"),
              StartsWith("HTTP/1.1 4"));
}

TEST_F(HttpServerTest, CompressesWhatIsLargeForWhoAcceptsIt) {
  Start();
  const std::string get = "GET /large HTTP/1.1\r\nHost: x\r\n";
  const std::string answer = Ask(get + "Accept-Encoding: br, gzip\r\n\r\n");
  EXPECT_THAT(answer, HasSubstr("Content-Encoding: gzip\r\n"));
  const std::string packed = BodyOf(answer);
  EXPECT_LT(packed.size(), 10'000u);
  std::string text(200'000, '\0');
  z_stream stream{};
  ASSERT_EQ(inflateInit2(&stream, 15 + 16), Z_OK);
  stream.next_in = reinterpret_cast<Bytef*>(const_cast<char*>(packed.data()));
  stream.avail_in = static_cast<uInt>(packed.size());
  stream.next_out = reinterpret_cast<Bytef*>(text.data());
  stream.avail_out = static_cast<uInt>(text.size());
  EXPECT_EQ(inflate(&stream, Z_FINISH), Z_STREAM_END);
  text.resize(stream.total_out);
  inflateEnd(&stream);
  EXPECT_EQ(text, std::string(100'000, 'x'));
  EXPECT_THAT(Ask(get + "\r\n"), Not(HasSubstr("Content-Encoding")));
  EXPECT_THAT(Ask(get + "Accept-Encoding: gzip;q=0\r\n\r\n"), Not(HasSubstr("Content-Encoding")));
}

TEST_F(HttpServerTest, WhoHasTheContentAlreadyGetsNoneOfIt) {
  Start();
  const std::string get = "GET /large HTTP/1.1\r\nHost: x\r\n";
  EXPECT_THAT(Ask(get + "\r\n"), HasSubstr("ETag: W/\"abc\"\r\n"));
  const std::string same = Ask(get + "If-None-Match: \"old\", W/\"abc\"\r\n\r\n");
  EXPECT_THAT(same, HasSubstr("304 Not Modified"));
  EXPECT_THAT(same, HasSubstr("X-More: 1\r\n"));
  EXPECT_THAT(BodyOf(same), IsEmpty());
  EXPECT_THAT(Ask(get + "If-None-Match: \"old\"\r\n\r\n"), HasSubstr("200 OK"));
}

TEST_F(HttpServerTest, WhoSaysNothingIsCutOff) {
  Start({.threads = 1, .request_timeout = std::chrono::milliseconds(100)});
  const Connection silent(server_->port());
  const Connection half(server_->port());
  ASSERT_TRUE(half.Send("POST /echo HTTP/1.1\r\nHost: x\r\nContent-Length: 5\r\n\r\nab"));
  EXPECT_THAT(HttpGet(server_->port(), "/echo"), HasSubstr("200 OK"));
}

TEST_F(HttpServerTest, WhoDoesNotReadIsCutOff) {
  auto server = HttpServer::Start(
      {.listen = "127.0.0.1:0", .threads = 1, .request_timeout = std::chrono::milliseconds(100)},
      {{.path = "/", .get = [](const HttpRequest&) {
          return HttpResponse{.body = std::string(32 << 20, 'x')};
        }}});
  ASSERT_TRUE(server.ok()) << server.status();
  const Connection lazy((*server)->port());
  ASSERT_TRUE(lazy.Send("GET / HTTP/1.1\r\nHost: x\r\n\r\n"));
  const Connection next((*server)->port());
  ASSERT_TRUE(next.Send("HEAD / HTTP/1.1\r\nHost: x\r\n\r\n"));
  EXPECT_THAT(next.ReadAll(), HasSubstr("200 OK"));
}

TEST_F(HttpServerTest, LeavesTheEndsOfChildrenToOthers) {
  struct sigaction before {
  }, after{};
  sigaction(SIGCHLD, nullptr, &before);
  Start();
  sigaction(SIGCHLD, nullptr, &after);
  EXPECT_EQ(before.sa_handler, after.sa_handler);
}

TEST(QueryParametersTest, AreDecoded) {
  const auto parameters = QueryParameters("a=1&b=x%20y+z&flag&a=2&%3C=%3E&=");
  EXPECT_EQ(parameters.at("a"), "2");
  EXPECT_EQ(parameters.at("b"), "x y z");
  EXPECT_EQ(parameters.at("flag"), "");
  EXPECT_EQ(parameters.at("<"), ">");
}

}  // namespace
}  // namespace shardmanager
