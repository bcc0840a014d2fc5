#!/usr/bin/env python3
"""The rules of the house that a program can check. Each test names the places that break its rule.

usage: tidy_test.py SOURCE_DIR CXX [unittest arguments]
"""

import collections
import functools
import pathlib
import re
import subprocess
import sys
import unittest

ROOT = pathlib.Path(sys.argv[1]).resolve()
CXX = sys.argv[2]
sys.path.insert(0, str(ROOT / "scripts"))

import cxx_source  # noqa: E402
import fidelity  # noqa: E402

# A layer may include itself and what is listed here: what stands below it.
LAYERS = {
    "base": [],
    "config": ["base"],
    "sim": ["base"],
    "trace": ["base"],
    "hw": ["sim", "trace", "config", "base"],
    "kernel": ["hw", "sim", "trace", "config", "base"],
    "virt": ["kernel", "hw", "sim", "trace", "config", "base"],
    "workload": ["virt", "kernel", "hw", "sim", "trace", "config", "base"],
    "report": ["trace", "config", "base"],
    "experiment": ["report", "workload", "virt", "kernel", "hw", "sim", "trace", "config", "base"],
    "app": ["experiment", "report", "workload", "virt", "kernel", "hw", "sim", "trace", "config",
            "base"],
}
MODEL = ("sim", "hw", "kernel", "virt", "workload")

MAX_FILE_LINES = 400
MAX_FUNCTION_LINES = 60
# What was longer when the limit came. These numbers may only shrink; an entry that is within the
# limit has to go.
LONG_FILES = {
    "include/idlesim/hw/cpu.h": 502,
    "tests/hw/cpu_test.cc": 457,
}
LONG_FUNCTIONS: dict[str, int] = {}  # "file: function"

# Floating point in the model, outside of time: "file: code of the line".
FLOATING_POINT: set[str] = set()

GLOBAL = "no global mutable state"
# The pool of coroutine frames: one per thread, and no result depends on it.
GLOBAL_STATE = {"include/idlesim/sim/frame_pool.h", "src/sim/frame_pool.cc"}

WORDS = {  # in the model's code, comments and strings aside
    r"std::unordered_\w+": "its order differs between libraries",
    r"\brandom_device\b|\bmt19937\w*|\bs?rand\(": "random numbers come from named streams",
    r"std::\w+_distribution\b": "its values differ between libraries",
    r"std::chrono|<chrono>|\bclock_gettime\b|\bgettimeofday\b|\bstd::time\b": "no wall clock",
    r"std::(multi)?(map|set)<\s*(const )?[\w:]+\s*\*": "a pointer as an ordered key",
    r"\bshared_ptr\b|\bweak_ptr\b": "the Machine owns, others refer",
    r"std::c(out|err|log)\b|\bf?printf\(|<iostream>|<fmt/|<spdlog/": "the model never prints",
    r"\bthread_local\b|\bstatic (?!constexpr|const\b|inline constexpr)[\w:<>]+[ &*]+\w+_?( =|;|\{)":
        GLOBAL,
}


def text_of(path: str) -> str:
    return (ROOT / path).read_text(encoding="utf-8")


@functools.cache
def project_files() -> list[str]:
    """Tracked files, and new ones that are not ignored; outside a checkout all but build trees."""
    git = subprocess.run(["git", "-C", str(ROOT), "ls-files", "-co", "--exclude-standard", "-z"],
                         capture_output=True, text=True)
    if git.returncode == 0:
        found = [f for f in git.stdout.split("\0") if f and (ROOT / f).is_file()]
    else:
        found = [str(p.relative_to(ROOT)) for p in ROOT.rglob("*") if p.is_file()]
        found = [f for f in found if not re.match(r"build|\.git/|\.cache/", f)]
    return sorted(found)


def files(pattern: str) -> list[str]:
    return [f for f in project_files() if re.fullmatch(pattern, f)]


@functools.cache
def source(path: str) -> cxx_source.Source:
    return cxx_source.Source(path, text_of(path))


def layer_of(path: str) -> str | None:
    match = re.match(r"(?:include/idlesim|src)/(\w+)/", path)
    return match.group(1) if match else None


