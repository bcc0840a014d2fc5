#!/usr/bin/env python3
"""The commands of docs/ci.md, one after the other in one directory, end with the exit codes that the
comments above them say; its examples are what the tools they are for can read.

usage: ci_test.py SOURCE_DIR PROGRAM
"""

import json
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile

SOURCE, PROGRAM = pathlib.Path(sys.argv[1]).resolve(), pathlib.Path(sys.argv[2]).resolve()


def run_commands(text: str, directory: str) -> int:
    environment = {**os.environ, "PATH": f"{PROGRAM.parent}:{os.environ['PATH']}"}
    shutil.copy(SOURCE / "docs/examples/gates.json", directory)
    blocks = re.findall(r"<!-- run: (\d+) -->\n```sh\n(.*?)```", text, re.S)
    for code, script in blocks:
        done = subprocess.run(["sh", "-c", script], cwd=directory, env=environment,
                              capture_output=True, text=True)
        if done.returncode != int(code):
            sys.exit(f"exit {done.returncode}, docs/ci.md says {code}:\n{script}\n{done.stdout}"
                     f"{done.stderr}")
    return len(blocks)


def check_yaml() -> None:
    try:
        import yaml
    except ImportError:
        print("PyYAML is not installed: the workflows are not parsed")
        return
    workflow = yaml.safe_load((SOURCE / "docs/examples/github-workflow.yml").read_text())
    steps = workflow["jobs"]["compare"]["steps"]
    assert all(("run" in step) != ("uses" in step) for step in steps), steps
    for script in [step["run"] for step in steps if "run" in step]:
        subprocess.run(["bash", "-n", "-c", script], check=True)
    job = yaml.safe_load((SOURCE / "docs/examples/gitlab-ci.yml").read_text())["idle latency"]
    for script in job["script"]:
        subprocess.run(["bash", "-n", "-c", script], check=True)


def check_bisect(directory: str) -> None:
    """A history in which the fourth of six commits makes it slower, searched with --bisect."""
    repository = pathlib.Path(directory) / "history"
    repository.mkdir()

    def git(*arguments):
        return subprocess.run(["git", "-c", "user.name=a", "-c", "user.email=a@b", *arguments],
                              cwd=repository, check=True, capture_output=True, text=True).stdout

    git("init", "-q")
    for commit, ipc in enumerate((1.25, 1.25, 1.25, 0.8, 0.8, 0.8)):
        (repository / "ipc").write_text(f"{ipc}\n{commit}\n")
        git("add", "ipc")
        git("commit", "-qm", f"commit {commit}")
    script = (f"{PROGRAM} run --bisect ipistorm-epyc-milan -n 10 -q --set "
              "workload.parameters.numipi=100 --set machine.core.kernel_ipc=$(head -1 ipc) -f json "
              f"-o ../step.json || exit; {PROGRAM} compare --bisect ../good.json ../step.json")
    git("checkout", "-q", "HEAD~5")
    subprocess.run(["sh", "-c", script.replace("../good.json ../step.json", "../step.json ../step.json")],
                   cwd=repository, check=True, capture_output=True)
    shutil.copy(pathlib.Path(directory) / "step.json", pathlib.Path(directory) / "good.json")
    git("checkout", "-q", "-")
    git("bisect", "start", "HEAD", "HEAD~5")
    found = git("bisect", "run", "sh", "-c", script)
    assert re.search(r"is the first bad commit\n(.*\n)*.*commit 3\n", found), found


def main() -> int:
    text = (SOURCE / "docs/ci.md").read_text()
    with tempfile.TemporaryDirectory() as directory:
        if run_commands(text, directory) < 5:
            sys.exit("docs/ci.md has lost its commands")
        verdict = json.loads((pathlib.Path(directory) / "verdict.json").read_text())
        assert verdict["outcome"] == "pass", verdict
        check_bisect(directory)
    check_yaml()
    return 0


if __name__ == "__main__":
    sys.exit(main())
