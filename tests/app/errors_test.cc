// What is wrong with a user's file or arguments is said exactly, all of it at once, with exit code
// 2; nothing goes to standard output, and the output file stays as it was.
#include "app/app_test_util.h"

namespace idlesim::app {
namespace {

class Errors : public AppTest {
 protected:
  // Runs `arguments` with an output file that already has a text; returns the messages.
  std::string errors_of(std::vector<std::string> arguments) {
    const std::string output = write("output.json", "before");
    arguments.insert(arguments.end(), {"-o", output});
    const Result result = call(arguments);
    EXPECT_EQ(result.code, 2);
    EXPECT_EQ(result.out, "");
    EXPECT_EQ(read_text(output), "before");
    return without_directory(result.err);
  }

  // The same for the small scenario with one text replaced by another.
  std::string errors_with(const std::string& from, const std::string& to) {
    const std::string text = replaced(kSmall, from, to);
    EXPECT_NE(text, kSmall) << from;
    return errors_of({"run", write("s.json", text)});
  }
};

TEST_F(Errors, TheScenarioItselfIsRight) {
  const Result result = call({"validate", write("s.json", kSmall)});
  EXPECT_EQ(result.err, "");
  EXPECT_EQ(without_directory(result.out), "s.json: ok, scenario\n");
}

TEST_F(Errors, WrongKey) {
  EXPECT_EQ(errors_with("\"runs\"", "\"rnus\""),
            "error: s.json:22:3: /rnus: unknown key; did you mean \"runs\"?\n");
  EXPECT_EQ(errors_with("\"numipi\"", "\"numipis\""),
            "error: s.json:12:7: /workload/parameters/numipis: unknown key; did you mean "
            "\"numipi\"?\n");
  EXPECT_EQ(errors_with("kernel.schedule_idle", "kernel.shedule_idle"),
            "error: s.json:20: variant \"b\": /kernel/shedule_idle: unknown key; did you mean "
            "\"schedule_idle\"?\n");
}

TEST_F(Errors, WrongType) {
  EXPECT_EQ(errors_with("50", "\"50\""),
            "error: s.json:12:17: /workload/parameters/numipi: expected an integer, found "
            "\"50\"\n");
  EXPECT_EQ(errors_with("\"cpulist\": [8]", "\"cpulist\": 8"),
            "error: s.json:15:18: /workload/parameters/cpulist: expected an array, found a "
            "number\n");
}

TEST_F(Errors, WrongValueAndRange) {
  EXPECT_EQ(errors_with("mwait_ecx1", "mwait_ecx2"),
            "error: s.json:7:19: /kernel/idle_enter: unknown value \"mwait_ecx2\"; did you mean "
            "\"mwait_ecx0\"? (allowed: \"hlt\", \"mwait_ecx0\", \"mwait_ecx1\", \"poll\", "
            "\"wfi\")\n");
  EXPECT_EQ(errors_with("\"runs\": 2", "\"runs\": 0"),
            "error: s.json:22:11: /runs: must be from 1 to 100000, found 0\n");
  EXPECT_EQ(errors_with("50", "0"),
            "error: s.json:12:17: /workload/parameters/numipi: must be from 1 to 1099511627776, "
            "found 0\n");
  EXPECT_EQ(errors_with("mwait_ecx1", "wfi"),
            "error: s.json:5:13: /kernel: idle_enter wfi does not exist on x86_64\n");
}

TEST_F(Errors, Platform) {
  const auto errors_on = [this](const std::string& platform) {
    return errors_with("\"workload\": {", "\"platform\": " + platform + ",\n  \"workload\": {");
  };
  const std::string outside =
      "error: s.json:16:18: /workload/parameters/cpulist: CPU 8 is outside the machine, which has "
      "2 "
      "CPUs\n";
  EXPECT_EQ(
      errors_on("\"kvm\""),
      "error: s.json:9:15: /platform: expected \"bare-metal\", or an object whose \"base\" is a "
      "platform file\n");
  EXPECT_EQ(errors_on("{\"base\": \"kvm-arm64-altra\"}"),
            "error: s.json:9:24: /platform/base: the platform is for another architecture than the "
            "machine\n" +
                outside);
  EXPECT_EQ(errors_on("{\"base\": \"kvm-x86-skylake-sp\", "
                      "\"vcpu_affinity\": [3, 999]}"),
            "error: s.json:9:63: /platform/vcpu_affinity: the machine has no CPU 999\n" + outside);
  EXPECT_EQ(errors_on("{\"base\": \"kvm-x86-skylake-sp\", "
                      "\"halt_pol_ns\": 3}"),
            "error: s.json:9: /halt_pol_ns: no such value; did you mean \"halt_poll_ns\"?\n");
}

TEST_F(Errors, MissingReference) {
  const std::string machine = errors_with("epyc-milan-2s-64c", "epyc-milan-2s-64");
  EXPECT_TRUE(machine.starts_with("error: s.json:4:14: /machine: there is no file \"")) << machine;
  EXPECT_TRUE(
      machine.ends_with("machines/epyc-milan-2s-64.json\"; did you mean \"epyc-milan-2s-64c\"?\n"))
      << machine;
  const std::string kernel = errors_with("linux-6.10-x86_64", "linux-6.10-x86-64");
  EXPECT_TRUE(kernel.starts_with("error: s.json:6:13: /kernel/base: there is no file \""))
      << kernel;
  EXPECT_TRUE(kernel.ends_with("\"; did you mean \"linux-6.10-x86_64\"?\n")) << kernel;
  const Result result = call({"run", "ipistorm-epyc-mlian"});
  EXPECT_EQ(result.code, 2);
  EXPECT_TRUE(result.err.ends_with("\"; did you mean \"ipistorm-epyc-milan\"?\n")) << result.err;
}

TEST_F(Errors, ArchitecturesMustFit) {
  EXPECT_EQ(errors_with("linux-6.10-x86_64", "linux-6.10-arm64"),
            "error: s.json:6:13: /kernel/base: the kernel is for another architecture than the "
            "machine\n");
}

TEST_F(Errors, CpuOutsideTheMachine) {
  EXPECT_EQ(errors_with("[8]", "[256]"),
            "error: s.json:15:18: /workload/parameters/cpulist: CPU 256 is outside the machine, "
            "which has 256 CPUs\n");
}

TEST_F(Errors, IdleStatesAreTheMachines) {
  EXPECT_EQ(errors_with("\"idle_enter\"", "\"disabled_idle_states\": [\"C3\"], \"idle_enter\""),
            "error: s.json:7:29: /kernel/disabled_idle_states: the machine has no idle state "
            "\"C3\"; did you mean \"C1\"?\n");
  EXPECT_EQ(errors_with("\"idle_enter\"", "\"idle_state\": 3, \"idle_enter\""),
            "error: s.json:7:19: /kernel/idle_state: the machine's deepest idle state is 2\n");
}

TEST_F(Errors, VariantsKeepMachineAndWorkload) {
  const std::string why =
      "the variants of a scenario run on one machine and do the same work; only kernel and "
      "platform settings may differ\n";
  EXPECT_EQ(errors_with("kernel.schedule_idle\": \"sm_idle\"", "machine.core.kernel_ipc\": 2"),
            "error: s.json:20:56: /variants/1/set/machine.core.kernel_ipc: " + why);
  EXPECT_EQ(errors_with("kernel.schedule_idle\": \"sm_idle\"", "workload.parameters.numipi\": 2"),
            "error: s.json:20:59: /variants/1/set/workload.parameters.numipi: " + why);
}

TEST_F(Errors, NamesOfVariants) {
  EXPECT_EQ(errors_with("\"b\"", "\"a\""),
            "error: s.json:20:15: /variants/1/name: two variants have this name\n");
  EXPECT_EQ(errors_with("\"b\"", "\"b b\""),
            "error: s.json:20:15: /variants/1/name: expected letters, digits and any of _ . + -\n");
}

// The errors of two files and of two variants in one go.
TEST_F(Errors, AllAtOnce) {
  write("m.json", R"({"schema_version": 1, "extends": "epyc-milan-2s-64c", "core": {"ipc": 2}})");
  std::string text = replaced(kSmall, "epyc-milan-2s-64c", path("m.json"));
  text = replaced(text, "\"runs\": 2", "\"runs\": 0");
  text = replaced(text, "\"a\"", "\"a\", \"set\": { \"kernel.tick\": \"x\" }");
  text = replaced(text, "\"sm_idle\"", "1");
  EXPECT_EQ(errors_of({"run", write("s.json", text)}),
            "error: m.json:1:64: /core/ipc: unknown key\n"
            "error: s.json:22:11: /runs: must be from 1 to 100000, found 0\n"
            "error: s.json:19: variant \"a\": /kernel/tick: unknown value \"x\"; allowed: "
            "\"governor\", \"always_stop\", \"stop_after_tick\"\n"
            "error: s.json:20: variant \"b\": /kernel/schedule_idle: expected one of \"full\", "
            "\"sm_idle\", \"conditional\", found a number\n");
}

TEST_F(Errors, WrongUnitOfAParameter) {
  write("m.json", R"({
  "schema_version": 1,
  "extends": "epyc-milan-2s-64c",
  "interrupts": {
    "delivery_socket_us": { "value": 1, "origin": "measured", "source": "x" }
  }
})");
  EXPECT_EQ(errors_with("epyc-milan-2s-64c", path("m.json")),
            "error: m.json:5:5: /interrupts/delivery_socket_us: unknown key; did you mean "
            "\"delivery_socket_ns\"?\n");
}

TEST_F(Errors, CyclicExtends) {
  write("a.json", R"({"extends": "b"})");
  write("b.json", R"({"extends": "a"})");
  EXPECT_EQ(errors_of({"run", path("a.json")}),
            "error: b.json:1:13: /extends: files extend each other: a.json -> b.json -> a.json\n");
}

TEST_F(Errors, TruncatedFile) {
  const std::string text = std::string(kSmall).substr(0, 120);
  const std::string errors = errors_of({"run", write("s.json", text)});
  EXPECT_TRUE(errors.starts_with("error: s.json:6:")) << errors;
  EXPECT_NE(errors.find("not valid JSON"), std::string::npos) << errors;
  EXPECT_EQ(std::count(errors.begin(), errors.end(), '\n'), 1) << errors;
}

TEST_F(Errors, TenMegabytesOfGarbage) {
  std::string garbage(10'000'000, '\0');
  std::uint32_t state = 1;
  for (char& byte : garbage) {
    state = state * 1664525u + 1013904223u;
    byte = static_cast<char>(state >> 24);
  }
  const std::string errors = errors_of({"run", write("s.json", garbage)});
  EXPECT_TRUE(errors.starts_with("error: s.json:1:1: /: ")) << errors;
  EXPECT_LT(errors.size(), 1000u);
}

TEST_F(Errors, SetPathsAreChecked) {
  const std::string s = write("s.json", kSmall);
  EXPECT_EQ(errors_of({"run", s, "--set", "kernel.shedule_idle=full"}),
            "error: --set kernel.shedule_idle=full: /kernel/shedule_idle: unknown key; did you "
            "mean \"schedule_idle\"?\n");
  EXPECT_EQ(errors_of({"run", s, "--set", "wrkload.name=x"}),
            "error: --set wrkload.name=x: /wrkload: no such value; did you mean \"workload\"?\n");
  EXPECT_EQ(errors_of({"run", s, "--set", "machine.core.kernal_ipc=1"}),
            "error: --set machine.core.kernal_ipc=1: /core/kernal_ipc: no such value; did you "
            "mean \"kernel_ipc\"?\n");
  EXPECT_EQ(errors_of({"run", s, "--set", "machine.topology.scal=2"}),
            "error: --set machine.topology.scal=2: /topology/scal: no such value\n");
  EXPECT_EQ(errors_of({"run", s, "--set", "runs"}),
            "error: --set: expected PATH=VALUE, found \"runs\"\n");
  EXPECT_EQ(errors_of({"run", s, "-n", "x", "--seed", "-1"}).find("error: "), 0u);
  EXPECT_EQ(errors_of({"run", s, "-n", "0"}),
            "error: --runs: /runs: must be from 1 to 100000, found 0\n");
}

TEST_F(Errors, Arguments) {
  EXPECT_EQ(call({"rnu"}).err,
            "error: unknown command \"rnu\"; did you mean \"run\"?; 'idlesim help' lists the "
            "commands\n");
  EXPECT_EQ(call({"rnu"}).code, 2);
  EXPECT_EQ(
      call({"run", "x", "--sede", "1"}).err,
      "error: unknown option \"--sede\"; did you mean \"--seed\"? ('idlesim run --help' lists "
      "the options)\n");
  // No abbreviations.
  EXPECT_EQ(call({"run", "x", "--form", "json"}).code, 2);
  EXPECT_EQ(call({"run"}).err, "error: an argument is missing; usage: idlesim run SCENARIO\n");
  EXPECT_EQ(call({"run", "a", "b"}).err,
            "error: unexpected argument \"b\"; usage: idlesim run SCENARIO\n");
  EXPECT_EQ(call({"run", "x", "-f", "jsn"}).err,
            "error: --format: unknown value \"jsn\"; did you mean \"json\"? (allowed: text, "
            "json)\n");
  EXPECT_EQ(call({"run", "x", "-j", "0"}).err,
            "error: --jobs: expected an integer from 1 to 1024, found \"0\"\n");
  EXPECT_EQ(call({}).code, 2);
}

TEST_F(Errors, OutputThatCannotBeWritten) {
  const std::string s = write("s.json", kSmall);
  Result result = call({"run", s, "-o", path("no/such/file")});
  EXPECT_EQ(result.code, 2);
  EXPECT_EQ(without_directory(result.err),
            "error: --output: cannot write no/such/file: there is no directory no/such\n");
  result = call({"run", s, "-o", directory_.string()});
  EXPECT_EQ(result.code, 2);
  EXPECT_NE(result.err.find("it is a directory"), std::string::npos);
}

TEST_F(Errors, ValidateListsTheErrorsOfAllFiles) {
  write("a.json", replaced(kSmall, "\"runs\"", "\"rnus\""));
  write("b.json", kSmall);
  write("c.json", R"({"schema_version": 1, "topology": 1})");
  const Result result =
      call({"validate", path("a.json"), path("b.json"), path("c.json"), path("none.json")});
  EXPECT_EQ(result.code, 2);
  EXPECT_EQ(without_directory(result.out), "b.json: ok, scenario\n");
  const std::string errors = without_directory(result.err);
  EXPECT_NE(errors.find("error: a.json:22:3: /rnus: unknown key"), std::string::npos) << errors;
  EXPECT_NE(errors.find("error: c.json:1:35: /topology: expected an object, found a number"),
            std::string::npos)
      << errors;
  EXPECT_NE(errors.find("error: none.json:"), std::string::npos) << errors;
}

}  // namespace
}  // namespace idlesim::app
