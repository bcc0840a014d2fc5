#!/usr/bin/env python3
"""The output in README.md has the headings and rows that its command prints now; numbers may differ.

usage: readme_test.py SOURCE_DIR PROGRAM
"""

import pathlib
import re
import subprocess
import sys

SOURCE, PROGRAM = pathlib.Path(sys.argv[1]), sys.argv[2]


def form(line: str) -> str:
    """What stays the same when the numbers change: a heading, or the first column of a table."""
    label = re.split(r" {2,}", line.strip())[0]
    return re.sub(r"[\[(](n|u|m)?s[\])]", "", label)


def main() -> int:
    readme = (SOURCE / "README.md").read_text()
    block = re.search(r"^```text\n\$ scripts/run (?P<arguments>[^\n]*)\n(?P<text>.*?)^```$", readme,
                      re.S | re.M)
    done = subprocess.run([PROGRAM, *block["arguments"].split(), "-q"], capture_output=True, text=True)
    if done.returncode != 0:
        sys.exit(f"exit {done.returncode}\n{done.stderr}")
    printed = iter([form(line) for line in done.stdout.splitlines()])
    for line in block["text"].splitlines():
        wanted = form(line)
        if line != "..." and wanted and wanted not in printed:
            print(f"README.md shows a line that is not printed, or not in this place:\n  {line}\n"
                  f"Printed now:\n{done.stdout}")
            return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
