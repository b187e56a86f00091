// Requests that say in one header for whom they are, and what servers answer to them.
#include <string>

#include "gmock/gmock.h"
#include "tests/server/forwarding/forwarding_fixture.h"
#include "wire/request_address.h"

namespace shardmanager {
namespace {

namespace meta = request_metadata;

class HeaderFormsTest : public ForwardingTest {
 protected:
  static std::string TrailerOf(const Call& call, const char* key) {
    const Metadata trailing = ToMetadata(call.context.GetServerTrailingMetadata());
    const auto found = trailing.find(key);
    return found == trailing.end() ? "" : found->second;
  }
  static std::string AdmittedOf(const Call& call) { return TrailerOf(call, meta::kAdmitted); }
};

INSTANTIATE_TEST_SUITE_P(Forms, HeaderFormsTest,
                         ::testing::Values(Form::kBlocking, Form::kCallback), NameOf);

TEST_P(HeaderFormsTest, BothFormsAreUnderstood) {
  ServeAtOld();
  Call several(old_, 1, Headers::kSeveral);
  EXPECT_TRUE(Count(old_, several).ok());
  EXPECT_EQ(AdmittedOf(several), meta::kYesAndKnowsTo);
  Call one(old_, 2, Headers::kOne);
  EXPECT_TRUE(Count(old_, one).ok());
  EXPECT_EQ(one.response.epoch(), kOldEpoch);
}

// Where the library ends the call, it knows that the answer is OK.
TEST_P(HeaderFormsTest, AnOkOfACallbackServiceComesWithoutTrailers) {
  ServeAtOld();
  Call call(old_, 1, Headers::kOne);
  EXPECT_TRUE(Count(old_, call).ok());
  EXPECT_EQ(AdmittedOf(call), GetParam() == Form::kCallback ? "" : meta::kYes);
}

TEST_P(HeaderFormsTest, AnErrorOfTheApplicationSaysThatItIsOne) {
  ServeAtOld();
  old_.process = [](grpc::ServerContextBase&) {
    return grpc::Status(grpc::StatusCode::UNAVAILABLE, "of the application");
  };
  for (const Headers headers : {Headers::kOne, Headers::kSeveral}) {
    Call call(old_, 1, headers);
    EXPECT_EQ(Count(old_, call).error_message(), "of the application");
    EXPECT_NE(AdmittedOf(call), "");
  }
}

TEST_P(HeaderFormsTest, WhatIsForAnotherServerIsRefused) {
  ServeAtOld();
  Call call(new_, 1, Headers::kOne);
  EXPECT_EQ(Count(old_, call).error_code(), grpc::StatusCode::UNAVAILABLE);
  EXPECT_EQ(call.refusal(), meta::kWrongServer);
}

TEST_P(HeaderFormsTest, AFormOfTomorrowIsRefusedAsNoShard) {
  ServeAtOld();
  Call call(old_, 1, Headers::kNone);
  call.context.AddMetadata(meta::kTo, "q/kv/" + old_.name() + "/s");
  EXPECT_EQ(Count(old_, call).error_code(), grpc::StatusCode::UNAVAILABLE);
  EXPECT_EQ(call.refusal(), meta::kNoShard);
}

// Servers before it, too, may be the new owner.
TEST_P(HeaderFormsTest, ItIsSentOnInTheFormThatAllServersUnderstand) {
  HandOver();
  Metadata seen;
  new_.process = [&](grpc::ServerContextBase& context) {
    seen = ToMetadata(context.client_metadata());
    return grpc::Status::OK;
  };
  Call call(old_, 1, Headers::kOne, /*for_primary=*/true);
  ASSERT_TRUE(Count(old_, call).ok());
  EXPECT_EQ(seen.count(meta::kTo), 0u);
  EXPECT_EQ(seen.find(meta::kApp)->second, "kv");
  EXPECT_EQ(seen.find(meta::kServer)->second, new_.name());
  EXPECT_EQ(seen.find(meta::kShard)->second, "s");
  EXPECT_EQ(seen.find(meta::kRole)->second, meta::kPrimary);
}

// Its client would take the new owner's word for the old owner's.
TEST_P(HeaderFormsTest, TheAnswerToWhatWasSentOnDoesNotSayThatOneHeaderIsUnderstood) {
  HandOver();
  Call call(old_, 1, Headers::kSeveral);
  ASSERT_TRUE(Count(old_, call).ok());
  EXPECT_EQ(call.response.epoch(), kNewEpoch);
  EXPECT_EQ(AdmittedOf(call), meta::kYes);
}

}  // namespace
}  // namespace shardmanager
