// `shardctl split` and `shardctl merge`.
#include "model/keys/reshape.h"

#include <string>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "cli/commands/commands.h"
#include "cli/render.h"
#include "model/keys/key_text.h"
#include "model/text.h"

namespace shardmanager::cli {
namespace {

absl::StatusOr<std::string> KeyOf(const std::string& form, const std::string& text) {
  const bool is_text = form == "text";
  const auto key = is_text ? KeyFromText(text) : KeyFromForm(form, text);
  if (key) return *key;
  return absl::InvalidArgumentError(absl::StrCat(
      "--at: found ", Quoted(text), "; allowed: ",
      is_text ? "text, in which \\xHH is a byte and \\\\ a backslash" : KeyFormRule(form)));
}

absl::StatusOr<v1::ReshapeShardsRequest> RequestOf(const ReshapeCommand& command,
                                                   const std::string& app) {
  v1::ReshapeShardsRequest request;
  request.set_app(app);
  for (const std::string& shard : command.shards) request.add_from(shard);
  for (const std::string& cut : command.cuts) {
    const auto key = KeyOf(command.form, cut);
    if (!key.ok()) return key.status();
    request.add_cuts(*key);
  }
  for (const std::string& name : command.into) request.add_into(name);
  request.set_who(User());
  request.set_dry_run(command.dry_run);
  return request;
}

void ShowParts(const v1::Reshape& reshape, bool dry_run, Terminal& terminal) {
  *terminal.out << Shown(ReshapeText(reshape)) << (dry_run ? " (dry run)" : "") << "\n";
  for (const v1::Shard& shard : reshape.to()) {
    const v1::KeyRange& range = shard.range();
    *terminal.out << "  " << Shown(shard.id()) << "  "
                  << (reshape.hash_keys() ? HashRangeText(range.start(), range.end())
                                          : RangeText(range.start(), range.end()))
                  << "\n";
  }
}

// How far it is, in words; empty: it is done.
std::string HowFar(const v1::Reshape& reshape, const v1::GetShardsResponse& shards) {
  for (const v1::ShardStatus& shard : shards.shards()) {
    if (shard.shard() != reshape.from(0).id()) continue;
    if (!shard.has_reshape()) return "has not begun";
    const std::string& why = shard.reshape().waits_for();
    return why.empty() ? "is being written" : absl::StrCat("waits: ", why);
  }
  for (const v1::ShardStatus& shard : shards.shards()) {
    for (const v1::Shard& part : reshape.to()) {
      if (shard.shard() != part.id() || shard.state() != "unserved") continue;
      return absl::StrCat(shard.shard(), " is not served yet: ", shard.reason());
    }
  }
  return "";
}

ExitCode Await(const std::string& app, const v1::Reshape& reshape, AdminClient& client,
               Terminal& terminal) {
  v1::GetShardsRequest request;
  request.set_app(app);
  std::string said;
  while (terminal.out->good()) {
    const auto shards = client.GetShards(request);
    if (!shards.ok() && !MayPass(shards.status())) return Fail(shards.status(), client, terminal);
    if (shards.ok()) {
      const std::string progress = HowFar(reshape, *shards);
      if (progress.empty()) {
        *terminal.out << "done: " << Shown(ReshapeText(reshape)) << "\n";
        return kOk;
      }
      if (progress != said) *terminal.out << Shown(progress) << "\n" << std::flush;
      said = progress;
    }
    client.AwaitChange(kLookAgain);
  }
  return kOk;
}

}  // namespace

ExitCode Reshape(const ReshapeCommand& command, AdminClient& client, Terminal& terminal) {
  const auto app = ChooseApp(command.app, client);
  if (!app.ok()) return Fail(app.status(), client, terminal);
  const auto request = RequestOf(command, *app);
  if (!request.ok()) return Wrong(request.status(), terminal);
  const auto response = client.ReshapeShards(*request);
  if (!response.ok()) return Fail(response.status(), client, terminal);
  ShowParts(response->reshape(), command.dry_run, terminal);
  const bool waits = command.wait && !command.dry_run;
  return waits ? Await(*app, response->reshape(), client, terminal) : kOk;
}

}  // namespace shardmanager::cli
