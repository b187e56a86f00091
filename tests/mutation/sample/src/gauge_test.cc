// gauge_test NAME: one test of the sample; the exit code says whether it passes.
#include "gauge.h"

#include <cstdio>
#include <functional>
#include <map>
#include <string>

namespace {

int failures = 0;

void Expect(bool holds, const char* what) {
  if (holds) return;
  std::printf("wrong: %s\n", what);
  ++failures;
}

void Fills() {
  sample::Gauge gauge(10);
  Expect(gauge.Fill(10), "there is room for 10");
  Expect(!gauge.Fill(1), "there is no room for 11");
  Expect(gauge.level() == 10, "10 are in it");
}

void Drains() {
  sample::Gauge gauge(10);
  gauge.Fill(4);
  Expect(gauge.Drain(3) == 3, "takes what it asks for");
  Expect(gauge.Drain(3) == 1, "takes what is there");
  Expect(gauge.level() == 0, "nothing is left");
}

void Seals() {
  sample::Gauge gauge(10);
  gauge.Seal("a test");
  Expect(!gauge.Fill(1), "it is sealed");
  gauge.Open();
  Expect(gauge.Fill(1), "it is open again");
}

}  // namespace

int main(int argc, char** argv) {
  const std::map<std::string, std::function<void()>> tests = {
      {"fills", Fills}, {"drains", Drains}, {"seals", Seals}};
  if (argc != 2 || !tests.contains(argv[1])) return 2;
  tests.at(argv[1])();
  return failures == 0 ? 0 : 1;
}
