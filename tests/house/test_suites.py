"""How CI selects suites and divides them into shares."""

import asyncio
import re
import shutil
import subprocess
import tomllib
from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from tests.house.sources import imports_in, place, python_files, syntax_tree
from tests.shares import cases_of_other_shares
from tools.files import ROOT, files_matching
from tools.suites import (
    REACHES_ALL,
    SUITES,
    TENTH,
    Outcome,
    Suite,
    choose_share,
    count_cases,
    digest_of,
    is_unreached,
    run_suites,
    summarise,
)

SKIPPABLE = {suite.target: suite for suite in SUITES if suite.reach}
MAKEFILE = (ROOT / "Makefile").read_text(encoding="utf-8")


def reaching(suite: Suite) -> set[Path]:
    return {*files_matching((*REACHES_ALL, *suite.reach))}


# Suites


def test_every_make_target_for_tests_is_a_suite():
    targets = set(
        re.findall(r"^(test[a-z0-9-]*|check|fuzz[a-z-]*|mutate|simulate):", MAKEFILE, re.MULTILINE)
    )
    assert {suite.target for suite in SUITES} == targets - {"test-everything"}


def test_every_suite_excluded_from_make_test_has_a_target():
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
    left_out = project["tool"]["pytest"]["ini_options"]["norecursedirs"]
    suites = [name for name in left_out if (ROOT / "tests" / name).is_dir()]
    assert len(suites) > 10
    assert [name for name in suites if f"tests/{name}" not in MAKEFILE] == []


# What a change reaches


def test_only_three_suites_may_be_skipped():
    assert {*SKIPPABLE} == {"test-deploy", "test-generators", "test-pinata"}


@pytest.mark.parametrize(
    "pattern", [*REACHES_ALL, *(each for suite in SKIPPABLE.values() for each in suite.reach)]
)
def test_every_pattern_matches_a_file(pattern: str):
    assert files_matching([pattern])


@pytest.mark.parametrize("target", SKIPPABLE)
@pytest.mark.parametrize(
    "changed",
    [
        "requirements.lock",
        "deploy/requirements.lock",
        "site/package-lock.json",
        "tests/kubo/go.sum",
        "pyproject.toml",
        "Makefile",
        *(place(path) for path in python_files("src/imprint/settings", "src/imprint/cli")),
    ],
)
def test_a_changed_lock_file_setting_or_command_triggers_every_suite(target: str, changed: str):
    assert ROOT / changed in reaching(SKIPPABLE[target])


@pytest.mark.parametrize("target", SKIPPABLE)
def test_a_changed_schema_triggers_every_suite(target: str):
    schemas = {
        path
        for path in python_files("src")
        if re.search(r"CREATE (TABLE|INDEX|UNIQUE|VIRTUAL|TRIGGER)", path.read_text("utf-8"))
    }
    assert schemas
    assert {place(path) for path in schemas - reaching(SKIPPABLE[target])} == set()


@pytest.mark.parametrize(
    ("target", "folder"),
    [
        ("test-deploy", "tests/deploy"),
        ("test-generators", "tests/generators"),
        ("test-pinata", "tests/pinata_sdk"),
    ],
)
def test_a_changed_test_module_triggers_the_suites_that_import_it(target: str, folder: str):
    waiting, imported = python_files(folder), set()
    while waiting:
        path = waiting.pop()
        if path not in imported:
            imported.add(path)
            waiting += _imported_tests(path)
    missing = {place(path) for path in imported - reaching(SKIPPABLE[target])}
    assert missing == set()


def _imported_tests(path: Path) -> Iterator[Path]:
    for name in imports_in(syntax_tree(path)):
        file = ROOT.joinpath(*name.split(".")).with_suffix(".py")
        if name.startswith("tests.") and file.exists():
            yield file


