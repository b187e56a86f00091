#include "word_load.h"

#include <algorithm>
#include <fstream>
#include <utility>

#include "absl/strings/str_cat.h"
#include "base/random.h"
#include "kv.grpc.pb.h"

namespace quickstart {
namespace {

constexpr char kApp[] = "kv";
// Longer than it takes to notice that a server is gone and to replace it.
constexpr std::chrono::seconds kCallTimeout{30};

}  // namespace

absl::StatusOr<std::vector<std::string>> ReadWords(const std::string& file) {
  std::ifstream in(file);
  std::vector<std::string> words;
  for (std::string line; std::getline(in, line);) {
    if (!line.empty()) words.push_back(line);
  }
  if (words.empty()) return absl::NotFoundError(absl::StrCat("no words in ", file));
  shardmanager::Random random(1);
  for (size_t i = words.size() - 1; i > 0; --i) std::swap(words[i], words[random.Below(i + 1)]);
  return words;
}

WordLoad::WordLoad(size_t words, int threads, std::chrono::milliseconds pace, Work work)
    : words_(words), interval_(std::chrono::nanoseconds(pace) / words), work_(std::move(work)) {
  for (int i = 0; i < threads; ++i) threads_.emplace_back([this] { Run(); });
}

WordLoad::~WordLoad() {
  stopping_ = true;
  for (std::thread& thread : threads_) thread.join();
}

Progress WordLoad::progress() const {
  return {done_, failed_, lost_, std::chrono::microseconds(longest_us_)};
}

void WordLoad::Run() {
  for (size_t word = next_++; word < words_ && !stopping_; word = next_++) {
    std::this_thread::sleep_until(start_ + word * interval_);  // the pace, not a wait
    DoOne(word);
  }
}

void WordLoad::DoOne(size_t word) {
  const auto begin = std::chrono::steady_clock::now();
  bool lost = false;
  const bool ok = work_(word, &lost);
  const auto took = std::chrono::steady_clock::now() - begin;
  const int64_t us = std::chrono::duration_cast<std::chrono::microseconds>(took).count();
  int64_t longest = longest_us_;
  while (us > longest && !longest_us_.compare_exchange_weak(longest, us)) {
  }
  lost_ += lost;
  ++(ok ? done_ : failed_);
}

std::string WordStore::Value(size_t word) const {
  return absl::StrCat("word ", word, ": ", words_[word]);
}

bool WordStore::Write(size_t word) {
  kv::PutRequest request;
  kv::PutResponse response;
  request.set_key(words_[word]);
  request.set_value(Value(word));
  // Idempotent: each key is written once, with one value.
  const grpc::Status status = router_.GetClient<kv::KeyValue>(kApp, words_[word])
                                  .Call(&kv::KeyValue::Stub::Put, request, &response,
                                        {.timeout = kCallTimeout, .idempotent = true});
  acknowledged_[word] = status.ok();
  return Note(status, word);
}

bool WordStore::Read(size_t word, bool* lost) {
  kv::GetRequest request;
  kv::GetResponse response;
  request.set_key(words_[word]);
  const grpc::Status status = router_.GetClient<kv::KeyValue>(kApp, words_[word])
                                  .Call(&kv::KeyValue::Stub::Get, request, &response,
                                        {.timeout = kCallTimeout, .idempotent = true});
  *lost = status.ok() && acknowledged_[word] && response.value() != Value(word);
  return Note(status, word);
}

bool WordStore::Note(const grpc::Status& status, size_t word) {
  if (status.ok()) return true;
  std::lock_guard lock(mutex_);
  if (first_error_.empty()) {
    first_error_ = absl::StrCat("\"", words_[word], "\": code ", status.error_code(), ": ",
                                status.error_message());
  }
  return false;
}

std::string WordStore::first_error() const {
  std::lock_guard lock(mutex_);
  return first_error_;
}

}  // namespace quickstart
