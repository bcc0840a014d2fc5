#!/usr/bin/env python3
"""The same scenario gives the same bytes from every compiler, optimisation level and number of jobs.

usage: determinism_test.py SOURCE_DIR BINARY_DIR COMPILER_ID FLAGS

Builds the program with each compiler and level in BINARY_DIR/determinism; the program of the main
build stands for its own configuration. Exit 77 (skipped) if a compiler is missing.
"""

import concurrent.futures
import json
import os
import pathlib
import re
import shutil
import subprocess
import sys

SOURCE = pathlib.Path(sys.argv[1])
BINARY = pathlib.Path(sys.argv[2])
MAIN_COMPILER, MAIN_FLAGS = sys.argv[3], sys.argv[4]

COMPILERS = {"GNU": "g++", "Clang": "clang++"}
LEVELS = ("-O0", "-O2")
# A short run of each workload.
SMALL = {"ipistorm": "numipi=300", "sched_pipe": "loop=100", "dpdk": "duration_ms=2",
         "syscall_loop": "duration_ms=2"}


def run(command: list[str], **options) -> str:
    done = subprocess.run(command, capture_output=True, text=True, **options)
    if done.returncode != 0:
        sys.exit(f"{' '.join(map(str, command))}: exit {done.returncode}\n{done.stdout}{done.stderr}")
    return done.stdout


def program(compiler: str, level: str) -> pathlib.Path:
    """The path of a program of this configuration, built if the main build is not it."""
    if compiler == MAIN_COMPILER and level in MAIN_FLAGS.split():
        run(["cmake", "--build", str(BINARY), "--target", "idlesim"])
        return BINARY / "idlesim"
    directory = BINARY / "determinism" / f"{COMPILERS[compiler]}{level}"
    if not (directory / "build.ninja").exists():
        run(["cmake", "-S", str(SOURCE), "-B", str(directory), "-G", "Ninja", "-DBUILD_TESTING=OFF",
             f"-DCMAKE_CXX_COMPILER={COMPILERS[compiler]}", "-DCMAKE_BUILD_TYPE=None",
             f"-DCMAKE_CXX_FLAGS={level}"])
    run(["ninja", "-C", str(directory), "-j", str(os.cpu_count()), "idlesim"])
    return directory / "idlesim"


def without_volatile(report: str) -> str:
    """The report's text with null for manifest.volatile; all other bytes as they are."""
    assert "volatile" in json.loads(report)["manifest"]
    match = re.search(r'"volatile":\s*', report)
    _, end = json.JSONDecoder().raw_decode(report, match.end())
    return report[:match.end()] + "null" + report[end:]


def workload_of(scenario: str) -> str:
    text = json.loads((SOURCE / "sim-configs" / "scenarios" / f"{scenario}.json").read_text())
    name = text.get("workload", {}).get("name")
    return name if name else workload_of(text["extends"])


def report_of(path: pathlib.Path, scenario: str, jobs: int) -> str:
    return without_volatile(run([str(path), "run", scenario, "-n", "2", "--set",
                                 "workload.parameters." + SMALL[workload_of(scenario)], "-j",
                                 str(jobs), "-f", "json", "-q"]))


def difference(a: str, b: str) -> str:
    for number, (left, right) in enumerate(zip(a.split("\n"), b.split("\n")), 1):
        if left != right:
            return f"line {number}:\n  {left.strip()[:300]}\n  {right.strip()[:300]}"
    return f"{len(a)} against {len(b)} bytes"


def main() -> int:
    missing = [c for c in COMPILERS.values() if shutil.which(c) is None]
    if missing:
        print("skipped: not installed:", ", ".join(missing))
        return 77
    programs = {f"{COMPILERS[c]} {level}": program(c, level) for c in COMPILERS for level in LEVELS}
    scenarios = sorted(p.stem for p in (SOURCE / "sim-configs" / "scenarios").glob("*.json"))
    runs = [(name, scenario, jobs) for scenario in scenarios for name in programs for jobs in (1, 2)]
    with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
        reports = dict(zip(runs, pool.map(lambda r: report_of(programs[r[0]], r[1], r[2]), runs)))

    failures = 0
    for scenario in scenarios:
        of_scenario = [(f"{name}, -j{jobs}", reports[name, scenario, jobs])
                       for name, s, jobs in runs if s == scenario]
        first_name, first = of_scenario[0]
        assert len(json.loads(first)["variants"]) > 0
        for name, report in of_scenario[1:]:
            if report != first:
                failures += 1
                print(f"{scenario}: {name} differs from {first_name}, {difference(first, report)}")
    print(f"{len(scenarios)} scenarios, {len(runs)} reports, {failures} differ")
    return 1 if failures or not scenarios else 0


if __name__ == "__main__":
    sys.exit(main())
