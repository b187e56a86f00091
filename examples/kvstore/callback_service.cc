#include "callback_service.h"

#include <memory>
#include <utility>

namespace kvstore {

TaskThreads::TaskThreads(int threads) {
  for (int i = 0; i < threads; ++i) threads_.emplace_back([this] { Work(); });
}

TaskThreads::~TaskThreads() {
  {
    std::lock_guard lock(mutex_);
    over_ = true;
  }
  changed_.notify_all();
  for (std::thread& thread : threads_) thread.join();
}

void TaskThreads::Run(std::function<void()> task) {
  {
    std::lock_guard lock(mutex_);
    tasks_.push_back(std::move(task));
  }
  changed_.notify_one();
}

void TaskThreads::Work() {
  std::unique_lock lock(mutex_);
  for (;;) {
    changed_.wait(lock, [this] { return over_ || !tasks_.empty(); });
    if (tasks_.empty()) return;
    std::function<void()> task = std::move(tasks_.front());
    tasks_.pop_front();
    lock.unlock();
    task();
    task = nullptr;  // what it holds goes without the lock
    lock.lock();
  }
}

// Serves one stream.
class CallbackKvService::EachPut final
    : public grpc::ServerBidiReactor<kv::PutEachRequest, kv::PutEachResponse> {
 public:
  EachPut(CallbackKvService& service, shardmanager::ShardId shard)
      : service_(service), shard_(std::move(shard)) {
    StartRead(&request_);
  }

 private:
  void OnReadDone(bool ok) override {
    if (!ok) return Finish(grpc::Status::OK);
    // A shard does not move while a stream of it is admitted. So each message is admitted by
    // itself.
    service_.server_.Admit(shard_, kMessagePatience, [this](shardmanager::Admission admission) {
      if (!admission.ok()) return Finish(admission.status());  // the client opens another stream
      auto held = std::make_shared<shardmanager::Admission>(std::move(admission));
      service_.threads_.Run([this, held]() mutable { Put(std::move(held)); });
    });
  }
  void Put(std::shared_ptr<shardmanager::Admission> admission) {
    const grpc::Status status = service_.answers_.To(*admission, request_, response_);
    admission.reset();  // a client that reads slowly does not hold up the shard
    if (!status.ok()) return Finish(status);
    StartWrite(&response_);
  }
  void OnWriteDone(bool ok) override {
    if (!ok) return Finish(grpc::Status::CANCELLED);
    StartRead(&request_);
  }
  void OnDone() override { delete this; }

  CallbackKvService& service_;
  const shardmanager::ShardId shard_;
  kv::PutEachRequest request_;
  kv::PutEachResponse response_;
};

grpc::ServerBidiReactor<kv::PutEachRequest, kv::PutEachResponse>* CallbackKvService::PutEach(
    grpc::CallbackServerContext* context) {
  return server_.Admit<kv::KeyValue>(*context, &Async::PutEach,
                                     [this](const shardmanager::Admission& admission) {
                                       return new EachPut(*this, admission.shard());
                                     });
}

}  // namespace kvstore
