#include "story.h"

#include <iostream>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "runtime/clock.h"

namespace quickstart {

using shardmanager::MonotonicNow;
using shardmanager::local::Cluster;
using shardmanager::local::MapView;
using std::chrono::milliseconds;

namespace {

constexpr const char* kRegions[] = {"eu-west", "us-east", "ap-south"};
constexpr int kServers = 6;
constexpr char kVictim[] = "kv-3";
constexpr milliseconds kFrame{100};
constexpr milliseconds kReady{30'000};

constexpr milliseconds kKillAt{3'000};
constexpr milliseconds kAddAt{6'500};
constexpr milliseconds kStopAt{8'000};
constexpr milliseconds kStartAt{18'000};  // ten seconds later

milliseconds Since(std::chrono::steady_clock::time_point start) {
  return std::chrono::duration_cast<milliseconds>(std::chrono::steady_clock::now() - start);
}

double Seconds(std::chrono::microseconds time) {
  return std::chrono::duration<double>(time).count();
}

}  // namespace

absl::Status Story::SetUp() {
  auto words = ReadWords(options_.words);
  if (!words.ok()) return words.status();
  words_ = *std::move(words);

  chapter_ = std::chrono::steady_clock::now();
  auto cluster = Cluster::Make({.folder = options_.folder, .insecure = options_.insecure});
  if (!cluster.ok()) return cluster.status();
  cluster_ = *std::move(cluster);
  Say(absl::StrCat("starting ZooKeeper, shardmanagerd and shard-discoveryd in ",
                   cluster_->folder()));
  if (absl::Status s = cluster_->StartCore(); !s.ok()) return s;
  if (absl::Status s = StartServers(); !s.ok()) return s;
  if (absl::Status s = ApplySpec(); !s.ok()) return s;

  map_ = cluster_->WatchMap();
  events_ = cluster_->WatchEvents();
  router_ = std::make_unique<shardmanager::Router>(shardmanager::RouterOptions{
      .discovery = {cluster_->discovery_endpoint()}, .security = cluster_->security().own()});
  if (absl::Status s = router_->WaitReady("kv", kReady); !s.ok()) return s;
  MapView view;
  if (!map_->WaitFor([](const MapView& v) { return v.all_served(); }, kReady, &view)) {
    return absl::DeadlineExceededError(map_->view().Describe());
  }
  Say(absl::StrCat("all ", view.shards.size(), " shards are served by ", view.counts().size(),
                   " servers"));
  store_ = std::make_unique<WordStore>(*router_, words_);
  return absl::OkStatus();
}

absl::Status Story::StartServers() {
  Say(absl::StrCat("starting ", kServers, " kvstore servers in ", std::size(kRegions), " regions"));
  for (int number = 1; number <= kServers; ++number) {
    StartServer(number);
    if (!step_failed_.ok()) return step_failed_;
  }
  return absl::OkStatus();
}

void Story::StartServer(int number) {
  const std::string region = kRegions[(number - 1) % std::size(kRegions)];
  const std::string name = absl::StrCat("kv-", number);
  regions_[name] = region;
  step_failed_.Update(cluster_->StartServer({.name = name,
                                             .region = region,
                                             .datacenter = region + "-1",
                                             .rack = absl::StrCat("r", number)}));
}

absl::Status Story::ApplySpec() {
  Say(absl::StrCat("shardctl apply -f ", options_.spec));
  const Cluster::CommandResult result = cluster_->Shardctl({"apply", "-f", options_.spec});
  Say(absl::StrCat("  ", result.output.substr(0, result.output.find_last_not_of('\n') + 1)));
  if (result.exit_code == 0) return absl::OkStatus();
  return absl::AbortedError(absl::StrCat("shardctl ended with exit code ", result.exit_code));
}

absl::Status Story::LoadWhileThingsGoWrong() {
  Say(absl::StrCat("loading ", Thousands(words_.size()), " words with ", options_.threads,
                   " client threads"));
  WordLoad load(words_.size(), options_.threads, std::chrono::seconds(options_.seconds),
                [this](size_t word, bool*) { return store_->Write(word); });
  absl::Status status = Watch("written", load,
                              {{kKillAt, &Story::KillServer},
                               {kAddAt, &Story::AddServer},
                               {kStopAt, &Story::StopControlPlane},
                               {kStartAt, &Story::StartControlPlane}});
  written_ = load.progress();
  return status;
}

absl::Status Story::ReadBack() {
  Say("reading every word back");
  WordLoad load(words_.size(), options_.threads, milliseconds(0),
                [this](size_t word, bool* lost) { return store_->Read(word, lost); });
  absl::Status status = Watch("read back", load, {});
  read_ = load.progress();
  return status;
}

void Story::KillServer() {
  killed_shards_ = map_->view().counts()[kVictim];
  killed_at_ = MonotonicNow();
  cluster_->server(kVictim).Kill();
  Say(absl::StrCat("kill -9 ", kVictim, ", which serves ", killed_shards_, " shards"));
}

void Story::AddServer() {
  MeasureFailover();
  StartServer(kServers + 1);
  Say(absl::StrCat("a new server joins: kv-", kServers + 1));
}

void Story::StopControlPlane() {
  MeasureFailover();
  cluster_->control_plane().Kill();
  written_at_stop_ = load_->progress().done;
  Say("the control plane is down (kill -9 shardmanagerd); clients and servers go on");
}

void Story::StartControlPlane() {
  written_without_control_ = load_->progress().done - written_at_stop_;
  step_failed_.Update(cluster_->StartControlPlane());
  Say("the control plane is back");
}

void Story::MeasureFailover() {
  if (repair_) return;
  const auto lost = events_->WaitFor("ServerLost", kVictim, killed_at_, milliseconds(0));
  const auto done = events_->WaitFor("FailoverFinished", kVictim, killed_at_, milliseconds(0));
  if (!lost || !done) return;
  detection_ = std::chrono::duration_cast<milliseconds>(lost->seen - killed_at_);
  repair_ = std::chrono::duration_cast<milliseconds>(done->seen - lost->seen);
  Say(absl::StrFormat("the shards of %s are served again: detected after %d ms, repaired in %d ms",
                      kVictim, detection_->count(), repair_->count()));
}

absl::Status Story::Watch(const std::string& what, const WordLoad& load, std::vector<Step> steps) {
  load_ = &load;
  chapter_ = std::chrono::steady_clock::now();
  auto next = steps.begin();
  while (!load.finished() || next != steps.end()) {
    if (next != steps.end() && Since(chapter_) >= next->at) (this->*(next++)->act)();
    if (!step_failed_.ok()) return step_failed_;
    if (killed_at_ != shardmanager::TimePoint{}) MeasureFailover();
    Draw(what, load.progress(), Seconds(Since(chapter_)));
    if (stop_.WaitFor(kFrame)) return absl::CancelledError("interrupted");
  }
  screen_.Clear();
  Say(absl::StrFormat("%s words %s in %.1f s", Thousands(load.progress().done), what,
                      Seconds(Since(chapter_))));
  return absl::OkStatus();
}

void Story::Draw(const std::string& what, const Progress& progress, double seconds) {
  const std::string figures =
      absl::StrFormat("%s of %s words %s, %s requests retried", Thousands(progress.done),
                      Thousands(words_.size()), what, [this] {
                        const auto stats = router_->stats();
                        return Thousands(stats.attempts - stats.calls);
                      }());
  const std::map<std::string, size_t> counts = map_->view().counts();
  std::vector<std::string> live = {
      absl::StrFormat("%s %5.1f s", Bar(progress.done, words_.size(), 50), seconds), figures,
      absl::StrFormat("%-8s %-10s %-9s %s", "server", "region", "process", "shards")};
  std::string plain = absl::StrFormat("%5.1f s  %s;", seconds, figures);
  for (const std::string& name : cluster_->server_names()) {
    const auto found = counts.find(name);
    const size_t shards = found == counts.end() ? 0 : found->second;
    live.push_back(ServerLine(name, shards));
    absl::StrAppend(&plain, " ", name, "=", shards);
  }
  const bool up = cluster_->control_plane().running();
  live.push_back(absl::StrCat("control plane: ", up ? "up" : "DOWN"));
  screen_.Show(live, absl::StrCat(plain, up ? "" : "; control plane down"));
}

std::string Story::ServerLine(const std::string& name, size_t shards) {
  return absl::StrFormat("%-8s %-10s %-9s %3d %s", name, regions_[name], StateOf(name), shards,
                         std::string(shards, '='));
}

std::string Story::StateOf(const std::string& name) {
  return cluster_->server(name).running() ? "running" : "KILLED";
}

bool Story::Report() {
  const auto stats = router_->stats();
  const bool all_written = written_.done == words_.size();
  const bool all_read = read_.done == words_.size();
  auto line = [](const std::string& name, const std::string& value) {
    std::cout << absl::StrFormat("  %-32s %s\n", name, value);
  };
  std::cout << "\nFigures\n";
  line("keys written", absl::StrCat(Thousands(written_.done), " of ", Thousands(words_.size())));
  line("keys read back", absl::StrCat(Thousands(read_.done), " of ", Thousands(words_.size())));
  line("acknowledged writes lost", Thousands(read_.lost));
  if (repair_) {
    line("fail-over time", absl::StrFormat("%d ms = %d ms detection + %d ms repair of %d shards",
                                           (*detection_ + *repair_).count(), detection_->count(),
                                           repair_->count(), killed_shards_));
  } else {
    line("fail-over time", "not seen to finish");
  }
  line("longest call", absl::StrFormat("%.2f s, retries included", Seconds(written_.longest)));
  line("written without control plane",
       absl::StrCat(Thousands(written_without_control_), " keys in 10 s"));
  line("requests", absl::StrCat(Thousands(stats.calls), ", ",
                                Thousands(stats.attempts - stats.calls), " of them retries"));
  if (const std::string error = store_->first_error(); !error.empty()) line("first error", error);
  std::cout << std::flush;
  return all_written && all_read && read_.lost == 0 && repair_.has_value();
}

void Story::Keep() {
  const std::string pid = std::to_string(cluster_->server("kv-1").pid());
  const std::string certs =
      "  export SM_CERTS=" + cluster_->folder() + "/certs   # all connections have TLS\n";
  const std::string shardctl = cluster_->Bin("shardctl") + (options_.insecure ? " --insecure" : "");
  const std::string kv = cluster_->Bin("kv") + " --discovery " + cluster_->discovery_endpoint() +
                         (options_.insecure ? " --insecure" : "");
  std::cout << "\nThe cluster is up until you press Ctrl-C. Data and logs: " << cluster_->folder()
            << "\nTry, in another terminal:\n\n"
            << "  export SHARDCTL_SERVER=" << cluster_->admin_endpoint() << "\n"
            << (options_.insecure ? "" : certs) << "  alias shardctl='" << shardctl << "'\n"
            << "  alias kv='" << kv << "'\n"
            << "  shardctl get apps\n"
            << "  shardctl get servers --app kv\n"
            << "  shardctl describe shard shard-042 --app kv\n"
            << "  kv put apple red; kv get apple; kv scan a c\n"
            << "  kv load --seconds 30          # puts and gets, checked\n"
            << "  shardctl watch --app kv        # what happens; then, in a third terminal:\n"
            << "  kill -9 " << pid << "                   # kv-1\n\n"
            << std::flush;
  stop_.Wait();
}

void Story::Say(const std::string& line) {
  screen_.Say(absl::StrFormat("%5.1f s  %s", Seconds(Since(chapter_)), line));
}

}  // namespace quickstart
