"""Puts deliberate faults into a copy of the code and checks that the suites find each one.

`python -m tools.mutations [part of a promise ...]` tries all faults, or the faults whose promises
contain one of these texts. `--list` shows them. `--baseline` runs their tests once without any
fault.
"""

import os
import re
import shutil
import subprocess
import sys
import time
from argparse import ArgumentParser
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from enum import StrEnum
from importlib.util import cache_from_source
from pathlib import Path
from tempfile import TemporaryDirectory

from tools.files import ROOT, files_matching
from tools.mutations.access import OF_ACCESS
from tools.mutations.by_suite import OF_SUITES
from tools.mutations.mutation import Mutation
from tools.mutations.service import OF_SERVICE

MUTATIONS: tuple[Mutation, ...] = (*OF_ACCESS, *OF_SERVICE, *OF_SUITES)
"""All deliberate faults."""

BUILT = (
    *(".tools", "site/node_modules", "clients/typescript/node_modules", "clients/typescript/dist"),
    *("tests/*/node_modules", "examples/*/node_modules", "contracts/node_modules"),
    "tests/*/.venv",
)
"""Untracked build results. The copy uses the build results of the checkout."""

PYTEST = ("-m", "pytest", "-q", "-x", "-p", "no:cacheprovider")

SECONDS = 900
"""Timeout in seconds for the tests of one fault."""

TEST_SECONDS = "300"
"""Timeout of a single test in seconds. A fault may make a test wait forever."""

_FAILED = re.compile(
    r"^ *(?:FAILED |not ok \d+ - |✖ )(?!\S+\.m?js\b)(.+?)(?: - .*| \([\d.]+ms\))?$"
    r"|^(?P<contract>\S.*) BROKEN(?: \(|$)|^(?P<artifact>\S+ does not match \S+):",
    re.MULTILINE,
)
"""Matches failures reported by pytest, Node, the import contracts and the compiler's check.

Node reports a file that it cannot load under the file's name, which does not count as a finding.
"""


class Outcome(StrEnum):
    """The outcome of trying a fault."""

    FOUND = "found"
    NOT_FOUND = "NOT FOUND"
    BROKEN = "the mutation broke collection"


@dataclass(frozen=True, slots=True)
class Finding:
    """The outcome of one fault, and the test that found it."""

    mutation: Mutation
    outcome: Outcome
    by: str
    seconds: float


@dataclass(frozen=True, slots=True)
class Copy:
    """A copy of the tracked files, in which one file at a time is modified."""

    folder: Path

    @classmethod
    def make(cls, folder: Path) -> "Copy":
        """Copy the checkout into an empty folder."""
        for path in files_matching(["**"]):
            target = folder / path.relative_to(ROOT)
            target.parent.mkdir(parents=True, exist_ok=True)
            shutil.copy2(path, target, follow_symlinks=False)
        made = cls(folder)
        made.link_built()
        return made

    def link_built(self) -> None:
        """Link the build results of the checkout, replacing any that a command has built."""
        for built in (path for pattern in BUILT for path in ROOT.glob(pattern)):
            link = self.folder / built.relative_to(ROOT)
            if link.is_symlink():
                continue
            if link.exists():
                shutil.rmtree(link)
            link.parent.mkdir(parents=True, exist_ok=True)
            link.symlink_to(built)

    def write(self, path: str, text: str) -> None:
        """Write a file, and remove its compiled form, which may have the same size and time."""
        file = self.folder / path
        file.write_text(text, "utf-8")
        Path(cache_from_source(str(file))).unlink(missing_ok=True)

    def run(self, command: Sequence[str]) -> "subprocess.CompletedProcess[str]":
        """Run a command in the copy, using the copy's code."""
        tools = f"{Path(sys.executable).parent}{os.pathsep}{os.environ.get('PATH', '')}"
        environ = {**os.environ, "PYTHONPATH": str(self.folder / "src"), "PATH": tools}
        return subprocess.run(  # noqa: S603 - our own commands
            command,
            cwd=self.folder,
            env=environ,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            stdin=subprocess.DEVNULL,
            text=True,
            check=False,
            timeout=SECONDS,
        )


def command_of(mutation: Mutation) -> tuple[str, ...]:
    """Return the command that runs the tests that must find a fault."""
    return mutation.command or (sys.executable, *PYTEST, "--timeout", TEST_SECONDS, *mutation.tests)


