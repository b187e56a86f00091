// The table of calls and roles, what is decided by it, and what is said of a refusal.
#include "security/access.h"

#include <gmock/gmock.h>
#include <google/protobuf/descriptor.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <iterator>
#include <set>
#include <string>
#include <vector>

#include "shardmanager/v1/access.pb.h"
#include "shardmanager/v1/admin.pb.h"
#include "shardmanager/v1/discovery.pb.h"
#include "shardmanager/v1/placer.pb.h"
#include "shardmanager/v1/shard_server.pb.h"
#include "shardmanager/v1/task_control.pb.h"
#include "shardmanager/v1/transfer.pb.h"
#include "tests/golden/source_root.h"

namespace shardmanager::security {
namespace {

using ::google::protobuf::FileDescriptor;
using ::google::protobuf::MethodDescriptor;
using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

std::string TextOf(const std::filesystem::path& path) {
  std::ifstream in(SourceRoot() / path);
  return {std::istreambuf_iterator<char>(in), {}};
}

std::vector<const FileDescriptor*> FilesWithServices() {
  return {v1::GrantRequest::descriptor()->file(),       v1::DrainRequest::descriptor()->file(),
          v1::WatchRequest::descriptor()->file(),       v1::PlaceRequest::descriptor()->file(),
          v1::AddShardRequest::descriptor()->file(),    v1::ReportRequest::descriptor()->file(),
          v1::OpenTransferRequest::descriptor()->file()};
}

std::vector<const MethodDescriptor*> AllMethods() {
  std::vector<const MethodDescriptor*> methods;
  for (const FileDescriptor* file : FilesWithServices()) {
    for (int s = 0; s < file->service_count(); ++s) {
      for (int m = 0; m < file->service(s)->method_count(); ++m) {
        methods.push_back(file->service(s)->method(m));
      }
    }
  }
  return methods;
}

Caller Of(const std::string& path, std::vector<HeldRole> granted = {}) {
  Caller caller{*IdentityOfPath("prod", path), {}};
  caller.roles = RolesOf(caller.identity);
  caller.roles.insert(caller.roles.end(), granted.begin(), granted.end());
  return caller;
}

bool May(const Caller& caller, const char* service, const char* method, const char* app = "kv") {
  return MayCall(caller, *RuleOf(service, method), app).ok();
}

TEST(AccessTest, EachFileWithServicesIsLookedAt) {
  std::set<std::string> looked_at;
  for (const FileDescriptor* file : FilesWithServices()) looked_at.insert(file->name());
  size_t found = 0;
  for (const auto& entry :
       std::filesystem::directory_iterator(SourceRoot() / "proto/shardmanager/v1")) {
    const std::string name = "shardmanager/v1/" + entry.path().filename().string();
    if (TextOf("proto/" + name).find("\nservice ") == std::string::npos) continue;
    ++found;
    EXPECT_TRUE(looked_at.contains(name)) << name;
  }
  EXPECT_EQ(found, looked_at.size());
}

TEST(AccessTest, EachCallHasARowAndEachRowACall) {
  std::set<std::string> methods;
  for (const MethodDescriptor* method : AllMethods()) {
    EXPECT_TRUE(methods.insert(method->name()).second) << method->name() << ": in two services";
    const Rule* rule = RuleOf(method->service()->name(), method->name());
    ASSERT_NE(rule, nullptr) << method->full_name() << " has no row in src/security/access.cc";
    EXPECT_EQ(RuleOfRequest(method->input_type()->name()), rule)
        << method->full_name() << ": its request is to be " << method->name() << "Request";
  }
  EXPECT_EQ(AllRules().size(), methods.size());
}

// One of several requests, each of which names an app.
bool IsOfChangesOfApps(const google::protobuf::Descriptor& request) {
  if (request.real_oneof_decl_count() != 1) return false;
  const google::protobuf::OneofDescriptor& changes = *request.oneof_decl(0);
  for (int i = 0; i < changes.field_count(); ++i) {
    if (changes.field(i)->message_type()->FindFieldByName("app") == nullptr) return false;
  }
  return true;
}

// Else a role of an app would be asked for that no request can name, or hold for all of them.
TEST(AccessTest, RolesOfAnAppAreAskedForWhereTheRequestNamesOne) {
  for (const MethodDescriptor* method : AllMethods()) {
    const Rule& rule = *RuleOf(method->service()->name(), method->name());
    const auto* spec = method->input_type()->FindFieldByName("spec");
    const bool names_app =
        method->input_type()->FindFieldByName("app") != nullptr ||
        (spec != nullptr && spec->message_type()->FindFieldByName("name") != nullptr) ||
        IsOfChangesOfApps(*method->input_type());
    EXPECT_TRUE(names_app || rule.app != AppRule::kNamed) << CallOf(rule);
    EXPECT_TRUE(rule.anyone || rule.roles != 0) << CallOf(rule) << ": nobody may";
  }
}

TEST(AccessTest, TheDocumentHasTheTable) {
  EXPECT_THAT(TextOf("docs/security-roles.md"), HasSubstr(RoleTableText())) << "put this into it:\n"
                                                                            << RoleTableText();
}

TEST(AccessTest, NamesOfRolesAreReadAsTheyAreWritten) {
  for (size_t r = 0; r < kRoles; ++r) {
    const auto role = static_cast<Role>(r);
    EXPECT_EQ(RoleOfName(NameOf(role)), role);
  }
  EXPECT_EQ(RoleOfName("root"), std::nullopt);
  EXPECT_EQ(RoleOfName(""), std::nullopt);
}

TEST(AccessTest, AnOperatorsCertificateAloneMayNothingButAskWhoItIs) {
  size_t may = 0;
  for (const Rule& rule : AllRules()) {
    const bool is_for_anyone = CallOf(rule) == "Admin.GetStatus" ||
                               CallOf(rule) == "Access.WhoAmI" || CallOf(rule) == "Access.CanI";
    EXPECT_EQ(MayCall(Of("operator/alice"), rule, "kv").ok(), is_for_anyone) << CallOf(rule);
    may += is_for_anyone ? 1 : 0;
  }
  EXPECT_EQ(may, 3u);
}

TEST(AccessTest, AnAdminMayAllButWhatGoesAroundTheControlPlane) {
  for (const Rule& rule : AllRules()) {
    const bool is_around = rule.service == "ShardServer" || rule.service == "ShardTransfer";
    EXPECT_EQ(MayCall(Of("admin/root"), rule, "kv").ok(), !is_around) << CallOf(rule);
    EXPECT_EQ(MayCall(Of("operator/boss", {{Role::kAdmin}}), rule, "").ok(), !is_around);
  }
}

TEST(AccessTest, ATrialCertificateMayAll) {
  const Caller trial{{.kind = Kind::kTrial, .cell = "trial", .name = "t"},
                     RolesOf({.kind = Kind::kTrial, .cell = "trial", .name = "t"})};
  for (const Rule& rule : AllRules()) EXPECT_TRUE(MayCall(trial, rule, "kv").ok()) << CallOf(rule);
}

TEST(AccessTest, AnAppOwnerOwnsNoOtherApp) {
  const Caller owner = Of("operator/alice", {{Role::kAppOwner, {"kv", "search"}}});
  for (const char* method : {"ApplyApp", "DeleteApp", "ReshapeShards", "Drain", "GetShards"}) {
    EXPECT_TRUE(May(owner, "Admin", method, "kv")) << method;
    EXPECT_TRUE(May(owner, "Admin", method, "search")) << method;
    EXPECT_FALSE(May(owner, "Admin", method, "kv2")) << method;
    EXPECT_FALSE(May(owner, "Admin", method, "")) << method << ": all apps";
  }
  EXPECT_FALSE(May(owner, "Admin", "AddMaintenance", ""));
  EXPECT_TRUE(May(owner, "Placer", "Place", "")) << "of whichever app";
}

TEST(AccessTest, AViewerChangesNothing) {
  const Caller viewer = Of("operator/eve", {{Role::kViewer}});
  EXPECT_TRUE(May(viewer, "Admin", "GetApps", ""));
  EXPECT_TRUE(May(viewer, "Admin", "WatchEvents", ""));
  EXPECT_TRUE(May(viewer, "Discovery", "Watch"));
  EXPECT_FALSE(May(viewer, "Discovery", "ReportServers"));
  EXPECT_FALSE(May(viewer, "Admin", "Drain"));
  EXPECT_FALSE(May(viewer, "Placer", "Place", ""));
  EXPECT_FALSE(May(viewer, "Access", "Grant", ""));
}

TEST(AccessTest, AnOperatorChangesNoSpec) {
  const Caller op = Of("operator/bob", {{Role::kOperator}});
  for (const char* method : {"Drain", "PauseApp", "PinShard", "AddMaintenance", "RetryShard",
                             "MoveShard", "LiftQuarantine", "ForgetServer", "Preview"}) {
    EXPECT_TRUE(May(op, "Admin", method, "")) << method;
  }
  for (const char* method : {"ApplyApp", "DeleteApp", "ReshapeShards"}) {
    EXPECT_FALSE(May(op, "Admin", method)) << method;
  }
  EXPECT_TRUE(May(op, "TaskControl", "Report"));
  EXPECT_FALSE(May(op, "TaskControl", "SupplyMap"));
}

TEST(AccessTest, ProgramsMayWhatTheirCertificatesSay) {
  EXPECT_TRUE(May(Of("server/kv/kv-1"), "Discovery", "Watch", "kv"));
  EXPECT_FALSE(May(Of("server/kv/kv-1"), "Discovery", "Watch", "search"));
  EXPECT_TRUE(May(Of("server/kv/kv-1"), "TaskControl", "SupplyMap", "kv"));
  EXPECT_TRUE(May(Of("server/kv/kv-1"), "ShardTransfer", "ReadRows", "kv"));
  EXPECT_FALSE(May(Of("server/search/s-1"), "ShardTransfer", "ReadRows", "kv"));
  EXPECT_TRUE(May(Of("client/kv/search/c"), "Discovery", "Watch", "search"));
  EXPECT_FALSE(May(Of("client/kv/c"), "Admin", "GetApps", "kv"));
  EXPECT_TRUE(May(Of("relay/r-1"), "Discovery", "ReportServers", "kv"));
  EXPECT_TRUE(May(Of("control-plane/sm-1"), "ShardServer", "AddShard", "kv"));
  EXPECT_FALSE(May(Of("control-plane/sm-1"), "Admin", "Drain", "kv"));
  EXPECT_FALSE(May(Of("relay/r-1"), "ShardServer", "AddShard", "kv"));
}

TEST(AccessTest, ARefusalSaysWhoWhichRoleAndHowToGetIt) {
  const auto why = [](const Caller& caller, const char* service, const char* method,
                      const char* app) {
    const absl::Status status = MayCall(caller, *RuleOf(service, method), app);
    EXPECT_EQ(status.code(), absl::StatusCode::kPermissionDenied);
    return std::string(status.message());
  };
  EXPECT_EQ(
      why(Of("operator/alice", {{Role::kViewer}}), "Admin", "Drain", "kv"),
      "operator/alice may not call Admin.Drain for app kv: missing role operator or app-owner "
      "of app kv or admin; it has viewer. An admin gives it a role with `shardctl grant "
      "operator/alice app-owner --app kv`");
  EXPECT_EQ(why(Of("operator/alice"), "Admin", "GetApps", ""),
            "operator/alice may not call Admin.GetApps for all apps: missing role viewer or "
            "operator or admin; it has none. An admin gives it a role with `shardctl grant "
            "operator/alice viewer`");
  EXPECT_EQ(why(Of("server/kv/kv-1"), "ShardServer", "AddShard", "kv"),
            "server/kv/kv-1 may not call ShardServer.AddShard: missing role control-plane; it has "
            "server of kv. Only a certificate gives that role");
  EXPECT_THAT(why(Of("operator/a", {{Role::kAppOwner, {"kv"}}}), "Admin", "DeleteApp", "x\ny"),
              AllOf(HasSubstr("of app x\\ny"), HasSubstr("it has app-owner of kv")));
  EXPECT_THAT(why(Of("operator/a"), "Placer", "Place", ""), HasSubstr("app-owner --app APP"));
}

TEST(AccessTest, WhatIsNoCallIsNobodys) {
  EXPECT_EQ(RuleOf("Admin", "Explode"), nullptr);
  EXPECT_EQ(RuleOf("Placer", "Drain"), nullptr);
  EXPECT_EQ(RuleOfRequest("Request"), nullptr);
  EXPECT_EQ(RuleOfRequest("DrainReques"), nullptr);
  EXPECT_EQ(RuleOfRequest("ExplodeRequest"), nullptr);
}

TEST(AccessTest, SaysWhichRolesWouldDo) {
  EXPECT_THAT(RolesFor(*RuleOf("TaskControl", "SupplyMap"), "kv"),
              ElementsAre("app-owner of app kv", "admin", "server of app kv"));
  EXPECT_THAT(RolesFor(*RuleOf("Admin", "GetStatus"), ""),
              ElementsAre("any certificate of the cell"));
  EXPECT_THAT(RolesOf(*IdentityOfPath("prod", "operator/a")), IsEmpty());
}

}  // namespace
}  // namespace shardmanager::security