@pytest.fixture
def checkout(tmp_path: Path) -> Path:
    """A repository with a file for each type of pattern."""
    for name in ("requirements.lock", "src/imprint/settings/groups.py", "deploy/imprint.service"):
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text("one\n")
    subprocess.run(["git", "init", "--quiet"], cwd=tmp_path, check=True)
    return tmp_path


@pytest.mark.parametrize(
    ("changed", "skipped"),
    [
        (None, True),
        ("src/imprint/services/posts/feeds.py", True),
        ("deploy/imprint.service", False),
        ("deploy/another.service", False),
        ("requirements.lock", False),
        ("src/imprint/settings/groups.py", False),
    ],
)
def test_a_suite_is_skipped_while_its_files_match_its_last_pass(
    checkout: Path, changed: str | None, skipped: bool
):
    suite = Suite("test-deploy", "", 0, reach=("deploy/**",))
    passed = {"test-deploy": digest_of(suite, checkout)}
    if changed:
        (checkout / changed).parent.mkdir(parents=True, exist_ok=True)
        (checkout / changed).write_text("two\n")
    assert is_unreached(suite, TENTH + 1, passed, checkout) == skipped
    assert not is_unreached(suite, TENTH, passed, checkout)


def test_a_deleted_file_and_a_changed_description_count_as_changes(checkout: Path):
    said = ["one"]
    suite = Suite("test-deploy", "", 0, reach=("deploy/**",), reads=lambda: said[0])
    first = digest_of(suite, checkout)
    said[0] = "another"
    second = digest_of(suite, checkout)
    shutil.rmtree(checkout / "deploy")
    assert len({first, second, digest_of(suite, checkout)}) == 3


def test_a_suite_that_never_passed_runs(checkout: Path):
    suite = Suite("test-deploy", "", 0, reach=("deploy/**",))
    assert not is_unreached(suite, 1, {}, checkout)


def test_a_suite_triggered_by_every_change_runs(checkout: Path):
    suite = Suite("test", "", 0)
    assert not is_unreached(suite, 1, {"test": digest_of(suite, checkout)}, checkout)


# Shares


def case(name: str, *together: str, **parameters: str) -> Any:
    """A test case that is run in rotation."""
    path = Path(name.partition("::")[0])
    marker = SimpleNamespace(args=together)
    callspec = SimpleNamespace(params=parameters)
    return SimpleNamespace(
        nodeid=name, path=path, callspec=callspec, get_closest_marker=lambda _: marker
    )


def kept(items: list[Any], share: str) -> list[str]:
    others = cases_of_other_shares(items, share)
    return [each.nodeid for each in items if each not in others]


def test_every_test_case_is_in_exactly_one_share():
    items = [case(f"tests/a.py::{number}") for number in range(7)]
    shares = [kept(items, f"{number}/3") for number in range(3)]
    assert [len(share) for share in shares] == [3, 2, 2]
    assert sorted(name for share in shares for name in share) == kept(items, "0/1")


def test_a_case_that_does_not_rotate_is_in_every_share():
    steady = SimpleNamespace(nodeid="steady", get_closest_marker=lambda _: None)
    assert [kept([case("a.py::1"), steady], f"{number}/2") for number in range(2)] == [
        ["a.py::1", "steady"],
        ["steady"],
    ]


def test_cases_with_the_same_module_or_parameter_are_in_the_same_share():
    modules = [case(f"tests/{name}.py::{n}", "module") for name in "ab" for n in range(2)]
    assert kept(modules, "1/2") == ["tests/b.py::0", "tests/b.py::1"]
    proxies = [case(f"a.py::{n}[{p}]", "proxy", proxy=p) for n in range(2) for p in ("x", "y")]
    assert kept(proxies, "0/2") == ["a.py::0[x]", "a.py::1[x]"]


