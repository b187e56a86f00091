#include "cli/levers/preview.h"

#include <google/protobuf/descriptor.h>

#include "base/check.h"
#include "cli/commands/commands.h"
#include "cli/render.h"

namespace shardmanager::cli {
namespace {

v1::PreviewRequest PreviewOf(const google::protobuf::Message& change) {
  v1::PreviewRequest preview;
  const google::protobuf::Descriptor& type = *v1::PreviewRequest::descriptor();
  for (int i = 0; i < type.field_count(); ++i) {
    if (type.field(i)->message_type() != change.GetDescriptor()) continue;
    preview.GetReflection()->MutableMessage(&preview, type.field(i))->CopyFrom(change);
    return preview;
  }
  SM_CHECK(false, "the change has no preview");
  return preview;
}

}  // namespace

ExitCode ShowPreview(const google::protobuf::Message& change, AdminClient& client,
                     Terminal& terminal) {
  const auto response = client.Send<v1::PreviewResponse>(PreviewOf(change));
  if (!response.ok()) return Fail(response.status(), client, terminal);
  if (response->changes().empty()) {
    *terminal.out << "nothing would change: it is so already\n";
    return kOk;
  }
  *terminal.out << "nothing was changed; without --dry-run this would be:\n";
  for (const std::string& line : response->changes()) {
    *terminal.out << "  " << Shown(line) << "\n";
  }
  for (const std::string& sentence : response->follows()) *terminal.out << Shown(sentence) << "\n";
  return kOk;
}

}  // namespace shardmanager::cli
