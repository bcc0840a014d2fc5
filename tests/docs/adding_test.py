#!/usr/bin/env python3
"""Carries out the recipes of docs/adding.md on a copy of the tree and runs their commands.

usage: adding_test.py SOURCE_DIR BINARY_DIR

Compiles only what the recipes add or change, as the main build would (but without optimisation),
and links it with the main build's library. Exit 77 (skipped) if the main build was not made with
Ninja.
"""

import os
import pathlib
import re
import shlex
import shutil
import subprocess
import sys

SOURCE = pathlib.Path(sys.argv[1]).resolve()
BINARY = pathlib.Path(sys.argv[2]).resolve()
COPY = BINARY / "adding"

BLOCK = re.compile(r"<!-- (?P<action>file|insert|replace|run)(?:: (?P<path>\S+)"
                   r"(?: (?:after|line): (?P<line>.*?))?)? -->\n```(?P<language>\w+)\n"
                   r"(?P<text>.*?)^```$", re.S | re.M)


class Recipes:
    def __init__(self, text: str):
        self.blocks = list(BLOCK.finditer(text))
        self.touched: list[str] = []
        # Each fence of the document opens or closes a block that is tested.
        fences = len(re.findall(r"^```", text, re.M))
        if fences != 2 * len(self.blocks):
            sys.exit(f"{fences / 2} code blocks, but {len(self.blocks)} of them say what to do "
                     "with them")

    def apply(self) -> None:
        for block in self.blocks:
            if block["action"] == "run":
                continue
            path = COPY / block["path"]
            if block["action"] == "file":
                if path.exists():
                    sys.exit(f"{block['path']} exists already")
                path.write_text(block["text"])
            else:
                path.write_text(self.changed(path.read_text(), block))
            self.touched.append(block["path"])

    @staticmethod
    def changed(text: str, block: re.Match) -> str:
        lines = text.split("\n")
        found = [i for i, line in enumerate(lines) if line.strip() == block["line"]]
        if len(found) != 1:
            sys.exit(f"{block['path']}: {len(found)} lines are \"{block['line']}\"")
        keep = 1 if block["action"] == "insert" else 0
        lines[found[0] + keep:found[0] + 1] = block["text"].rstrip("\n").split("\n")
        return "\n".join(lines)

    def commands(self) -> list[str]:
        return [line for block in self.blocks if block["action"] == "run"
                for line in block["text"].splitlines() if line]


def ninja_commands() -> list[str]:
    done = subprocess.run(["ninja", "-C", str(BINARY), "-t", "commands", "idlesim"],
                          capture_output=True, text=True, check=True)
    return done.stdout.splitlines()


def compile_command(commands: list[str], source: str, target: pathlib.Path) -> list[str]:
    """How the main build compiles a source of the same directory, for `source` of the copy."""
    directory = str(SOURCE / pathlib.Path(source).parent)
    same = f" -c {SOURCE / source}"
    template = next((c for c in commands if c.endswith(same)), None) or next(
        c for c in commands if f" -c {directory}/" in c)
    words = shlex.split(template)
    out = []
    for i, word in enumerate(words):
        if i and words[i - 1] == "-o":
            word = str(target)
        elif i and words[i - 1] == "-MF":
            word = str(target) + ".d"
        elif i and words[i - 1] == "-c":
            word = str(COPY / source)
        elif word == f"-I{SOURCE}/include":
            word = f"-I{COPY}/include"
        elif re.fullmatch(r"-O[1-3s]", word):
            word = "-O0"
        out.append(word)
    return out


def run(command: list[str], cwd: pathlib.Path = BINARY, **options) -> str:
    done = subprocess.run(command, capture_output=True, text=True, cwd=cwd, **options)
    if done.returncode != 0:
        sys.exit(f"{shlex.join(command)}\nexit {done.returncode}\n{done.stdout}{done.stderr}")
    return done.stdout


def build(touched: list[str]) -> pathlib.Path:
    commands = ninja_commands()
    objects = []
    for source in sorted({path for path in touched if path.endswith(".cc")}):
        objects.append(COPY / (source.replace("/", "_") + ".o"))
        run(compile_command(commands, source, objects[-1]))
    program = COPY / "idlesim"
    link = shlex.split(next(c for c in reversed(commands) if " -o idlesim " in c))
    link = [word for word in link if word not in (":", "&&")]
    at = link.index("-o")
    link[at + 1] = str(program)
    link[at:at] = map(str, objects)  # before the library, whose members they replace
    run(link)
    return program


def main() -> int:
    if not (BINARY / "build.ninja").exists():
        print("skipped: the build was not made with Ninja")
        return 77
    recipes = Recipes((SOURCE / "docs" / "adding.md").read_text())
    shutil.rmtree(COPY, ignore_errors=True)
    for directory in ("include", "src", "sim-configs"):
        shutil.copytree(SOURCE / directory, COPY / directory)
    recipes.apply()
    program = build(recipes.touched)
    environment = os.environ | {"IDLESIM_CONFIGS": str(COPY / "sim-configs")}
    for command in recipes.commands():
        words = shlex.split(command)
        assert words[0] == "idlesim", command
        output = run([str(program), *words[1:]], cwd=COPY, env=environment)
        print(f"$ {command}\n{output}")
        assert output.strip(), command
    print(len(recipes.commands()), "commands")
    return 0 if recipes.commands() else 1


if __name__ == "__main__":
    sys.exit(main())
