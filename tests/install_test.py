#!/usr/bin/env python3
"""`cmake --install` into a directory: the program finds its files there, CMake and pkg-config find
the library, the manual pages and completion scripts are in their places.

usage: install_test.py BUILD_DIR CXX
"""

import pathlib
import shutil
import subprocess
import sys
import tempfile

BUILD, CXX = pathlib.Path(sys.argv[1]).resolve(), sys.argv[2]

PROGRAM = r"""
#include <cstdio>
#include "idlesim/report/rank_tests.h"
#include "idlesim/experiment/scenario.h"
int main() {
  const double differences[] = {1, 2, 3, 4, 5, 6};
  std::printf("%g\n", idlesim::report::signed_rank(differences).p);
  return idlesim::experiment::load_scenario(idlesim::experiment::find_config_paths(),
                                            "ipistorm-altra", {}).runs > 0 ? 0 : 1;
}
"""
PROJECT = """cmake_minimum_required(VERSION 3.25)
project(user CXX)
find_package(idlesim 0.1 REQUIRED)
add_executable(user main.cc)
target_link_libraries(user PRIVATE idlesim::idlesim)
"""


def run(*command, **options):
    done = subprocess.run([str(c) for c in command], capture_output=True, text=True, **options)
    if done.returncode != 0:
        sys.exit(f"{' '.join(map(str, command))}: exit {done.returncode}\n{done.stdout}{done.stderr}")
    return done.stdout


def check(condition, what):
    if not condition:
        sys.exit(what)


def main() -> int:
    with tempfile.TemporaryDirectory() as directory:
        root = pathlib.Path(directory)
        prefix = root / "prefix"
        run("cmake", "--install", BUILD, "--prefix", prefix)
        share = prefix / "share"

        # The program, from another directory, with the installed files only.
        program = prefix / "bin/idlesim"
        moved = root / "moved"
        scenarios = run(program, "list", "scenarios", cwd=root)
        check("ipistorm-altra" in scenarios, scenarios)
        prefix.rename(moved)  # nothing in it knows where it is
        check(run(moved / "bin/idlesim", "list", "scenarios") == scenarios, "moved: other scenarios")
        moved.rename(prefix)

        for path in ("bash-completion/completions/idlesim", "zsh/site-functions/_idlesim",
                     "fish/vendor_completions.d/idlesim.fish",
                     "idlesim/sim-configs/schemas/compare-v1.schema.json"):
            check((share / path).stat().st_size > 0, f"{path} is missing")
        if shutil.which("scdoc"):
            for page in ("man1/idlesim.1", "man1/idlesim-compare.1", "man7/idlesim-gates.7"):
                check((share / "man" / page).read_text().find(".SH NAME") > 0, f"{page} is wrong")
            if shutil.which("man"):
                page = run("man", "-l", share / "man/man1/idlesim-compare.1",
                           env={"MANWIDTH": "100", "PATH": "/bin:/usr/bin", "LC_ALL": "C.UTF-8"})
                check("--missing-baseline" in page and "EXAMPLES" in page, page)

        source = root / "user"
        source.mkdir()
        (source / "main.cc").write_text(PROGRAM)
        (source / "CMakeLists.txt").write_text(PROJECT)
        run("cmake", "-S", source, "-B", root / "build", f"-DCMAKE_PREFIX_PATH={prefix}",
            f"-DCMAKE_CXX_COMPILER={CXX}", "-DCMAKE_BUILD_TYPE=Release")
        run("cmake", "--build", root / "build")
        check(run(root / "build/user") == "0.03125\n", "the library says something else")

        if shutil.which("pkg-config"):
            pc = next(prefix.rglob("pkgconfig/idlesim.pc")).parent
            flags = run("pkg-config", "--cflags", "--libs", "idlesim",
                        env={"PKG_CONFIG_PATH": str(pc), "PATH": "/bin:/usr/bin"}).split()
            run(CXX, "-o", root / "by_pkg_config", source / "main.cc", *flags)
            check(run(root / "by_pkg_config") == "0.03125\n", "pkg-config: something else")
    return 0


if __name__ == "__main__":
    sys.exit(main())
