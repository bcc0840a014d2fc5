// What `run` prints and writes.
#include <nlohmann/json.hpp>
#include <valijson/adapters/nlohmann_json_adapter.hpp>
#include <valijson/schema.hpp>
#include <valijson/schema_parser.hpp>
#include <valijson/validator.hpp>

#include "app/app_test_util.h"
#include "idlesim/report/json.h"
#include "idlesim/report/schemas.h"

namespace idlesim::app {
namespace {

using nlohmann::json;

bool matches(const char* schema_name, const json& document) {
  const json schema_json = json::parse(report::find_schema(schema_name)->text);
  valijson::Schema schema;
  const valijson::adapters::NlohmannJsonAdapter adapter(schema_json);
  valijson::SchemaParser(valijson::SchemaParser::kDraft7).populateSchema(adapter, schema);
  valijson::Validator validator;
  const valijson::adapters::NlohmannJsonAdapter target(document);
  return validator.validate(schema, target, nullptr);
}

class Run : public AppTest {
 protected:
  Result run(std::vector<std::string> more) {
    std::vector<std::string> arguments = {"run", write("s.json", kSmall)};
    arguments.insert(arguments.end(), more.begin(), more.end());
    return call(arguments);
  }
};

TEST_F(Run, JsonIsAllThereIsOnStandardOutputAndMatchesItsSchema) {
  const Result result = run({"-f", "json"});
  EXPECT_EQ(result.code, 0);
  EXPECT_EQ(result.err, "");
  const json document = json::parse(result.out);
  EXPECT_TRUE(matches("report", document));
  EXPECT_FALSE(matches("scenario", document));
  EXPECT_EQ(document["incomplete"], false);
  EXPECT_EQ(document["variants"].size(), 2u);
  EXPECT_EQ(document["variants"][1]["changes"].size(), 1u);
  EXPECT_EQ(document["variants"][0]["metrics"]["call_round_trip_ns"]["n"], 2 * 50);
}

TEST_F(Run, ManifestSaysWhatMadeTheReport) {
  const json manifest = json::parse(run({"-f", "json", "-j", "2"}).out)["manifest"];
  const json version = json::parse(call({"version", "--json"}).out);
  EXPECT_EQ(manifest["version"], version["version"]);
  EXPECT_EQ(manifest["git_commit"], version["git_commit"]);
  const json rest = manifest["volatile"];
  EXPECT_EQ(rest["compiler"], version["compiler"]);
  EXPECT_EQ(rest["jobs"], 2);
  EXPECT_EQ(rest["command_line"],
            json({"idlesim", "run", path("s.json"), "-f", "json", "-j", "2"}));
  const std::string start = rest["start_time"];
  EXPECT_TRUE(start.size() == 20 && start[10] == 'T' && start.back() == 'Z') << start;
  EXPECT_GT(rest["duration_s"], 0.0);
  EXPECT_NE(rest["host"], "");
}

TEST_F(Run, TheNumberOfJobsChangesNothing) {
  json one = json::parse(run({"-f", "json", "-j", "1"}).out);
  json two = json::parse(run({"-f", "json", "-j", "2"}).out);
  EXPECT_NE(one["manifest"].erase("volatile"), 0u);
  two["manifest"].erase("volatile");
  EXPECT_EQ(one.dump(), two.dump());
  EXPECT_EQ(run({"-j", "1"}).out, run({"-j", "2"}).out);
}

TEST_F(Run, RunsAndSeedReplaceTheScenarios) {
  const json document = json::parse(run({"-f", "json", "-n", "3", "--seed", "7"}).out);
  EXPECT_EQ(document["manifest"]["runs"], 3);
  EXPECT_EQ(document["manifest"]["seed"], 7);
  EXPECT_EQ(document["variants"][0]["runs"], 3);
  const json other = json::parse(run({"-f", "json", "-n", "3", "--seed", "8"}).out);
  EXPECT_NE(document["variants"].dump(), other["variants"].dump());
}

TEST_F(Run, SetReachesMachineKernelAndWorkload) {
  const json plain = json::parse(run({"-f", "json"}).out);
  const json changed =
      json::parse(run({"-f", "json", "--set", "machine.core.kernel_ipc=1.0", "--set",
                       "machine.topology.scale=2", "--set", "workload.parameters.numipi=20",
                       "--set", "kernel.schedule_idle=conditional"})
                      .out);
  EXPECT_EQ(plain["variants"][0]["machine"], "epyc-milan-2s-64c");
  EXPECT_EQ(changed["variants"][0]["machine"],
            "epyc-milan-2s-64c x2 (synthetic) with core.kernel_ipc=1.0");
  EXPECT_EQ(changed["variants"][0]["metrics"]["call_round_trip_ns"]["n"], 2 * 20);
  // The command line wins over the variant's own setting: nothing is left to compare.
  EXPECT_EQ(changed["variants"][1]["changes"].size(), 0u);
  EXPECT_EQ(plain["variants"][1]["changes"][0],
            json({{"path", "kernel.schedule_idle"}, {"from", "full"}, {"to", "sm_idle"}}));
  EXPECT_NE(plain["scenario"]["digest"], changed["scenario"]["digest"]);
}

TEST_F(Run, ScaledMachinesHaveMoreCpus) {
  EXPECT_EQ(run({"--set", "workload.parameters.cpulist=[300]"}).code, 2);
  EXPECT_EQ(
      run({"--set", "workload.parameters.cpulist=[300]", "--set", "machine.topology.scale=2"}).code,
      0);
}

// Nothing in the resolved scenario depends on where the files are.
TEST_F(Run, TheDigestIsOfContentsNotOfPaths) {
  const std::string first = json::parse(run({"-f", "json"}).out)["scenario"]["digest"];
  const Result moved = call({"run", write("moved.json", kSmall), "-f", "json"});
  EXPECT_EQ(json::parse(moved.out)["scenario"]["digest"], first);
}

TEST_F(Run, WritesTheFileAtOnce) {
  const std::string expected = run({}).out;
  const std::string output = path("report.txt");
  const Result result = run({"-o", output});
  EXPECT_EQ(result.out, "");
  EXPECT_EQ(read_text(output), expected);
  std::size_t files = 0;
  for ([[maybe_unused]] const auto& entry : std::filesystem::directory_iterator(directory_))
    ++files;
  EXPECT_EQ(files, 2u);  // scenario and report, no temporary file
  EXPECT_EQ(run({"-o", "-"}).out, expected);
}

TEST_F(Run, ColorFollowsOptionThenEnvironmentThenTerminal) {
  const auto colored = [&](std::vector<std::string> options, const Circumstances& circumstances) {
    std::vector<std::string> arguments = {"run", write("s.json", kSmall), "-n", "1"};
    arguments.insert(arguments.end(), options.begin(), options.end());
    return call(arguments, circumstances).out.find('\033') != std::string::npos;
  };
  using Env = std::map<std::string, std::string>;
  EXPECT_FALSE(colored({}, {}));
  EXPECT_TRUE(colored({}, {{}, true}));
  EXPECT_FALSE(colored({}, {Env{{"TERM", "dumb"}}, true}));
  EXPECT_FALSE(colored({}, {Env{{"NO_COLOR", "1"}}, true}));
  EXPECT_TRUE(colored({}, {Env{{"NO_COLOR", ""}}, true}));
  EXPECT_TRUE(colored({}, {Env{{"FORCE_COLOR", "1"}}, false}));
  EXPECT_TRUE(colored({}, {Env{{"CLICOLOR_FORCE", "1"}}, false}));
  EXPECT_FALSE(colored({}, {Env{{"NO_COLOR", "1"}, {"FORCE_COLOR", "1"}}, true}));
  EXPECT_TRUE(colored({"--color", "always"}, {Env{{"NO_COLOR", "1"}}, false}));
  EXPECT_FALSE(colored({"--color=never"}, {Env{{"FORCE_COLOR", "1"}}, true}));
  EXPECT_FALSE(colored({"-f", "json", "--color=always"}, {{}, true}));
  // A file is no terminal.
  const std::string output = path("o.txt");
  colored({"-o", output}, {{}, true});
  EXPECT_EQ(read_text(output).find('\033'), std::string::npos);
}

// With UPDATE_GOLDEN=1 in the environment the file is written instead of compared.
TEST_F(Run, GoldenTextReport) {
  const Result result =
      call({"run", "ipistorm-epyc-milan", "-n", "3", "--set", "workload.parameters.numipi=200"});
  ASSERT_EQ(result.code, 0) << result.err;
  std::string text = result.out;
  const std::size_t commit = text.find("commit ");
  ASSERT_NE(commit, std::string::npos);
  text.replace(commit, text.find(')', commit) - commit, "commit X");
  const std::string golden = IDLESIM_SOURCE_DIR "/tests/golden/ipistorm-epyc-milan-200.txt";
  if (const char* update = std::getenv("UPDATE_GOLDEN"); update != nullptr && *update == '1')
    std::ofstream(golden) << text;
  EXPECT_EQ(text, read_text(golden));
}

// --- schemas and shipped files ---

TEST_F(Run, ShippedFilesMatchTheirSchemasAndAreReadWithoutError) {
  const std::filesystem::path configs = IDLESIM_SOURCE_DIR "/sim-configs";
  for (const auto& [directory, schema] : std::map<std::string, const char*>{
           {"machines", "machine"}, {"kernels", "kernel"}, {"scenarios", "scenario"}}) {
    std::size_t files = 0;
    for (const auto& entry : std::filesystem::directory_iterator(configs / directory)) {
      ++files;
      EXPECT_TRUE(matches(schema, json::parse(read_text(entry.path())))) << entry.path();
      const Result result = call({"validate", entry.path().string()});
      EXPECT_EQ(result.err, "");
      EXPECT_EQ(result.out, entry.path().string() + ": ok, " + schema + "\n");
      const Result list = call({"list", directory});
      EXPECT_NE(list.out.find(entry.path().stem().string() + "  "), std::string::npos);
    }
    EXPECT_GT(files, 0u);
  }
}

// The schema and the reader refuse the same scenarios.
TEST_F(Run, TheSchemaOfScenariosSaysWhatTheReaderReads) {
  const json good = json::parse(kSmall);
  ASSERT_TRUE(matches("scenario", good));
  const auto refused = [&](const char* pointer, const json& value) {
    json document = good;
    document[json::json_pointer(pointer)] = value;
    const bool by_schema = !matches("scenario", document);
    const bool by_reader = call({"validate", write("x.json", document.dump())}).code == 2;
    EXPECT_EQ(by_schema, by_reader) << pointer << " = " << value;
    return by_schema && by_reader;
  };
  EXPECT_TRUE(refused("/schema_version", 2));
  EXPECT_TRUE(refused("/name", ""));
  EXPECT_TRUE(refused("/time_limit_s", 1));
  EXPECT_TRUE(refused("/runs", 0));
  EXPECT_TRUE(refused("/seed", -1));
  EXPECT_TRUE(refused("/platform", "kvm"));
  EXPECT_TRUE(refused("/kernel", "linux-6.10-x86_64"));
  EXPECT_TRUE(refused("/kernel/wake_queue", "csqs"));
  EXPECT_TRUE(refused("/kernel/mitigations", "all"));
  EXPECT_TRUE(refused("/kernel/cgroup_depth", 17));
  EXPECT_TRUE(refused("/kernel/x", 1));
  EXPECT_TRUE(refused("/workload/name", "ipistrom"));
  EXPECT_TRUE(refused("/workload/parameters/numipi", 0));
  EXPECT_TRUE(refused("/workload/parameters/wait", true));
  EXPECT_TRUE(refused("/workload/parameters/numpi", 1));
  EXPECT_TRUE(refused("/variants/0/name", "a b"));
  EXPECT_TRUE(refused("/variants/0/set", {{"machine.x", 1}}));
  EXPECT_TRUE(refused("/kernel/background", {{"pairs_per_second", 1}}));
  EXPECT_FALSE(refused("/kernel/mitigations", "off"));
  EXPECT_FALSE(refused("/kernel/x-mine", 1));
  EXPECT_FALSE(refused("/kernel/idle_state", 2));
  EXPECT_FALSE(refused("/workload/parameters/pause", "cond_resched"));
  EXPECT_FALSE(refused("/variants/0/set", {{"kernel.mitigations", "amd"}}));
  const json parameter = {{"value", 5}, {"source", "s"}, {"origin", "measured"}};
  EXPECT_FALSE(refused("/kernel/background",
                       {{"pairs_per_second", parameter}, {"mean_duration_us", parameter}}));
  json guess = parameter;
  guess["origin"] = "assumed";
  EXPECT_TRUE(refused("/kernel/background",
                      {{"pairs_per_second", guess}, {"mean_duration_us", parameter}}));
}

}  // namespace
}  // namespace idlesim::app
