"""The table of bugs names existing commits, tests and suites, and its tool reproduces bugs."""

from functools import cache
from itertools import groupby
from pathlib import Path

import pytest
from tests.house.history import commit_times, git
from tools import show_bug
from tools.show_bug import READING, Bug, read_bugs
from tools.suites import SUITES

BUGS = read_bugs()
FEWEST_SHOWN = 20
AUTHOR = ("-c", "user.name=Test", "-c", "user.email=test@example.com")


def is_in(commit: str, test: str) -> bool:
    """Whether a commit contains a test."""
    path, _, name = test.partition("::")
    return f"def {name}(" in git("show", f"{commit}:{path}") if name else path in files_of(commit)


@cache
def files_of(commit: str) -> set[str]:
    """Return the files that a commit contains."""
    return {*git("ls-tree", "-r", "--name-only", commit).splitlines()}


def test_every_bug_was_found_by_a_suite_or_by_reading_the_code():
    known = {suite.target for suite in SUITES} | {"soak", READING}
    assert {bug.found for bug in BUGS} <= known


def test_no_bug_is_listed_twice():
    assert len({bug.what for bug in BUGS}) == len(BUGS)


def test_many_bugs_were_reproduced():
    shown = [bug for bug in BUGS if bug.shown]
    assert all("::" in bug.test or bug.test.endswith(".ts") for bug in shown)
    assert len(shown) >= FEWEST_SHOWN


def test_every_commit_exists_and_the_bug_is_older_than_its_fix():
    known = commit_times()
    missing = {commit for bug in BUGS for commit in (bug.since, bug.fix) if commit not in known}
    assert missing == set()
    assert [bug for bug in BUGS if known[bug.since] > known[bug.fix]] == []


def test_the_newest_fix_of_each_area_comes_first():
    known = commit_times()
    for _, bugs in groupby(BUGS, key=lambda bug: bug.area):
        fixed = [known[bug.fix] for bug in bugs]
        assert fixed == sorted(fixed, reverse=True)


def test_the_test_of_every_bug_exists():
    commit_times()
    assert [bug for bug in BUGS if bug.test and not is_in(bug.tested or bug.fix, bug.test)] == []


@pytest.mark.parametrize(
    ("before", "after", "is_shown"),
    [("3", "4", True), ("4", "4 ", False), ("3", "5", False), ("import", "4", False)],
    ids=["fixed", "no bug before", "not fixed", "broken before"],
)
def test_a_bug_is_reproduced_if_its_test_fails_before_and_passes_after_the_fix(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, before: str, after: str, is_shown: bool
):
    test = "def test_sum():\n    from sums import SUM\n    assert SUM == 4\n"
    if before == "import":
        test = "from sums import SUM\n\n" + test
    files = {"src/sums.py": f"SUM = {before}\n" if before != "import" else "", "tests/a.py": test}
    commits = [files, files | {"src/sums.py": f"SUM = {after}\n"}]
    monkeypatch.setattr(show_bug, "ROOT", tmp_path)
    show_bug.git("init", "--quiet")
    for each in commits:
        for name, text in each.items():
            (tmp_path / name).parent.mkdir(exist_ok=True)
            (tmp_path / name).write_text(text)
        show_bug.git("add", ".")
        show_bug.git(*AUTHOR, "commit", "--quiet", "--message", "Change it")
    fix = show_bug.git("rev-parse", "HEAD").strip()
    bug = Bug("sums", "2 + 2 was 3.", f"{fix}~1", READING, fix, "tests/a.py::test_sum")
    assert show_bug.show(bug) is is_shown
    assert len(show_bug.git("worktree", "list").splitlines()) == 1
