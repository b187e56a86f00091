// State transfer between servers of one process: real files, real gRPC, no control plane.
#include "shardmanager/transfer.h"

#include <grpcpp/grpcpp.h>

#include <atomic>
#include <filesystem>
#include <map>
#include <optional>
#include <thread>

#include "absl/strings/str_cat.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "local_shard.h"
#include "tests/kvstore/loopback_server.h"
#include "transfer/custody.h"

namespace kvstore {
namespace {

using shardmanager::Peer;
using shardmanager::ServerName;
using shardmanager::ShardEpoch;
using shardmanager::ShardGrant;
using shardmanager::ShardId;
using shardmanager::Transfer;
using shardmanager::TransferableShard;
using shardmanager::TransferOptions;

const ShardId kShard("s");

// A server with a disk of its own.
class Site : public shardmanager::TransferStorage {
 public:
  Site(std::string name, std::string folder) : name_(std::move(name)), folder_(std::move(folder)) {
    std::filesystem::create_directories(folder_);
  }
  ~Site() override { Stop(); }

  void Start(TransferOptions options = {}) {
    options.server = name_;
    options.security.insecure = true;
    options.endpoint = [this] { return endpoint(); };
    options.patience = std::chrono::milliseconds(500);
    transfer_ = std::make_unique<Transfer>(options, *this);
    server_.Start(*transfer_->service());
  }
  void Stop() {
    server_.Stop();
    transfer_.reset();
    shard_.reset();
  }

  std::string endpoint() const { return server_.endpoint(); }
  Peer peer() const { return {ServerName(name_), endpoint()}; }
  Transfer& transfer() { return *transfer_; }
  LocalShard& shard() { return *shard_; }

  absl::Status Add(uint64_t epoch) { return transfer_->AddShard(Grant(epoch)); }
  absl::Status Prepare(uint64_t epoch, const Site& from) {
    ShardGrant grant = Grant(epoch);
    grant.old_owner = from.peer();
    return transfer_->PrepareAddShard(grant);
  }
  absl::Status Leave() {
    if (absl::Status s = transfer_->PrepareDropShard(kShard); !s.ok()) return s;
    return transfer_->DropShard(kShard);
  }
  static ShardGrant Grant(uint64_t epoch) {
    return {kShard, shardmanager::Role::kPrimary, ShardEpoch(epoch)};
  }

  // REQUIRES: stopped. As if the new owner's confirmation had been lost.
  void ForgetConfirmation() {
    auto shard = *LocalShard::Open(FileOf(kShard));
    auto custody = *shardmanager::transfer::Unseal(shard->State()->record);
    ASSERT_TRUE(std::exchange(custody.confirmed, false));
    ASSERT_TRUE(shard->Write({.record = shardmanager::transfer::Seal(custody)}).ok());
  }

  absl::StatusOr<std::shared_ptr<TransferableShard>> Open(const ShardId& id) override {
    auto opened = LocalShard::Open(FileOf(id));
    if (!opened.ok()) return opened.status();
    shard_ = *opened;
    return *std::move(opened);
  }
  absl::StatusOr<std::vector<ShardId>> List() override {
    if (!std::filesystem::exists(FileOf(kShard))) return std::vector<ShardId>();
    return std::vector<ShardId>{kShard};
  }

 private:
  std::string FileOf(const ShardId& shard) const { return folder_ + "/" + shard.value() + ".db"; }

