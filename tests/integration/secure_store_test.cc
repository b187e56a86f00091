// A cell whose records in ZooKeeper are closed to strangers: what a stolen file opens, and how an
// open cell becomes a secure one while clients use it.
#include <sys/stat.h>

#include <atomic>
#include <filesystem>
#include <fstream>
#include <functional>
#include <future>
#include <iterator>
#include <memory>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "coordination/access/store_access.h"
#include "coordination/paths.h"
#include "coordination/zookeeper/zookeeper_store.h"
#include "gmock/gmock.h"
#include "tests/support/cluster_fixture.h"

namespace shardmanager::testing {
namespace {

using local::MapView;
using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;

constexpr uint32_t kBuckets = 64;
constexpr int kShards = 12;
const AppName kKv{"kv"};
const AppName kOther{"other"};

class SecureStoreTest : public ClusterTest {
 protected:
  // The files of the cell and of servers, made with shardctl. A folder of their own, as the
  // cluster's options name the cell's file.
  void SetUp() override {
    std::string pattern = ::testing::TempDir() + "/credentials.XXXXXX";
    folder_ = mkdtemp(pattern.data());
  }
  void TearDown() override {
    ClusterTest::TearDown();
    std::filesystem::remove_all(folder_);
  }
  void MakeCluster(bool secure) {
    local::ClusterOptions options;
    options.managers = 2;
    if (secure) options.zookeeper_credentials = File("cell");
    auto cluster = local::Cluster::Make(options);
    SM_ASSERT_OK(cluster.status());
    cluster_ = *std::move(cluster);
    Succeeds({"cell", "credentials", "cell", "local", "--out", File("cell")});
  }

  std::string File(const std::string& name) const {
    return absl::StrCat(folder_, "/", name, ".zk");
  }

  std::string Succeeds(const std::vector<std::string>& arguments) {
    const auto result = cluster_->Shardctl(arguments);
    EXPECT_EQ(result.exit_code, 0) << arguments.front() << ": " << result.output;
    said_ += result.output;
    return result.output;
  }
  // As in a rolling upgrade: its shards go first, so that no call is lost.
  void RestartPlanned(const std::string& name, const std::function<absl::Status()>& start) {
    Succeeds({"drain", "server", name, "--wait"});
    cluster_->server(name).Stop();
    SM_ASSERT_OK(start());
    Succeeds({"undrain", "server", name});
  }
  void MakeServerFile(const std::string& name, const std::string& from = "cell",
                      const std::string& out = "") {
    Succeeds({"cell", "credentials", "server", "kv", name, "--from", File(from), "--zookeeper",
              cluster_->zookeeper_endpoint(), "--out", File(out.empty() ? name : out)});
  }
  absl::Status StartSecureServer(const std::string& name, const std::string& file = "") {
    return cluster_->StartServer({.name = name,
                                  .rack = "rack-" + name,
                                  .zookeeper_credentials = File(file.empty() ? name : file)});
  }
  std::vector<std::string> AtZookeeper(std::vector<std::string> arguments,
                                       const std::string& file = "cell") {
    arguments.insert(arguments.end(),
                     {"--from", File(file), "--zookeeper", cluster_->zookeeper_endpoint()});
    return arguments;
  }

  // A secure cell with kv-1 and kv-2 with files of their own, and kv-3 with its app's.
  void ServeSecurely() {
    MakeCluster(/*secure=*/true);
    SM_ASSERT_OK(cluster_->StartCore());
    SM_ASSERT_OK(cluster_->admin().Apply(KvSpec(kShards)).status());
    MakeServerFile("kv-1");
    MakeServerFile("kv-2");
    Succeeds({"cell", "credentials", "app", "kv", "--from", File("cell"), "--out", File("app")});
    SM_ASSERT_OK(StartSecureServer("kv-1"));
    SM_ASSERT_OK(StartSecureServer("kv-2"));
    SM_ASSERT_OK(StartSecureServer("kv-3", "app"));
    SM_ASSERT_OK(ServeShards(kShards));
  }

  // A file's text and all secrets in it.
  std::vector<std::string> Secrets() const {
    std::vector<std::string> secrets;
    for (const auto& entry : std::filesystem::directory_iterator(folder_)) {
      std::ifstream in(entry.path());
      for (std::string line; std::getline(in, line);) {
        const size_t colon = line.find(": ");
        if (line.starts_with("#") || colon == std::string::npos) continue;
        if (absl::StrContains(line, "secret: ") || absl::StrContains(line, "password: ")) {
          secrets.push_back(line.substr(colon + 2));
        }
      }
    }
    return secrets;
  }

