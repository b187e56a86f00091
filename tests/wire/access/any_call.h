// Any call of any service, with a request that says next to nothing: is it let in?
#pragma once

#include <google/protobuf/descriptor.h>
#include <google/protobuf/message.h>
#include <grpcpp/generic/generic_stub.h>
#include <grpcpp/grpcpp.h>

#include <chrono>
#include <memory>
#include <string>

#include "absl/strings/str_cat.h"

namespace shardmanager::wire {

// Of a request that is empty, but for the app.
inline std::string RequestBytes(const google::protobuf::MethodDescriptor& method,
                                const std::string& app) {
  const std::unique_ptr<google::protobuf::Message> request(
      google::protobuf::MessageFactory::generated_factory()
          ->GetPrototype(method.input_type())
          ->New());
  const google::protobuf::Reflection& reflection = *request->GetReflection();
  const google::protobuf::FieldDescriptor* spec = method.input_type()->FindFieldByName("spec");
  if (const google::protobuf::FieldDescriptor* field =
          method.input_type()->FindFieldByName("app")) {
    reflection.SetString(request.get(), field, app);
  } else if (spec != nullptr) {
    google::protobuf::Message* inner = reflection.MutableMessage(request.get(), spec);
    inner->GetReflection()->SetString(inner, inner->GetDescriptor()->FindFieldByName("name"), app);
  } else if (method.input_type()->real_oneof_decl_count() > 0) {  // of changes of an app
    google::protobuf::Message* change =
        reflection.MutableMessage(request.get(), method.input_type()->oneof_decl(0)->field(0));
    const google::protobuf::FieldDescriptor* field =
        change->GetDescriptor()->FindFieldByName("app");
    if (field != nullptr) change->GetReflection()->SetString(change, field, app);
  }
  return request->SerializeAsString();
}

// The status; of a stream, OK as soon as there is a message. `request`: its bytes.
inline grpc::Status Call(const std::shared_ptr<grpc::Channel>& channel,
                         const google::protobuf::MethodDescriptor& method,
                         const std::string& request) {
  grpc::GenericStub stub(channel);
  grpc::CompletionQueue queue;
  grpc::ClientContext context;
  context.set_deadline(std::chrono::system_clock::now() + std::chrono::seconds(20));
  const std::string path = absl::StrCat("/", method.service()->full_name(), "/", method.name());
  const auto next = [&queue] {
    void* tag = nullptr;
    bool ok = false;
    return queue.Next(&tag, &ok) && ok;
  };
  const auto call = stub.PrepareCall(&context, path, &queue);
  call->StartCall(nullptr);
  grpc::Status status;
  if (next()) {
    const grpc::Slice bytes(request);
    call->WriteLast(grpc::ByteBuffer(&bytes, 1), grpc::WriteOptions(), nullptr);
    next();
    grpc::ByteBuffer answer;
    call->Read(&answer, nullptr);
    const bool answered = next();
    if (answered) context.TryCancel();
    call->Finish(&status, nullptr);
    next();
    if (answered) return grpc::Status::OK;
    return status;
  }
  call->Finish(&status, nullptr);
  next();
  return status;
}

inline bool IsRefused(const grpc::Status& status) {
  return status.error_code() == grpc::StatusCode::PERMISSION_DENIED ||
         status.error_code() == grpc::StatusCode::UNAUTHENTICATED;
}

}  // namespace shardmanager::wire