def cxx_files(layers=None) -> list[str]:
    found = files(r"(include/idlesim|src)/.*\.(h|cc)")
    return [f for f in found if layers is None or layer_of(f) in layers]


def includes(path: str) -> list[tuple[int, str]]:
    code = cxx_source.blank(text_of(path), keep_strings=True)
    return [(code.count("\n", 0, m.start()) + 1, m.group(1))
            for m in re.finditer(r'^#include ([<"][^>"]+[>"])', code, re.M)]


class Tidy(unittest.TestCase):
    maxDiff = None

    def none_of(self, findings: list[str]) -> None:
        if findings:
            self.fail("\n" + "\n".join(findings))

    def test_layers(self):
        wrong = []
        for path in cxx_files():
            layer = layer_of(path)
            if layer not in LAYERS:
                wrong.append(f"{path}: layer {layer} is not in the table")
                continue
            for line, name in includes(path):
                match = re.fullmatch(r'"idlesim/(\w+)/.+\.h"', name)
                if match and match.group(1) not in [layer, *LAYERS[layer]]:
                    wrong.append(f"{path}:{line}: {layer} must not include {name}")
                if not match and name.startswith('"'):
                    beside = (ROOT / path).parent / name.strip('"')
                    if "/" in name or (path.startswith("src/") and not beside.exists() and
                                       not name.startswith('"idlesim_')):
                        wrong.append(f"{path}:{line}: {name} is neither idlesim/layer/file.h nor a "
                                     "header beside the source")
        self.none_of(wrong)

    def test_header_guards(self):
        wrong = []
        for path in files(r"include/.*\.h"):
            guard = re.sub(r"\W", "_", path.removeprefix("include/")).upper() + "_"
            if f"#ifndef {guard}\n#define {guard}\n" not in text_of(path):
                wrong.append(f"{path}: the guard must be {guard}")
        self.none_of(wrong)

    def test_headers_compile_alone(self):
        # A header that some source includes first is compiled alone by the build itself.
        first = set()
        for path in cxx_files():
            found = includes(path)
            if path.endswith(".cc") and found:
                first.add(found[0][1].strip('"<>'))
        alone = [h for h in files(r"include/.*\.h") if h.removeprefix("include/") not in first]
        command = [CXX, "-std=c++20", "-fsyntax-only", "-Wall", "-Wextra", "-Wpedantic", "-Werror",
                   f"-I{ROOT / 'include'}", "-x", "c++"]
        if alone:
            done = subprocess.run(command + [str(ROOT / h) for h in alone], capture_output=True,
                                  text=True)
            self.assertEqual(done.returncode, 0, done.stderr)

    def test_words(self):
        wrong = []
        for path in cxx_files(MODEL):
            code = cxx_source.blank(text_of(path))
            for pattern, why in WORDS.items():
                if why == GLOBAL and path in GLOBAL_STATE:
                    continue
                for match in re.finditer(pattern, code):
                    line = code.count("\n", 0, match.start()) + 1
                    wrong.append(f"{path}:{line}: {match.group()}: {why}")
        self.none_of(wrong)

    def test_floating_point(self):
        wrong = []
        for path in cxx_files(MODEL):
            for number, line in enumerate(cxx_source.blank(text_of(path)).split("\n"), 1):
                if re.search(r"\b(double|float)\b", line) and (
                        f"{path}: {line.strip()}" not in FLOATING_POINT):
                    wrong.append(f"{path}:{number}: {line.strip()}: floating point in the model")
        self.none_of(wrong)

    def test_leading_underscores(self):
        allowed = r"__(extension__|int128|builtin_\w+|FILE__|LINE__|VA_ARGS__|func__)\b"
        wrong = []
        for path in cxx_files():
            for number, line in enumerate(cxx_source.blank(text_of(path)).split("\n"), 1):
                for match in re.finditer(r"(?<![\w'])_\w+", line):
                    if not re.match(allowed, match.group()) and not line.startswith("#"):
                        wrong.append(f"{path}:{number}: {match.group()}: reserved by C++")
        self.none_of(wrong)

    def test_no_lambda_coroutines(self):
        wrong = []
        for path in cxx_files():
            code = source(path).code
            for body, start in cxx_source.lambdas(code):
                if re.search(r"\bco_(await|return|yield)\b", body):
                    wrong.append(f"{path}:{source(path).line_at(start)}: a lambda coroutine; its "
                                 "captures dangle after the first suspension")
        self.none_of(wrong)

    def test_no_structured_binding_of_awaited_values(self):
        wrong = []
        for path in cxx_files():
            for match in re.finditer(r"\bauto\s*&*\s*\[[^\]]*\]\s*=\s*co_await\b", source(path).code):
                wrong.append(f"{path}:{source(path).line_at(match.start())}: structured binding of "
                             "an awaited value")
        self.none_of(wrong)

    def test_no_await_in_catch(self):
        wrong = []
        for path in cxx_files():
            code = source(path).code
            for match in re.finditer(r"\bcatch\s*\(", code):
                brace = code.index("{", cxx_source.matching(code, match.end() - 1))
                if "co_await" in code[brace:cxx_source.matching(code, brace)]:
                    wrong.append(f"{path}:{source(path).line_at(match.start())}: co_await in catch")
        self.none_of(wrong)

    def test_awaiting_conditions_come_with_a_local(self):
        # g++ 12 miscompiles a coroutine that awaits in a condition and declares no local variable
        # (cmake/coroutine_check.cc).
        wrong = []
        for path in cxx_files():
            for function in source(path).functions:
                if cxx_source.awaits_in_condition(function.body) and not cxx_source.declares_local(function.body):
                    wrong.append(f"{path}:{function.line}: {function.name}() awaits in a condition "
                                 "and declares no local variable")
        self.none_of(wrong)

    def test_no_await_beside_and_or_in_loop_conditions(self):
        # g++ 12 makes the await even where the other side has decided.
        wrong = []
        for path in cxx_files():
            code = source(path).code
            for match in re.finditer(r"\b(while|for)\s*\(", code):
                head = code[match.end() - 1:cxx_source.matching(code, match.end() - 1)]
                if "co_await" in head and re.search(r"&&|\|\|", head):
                    wrong.append(f"{path}:{source(path).line_at(match.start())}: an await beside && "
                                 "or || in the condition of a loop")
        self.none_of(wrong)

    def test_kernel_functions_name_their_source(self):
        wrong = []
        for path in cxx_files(("kernel", "virt")):
            for function in source(path).functions if path.endswith(".cc") else []:
                if not function.returns_co or function.anonymous:
                    continue
                linux = fidelity.linux_source(function)
                if linux is None:
                    wrong.append(f"{path}:{function.line}: {function.name}() has no "
                                 "\"// Linux: file, function().\" above it")
                elif not re.search(r"[\w-]+\.[chS]\b|RFC PATCH|no counterpart", linux):
                    wrong.append(f"{path}:{function.line}: {function.name}(): \"{linux}\" names no "
                                 "file")
        self.none_of(wrong)

    def test_shortcuts_are_numbered(self):
        wrong = []
        for path in cxx_files():
            for number, line in enumerate(text_of(path).split("\n"), 1):
                if "SHORTCUT" in line and not re.search(r"// SHORTCUT\(#\d+\): \S", line):
                    wrong.append(f"{path}:{number}: write // SHORTCUT(#n): why")
        self.none_of(wrong)

    def test_no_kernel_names_in_code(self):
        # Features decide; no code asks which kernel it is.
        wrong = []
        for path in cxx_files(MODEL):
            for number, line in enumerate(
                    cxx_source.blank(text_of(path), keep_strings=True).split("\n"), 1):
                if re.search(r'"(linux-\d|tif-notify|mainline)', line):
                    wrong.append(f"{path}:{number}: {line.strip()}")
        self.none_of(wrong)

    def test_file_length(self):
        self.ratchet({path: text_of(path).count("\n") for path in files(r".*\.(cc|h|py)")},
                     LONG_FILES, MAX_FILE_LINES)

    def test_function_length(self):
        longest = collections.defaultdict(int)
        for path in files(r"(include|src|tests|bench)/.*\.(cc|h)"):
            for function in source(path).functions:
                key = f"{path}: {function.name}"
                longest[key] = max(longest[key], function.lines)
        self.ratchet(longest, LONG_FUNCTIONS, MAX_FUNCTION_LINES)

    def ratchet(self, sizes: dict[str, int], exceptions: dict[str, int], limit: int) -> None:
        wrong = [f"{key}: {size} lines, at most {exceptions.get(key, limit)}"
                 for key, size in sizes.items() if size > exceptions.get(key, limit)]
        wrong += [f"{key} is within the limit now: take it out of the list of exceptions"
                  for key in exceptions if sizes.get(key, 0) <= limit]
        self.none_of(wrong)

    def test_paths_in_documents_exist(self):
        # adding.md names the files that its examples make.
        made = set(re.findall(r"<!-- file: (\S+) -->", text_of("docs/adding.md")))
        wrong = []
        for path in ["README.md", *files(r"docs/.*\.md")]:
            text = re.sub(r"^```.*?^```", lambda m: re.sub(r"[^\n]", "", m.group()), text_of(path),
                          flags=re.S | re.M)
            for number, line in enumerate(text.split("\n"), 1):
                for name in named_paths(line):
                    if name not in made and not any(ROOT.glob(name.rstrip("/"))):
                        wrong.append(f"{path}:{number}: {name} does not exist")
                for target in re.findall(r"\]\(([^)#:]+)(?:#[^)]*)?\)", line):
                    if not ((ROOT / path).parent / target).exists():
                        wrong.append(f"{path}:{number}: the link to {target} leads nowhere")
        self.none_of(wrong)

    def test_nothing_left_to_do(self):
        self.search(r"\b(TO" r"DO|FIX" r"ME|XX" r"X)\b", "finish it or file an issue")

    def test_no_registry_hosts(self):
        # Packages come through their ordinary clients, from wherever the machine is set up to.
        self.search(r"\b(pypi|pythonhosted|npmjs|crates|golang|rubygems|docker|ghcr|quay)\.(org|com|io"
                    r"|dev)\b|\b(deb|ftp|archive|security|packages)\.(debian|ubuntu)\.(org|com)\b"
                    r"|\bconda\.anaconda\b", "names the host of a package registry")

    def test_no_paths_outside_the_project(self):
        self.search(r"(?<![\w.}>*)-])/(home|root|work|Users|mnt|opt|srv|tmp|var|usr/local)/",
                    "an absolute path outside the project")

    def search(self, pattern: str, why: str) -> None:
        wrong = []
        for path in project_files():
            try:
                text = text_of(path)
            except UnicodeDecodeError:
                continue
            if path == "tests/tidy_test.py" or path.startswith("tests/fuzz/seeds/"):
                continue
            for match in re.finditer(pattern, text):
                line = text.count("\n", 0, match.start()) + 1
                wrong.append(f"{path}:{line}: {match.group()}: {why}")
        self.none_of(wrong)