  std::string folder_;
  std::string said_;  // by shardctl
};

// A session of a test's own.
class Session {
 public:
  Session(const std::string& zookeeper, std::shared_ptr<StoreAccess> access)
      : store_(ZookeeperStoreFactory(zookeeper, std::move(access)).NewSession({})) {}

  absl::Status Get(const std::string& path) {
    return Wait<absl::Status>([&](auto done) {
      store_->Get(path, [done](const absl::StatusOr<Node>& node) { done(node.status()); });
    });
  }
  absl::StatusOr<std::vector<std::string>> List(const std::string& path) {
    return Wait<absl::StatusOr<std::vector<std::string>>>(
        [&](auto done) { store_->GetChildren(path, done); });
  }
  absl::Status Write(WriteOp op) {
    return Wait<absl::Status>([&](auto done) {
      store_->Multi({std::move(op)}, [done](const WriteResult& r) { done(r.status); });
    });
  }
  absl::Status OpenAccess(const std::string& path) {
    return Wait<absl::Status>([&](auto done) { store_->SetAccess(path, OpenToAnyone(), done); });
  }
  absl::Status Access(const std::string& path) {
    return Wait<absl::Status>([&](auto done) {
      store_->GetAccess(path, [done](const absl::StatusOr<AccessList>& l) { done(l.status()); });
    });
  }

 private:
  template <typename Result, typename Ask>
  Result Wait(Ask ask) {
    auto answer = std::make_shared<std::promise<Result>>();
    ask([answer](Result result) { answer->set_value(std::move(result)); });
    return answer->get_future().get();
  }

  const std::unique_ptr<CoordinationStore> store_;
};

// All that a client of ZooKeeper can do with a node: which of it was not refused.
std::vector<std::string> NotRefused(Session& thief, const std::string& path) {
  std::vector<std::string> allowed;
  const auto try_it = [&](const char* what, const absl::Status& status) {
    if (!absl::IsPermissionDenied(status)) {
      allowed.push_back(absl::StrCat(what, " ", path, ": ", status.ToString()));
    }
  };
  try_it("get", thief.Get(path));
  try_it("list", thief.List(path).status());
  try_it("check", thief.Write(CheckVersion{path, kAnyVersion}));
  try_it("set", thief.Write(SetNode{path, "forged"}));
  try_it("create below", thief.Write(CreateNode{path + "/x", ""}));
  try_it("delete", thief.Write(DeleteNode{path}));
  try_it("get access of", thief.Access(path));
  try_it("set access of", thief.OpenAccess(path));
  return allowed;
}

// kv-1's file was stolen.
class TheftTest : public SecureStoreTest {
 protected:
  void SetUp() override {
    SecureStoreTest::SetUp();
    ServeSecurely();
    v1::AppSpec other = KvSpec(2);
    other.set_name(kOther.value());
    SM_ASSERT_OK(cluster_->admin().Apply(other).status());
    const auto stolen = AccessOfServer(File("kv-1"), "local", kKv, ServerName("kv-1"));
    SM_ASSERT_OK(stolen.status());
    thief_ = std::make_unique<Session>(cluster_->zookeeper_endpoint(), *stolen);
  }
  void TearDown() override {
    thief_.reset();
    SecureStoreTest::TearDown();
  }

  static bool Refused(const absl::Status& status) { return absl::IsPermissionDenied(status); }
  // Names in the folder, as the control plane sees them.
  std::vector<std::string> Names(const std::string& folder) {
    const auto access = AccessOfControlPlane(File("cell"), "local");
    EXPECT_TRUE(access.ok()) << access.status();
    Session control(cluster_->zookeeper_endpoint(), *access);
    const auto names = control.List(folder);
    EXPECT_TRUE(names.ok()) << names.status();
    return names.value_or(std::vector<std::string>());
  }

