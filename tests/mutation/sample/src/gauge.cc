#include "gauge.h"

#include <algorithm>
#include <cassert>
#include <string>

namespace sample {
namespace {

constexpr int kHundred = 100;  // known at compile time: no place for a fault

void Note(const std::string& what) {
  static std::string last;
  last = what;
}

}  // namespace

bool Gauge::Fill(int amount) {
  assert(amount >= 0);  // a macro: no place either
  if (sealed() || level_ + amount > most_) return false;
  level_ += amount;  // (a comment, with "quotes")
  ++fills_;
  Note("filled");
  return true;
}

int Gauge::Drain(int amount) {
  const int taken = Clamped(amount, level_);
  level_ = level_ - taken;
  return taken;
}

void Gauge::Seal(const std::string& by) { sealed_by_ = by; }

void Gauge::Open() { sealed_by_.reset(); }

int Ratio(int part, int whole) {
  int sum = 0;
  for (int i = 0; i < 3; ++i) sum += std::max(0, part);
  return whole == 0 ? 0 : kHundred * sum / 3 / whole;
}

}  // namespace sample