def judge(status: int, text: str) -> tuple[Outcome, str]:
    """Return the outcome of a run, and the test that failed.

    A run that ends without a failed test is not a finding: the fault may have prevented the
    tests from being imported.
    """
    if status == 0:
        return Outcome.NOT_FOUND, ""
    failed = _FAILED.search(text)
    if status == 1 and failed is not None:
        return Outcome.FOUND, failed[failed.lastindex or 0]
    return Outcome.BROKEN, ""


def try_mutation(copy: Copy, mutation: Mutation) -> Finding:
    """Put one fault into the copy, run its tests, and restore the file. Raises `ValueError`."""
    original = (copy.folder / mutation.path).read_text("utf-8")
    if original.count(mutation.before) != 1:
        raise ValueError(f"{mutation.path} does not contain this exactly once: {mutation.before}")
    began = time.monotonic()
    copy.write(mutation.path, original.replace(mutation.before, mutation.after))
    try:
        done = copy.run(command_of(mutation))
    finally:
        copy.write(mutation.path, original)
        copy.link_built()
    outcome, by = judge(done.returncode, done.stdout)
    if outcome is not Outcome.FOUND:
        print(done.stdout[-3000:])
    return Finding(mutation, outcome, by, time.monotonic() - began)


def render_table(findings: Iterable[Finding]) -> str:
    """Format the findings as a Markdown table."""
    lines = ["| promise | file | suite | found by |", "|---|---|---|---|"]
    for each in findings:
        by = f"`{each.by}`" if each.by else f"**{each.outcome}**"
        by = by.replace("|", r"\|")
        lines.append(
            f"| {each.mutation.promise} | `{each.mutation.path}` | {each.mutation.suite} | {by} |"
        )
    return "\n".join(lines)


def run_baseline(copy: Copy, chosen: Sequence[Mutation]) -> bool:
    """Run all tests that must find these faults, and return whether they pass without any fault."""
    tests = sorted({test for mutation in chosen for test in mutation.tests})
    commands = sorted({mutation.command for mutation in chosen if mutation.command})
    if tests:
        commands.append((sys.executable, *PYTEST, *tests))
    passed = True
    for command in commands:
        done = copy.run(command)
        passed = passed and done.returncode == 0
        print(done.stdout[-3000:])
    print("All tests pass without a fault." if passed else "Some tests fail even without a fault.")
    return passed


def try_all(copy: Copy, chosen: Sequence[Mutation]) -> bool:
    """Try these faults one after another and print the outcomes. Return whether all were found."""
    findings = []
    for mutation in chosen:
        finding = try_mutation(copy, mutation)
        findings.append(finding)
        print(f"{finding.outcome} ({finding.seconds:.0f} s): {mutation.promise}", flush=True)
    found = sum(each.outcome is Outcome.FOUND for each in findings)
    seconds = sum(each.seconds for each in findings)
    print(f"\n{render_table(findings)}\n\n{found} of {len(chosen)} found in {seconds:.0f} s.")
    return found == len(chosen)


def expect_own_code(copy: Copy) -> None:
    """Raise `RuntimeError` unless Python imports the service from the copy."""
    done = copy.run([sys.executable, "-c", "import imprint; print(imprint.__file__)"])
    if not Path(done.stdout.strip()).is_relative_to(copy.folder):
        raise RuntimeError(f"The tests do not import the copied code: {done.stdout}")


def main() -> int:
    """Try the faults that the arguments select. The exit status is 1 if any was not found."""
    parser = ArgumentParser(prog="python -m tools.mutations", description=__doc__)
    parser.add_argument("parts", nargs="*", help="only promises that contain this text")
    parser.add_argument("--list", action="store_true", help="list the faults and their tests")
    parser.add_argument("--baseline", action="store_true", help="run the tests without a fault")
    given = parser.parse_args()
    parts = [part.lower() for part in given.parts]
    chosen = [
        each
        for each in MUTATIONS
        if not parts or any(part in f"{each.suite}: {each.promise}".lower() for part in parts)
    ]
    if given.list:
        for each in chosen:
            print(f"{each.suite}: {each.promise}\n    {' '.join(each.tests or each.command)}")
        return 0
    with TemporaryDirectory(prefix="imprint-mutations-") as folder:
        copy = Copy.make(Path(folder).resolve())
        expect_own_code(copy)
        passed = run_baseline(copy, chosen) if given.baseline else try_all(copy, chosen)
    return 0 if passed else 1


if __name__ == "__main__":
    sys.exit(main())
