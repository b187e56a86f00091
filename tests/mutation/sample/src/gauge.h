// A tank and its gauge: the source that the tests of scripts/mutate break.
#pragma once

#include <optional>
#include <string>

namespace sample {

constexpr int Clamped(int value, int most) { return value > most ? most : value; }

class Gauge {
 public:
  explicit Gauge(int most = 100) : most_(most) {}

  // False: there is no room for so much, and nothing has changed.
  bool Fill(int amount);
  // Takes out what is there, but no more than `amount`.
  int Drain(int amount);
  void Seal(const std::string& by);
  void Open();

  int level() const { return level_; }
  bool sealed() const { return sealed_by_.has_value(); }
  int fills() const { return fills_; }

 private:
  int most_;
  int level_ = 0;
  int fills_ = 0;
  std::optional<std::string> sealed_by_;
};

int Ratio(int part, int whole);

}  // namespace sample
