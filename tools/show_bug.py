"""Shows past bugs: the test of each fix fails on the source before the fix, and passes after it.

`python -m tools.show_bug COMMIT ...` takes the commits of fixes in `docs/bugs.md`, or their first
digits.
"""

import subprocess
import sys
import tomllib
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory

from tools.files import ROOT
from tools.mutations.__main__ import Copy, Outcome, judge

BUGS = ROOT / "tools" / "bugs.toml"

READING = "reading the code"
"""How a bug was found if no suite found it."""

SOURCES = ("src", "site", "clients", "contracts", "deploy")
"""The folders that are replaced with those of the commit before a fix."""


@dataclass(frozen=True, slots=True)
class Bug:
    """One row of `docs/bugs.md`.

    `since` and `fix` are commits. `found` is a make target, or `READING`. `test` is a test of the
    fix, and `tested` the commit that added the test if it was a later one. `shown` says whether
    this module has seen the test fail before the fix and pass after it.
    """

    area: str
    what: str
    since: str
    found: str
    fix: str
    test: str = ""
    tested: str = ""
    shown: bool = False


def read_bugs() -> list[Bug]:
    """Return all bugs by area, the newest fix first."""
    areas = tomllib.loads(BUGS.read_text("utf-8"))
    return [Bug(area, **row) for area, rows in areas.items() for row in rows]


def main(commits: Sequence[str]) -> int:
    """Show the bugs that these commits fixed. The exit status is 1 if any could not be shown."""
    chosen = [bug for bug in read_bugs() if bug.test and bug.fix.startswith(tuple(commits))]
    shown = [show(bug) for bug in chosen]
    print(f"{sum(shown)} of {len(chosen)} shown.")
    return 0 if chosen and all(shown) else 1


def show(bug: Bug) -> bool:
    """Run the test of a fix with the source after and before the fix, and print the results."""
    print(f"{bug.fix}: {bug.what}\n  {bug.test}", flush=True)
    with check_out(bug.tested or bug.fix) as copy:
        after = run(copy, bug.test)
        print("  after the fix: ", describe(after), flush=True)
        replace_sources(copy.folder, bug)
        before = run(copy, bug.test)
        print("  before the fix:", describe(before), flush=True)
    return after.returncode == 0 and judge(before.returncode, before.stdout)[0] is Outcome.FOUND


@contextmanager
def check_out(commit: str) -> Iterator[Copy]:
    """Check a commit out into a temporary folder that uses the installed packages."""
    with TemporaryDirectory(prefix="imprint-bug-") as temporary:
        copy = Copy(Path(temporary).resolve() / "checkout")
        git("worktree", "add", "--quiet", "--detach", str(copy.folder), commit)
        try:
            copy.link_built()
            # Early tests import httpx. Its successor is installed.
            copy.write("httpx.py", "from httpx2 import *\n")
            yield copy
        finally:
            git("worktree", "remove", "--force", str(copy.folder))


def replace_sources(folder: Path, bug: Bug) -> None:
    """Replace the source with that of the commit before the fix, but keep the test of the fix."""
    present = git("ls-tree", "--name-only", "HEAD", *SOURCES, folder=folder).split()
    before = ("restore", "--staged", "--worktree", f"--source={bug.fix}~1")
    git(*before, "--", *present, folder=folder)
    git("checkout", "--quiet", "HEAD", "--", bug.test.partition("::")[0], folder=folder)


def run(copy: Copy, test: str) -> "subprocess.CompletedProcess[str]":
    """Run one test with pytest, or all tests of one page script with Node."""
    path = test.partition("::")[0]
    if path.endswith(".py"):
        return copy.run([sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", test])
    for other in (copy.folder / "site").rglob("*.test.ts*"):
        if other != copy.folder / path and "node_modules" not in other.parts:
            other.unlink()
    return copy.run(["node", "site/test.mjs"])


def describe(result: "subprocess.CompletedProcess[str]") -> str:
    """Return the line of the output that says how a test ended."""
    lines = [line.strip() for line in result.stdout.splitlines() if line.strip()]
    failed = [line for line in lines if line.startswith(("FAILED", "ERROR", "✖", "not ok"))]
    return (failed or lines or ["no output"])[-1]


def git(*arguments: str, folder: Path | None = None) -> str:
    """Run git, and return its output. Raises `CalledProcessError`."""
    command, place = ["git", *arguments], folder or ROOT
    return subprocess.run(command, cwd=place, capture_output=True, text=True, check=True).stdout  # noqa: S603


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
