// Local search that only goes down: see search.h.
#pragma once

#include <optional>
#include <vector>

#include "allocator/solver/polish.h"
#include "allocator/solver/search.h"
#include "allocator/solver/target_index.h"

namespace shardmanager::solver {

class Descent {
 public:
  Descent(State& state, const SearchOptions& options);

  // False: out of steps, or of patience.
  bool Run(const Patience& patience);

 private:
  // Which places are looked at.
  enum class Reach : uint8_t { kSample, kAll };
  // One thing that might be tried, and what it would change.
  struct Candidate {
    ObjectId object;
    ContainerId to;
    Score change;
  };
  // How much of a container's excess an object would take away.
  struct Cover {
    double coverage;
    double size;
    ObjectId object;
  };
  struct Undo {
    ObjectId object;
    ContainerId from;
  };
  class Displacer;  // of chains.cc, as is the next
  class Emptier;

  // Objects of a container for which no place was found, until it is left alone.
  static constexpr size_t kMostRefused = 16;
  // Looks over all containers, in a row, that found no place for an object.
  static constexpr int kMostFutileScans = 64;

  // Phases.
  bool PlaceMissing();
  bool RepairGroups(Reach reach);
  bool RepairObjects();
  bool RepairLoads();
  bool RepairCustom();
  bool RepairByChains();
  bool BringHome();
  bool PolishWindows();

  // The best place for a lifted object among `from` and those looked at.
  ContainerId BestPlace(ObjectId o, ContainerId from, Score& best, Reach reach = Reach::kSample);
  bool TryMove(ObjectId o);
  bool ImproveGroup(GroupId g, Reach reach);
  bool Relieve(ContainerId c);
  void ChooseToLeave(ContainerId c, const std::vector<ObjectId>& refused);
  bool FindCovers(ContainerId c, const std::vector<ObjectId>& refused);
  bool CoverWith(size_t n, size_t from, int& looks);
  double CoverageOf(ObjectId o, const std::vector<Amount>& excess) const;
  // Beside the fleet: the sum of its parts of each metric's total.
  double SizeOf(ObjectId o) const;
  bool RelieveByChains(ContainerId c);
  bool MayChain(bool hard);
  bool TryChain(ObjectId o, ContainerId to, int depth);
  bool PlaceByScan(ObjectId o);
  bool PlaceByChain(ObjectId o);
  // Moves objects other than `keep` off `c` while some rule of it is broken; returns what
  // that changed. Containers that it fills too much eject in turn, down to `depth`.
  Score Eject(ContainerId c, ObjectId keep, int depth);
  // The objects of `c` whose leaving would relieve it, most relief first.
  void RankByRelief(ContainerId c, std::vector<Candidate>& out);
  void Shift(ObjectId o, ContainerId to, Score& change);
  void RollBack(size_t to);

  std::vector<ContainerId> HotContainers(int level) const;
  std::vector<int> LoadLevels() const;
  bool OutOfSteps() const {
    return state_.steps() >= options_.step_budget || state_.moved() >= options_.most_moves ||
           patience_->Over(state_.steps());
  }

  State& state_;
  const SearchOptions options_;
  const Patience* patience_ = nullptr;  // during Run()
  TargetIndex targets_;
  Random random_;
  Polish polish_;
  std::optional<uint64_t> steps_before_chains_;
  std::vector<Undo> log_;             // of the chain that is tried
  std::vector<double> size_unit_;     // of each metric
  std::vector<GroupId> heavy_first_;  // all groups, by GroupBoard::FactorOf(); empty: as they come
  int futile_scans_ = 0;
  // Scratch.
  std::vector<TargetIndex::Target> places_;
  std::vector<Amount> excess_;
  std::vector<Cover> covers_;
  std::vector<ObjectId> chosen_;
  std::vector<ObjectId> refused_;
  std::vector<Candidate> reliefs_;
  std::vector<uint32_t> ranking_;
};

}  // namespace shardmanager::solver