  const Paths paths_{"local"};
  const ServerName victim_{"kv-2"};
  // The bucket of its live node.
  const std::string lives_ = Paths::bucket(paths_.live(kKv), BucketOf(victim_.value(), kBuckets));
  std::unique_ptr<Session> thief_;
};

TEST_F(TheftTest, AStolenFileOpensNothingOfAnotherServer) {
  const auto lives = Names(lives_);
  ASSERT_THAT(lives, ElementsAre(::testing::StartsWith("kv-2@1.")));
  EXPECT_THAT(NotRefused(*thief_, paths_.server(kKv, victim_, kBuckets)), IsEmpty());
  EXPECT_THAT(NotRefused(*thief_, paths_.assignment(kKv, victim_, kBuckets)), IsEmpty());
  EXPECT_THAT(NotRefused(*thief_, lives_ + "/" + lives.front()), IsEmpty());
  // One that is not there yet.
  const ServerName newcomer("kv-9");
  EXPECT_TRUE(Refused(thief_->Write(CreateNode{paths_.server(kKv, newcomer, kBuckets), ""})));
  EXPECT_TRUE(Refused(thief_->Write(CreateNode{paths_.assignment(kKv, newcomer, kBuckets), ""})));
}

TEST_F(TheftTest, AStolenFileChangesNothingOfTheCell) {
  for (const std::string& path :
       {paths_.app(kOther), paths_.spec(kOther), paths_.live(kOther),
        Paths::bucket(paths_.live(kOther), 0), paths_.servers(kOther),
        Paths::bucket(paths_.servers(kOther), 0), paths_.assignments(kOther),
        Paths::bucket(paths_.assignments(kOther), 0), paths_.app(kKv), paths_.live(kKv),
        paths_.servers(kKv), Paths::bucket(paths_.servers(kKv), 0), paths_.assignments(kKv),
        Paths::bucket(paths_.assignments(kKv), 0), paths_.apps(), paths_.leader(),
        paths_.leader_epoch(), paths_.leader_holder()}) {
    EXPECT_THAT(NotRefused(*thief_, path), IsEmpty());
  }
  // What it may read it may not change, its own assignment among it.
  for (const std::string& path :
       {paths_.config(), paths_.spec(kKv), paths_.assignment(kKv, ServerName("kv-1"), kBuckets)}) {
    EXPECT_TRUE(thief_->Get(path).ok()) << path;
    EXPECT_TRUE(Refused(thief_->Write(SetNode{path, "forged"}))) << path;
    EXPECT_TRUE(Refused(thief_->Write(DeleteNode{path}))) << path;
    EXPECT_TRUE(Refused(thief_->OpenAccess(path))) << path;
  }
}

// ZooKeeper lets it make a live node with any name. Nobody believes it.
TEST_F(TheftTest, AForgedLifeIsIgnored) {
  EXPECT_TRUE(Refused(thief_->List(lives_).status()));
  SM_ASSERT_OK(thief_->Write(CreateNode{lives_ + "/kv-2@99", "forged", true}));
  EXPECT_TRUE(Refused(thief_->Write(DeleteNode{lives_ + "/kv-2@99"})));
  const auto deadline = std::chrono::steady_clock::now() + kPatience;
  const auto said = [&] {
    return absl::StrContains(Succeeds({"describe", "app", "kv"}), "kv-2@99 has a name that none");
  };
  while (!said()) ASSERT_LT(std::chrono::steady_clock::now(), deadline);
  EXPECT_TRUE(map_->view().all_served());
  EXPECT_EQ(map_->view().counts()["kv-2"], kShards / 3);
  // Its victim comes back under its name all the same.
  cluster_->server("kv-2").Kill();
  SM_ASSERT_OK(cluster_->RestartServer("kv-2"));
  EXPECT_TRUE(map_->WaitFor(
      [](const MapView& v) { return v.all_served() && v.counts()["kv-2"] == kShards / 3; },
      kPatience))
      << map_->view().Describe();
}

// Processes that a secure cell does not take.
class StrangerTest : public SecureStoreTest {
 protected:
  void SetUp() override {
    SecureStoreTest::SetUp();
    ServeSecurely();
  }
  // What the program says, which ends with an error. `file`: its credentials; empty: none.
  std::string Run(std::vector<std::string> argv, const std::string& file = "") {
    argv.insert(argv.end(), {"--zookeeper", cluster_->zookeeper_endpoint(), "--listen",
                             "127.0.0.1:0", "--cell", "local"});
    if (!file.empty()) argv.insert(argv.end(), {"--zookeeper-credentials", File(file)});
    local::Program program(absl::StrCat("stranger-", ++runs_), argv, cluster_->folder());
    EXPECT_TRUE(program.Start().ok());
    EXPECT_GT(program.Wait(kPatience).value_or(0), 0) << program.LogTail(10);
    return program.Log();
  }
  std::string RunManager(const std::string& file = "") {
    return Run({cluster_->Bin("shardmanagerd")}, file);
  }
  std::string RunServer(const std::string& file = "") {
    return Run({cluster_->Bin("kvstore"), "--name", "kv-4", "--app", "kv", "--data",
                cluster_->data_folder()},
               file);
  }