def named_paths(line: str) -> list[str]:
    """Paths of the project in `code`, without line numbers; those with a placeholder aside."""
    found = []
    for code in re.findall(r"`([^`]+)`", line):
        for name in re.findall(
                r"(?<![\w/.-])(?:\./)?((?:src|include/idlesim|docs|tests|scripts|sim-configs|bench|cmake|\.ci)/"
                r"[\w./*+-]*)", code):
            if not re.search(r"NAME|MY-|/x\.", name):
                found.append(name.rstrip("."))
    return found


class SelfTest(unittest.TestCase):
    """The checks find what they are for."""

    def test_words(self):
        bad = ["std::unordered_map<int, int> m;", "std::map<Line*, int> m;", "static int counter = 0;",
               "std::normal_distribution<> d;", "auto t = std::chrono::steady_clock::now();"]
        for code in bad:
            self.assertTrue(any(re.search(p, code) for p in WORDS), code)
        for code in ["static constexpr int kA = 1;", "static Co<> sender(Cpu& cpu);",
                     "std::map<std::string, Line*> m;", "wake_distribution(x);"]:
            self.assertFalse(any(re.search(p, code) for p in WORDS), code)

    def test_named_paths(self):
        self.assertEqual(named_paths("see `src/kernel/idle.cc:12` and `scripts/run run x`, src/none"),
                         ["src/kernel/idle.cc", "scripts/run"])


if __name__ == "__main__":
    unittest.main(argv=[sys.argv[0], *sys.argv[3:]])
