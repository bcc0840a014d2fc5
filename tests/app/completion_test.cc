// What the shells offer, topics of the help, manual pages.
#include <gmock/gmock.h>

#include <cstdlib>

#include "app/app_test_util.h"
#include "idlesim/app/man.h"

namespace idlesim::app {
namespace {

using testing::Contains;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Not;

// The candidates for the last word, without what they mean.
std::vector<std::string> words(std::vector<std::string> typed) {
  typed.insert(typed.begin(), {"completion", "words", "--"});
  const Result result = call(typed);
  EXPECT_EQ(result.code, 0);
  EXPECT_EQ(result.err, "");
  std::vector<std::string> out;
  std::istringstream lines(result.out);
  for (std::string line; std::getline(lines, line);) out.push_back(line.substr(0, line.find('\t')));
  return out;
}

TEST(Completion, CommandsAndTopics) {
  EXPECT_THAT(words({"com"}), ElementsAre("compare", "completion"));
  EXPECT_THAT(words({""}), Contains("run"));
  EXPECT_THAT(words({"help", "exit"}), ElementsAre("exit-codes"));
  EXPECT_THAT(words({"nosuch", ""}), IsEmpty());
}

TEST(Completion, OptionsAndTheirWords) {
  EXPECT_THAT(words({"compare", "--fa"}), ElementsAre("--fail-on"));
  EXPECT_THAT(words({"compare", "--fail-on", ""}), ElementsAre("regression", "change", "never"));
  EXPECT_THAT(words({"compare", "--fail-on=n"}), ElementsAre("--fail-on=never"));
  EXPECT_THAT(words({"export", "-f", "c"}), ElementsAre("csv"));
  EXPECT_THAT(words({"run", "--gate", ""}), ElementsAre(":file"));
  EXPECT_THAT(words({"run", "--nosuch=x"}), IsEmpty());
}

TEST(Completion, OperandsAreWhatTheCommandTakes) {
  EXPECT_THAT(words({"run", "ipistorm-epyc"}), ElementsAre(":file", "ipistorm-epyc-milan"));
  EXPECT_THAT(words({"run", "-q", "ipistorm-epyc"}), Contains("ipistorm-epyc-milan"));
  EXPECT_THAT(words({"compare", ""}), ElementsAre(":file"));
  EXPECT_THAT(words({"list", "sc"}), ElementsAre("scenarios"));
  EXPECT_THAT(words({"completion", "f"}), ElementsAre("fish"));
}

TEST(Completion, KernelFeatures) {
  EXPECT_THAT(words({"run", "x", "--set", "kernel.schedule_i"}),
              ElementsAre("kernel.schedule_idle="));
  EXPECT_THAT(words({"run", "x", "--set", "kernel.schedule_idle=sm"}),
              ElementsAre("kernel.schedule_idle=sm_idle"));
}

// The words that are offered are those that are allowed.
TEST(Completion, OffersWhatTheCommandsAllow) {
  const std::vector<std::vector<std::string>> commands = {{"run", "ipistorm-altra"},
                                                          {"compare", "x.json"},
                                                          {"export", "x.json"},
                                                          {"reproduce"},
                                                          {"list", "machines"}};
  int checked = 0;
  for (const auto& command : commands) {
    for (const char* option :
         {"--format", "--color", "--fail-on", "--missing-baseline", "--pairing"}) {
      std::vector<std::string> typed = command;
      typed.insert(typed.end(), {option, "?"});
      if (command.front() == "run") typed.insert(typed.end(), {"--threshold", "a=1%"});
      const std::string err = call(typed).err;
      if (err.find("unknown option") != std::string::npos) continue;
      std::string offered;
      for (const std::string& word : words({command.front(), option, ""}))
        offered += (offered.empty() ? "" : ", ") + word;
      EXPECT_THAT(err, HasSubstr("(allowed: " + offered + ")")) << command.front() << option;
      ++checked;
    }
  }
  EXPECT_GE(checked, 12);
}

TEST(Completion, Errors) {
  EXPECT_EQ(
      call({"completion", "bsh"}).err,
      "error: there is no completion for \"bsh\"; did you mean \"bash\"? (bash, zsh, fish)\n");
  EXPECT_EQ(call({"completion", "bash", "x"}).err, "error: unexpected argument \"x\"\n");
}

// Runs a script in a shell; "absent" if there is no such shell.
std::string in_shell(const std::string& shell, const std::string& script_file) {
  const std::string command = "command -v " + shell + " >/dev/null || { echo absent; exit; }; " +
                              shell + (shell == "zsh" ? " -f " : " ") + script_file;
  FILE* pipe = ::popen(command.c_str(), "r");
  std::string out;
  for (int c = 0; (c = std::fgetc(pipe)) != EOF;) out += static_cast<char>(c);
  ::pclose(pipe);
  return out;
}

class Shells : public AppTest {
 protected:
  std::string run(const std::string& shell, const std::string& script) {
    const std::string completion = write("completion", call({"completion", shell}).out);
    // The scripts call the program by the name that was typed.
    std::filesystem::create_symlink(IDLESIM_BINARY_DIR "/idlesim", path("idlesim"));
    return in_shell(shell, write("script", replaced(replaced(script, "@COMPLETION@", completion),
                                                    "@DIRECTORY@", directory_.string())));
  }
};

TEST_F(Shells, Bash) {
  const std::string out = run("bash", R"(PATH=@DIRECTORY@:$PATH
set -u
. @COMPLETION@
compopt() { echo "compopt $*"; }
try() {
  COMP_LINE=$1 COMP_POINT=${#1}
  _idlesim
  echo "${COMPREPLY[*]}"
}
complete -p idlesim
try 'idlesim com'
try 'idlesim run --fail-on '
try 'idlesim run --fail-on=ch'
try 'idlesim run x --set kernel.schedule_idle=sm'
try 'idlesim run x --set kernel.schedule_i'
)");
  EXPECT_EQ(out,
            "complete -F _idlesim idlesim\n"
            "compare completion\n"
            "regression change never\n"
            "change\n"
            "sm_idle\n"
            "compopt -o nospace\nkernel.schedule_idle=\n");
}

TEST_F(Shells, Fish) {
  const std::string out = run("fish", R"(set -x HOME @DIRECTORY@
set -x PATH @DIRECTORY@ $PATH
cd @DIRECTORY@
source @COMPLETION@
complete -C 'idlesim com' | string split -f1 \t
complete -C 'idlesim list ' | string split -f1 \t
complete -C 'idlesim run --fail-on ' | string split -f1 \t
complete -C 'idlesim compare compl' | string split -f1 \t
)");
  if (out == "absent\n") GTEST_SKIP() << "fish is not installed";
  EXPECT_EQ(out,
            "compare\ncompletion\n"
            "features\nkernels\nmachines\nplatforms\nscenarios\nworkloads\n"
            "change\nnever\nregression\n"
            "completion\n");
}

// Zsh completes only at a terminal; the functions that would show the candidates print them.
TEST_F(Shells, Zsh) {
  const std::string out = run("zsh", R"(PATH=@DIRECTORY@:$PATH
compdef() { print -r -- compdef "$@" }
_describe() { print -r -- ${(P)argv[-1]%%:*} }
compadd() { print -r -- "$@" ${(P)argv[-1]} }
_files() { print files }
. @COMPLETION@
try() { words=("$@"); CURRENT=$#; _idlesim }
try idlesim com
try idlesim run --fail-on ''
try idlesim run --fail-on=ch
try idlesim run x --set kernel.schedule_idle=sm
try idlesim run x --set kernel.schedule_i
try idlesim export x
)");
  if (out == "absent\n") GTEST_SKIP() << "zsh is not installed";
  EXPECT_EQ(out,
            "compdef _idlesim idlesim\n"
            "compare completion\n"
            "regression change never\n"
            "--fail-on=change\n"
            "kernel.schedule_idle=sm_idle\n"
            "-S  -a settings kernel.schedule_idle=\n"
            "files\n");
}

TEST(HelpTopics, ArePrintedAndListed) {
  for (const char* topic :
       {"scenarios", "compare-statistics", "gates", "ci", "exit-codes", "environment"}) {
    const Result result = call({"help", topic});
    EXPECT_EQ(result.code, 0);
    EXPECT_GT(result.out.size(), 300u);
    EXPECT_THAT(call({"help"}).out, HasSubstr(std::string("\n  ") + topic + " "));
    std::istringstream lines(result.out);
    for (std::string line; std::getline(lines, line);) EXPECT_LE(line.size(), 100u) << line;
  }
  EXPECT_EQ(call({"help", "exit-code"}).err,
            "error: there is no command or topic \"exit-code\"; did you mean \"exit-codes\"?; "
            "'idlesim help' lists them\n");
}

TEST(ManPages, HaveEveryCommandTopicAndOption) {
  const std::vector<ManPage> pages = man_pages();
  EXPECT_EQ(pages.front().file, "idlesim.1");
  std::size_t commands = 0;
  for (const ManPage& page : pages) {
    if (page.file == "idlesim.1") continue;
    const std::string name = page.file.substr(8, page.file.size() - 10);
    EXPECT_THAT(pages.front().text, HasSubstr("*idlesim-" + name + "*"));
    if (page.file.ends_with(".7")) continue;
    ++commands;
    const std::string help = call({"help", name}).out;
    for (std::size_t at = 0; (at = help.find("\n  ", at)) != std::string::npos; ++at) {
      const std::size_t option = help.find("--", at);
      if (option == std::string::npos || option > at + 8) continue;
      const std::string long_name = help.substr(option, help.find_first_of(" \n", option) - option);
      EXPECT_THAT(page.text, HasSubstr(long_name)) << page.file;
    }
    EXPECT_LT(page.text.find("# EXAMPLES"), page.text.find("# OPTIONS"));
  }
  EXPECT_GE(commands, 10u);
}

}  // namespace
}  // namespace idlesim::app
