// The commands that simulate nothing.
#include <nlohmann/json.hpp>

#include "app/app_test_util.h"
#include "idlesim/kernel/features.h"

namespace idlesim::app {
namespace {

using nlohmann::json;

TEST(Commands, HelpIsTheSameBothWays) {
  for (const char* name : {"run", "compare", "export", "trace", "reproduce", "explain", "list",
                           "validate", "schema", "version"}) {
    const Result by_command = call({"help", name});
    EXPECT_EQ(by_command.code, 0);
    EXPECT_EQ(by_command.out, call({name, "--help"}).out);
    // Examples come first.
    EXPECT_LT(by_command.out.find("Examples:\n  idlesim " + std::string(name)),
              by_command.out.find("Usage: idlesim " + std::string(name)));
    EXPECT_NE(call({"help"}).out.find("\n  " + std::string(name) + " "), std::string::npos);
  }
  EXPECT_EQ(call({"--help"}).out, call({"help"}).out);
  EXPECT_EQ(call({"help", "rnu"}).code, 2);
}

TEST(Commands, Version) {
  const Result text = call({"--version"});
  EXPECT_EQ(text.code, 0);
  EXPECT_EQ(text.out, call({"version"}).out);
  EXPECT_TRUE(text.out.starts_with("idlesim ")) << text.out;
  const json version = json::parse(call({"--version", "--json"}).out);
  for (const char* key : {"version", "git_commit", "compiler", "flags"})
    EXPECT_NE(version[key], "") << key;
  EXPECT_GE(version["model_version"], 1);
}

TEST(Commands, ListsFeaturesAndTheirValues) {
  const json listed = json::parse(call({"list", "features", "-f", "json"}).out)["features"];
  ASSERT_EQ(listed.size(), kernel::feature_axes().size());
  for (std::size_t i = 0; i < listed.size(); ++i) {
    const kernel::FeatureAxis& axis = kernel::feature_axes()[i];
    EXPECT_EQ(listed[i]["name"], axis.name);
    EXPECT_EQ(listed[i]["values"].size(), axis.values.size());
  }
  const std::string text = call({"list", "features"}).out;
  EXPECT_NE(text.find("wake_queue: "), std::string::npos);
  EXPECT_NE(text.find("\n  csq_notify "), std::string::npos);
  EXPECT_EQ(call({"list", "feature"}).code, 2);
}

TEST(Commands, Schema) {
  EXPECT_NE(call({"schema"}).out.find("scenario-v1\n"), std::string::npos);
  EXPECT_EQ(call({"schema", "scenario"}).out,
            read_text(IDLESIM_SOURCE_DIR "/sim-configs/schemas/scenario-v1.schema.json"));
  const Result wrong = call({"schema", "scenaro"});
  EXPECT_EQ(wrong.code, 2);
  EXPECT_EQ(wrong.err,
            "error: there is no schema \"scenaro\"; did you mean \"scenario\"? ('idlesim schema' "
            "lists them)\n");
}

TEST(Commands, ExplainFollowsTheFeatures) {
  const auto explain = [](const char* variant) {
    const Result result = call({"explain", "ipistorm-epyc-milan", "--variant", variant});
    EXPECT_EQ(result.code, 0) << result.err;
    return result.out;
  };
  const std::string baseline = explain("baseline");
  EXPECT_NE(baseline.find("gets TIF_NEED_RESCHED"), std::string::npos);
  EXPECT_NE(baseline.find("schedule_idle(): a whole pick"), std::string::npos);
  EXPECT_EQ(baseline.find("gets TIF_NOTIFY_IPI"), std::string::npos);
  const std::string notify = explain("tif-notify-ipi");
  EXPECT_NE(notify.find("gets TIF_NOTIFY_IPI"), std::string::npos);
  EXPECT_EQ(notify.find("schedule_idle(): a whole pick"), std::string::npos);
  const std::string revert = explain("revert-b2a02fc43a1f");
  EXPECT_NE(revert.find("whether the target polls is not asked"), std::string::npos);
  EXPECT_EQ(revert.find("when the flag word was set instead"), std::string::npos);
  EXPECT_EQ(call({"explain", "ipistorm-epyc-milan", "--variant", "x"}).code, 2);
}

// The cost of a segment is its instructions at the kernel's IPC: 28 at 1.2 and 3.5 GHz are 6.7 ns,
// at 1.0 they are 8.0 ns.
TEST(Commands, ExplainShowsOriginsAndOverrides) {
  const std::string plain = call({"explain", "ipistorm-epyc-milan"}).out;
  EXPECT_NE(plain.find("/core/kernel_ipc = 1.2"), std::string::npos);
  EXPECT_NE(plain.find("[assumed, 0.6 to 2]"), std::string::npos);
  const std::string line = "  ipistorm: the thread's loop";
  EXPECT_NE(plain.find("   28       6.7" + line), std::string::npos);
  const std::string changed =
      call({"explain", "ipistorm-epyc-milan", "--set", "machine.core.kernel_ipc=1.0"}).out;
  EXPECT_NE(changed.find("/core/kernel_ipc = 1"), std::string::npos);
  EXPECT_NE(changed.find("[assumed, 0.6 to 2, overridden]"), std::string::npos);
  EXPECT_NE(changed.find("   28       8.0" + line), std::string::npos);
}

}  // namespace
}  // namespace idlesim::app
