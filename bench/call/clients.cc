#include "clients.h"

#include <grpcpp/grpcpp.h>
#include <sys/resource.h>
#include <sys/stat.h>

#include <algorithm>
#include <atomic>
#include <cstdio>
#include <filesystem>
#include <optional>
#include <sstream>
#include <utility>

#include "absl/strings/str_cat.h"
#include "base/check.h"

namespace shardmanager::call_bench {
namespace {

// As a cheap adapter would: a sum for each metric.
class CountingSink final : public MetricsSink {
 public:
  void Count(const Metric& metric, double amount, Attributes) override { Add(metric, amount); }
  void Record(const Metric& metric, double value, Attributes) override { Add(metric, value); }

 private:
  void Add(const Metric& of, double amount) {
    std::atomic<double>& sum = of.name == metric::kClientAttempts.name ? attempts_ : calls_;
    sum.fetch_add(amount, std::memory_order_relaxed);
  }
  std::atomic<double> attempts_{0};
  std::atomic<double> calls_{0};
};

constexpr char kAdmitNs[] = "admit-ns";
constexpr std::chrono::seconds kPatience{20};

double MeasureAdmitNs(Router& router) {
  std::vector<double> took;
  for (int i = 0; i < 20'000; ++i) {
    ping::SayRequest request;
    request.set_key(kTimed);
    ping::SayResponse response;
    const grpc::Status status =
        router.GetClient<ping::Ping>(AppOf(Form::kSync, Asks::kAdmit), kTimed)
            .Call(&ping::Ping::Stub::Say, request, &response);
    SM_CHECK(status.ok(), "it is answered");
    took.push_back(std::stod(response.value()));
  }
  std::sort(took.begin(), took.end());
  return took[took.size() / 2];
}

int64_t Switches() {
  rusage usage{};
  getrusage(RUSAGE_SELF, &usage);
  return usage.ru_nvcsw;
}

Target MakeTarget(Wire wire, const std::string& plain, Router* router) {
  const auto channel = TransportOf(wire)->Open(plain, security::Anybody());
  channel->WaitForConnected(std::chrono::system_clock::now() + kPatience);
  return {.channel = channel, .router = router};
}

}  // namespace

absl::StatusOr<std::unique_ptr<ClientProcess>> ClientProcess::Start(Form form, Wire wire,
                                                                    const std::string& plain,
                                                                    const std::string& discovery,
                                                                    const std::string& folder) {
  const std::string pipe = absl::StrCat(folder, "/", ToString(wire), "-", ToString(form),
                                        discovery.empty() ? "-plain" : "-routed");
  const std::string questions = pipe + "-questions";
  const std::string answers = pipe + "-answers";
  SM_CHECK(mkfifo(questions.c_str(), 0600) == 0 && mkfifo(answers.c_str(), 0600) == 0,
           "the folder is new");
  ChildOptions options{.argv = {std::filesystem::read_symlink("/proc/self/exe").string(), "call",
                                ToString(form), ToString(wire), plain, questions, answers}};
  if (!discovery.empty()) options.argv.push_back(discovery);
  auto process = ChildProcess::Start(options);
  if (!process.ok()) return process.status();
  auto client = std::make_unique<ClientProcess>();
  client->process_ = *std::move(process);
  client->questions_.open(questions);
  client->answers_.open(answers);
  return client;
}

void ClientProcess::Ask(const std::string& question) { questions_ << question << std::endl; }

double ClientProcess::Answer() {
  double answer = 0;
  SM_CHECK(static_cast<bool>(answers_ >> answer), "the client process lives");
  return answer;
}

ClientProcess::Calls ClientProcess::CallFor(std::chrono::milliseconds time,
                                            const Variant& variant) {
  Ask(absl::StrCat(time.count(), " ", static_cast<int>(variant.kind), " ",
                   static_cast<int>(variant.way), " ", variant.threads));
  const double count = Answer();
  return {count, Answer()};
}

double ClientProcess::AdmitNs() {
  Ask(kAdmitNs);
  return Answer();
}

int MakeCalls(const std::vector<std::string>& arguments) {
  const Form form = arguments[0] == ToString(Form::kSync) ? Form::kSync : Form::kCallback;
  const Wire wire = WireOf(arguments[1]);
  std::ifstream questions(arguments[3]);
  std::ofstream answers(arguments[4]);
  std::optional<Router> router;
  std::optional<Router> measured;
  if (arguments.size() > 5) {
    RouterOptions options{.discovery = {arguments[5]}, .security = SecurityOf(wire)};
    router.emplace(options);
    options.metrics = std::make_shared<CountingSink>();
    measured.emplace(options);
  }
  Target target = MakeTarget(wire, arguments[2], router ? &*router : nullptr);
  target.measured = measured ? &*measured : nullptr;
  for (std::string question; std::getline(questions, question);) {
    if (question == kAdmitNs) {
      answers << MeasureAdmitNs(*router) << std::endl;
      continue;
    }
    int64_t ms = 0;
    int kind = 0;
    int way = 0;
    int threads = 0;
    std::istringstream(question) >> ms >> kind >> way >> threads;
    const Variant variant{form, wire, static_cast<Kind>(kind), static_cast<Way>(way), threads};
    const int64_t switches = Switches();
    answers << CallFor(std::chrono::milliseconds(ms), variant, target) << " ";
    answers << Switches() - switches << std::endl;
  }
  return 0;
}

}  // namespace shardmanager::call_bench
