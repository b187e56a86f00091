#include "transfer_load.h"

#include <algorithm>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "kv.grpc.pb.h"
#include "wire/grpc_status.h"

namespace shardmanager {
namespace {

using Clock = std::chrono::steady_clock;

constexpr std::chrono::seconds kPatience{60};

double Ms(Clock::duration d) { return std::chrono::duration<double, std::milli>(d).count(); }

}  // namespace

TransferLoad::TransferLoad(Options options)
    : options_(std::move(options)),
      router_({.discovery = {options_.discovery}}),
      rows_(options_.rows) {}

TransferLoad::~TransferLoad() { Stop(); }

std::string TransferLoad::Key(uint64_t row) { return absl::StrFormat("row-%08d", row); }

// Not compressible, and different in every version.
std::string TransferLoad::Value(uint64_t row, uint64_t version) const {
  std::string value = absl::StrCat(row, ":", version, ":");
  Random random(row * 1'000'003 + version);
  while (value.size() < options_.value_bytes) {
    const uint64_t word = random.Next();
    value.append(reinterpret_cast<const char*>(&word), sizeof word);
  }
  value.resize(std::max<size_t>(options_.value_bytes, 24));
  return value;
}

absl::Status TransferLoad::Write(uint64_t id, Felt* felt) {
  Row& row = rows_[id];
  const uint64_t version = row.next++;
  row.in_doubt.insert(version);
  const Clock::time_point begin = Clock::now();
  kv::PutRequest request;
  kv::PutResponse response;
  request.set_key(Key(id));
  request.set_value(Value(id, version));
  const grpc::Status status =
      router_.GetClient<kv::KeyValue>("kv", request.key())
          .Call(&kv::KeyValue::Stub::Put, request, &response, {.timeout = kPatience});
  const double took = Ms(Clock::now() - begin);
  ++felt->writes;
  felt->longest_ms = std::max(felt->longest_ms, took);
  if (!status.ok()) {
    ++felt->failed;
    return wire::FromGrpc(status);
  }
  row.acknowledged = version;
  row.in_doubt.clear();
  const int client = static_cast<int>(id % static_cast<uint64_t>(options_.clients));
  std::lock_guard lock(mutex_);
  uint64_t& epoch = epochs_[client];
  const uint64_t answered = response.served_by().epoch();
  if (epoch != 0 && answered > epoch) felt->cutover_ms = std::max(felt->cutover_ms, took);
  epoch = std::max(epoch, answered);
  return absl::OkStatus();
}

absl::Status TransferLoad::Fill() {
  std::mutex mutex;
  absl::Status first;
  std::vector<std::thread> threads;
  for (int c = 0; c < options_.clients; ++c) {
    threads.emplace_back([&, c] {
      Felt unused;
      for (uint64_t row = static_cast<uint64_t>(c); row < options_.rows;
           row += static_cast<uint64_t>(options_.clients)) {
        if (absl::Status s = Write(row, &unused); !s.ok()) {
          std::lock_guard lock(mutex);
          first = s;
          return;
        }
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  return first;
}

void TransferLoad::Start() {
  stop_ = false;
  for (int c = 0; c < options_.clients; ++c) threads_.emplace_back([this, c] { Run(c); });
}

void TransferLoad::Stop() {
  stop_ = true;
  for (std::thread& thread : threads_) thread.join();
  threads_.clear();
}

void TransferLoad::Run(int client) {
  const auto clients = static_cast<uint64_t>(options_.clients);
  const auto pause = std::chrono::duration_cast<Clock::duration>(
      std::chrono::duration<double>(static_cast<double>(clients) / options_.writes_per_s));
  Random random(options_.seed * 100 + static_cast<uint64_t>(client));
  Clock::time_point next = Clock::now();
  while (!stop_) {
    const uint64_t row =
        random.Below(options_.rows / clients) * clients + static_cast<uint64_t>(client);
    Felt felt;
    (void)Write(row, &felt);
    {
      std::lock_guard lock(mutex_);
      felt_.writes += felt.writes;
      felt_.failed += felt.failed;
      felt_.longest_ms = std::max(felt_.longest_ms, felt.longest_ms);
      felt_.cutover_ms = std::max(felt_.cutover_ms, felt.cutover_ms);
    }
    next = std::max(next + pause, Clock::now() - std::chrono::milliseconds(100));
    std::this_thread::sleep_until(next);
  }
}

TransferLoad::Felt TransferLoad::Take() {
  std::lock_guard lock(mutex_);
  return std::exchange(felt_, {});
}

std::string TransferLoad::Check() {
  for (uint64_t id = 0; id < options_.rows; ++id) {
    kv::GetRequest request;
    kv::GetResponse got;
    request.set_key(Key(id));
    const grpc::Status status = router_.GetClient<kv::KeyValue>("kv", request.key())
                                    .Call(&kv::KeyValue::Stub::Get, request, &got,
                                          {.timeout = kPatience, .idempotent = true});
    if (!status.ok()) return absl::StrCat(Key(id), ": ", status.error_message());
    Row& row = rows_[id];
    std::set<uint64_t> allowed = row.in_doubt;
    allowed.insert(row.acknowledged);
    const auto is = [&](uint64_t version) {
      return version == 0 ? !got.found() : got.found() && got.value() == Value(id, version);
    };
    const auto found = std::find_if(allowed.begin(), allowed.end(), is);
    if (found == allowed.end()) {
      return absl::StrCat(Key(id), ": acknowledged is version ", row.acknowledged, ", found ",
                          got.found() ? got.value().substr(0, 24) : "nothing", " at ",
                          got.served_by().server(), " under epoch ", got.served_by().epoch());
    }
    row.acknowledged = *found;  // what was in doubt is decided now
    row.in_doubt.clear();
  }
  return "";
}

}  // namespace shardmanager