  int runs_ = 0;
};

TEST_F(StrangerTest, ProcessesWithoutCredentialsAreToldWhatToDo) {
  for (const std::string& said : {RunManager(), RunServer()}) {
    EXPECT_THAT(said, AllOf(HasSubstr("is secure, and this process has no ZooKeeper"),
                            HasSubstr("--zookeeper-credentials FILE")));
  }
  Succeeds(AtZookeeper({"cell", "status"}));  // they left no open node behind
}

TEST_F(StrangerTest, WrongFilesAreRefusedWithTheReason) {
  Succeeds({"cell", "credentials", "cell", "local", "--out", File("wrong")});
  EXPECT_THAT(RunManager("wrong"), HasSubstr("are not, or not any more, those of the cell"));
  EXPECT_THAT(RunManager("kv-1"),
              HasSubstr("found ZooKeeper credentials of server kv-1 of app kv"));
  EXPECT_THAT(RunServer("kv-1"), HasSubstr("found ZooKeeper credentials of server \"kv-1\"; "
                                           "allowed: those of \"kv-4\""));
  EXPECT_THAT(RunServer("cell"), HasSubstr("which no application server should"));
  EXPECT_THAT(RunServer("none"), HasSubstr("cannot open the ZooKeeper credentials"));
  chmod(File("kv-1").c_str(), 0644);
  EXPECT_THAT(RunServer("kv-1"),
              AllOf(HasSubstr(File("kv-1")), HasSubstr("found mode 0644; allowed: 0600 or 0400")));
  chmod(File("cell").c_str(), 0640);
  EXPECT_THAT(RunManager("cell"), HasSubstr("found mode 0640"));
}

TEST_F(StrangerTest, SecretsAreNowhereToBeSeen) {
  RunManager();
  RunServer("cell");
  for (const char* what : {"apps", "servers", "shards"}) Succeeds({"get", what, "-o", "json"});
  Succeeds({"describe", "app", "kv"});
  Succeeds({"describe", "server", "kv-1"});
  Succeeds(AtZookeeper({"cell", "status"}));
  const auto secrets = Secrets();
  ASSERT_GE(secrets.size(), 8u);
  for (const std::string& secret : secrets) {
    EXPECT_THAT(said_, Not(HasSubstr(secret.substr(0, 16))));
  }
  int logs = 0;
  for (const auto& entry : std::filesystem::directory_iterator(cluster_->folder())) {
    if (entry.path().extension() != ".log") continue;
    ++logs;
    std::ifstream in(entry.path());
    const std::string text{std::istreambuf_iterator<char>(in), {}};
    for (const std::string& secret : secrets) {
      EXPECT_THAT(text, Not(HasSubstr(secret.substr(0, 16)))) << entry.path();
    }
  }
  EXPECT_GE(logs, 6);
}

// Reads and writes all the time, on some threads.
class Load {
 public:
  explicit Load(KvClient& client) {
    for (int t = 0; t < 4; ++t) {
      threads_.emplace_back([this, &client, t] {
        for (int i = t; !stop_; i += 4) {
          const std::string key = KeyOf(i % kShards, t);
          const KvAnswer answer = i % 2 == 0 ? client.Put(key, absl::StrCat(i)) : client.Get(key);
          ++calls_;
          if (!answer.status.ok() && failed_++ == 0) first_ = answer.status;
        }
      });
    }
  }
  ~Load() { Stop(); }
  void Stop() {
    stop_ = true;
    for (std::thread& thread : threads_) {
      if (thread.joinable()) thread.join();
    }
  }
  // REQUIRES: stopped.
  std::string Verdict() const {
    return failed_ == 0 ? ""
                        : absl::StrCat(failed_.load(), " of ", calls_.load(),
                                       " calls failed, the first: ", first_.ToString());
  }
  int calls() const { return calls_; }