@pytest.mark.parametrize(
    ("seconds", "share"), [(0, "0/4"), (70, "0/4"), (140, "0/4"), (200, "4/8"), (350, "0/12")]
)
def test_a_share_is_smaller_on_a_machine_that_was_slow_so_far(seconds: float, share: str):
    outcomes = [Outcome(Suite("test", "", 60), seconds=seconds / 2)] * 2 if seconds else []
    assert choose_share(Suite("test-crash", "", 0, shares=4), 12, outcomes) == share
    assert choose_share(Suite("test", "", 0), 12, outcomes) == "0/1"


# The runner


async def test_suites_run_in_parallel_as_far_as_the_cores_allow():
    events: list[str] = []
    lanes: dict[str, str] = {}

    async def run(suite: Suite, environ: dict[str, str]) -> Outcome:
        events.append(f"{suite.target} begins")
        lanes[suite.target] = environ["LANE"]
        await asyncio.sleep(0)
        events.append(f"{suite.target} ends")
        return Outcome(suite)

    plan = [Suite("a", "", 0, cores=1), Suite("b", "", 0, cores=1), Suite("c", "", 0, cores=2)]
    outcomes = await run_suites(plan, lambda suite, outcomes: {}, run)
    assert {*events[:2]} == {"a begins", "b begins"}
    assert {lanes["a"], lanes["b"]} == {"0/2", "1/2"}
    assert events[-2:] == ["c begins", "c ends"]
    assert {each.suite.target for each in outcomes} == {"a", "b", "c"}


async def test_no_suite_starts_after_one_has_failed():
    async def run(suite: Suite, _: dict[str, str]) -> Outcome:
        return Outcome(suite, status=1)

    suites = [Suite(name, "", 0) for name in "ab"]
    outcomes = await run_suites(suites, lambda suite, outcomes: {}, run)
    assert [each.suite.target for each in outcomes] == ["a"]


@pytest.mark.parametrize(("failures", "status"), [(1, 0), (2, 1)])
async def test_a_suite_that_fails_beside_another_is_repeated_once_alone(failures: int, status: int):
    begun: list[str] = []
    ended: list[str] = []

    async def run(suite: Suite, _: dict[str, str]) -> Outcome:
        begun.append(suite.target)
        if suite.target == "b":
            await asyncio.sleep(0.01)
        ended.append(suite.target)
        is_failure = suite.target == "a" and begun.count("a") <= failures
        return Outcome(suite, status=int(is_failure))

    plan = [Suite("a", "", 0, cores=1), Suite("b", "", 0, cores=1), Suite("c", "", 0)]
    outcomes = await run_suites(plan, lambda suite, outcomes: {}, run)
    assert begun[:3] == ["a", "b", "a"]
    assert ended[:3] == ["a", "b", "a"]
    (repeated,) = [each for each in outcomes if each.suite.target == "a"]
    assert (repeated.attempts, repeated.status) == (2, status)
    assert ("c" in begun) is (status == 0)


def test_cases_are_counted_from_the_summary_lines():
    log = (
        "ℹ pass 12\n...\n3 passed, 1 skipped, 2 deselected in 1.24s\n"
        "===== 5 passed in 65.02s (0:01:05) =====\n"
    )
    assert count_cases(log) == {"passed": 20, "skipped": 1, "deselected": 2}


def test_the_summary_lists_what_ran_and_what_did_not():
    ran = Outcome(Suite("test", "", 0), seconds=61.4, counts={"passed": 3})
    failed = Outcome(Suite("check", "", 0), status=2, seconds=1)
    repeated = Outcome(Suite("fuzz", "", 0), seconds=2, counts={"passed": 1}, attempts=2)
    skipped = Outcome(Suite("test-deploy", "", 0), left_out="not reached")
    table = summarise([ran, failed, repeated, skipped], 70).splitlines()
    assert [line.split() for line in table[1:]] == [
        ["test", "61", "3", "passed"],
        ["check", "1", "FAILED"],
        ["fuzz", "2", "second", "attempt", "1", "passed"],
        ["test-deploy", "not", "reached"],
        ["altogether", "70"],
    ]
