#include <gtest/gtest.h>

#include "config/config_test_util.h"

namespace idlesim::config {
namespace {

TEST(Extends, MergesObjectsAndReplacesArraysAndParameters) {
  const TestFiles files("merge");
  files.write("base.json", R"({
  "name": "base", "list": [1, 2, 3], "deep": {"kept": 1, "changed": 2},
  "cost": {"value": 5, "source": "s", "origin": "assumed", "range": [4, 6]}
})");
  files.write("middle.json", R"({"extends": "base", "deep": {"middle": 1}, "plain": {"a": 1}})");
  const std::string path = files.write("top.json", R"({
  "extends": "middle", "name": "top", "list": [9], "deep": {"changed": 3, "new": 4},
  "cost": {"value": 50, "source": "t", "origin": "measured"}, "more": true,
  "plain": {"value": 2}
})");
  Document doc = load_with_extends(path);
  EXPECT_EQ(doc.resolved_json(), R"({
  "name": "top",
  "list": [9],
  "deep": {
    "kept": 1,
    "changed": 3,
    "middle": 1,
    "new": 4
  },
  "cost": {
    "value": 50,
    "source": "t",
    "origin": "measured"
  },
  "plain": {
    "value": 2
  },
  "more": true
}
)");
  ASSERT_EQ(doc.files().size(), 3u);
  EXPECT_EQ(files.without_directory(doc.files()[0] + doc.files()[1] + doc.files()[2]),
            "top.jsonmiddle.jsonbase.json");
}

TEST(Extends, ErrorsPointToTheFileTheValueCameFrom) {
  const TestFiles files("places");
  files.write("base.json",
              "{\n\"a\": \"x\",\n\"b\": {\"c\": \"x\",\n\"d\": \"x\"}, \"l\": [\"x\"]}");
  const std::string path = files.write(
      "top.json", "{\"extends\": \"base\",\n\"b\": {\n\n\"d\": \"y\"}, \"l\": [1, \"y\"]}");
  Document doc = load_with_extends(path);
  Reader in = doc.root();
  in.integer("a", 0, 1);
  in.object("b").integer("c", 0, 1);
  in.object("b").integer("d", 0, 1);
  in.object("b").integer("e", 0, 1);
  in.integers("l", 0, 1);
  EXPECT_EQ(files.without_directory(error_of([&] { doc.finish(); })),
            "top.json:2:6: /b/e: missing key; expected an integer\n"
            "top.json:4:6: /b/d: expected an integer, found \"y\"\n"
            "top.json:4:21: /l/1: expected an integer, found \"y\"\n"
            "base.json:2:6: /a: expected an integer, found \"x\"\n"
            "base.json:3:12: /b/c: expected an integer, found \"x\"");
}

TEST(Extends, TheKeyExtendsMayStandAnywhere) {
  const TestFiles files("anywhere");
  files.write("base.json", R"({"a": 1, "b": 2})");
  files.write("middle.json", R"({"a": 3, "extends": "base", "c": 4, "d": 5})");
  Document doc = load_with_extends(files.write("top.json", R"({"d": 7, "extends": "middle"})"));
  EXPECT_EQ(doc.resolved_json(), "{\n  \"a\": 3,\n  \"b\": 2,\n  \"c\": 4,\n  \"d\": 7\n}\n");
}

TEST(Extends, TheRightKeyIsReplacedWhenABaseExtendsToo) {
  const TestFiles files("taken");
  files.write("empty.json", "{}");
  files.write("base.json", R"({"extends": "empty", "a": 1, "b": 2})");
  Document doc = load_with_extends(files.write("top.json", R"({"extends": "base", "a": 5})"));
  EXPECT_EQ(doc.resolved_json(), "{\n  \"a\": 5,\n  \"b\": 2\n}\n");
}

TEST(Extends, MissingBaseCycleAndWrongType) {
  const TestFiles files("bad");
  files.write("linux-6.12.json", "{}");
  const auto load = [&](const std::string& name, const std::string& text) {
    const std::string path = files.write(name, text);
    return files.without_directory(error_of([&] { load_with_extends(path); }));
  };
  EXPECT_EQ(load("a.json", "{\"n\": 1,\n \"extends\": \"linux-6.1x\"}"),
            "a.json:2:13: /extends: there is no file \"linux-6.1x.json\"; did you mean "
            "\"linux-6.12\"?");
  EXPECT_EQ(load("a.json", "{\"extends\": 1}"),
            "a.json:1:13: /extends: expected a string, found a number");
  EXPECT_EQ(load("a.json", "{\"extends\": \"a\"}"),
            "a.json:1:13: /extends: files extend each other: a.json -> a.json");
  files.write("b.json", "{\n\"extends\": \"c\"}");
  files.write("c.json", "{\n\n\"extends\": \"b\"}");
  EXPECT_EQ(load("a.json", "{\"extends\": \"b\"}"),
            "c.json:3:12: /extends: files extend each other: b.json -> c.json -> b.json");
  files.write("list.json", "[1]");
  EXPECT_EQ(load("a.json", "{\"extends\": \"list\"}"),
            "list.json:1:1: /: expected an object to extend, found an array");
  files.write("broken.json", "{\n]");
  EXPECT_TRUE(load("a.json", "{\"extends\": \"broken\"}").starts_with("broken.json:2:1: /: not "));
  EXPECT_EQ(load("a.json", "{}"), "");
}

TEST(Extends, DuplicatesOfEveryFileAreReported) {
  const TestFiles files("duplicates");
  files.write("base.json", "{\"a\": 1, \"a\": 2}");
  Document doc =
      load_with_extends(files.write("top.json", "{\"extends\": \"base\", \"extends\": \"other\"}"));
  doc.root().integer("a", 0, 9);
  EXPECT_EQ(files.without_directory(error_of([&] { doc.finish(); })),
            "top.json:1:21: /extends: duplicate key; it stands in line 1 already\n"
            "base.json:1:10: /a: duplicate key; it stands in line 1 already");
}

TEST(Extends, TheCallerSaysWhereBasesAre) {
  const TestFiles files("resolver");
  const std::string base = files.write("other.json", R"({"a": 1})");
  std::string asked;
  Document doc = load_with_extends(files.write("top.json", R"({"extends": "kernel:6.1"})"),
                                   [&](const std::string& name, const std::string& from) {
                                     asked = name + " " + files.without_directory(from);
                                     return base;
                                   });
  EXPECT_EQ(asked, "kernel:6.1 top.json");
  EXPECT_EQ(doc.root().integer("a", 0, 1), 1);
  doc.finish();
}

}  // namespace
}  // namespace idlesim::config