 private:
  std::atomic<bool> stop_{false};
  std::atomic<int> calls_{0};
  std::atomic<int> failed_{0};
  absl::Status first_;
  std::vector<std::thread> threads_;
};

// Each step of docs/security-store.md, under load: 0 failed calls, and whoever registers is let.
TEST_F(SecureStoreTest, AnOpenCellBecomesASecureOneUnderLoad) {
  MakeCluster(/*secure=*/false);
  SM_ASSERT_OK(StartServing(3, kShards));
  Load load(*client_);
  const auto all_served = [&] {
    EXPECT_TRUE(map_->WaitFor(
        [](const MapView& v) { return v.all_served() && v.counts().size() == 3; }, kPatience))
        << map_->view().Describe();
  };

  // Too early: nothing is changed.
  const auto early = cluster_->Shardctl(AtZookeeper({"cell", "secure"}));
  EXPECT_EQ(early.exit_code, 1);
  EXPECT_THAT(early.output,
              AllOf(HasSubstr("the shardmanagerd that leads"), HasSubstr("server kv-1 of app kv")));

  for (const size_t manager : {1, 0}) {
    cluster_->manager(manager).Stop();
    SM_ASSERT_OK(cluster_->StartManager(manager, "", File("cell")));
  }
  for (const std::string name : {"kv-1", "kv-2", "kv-3"}) {
    MakeServerFile(name);
    RestartPlanned(name, [&] { return StartSecureServer(name); });
    all_served();
  }
  // Servers register all the while that it is secured.
  std::atomic<bool> stop{false};
  std::thread secure([&] {
    const auto done = cluster_->Shardctl(AtZookeeper({"cell", "secure"}));
    EXPECT_EQ(done.exit_code, 0) << done.output;
    stop = true;
  });
  do {
    RestartPlanned("kv-2", [&] { return cluster_->RestartServer("kv-2"); });
    all_served();
  } while (!stop);
  secure.join();
  all_served();
  EXPECT_THAT(Succeeds(AtZookeeper({"cell", "status"})), HasSubstr("cell local is secure"));
  // And afterwards, with a change of leader.
  for (const size_t manager : {0, 1}) {
    cluster_->manager(manager).Stop();
    SM_ASSERT_OK(cluster_->StartManager(manager));
  }
  RestartPlanned("kv-3", [&] { return cluster_->RestartServer("kv-3"); });
  all_served();
  load.Stop();
  EXPECT_EQ(load.Verdict(), "");
  EXPECT_GT(load.calls(), 100);
  Succeeds(AtZookeeper({"cell", "status"}));
  std::cerr << "FIGURE secure_store_upgrade_calls " << load.calls() << "\n";
}

// The whole of "Replacing the secret".
TEST_F(SecureStoreTest, TheSecretIsReplacedUnderLoad) {
  ServeSecurely();
  Load load(*client_);
  const auto restart_managers = [&](const std::string& file) {
    for (const size_t manager : {1, 0}) {
      cluster_->manager(manager).Stop();
      SM_ASSERT_OK(cluster_->StartManager(manager, "", File(file)));
    }
  };
  Succeeds(
      {"cell", "credentials", "cell", "local", "--replace", File("cell"), "--out", File("both")});
  restart_managers("both");
  Succeeds(AtZookeeper({"cell", "secure"}, "both"));
  Succeeds({"cell", "credentials", "cell", "local", "--only-newest-of", File("both"), "--out",
            File("new")});
  const auto only_newest = AtZookeeper({"cell", "secure", "--only-newest"}, "both");
  EXPECT_EQ(cluster_->Shardctl(only_newest).exit_code, 1);
  for (const std::string name : {"kv-1", "kv-2", "kv-3"}) {
    MakeServerFile(name, "both", name + "-both");
    RestartPlanned(name, [&] { return StartSecureServer(name, name + "-both"); });
    EXPECT_TRUE(map_->WaitFor(
        [](const MapView& v) { return v.all_served() && v.counts().size() == 3; }, kPatience))
        << map_->view().Describe();
  }
  Succeeds(only_newest);
  EXPECT_EQ(cluster_->Shardctl(AtZookeeper({"cell", "status"}, "cell")).exit_code, 1);
  restart_managers("new");
  Succeeds(AtZookeeper({"cell", "secure"}, "new"));
  EXPECT_TRUE(map_->WaitFor([](const MapView& v) { return v.all_served(); }, kPatience));
  load.Stop();
  EXPECT_EQ(load.Verdict(), "");
  Succeeds(AtZookeeper({"cell", "status"}, "new"));
}

}  // namespace
}  // namespace shardmanager::testing
