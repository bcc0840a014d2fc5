#!/usr/bin/env python3
"""Prints docs/fidelity.md, made from the comments of the kernel's functions.

scripts/fidelity.py            prints it
scripts/fidelity.py --check    compares docs/fidelity.md with it; exit 1 if they differ
scripts/fidelity.py --write    writes docs/fidelity.md
"""

import difflib
import pathlib
import re
import sys

from cxx_source import Function, Source

ROOT = pathlib.Path(__file__).resolve().parent.parent
TARGET = ROOT / "docs" / "fidelity.md"
LAYERS = ("src/kernel", "src/virt")

HEAD = """# What is modelled, and what is left out

Made by `scripts/fidelity.py` from the comments above the functions; `ctest -R fidelity` checks that
it is up to date. File names are those of Linux v6.12 unless the line says otherwise. A function in
this table keeps the order of the statements of the function it names. What it names under "left
out" has no effect in the model; what is not named there and takes time is in the instruction counts
of `sim-configs/kernels/`.
"""


def marked(comment: str, word: str) -> str | None:
    """What the comment says after `word`, up to the next marked line; None if it has none."""
    lines = comment.split("\n")
    for i, line in enumerate(lines):
        if not line.startswith(word):
            continue
        text = [line]
        for following in lines[i + 1:]:
            # A sentence has ended and the next one starts a line: a remark.
            if re.match(r"Linux\b|Not modelled\b", following) or (
                    text[-1].endswith(".") and following[:1].isupper()):
                break
            text.append(following)
        return " ".join(text)
    return None


def linux_source(function: Function) -> str | None:
    """`file, function()` of the comment, after the version if it names one; None without one."""
    text = marked(function.comment, "Linux")
    match = text and re.match(r"Linux(?P<version> [^:,]*)?: (?P<rest>.*)$", text)
    if not match:
        return None
    rest = match["rest"].rstrip(".")
    return f"{match['version'].strip()}: {rest}" if match["version"] else rest


def left_out(function: Function) -> str:
    text = marked(function.comment, "Not modelled") or ""
    return re.sub(r"^Not modelled( yet)?: ", "", text).rstrip(".")


def sources() -> list[Source]:
    paths = [path for layer in LAYERS for path in sorted((ROOT / layer).rglob("*.cc"))]
    return [Source(str(path.relative_to(ROOT)), path.read_text()) for path in paths]


def cell(text: str) -> str:
    text = text.replace("|", "\\|")
    return re.sub(r"(?<![`\w])([\w./*-]+\.[chS]\b|[A-Za-z_]\w*\(\)|[A-Z]+_[A-Z_]+\b)", r"`\1`", text)


def document() -> str:
    out = [HEAD]
    for source in sources():
        rows = [(f, linux_source(f)) for f in source.functions]
        rows = [(f, linux) for f, linux in rows if linux]
        if not rows:
            continue
        out.append(f"## `{source.path}`\n")
        out.append("| function | Linux | left out |")
        out.append("|---|---|---|")
        for function, linux in rows:
            out.append(f"| `{function.name}` | {cell(linux)} | {cell(left_out(function))} |")
        out.append("")
    return "\n".join(out)


def main(arguments: list[str]) -> int:
    text = document()
    if arguments == ["--write"]:
        TARGET.write_text(text)
    elif arguments == ["--check"]:
        old = TARGET.read_text() if TARGET.exists() else ""
        if old != text:
            sys.stdout.writelines(difflib.unified_diff(
                old.splitlines(True), text.splitlines(True), "docs/fidelity.md", "the sources"))
            print("docs/fidelity.md is out of date: run scripts/fidelity.py --write")
            return 1
    elif arguments:
        print(__doc__, file=sys.stderr)
        return 2
    else:
        sys.stdout.write(text)
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