  const std::string name_, folder_;
  std::shared_ptr<LocalShard> shard_;
  std::unique_ptr<Transfer> transfer_;
  LoopbackServer server_;
};

class TransferTest : public ::testing::Test {
 protected:
  void SetUp() override {
    std::string folder = ::testing::TempDir() + "transfer_XXXXXX";
    ASSERT_NE(mkdtemp(folder.data()), nullptr);
    folder_ = folder;
    p_ = std::make_unique<Site>("p", folder_ + "/p");
    q_ = std::make_unique<Site>("q", folder_ + "/q");
    p_->Start({.make_new_shards = true});
    q_->Start();
    ASSERT_TRUE(p_->Add(1).ok());
    for (int i = 0; i < 2'000; ++i) Put(*p_, 1, absl::StrCat("key-", i), "first");
  }
  void TearDown() override {
    q_.reset();
    p_.reset();
    std::filesystem::remove_all(folder_);
  }
  static void Put(Site& site, uint64_t epoch, const std::string& key, const std::string& value) {
    const absl::Status status = site.shard().Put(ShardEpoch(epoch), key, value);
    ASSERT_TRUE(status.ok()) << status;
  }

  // Nothing: the file is busy.
  static std::optional<int64_t> RowsIn(const std::string& file) {
    sqlite3* db = nullptr;
    std::optional<int64_t> rows;
    const auto take = [](void* out, int, char** columns, char**) {
      *static_cast<std::optional<int64_t>*>(out) = std::stoll(columns[0]);
      return 0;
    };
    if (sqlite3_open(file.c_str(), &db) == SQLITE_OK) {
      sqlite3_exec(db, "SELECT count(*) FROM kv", take, &rows, nullptr);
    }
    sqlite3_close(db);
    return rows;
  }
  static void AwaitPruned(const std::string& file) {
    const auto deadline = std::chrono::steady_clock::now() + std::chrono::seconds(10);
    while (RowsIn(file) != 0 && std::chrono::steady_clock::now() < deadline) {
      std::this_thread::yield();
    }
    EXPECT_EQ(RowsIn(file), 0);
  }

  std::string folder_;
  std::unique_ptr<Site> p_, q_;
};

TEST_F(TransferTest, MovesAShardUnderWritesAndLosesNone) {
  std::atomic<bool> stop{false};
  std::atomic<int> written{0};
  std::thread writer([&] {
    for (int i = 0; !stop; ++i, ++written) {
      Put(*p_, 1, absl::StrCat("key-", i * 7 % 3'000), absl::StrCat("new ", i));
      std::this_thread::sleep_for(std::chrono::microseconds(500));  // lets the copy keep up
    }
  });
  const absl::Status ready = q_->Prepare(2, *p_);
  stop = true;
  writer.join();
  ASSERT_TRUE(ready.ok()) << ready;
  ASSERT_GT(written.load(), 0);
  const auto total = p_->shard().State()->total;
  ASSERT_TRUE(p_->Leave().ok());
  EXPECT_GT(p_->transfer().progress(kShard).cutover_us, 0);
  ASSERT_TRUE(q_->Add(2).ok());
  EXPECT_EQ(*q_->shard().Recount(), total);
  EXPECT_EQ(q_->shard().State()->last_sequence, p_->shard().State()->last_sequence);
}

TEST_F(TransferTest, WhatWasGivenAwayIsNeitherServedNorWritten) {
  ASSERT_TRUE(q_->Prepare(2, *p_).ok());
  ASSERT_TRUE(p_->Leave().ok());
  ASSERT_TRUE(q_->Add(2).ok());
  Put(*q_, 2, "key-1", "newer");
  EXPECT_TRUE(absl::IsAborted(p_->shard().Put(ShardEpoch(1), "key-1", "late")));
  const absl::Status again = p_->Add(3);  // while the other one serves
  EXPECT_TRUE(absl::IsUnavailable(again)) << again;
}

TEST_F(TransferTest, ShardThatComesBackBringsOnlyItsChanges) {
  ASSERT_TRUE(q_->Prepare(2, *p_).ok());
  ASSERT_TRUE(p_->Leave().ok());
  ASSERT_TRUE(q_->Add(2).ok());
  Put(*q_, 2, "key-1", "newer");
  ASSERT_TRUE(p_->Prepare(3, *q_).ok());
  ASSERT_TRUE(q_->Leave().ok());
  ASSERT_TRUE(p_->Add(3).ok());
  EXPECT_EQ(**p_->shard().Get("key-1"), "newer");
  EXPECT_EQ(p_->transfer().progress(kShard).rows_received, 1u);
}

TEST_F(TransferTest, NewOwnerGetsTheRestFromAnOldOneThatCameBack) {
  ASSERT_TRUE(q_->Prepare(2, *p_).ok());
  Put(*p_, 1, "key-1", "last words");
  p_->Stop();  // dies before it was told anything
  const absl::Status alone = q_->Add(2);
  EXPECT_TRUE(absl::IsUnavailable(alone)) << alone;
  p_->Start();
  const absl::Status with_it = q_->Add(2);
  ASSERT_TRUE(with_it.ok()) << with_it;
  EXPECT_EQ(**q_->shard().Get("key-1"), "last words");
}

TEST_F(TransferTest, OldOwnerGetsTheShardBackFromANewOneThatNeverHadIt) {
  ASSERT_TRUE(q_->Prepare(2, *p_).ok());
  p_->Stop();
  p_->Start();
  ASSERT_TRUE(p_->Add(3).ok());  // placed anew: nobody else ever owned it
  Put(*p_, 3, "key-1", "mine");
  const absl::Status late = q_->Add(2);
  EXPECT_FALSE(late.ok());
  EXPECT_EQ(**p_->shard().Get("key-1"), "mine");
}

TEST_F(TransferTest, DiskWithoutATraceIsNotServedEmpty) {
  const absl::Status status = q_->Add(2);
  EXPECT_TRUE(absl::IsFailedPrecondition(status)) << status;
  EXPECT_THAT(status.message(), ::testing::HasSubstr("no copy of this shard here"));
}

TEST_F(TransferTest, ShardComesBackToTheDiskThatHasItFromOneThatNeverHad) {
  EXPECT_FALSE(q_->Add(2).ok());
  EXPECT_TRUE(p_->Leave().ok());
  EXPECT_TRUE(p_->Prepare(3, *q_).ok());
  EXPECT_TRUE(p_->Add(3).ok());
  Site made("made", folder_ + "/made");  // a second one of its kind, by mistake
  made.Start({.make_new_shards = true});
  ASSERT_TRUE(made.Add(4).ok());
  EXPECT_TRUE(absl::IsFailedPrecondition(p_->Prepare(5, made)));
}

TEST_F(TransferTest, ExpectedShardIsNotTakenForANewOne) {
  Site r("r", folder_ + "/r");
  r.Start({.make_new_shards = true});
  p_->Stop();
  EXPECT_FALSE(r.Prepare(2, *p_).ok());
  EXPECT_FALSE(r.Add(2).ok());
}

// A row that is on the disk with another value than was stored.
TEST_F(TransferTest, MismatchFailsTheMoveAndLeavesTheOldOwnerAsItWas) {
  sqlite3* db = nullptr;
  sqlite3_open((folder_ + "/p/s.db").c_str(), &db);
  sqlite3_exec(db, "UPDATE kv SET value = x'00' WHERE key = CAST('key-5' AS BLOB)", nullptr,
               nullptr, nullptr);
  sqlite3_close(db);
  const absl::Status status = q_->Prepare(2, *p_);
  EXPECT_TRUE(absl::IsDataLoss(status)) << status;
  EXPECT_TRUE(p_->shard().Put(ShardEpoch(1), "key-6", "goes on").ok());
}

TEST_F(TransferTest, PrunesWhatWasConfirmedWhenTheGracePeriodIsOver) {
  p_->Stop();
  p_->Start({.grace = std::chrono::seconds(0)});
  ASSERT_TRUE(p_->Add(1).ok());
  ASSERT_TRUE(q_->Prepare(2, *p_).ok());
  EXPECT_EQ(p_->shard().State()->total.count, 2'000u);
  ASSERT_TRUE(p_->Leave().ok());
  AwaitPruned(folder_ + "/p/s.db");
  ASSERT_TRUE(q_->Add(2).ok());
  EXPECT_EQ(q_->shard().State()->total.count, 2'000u);
}

TEST_F(TransferTest, ALostConfirmationIsAskedForAndThenTheRowsGo) {
  ASSERT_TRUE(q_->Prepare(2, *p_).ok());
  ASSERT_TRUE(p_->Leave().ok());
  ASSERT_TRUE(q_->Add(2).ok());
  p_->Stop();
  p_->ForgetConfirmation();
  p_->Start({.grace = std::chrono::seconds(0)});
  AwaitPruned(folder_ + "/p/s.db");
}

TEST_F(TransferTest, StopEndsAReceptionThatWaits) {
  q_->Stop();
  q_->Start({.bytes_per_second = 1, .batch_bytes = 1});
  std::thread stopper([&] { q_->transfer().Stop(); });
  const absl::Status status = q_->Prepare(2, *p_);
  stopper.join();
  EXPECT_TRUE(absl::IsCancelled(status)) << status;
}

}  // namespace
}  // namespace kvstore
