#include "tests/architecture/size_rules.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "absl/strings/str_cat.h"
#include "tests/architecture/outline.h"

namespace shardmanager::architecture {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

// ---- What a file declares.

Class OnlyClass(const std::string& body) {
  const Outline outline = OutlineOf(absl::StrCat("class Book {\n", body, "\n};\n"));
  return outline.classes.size() == 1 ? outline.classes[0] : Class{"not one class"};
}

TEST(OutlineTest, CountsMethodsWhereverTheyAreDefined) {
  EXPECT_EQ(
      OnlyClass("public:\n void Add(int shard);\n int size() const { return size_; }").methods, 2);
  EXPECT_EQ(OnlyClass("void On(Up& event);\nvoid On(Down& event);").methods, 2) << "overloads";
  EXPECT_EQ(OnlyClass("template <typename T> void Each(T&& then);").methods, 1);
  EXPECT_EQ(OnlyClass("absl::Status Run() ABSL_LOCKS_EXCLUDED(mutex_);").methods, 1);
}

TEST(OutlineTest, ConstructorsAndOperatorsAreNoMethods) {
  const Class found = OnlyClass(
      "public:\n explicit Book(int a) : a_{a}, b_(1) {}\n Book() : Book(1) {}\n ~Book();\n"
      "Book& operator=(const Book&) = delete;\n bool operator==(const Book&) const = default;\n"
      "private:\n int a_ = 0;\n int b_ = 0;");
  EXPECT_EQ(found.methods, 0);
  EXPECT_EQ(found.fields, 2);
}

TEST(OutlineTest, CountsFieldsOfEveryShape) {
  EXPECT_EQ(OnlyClass("int a_ = Sum(1, 2);\nstd::function<void(int)> done_;\nFleet f_{a_, b_};\n"
                      "int guarded_ ABSL_GUARDED_BY(mutex_) = 0;\nconst std::map<int, int> m_;")
                .fields,
            5);
  EXPECT_EQ(OnlyClass("std::function<void()> done_ = [] { Go(); };\nint a_, b_;").fields, 3);
  EXPECT_EQ(OnlyClass("static constexpr int kMost = 3;\nusing Id = int;\nfriend class Other;\n"
                      "enum class Kind { kA, kB };\nstruct Forward;")
                .fields,
            0);
}

TEST(OutlineTest, NestedClassesAreClasses) {
  const Outline outline = OutlineOf(
      "namespace a {\nclass Book {\n struct Page { int number; int size; };\n"
      " void Turn();\n};\n}  // namespace a\n");
  ASSERT_EQ(outline.classes.size(), 2u);
  EXPECT_EQ(outline.classes[0].name, "Book::Page");
  EXPECT_EQ(outline.classes[0].fields, 2);
  EXPECT_EQ(outline.classes[1].methods, 1);
  EXPECT_EQ(outline.classes[1].fields, 0);
}

TEST(OutlineTest, MeasuresFunctions) {
  const Outline outline = OutlineOf(
      "#define SHAPE(x) \\\n  void x() {\n// void Comment() {\n"
      "Book::Book(int a)\n    : a_{a},\n      b_{1} {\n}\n"
      "int Book::Sum() const {\n  return [this] {\n    return a_;\n  }();\n}\n"
      "TEST_F(BookTest, Opens) {\n}\nconst int kTable[] = {1, 2};\n");
  ASSERT_EQ(outline.functions.size(), 3u);
  EXPECT_EQ(outline.functions[0].name, "Book::Book");
  EXPECT_EQ(outline.functions[0].lines, 4);
  EXPECT_EQ(outline.functions[1].name, "Book::Sum");
  EXPECT_EQ(outline.functions[1].line, 8);
  EXPECT_EQ(outline.functions[1].lines, 5);
  EXPECT_EQ(outline.functions[2].name, "TEST_F");
}

// ---- The rules.

std::string Repeat(const std::string& text, int times) {
  std::string all;
  for (int i = 0; i < times; ++i) absl::StrAppend(&all, text);
  return all;
}

TEST(ClassSizeTest, RefusesAClassWithTooManyMethodsOrFields) {
  const auto with = [](int methods, int fields) {
    const Tree tree = {
        {"src/a/book.h", absl::StrCat("class Book {\n", Repeat("void F();\n", methods),
                                      Repeat("int f_;\n", fields), "};\n")}};
    return CheckClassSizes(tree, {});
  };
  EXPECT_THAT(with(30, 30), IsEmpty());
  EXPECT_THAT(with(31, 0),
              ElementsAre("src/a/book.h:1: src/a/book.h Book has 31 methods, more than "
                          "30: which classes are in it?"));
  EXPECT_THAT(with(0, 31), ElementsAre(HasSubstr("31 fields")));
}

TEST(ClassSizeTest, WhatIsLargeMayNotGrow) {
  const Tree tree = {{"a.h", absl::StrCat("class Book {\n", Repeat("void F();\n", 33), "};\n")}};
  EXPECT_THAT(CheckClassSizes(tree, {{"a.h Book", "methods", 33}}), IsEmpty());
  EXPECT_THAT(CheckClassSizes(tree, {{"a.h Book", "methods", 32}}),
              ElementsAre("a.h:1: 33 methods, and tables.h has it with 32: it may not grow"));
  EXPECT_THAT(CheckClassSizes(tree, {{"a.h Book", "methods", 34}}),
              ElementsAre(HasSubstr("write the smaller number there")));
}

TEST(ClassSizeTest, TheRowOfAClassThatFitsMustGo) {
  const Tree tree = {{"a.h", "class Book {\n  void F();\n};\n"}};
  EXPECT_THAT(CheckClassSizes(tree, {{"a.h Book", "methods", 33}}),
              ElementsAre(HasSubstr("delete its row")));
}

TEST(FunctionLengthTest, RefusesALongFunction) {
  const auto with = [](int lines) {
    return CheckFunctionLengths(
        {{"a.cc", absl::StrCat("void Run() {\n", Repeat("  Step();\n", lines - 2), "}\n")}}, {});
  };
  EXPECT_THAT(with(60), IsEmpty());
  EXPECT_THAT(with(61), ElementsAre(HasSubstr("a.cc Run has 61 lines, more than 60")));
}

TEST(FileSizeTest, RefusesALongFileAndCountsNoComments) {
  const Tree fits = {{"a.cc", Repeat("int a;\n", 500) + Repeat("// Why.\n\n", 100)}};
  EXPECT_THAT(CheckFileSizes(fits, {}), IsEmpty());
  const Tree tree = {{"a.cc", Repeat("int a;\n", 501)}};
  EXPECT_THAT(CheckFileSizes(tree, {}), ElementsAre(HasSubstr("501 lines of code")));
}

TEST(FolderSizeTest, CountsAHeaderAndItsSourceOnce) {
  Tree tree;
  for (int i = 0; i < 20; ++i) {
    tree.push_back({absl::StrCat("src/a/f", i, ".cc"), ""});
    tree.push_back({absl::StrCat("src/a/f", i, ".h"), ""});
  }
  EXPECT_THAT(CheckFolderSizes(tree, {}), IsEmpty());
  tree.push_back({"src/a/more.h", ""});
  EXPECT_THAT(CheckFolderSizes(tree, {}),
              ElementsAre("src/a: src/a has 21 modules, more than 20: which rooms are in it?"));
}

}  // namespace
}  // namespace shardmanager::architecture
