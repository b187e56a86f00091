#include "cli/roles/verbs.h"

#include <array>

namespace shardmanager::cli {
namespace {

struct Verb {
  std::string_view word;
  std::string_view call;
};
constexpr std::array kVerbs = {
    Verb{"apply", "Admin.ApplyApp"},
    Verb{"approve", "Admin.ApproveOperation"},
    Verb{"delete", "Admin.DeleteApp"},
    Verb{"describe", "Admin.GetApps"},
    Verb{"drain", "Admin.Drain"},
    Verb{"end", "Admin.EndOperation"},
    Verb{"explain", "Admin.ExplainShard"},
    Verb{"get", "Admin.GetApps"},
    Verb{"grant", "Access.Grant"},
    Verb{"history", "Admin.GetHistory"},
    Verb{"maintenance", "Admin.AddMaintenance"},
    Verb{"merge", "Admin.ReshapeShards"},
    Verb{"move", "Admin.MoveShard"},
    Verb{"pause", "Admin.PauseApp"},
    Verb{"pin", "Admin.PinShard"},
    Verb{"place", "Placer.Place"},
    Verb{"prefer", "Admin.PreferRegions"},
    Verb{"release", "Admin.ReleaseServer"},
    Verb{"report", "TaskControl.Report"},
    Verb{"resume", "Admin.ResumeApp"},
    Verb{"retry", "Admin.RetryShard"},
    Verb{"revoke", "Access.Revoke"},
    Verb{"rollout", "Admin.GetRollouts"},
    Verb{"snapshot", "Admin.GetApps"},
    Verb{"split", "Admin.ReshapeShards"},
    Verb{"status", "Admin.GetStatus"},
    Verb{"supply-map", "TaskControl.SupplyMap"},
    Verb{"top", "Admin.GetShards"},
    Verb{"undrain", "Admin.Undrain"},
    Verb{"unpin", "Admin.UnpinShard"},
    Verb{"unquarantine", "Admin.LiftQuarantine"},
    Verb{"forget", "Admin.ForgetServer"},
    Verb{"watch", "Admin.WatchEvents"},
    Verb{"watch-maps", "Discovery.Watch"},
};

}  // namespace

std::vector<std::string> VerbWords() {
  std::vector<std::string> words;
  for (const Verb& verb : kVerbs) words.emplace_back(verb.word);
  return words;
}

std::string_view CallOfVerb(std::string_view verb) {
  for (const Verb& known : kVerbs) {
    if (known.word == verb) return known.call;
  }
  return "";
}

}  // namespace shardmanager::cli
