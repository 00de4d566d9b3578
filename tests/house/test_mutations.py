"""The deliberate faults: each one applies to the current code and names existing tests."""

import tomllib

import pytest
from tools.files import ROOT
from tools.mutations.__main__ import MUTATIONS, Outcome, judge
from tools.mutations.mutation import Mutation
from tools.suites import SUITES

FEWEST = 36

APART = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["tool"]["pytest"]
"""The pytest settings, which list the folders that `make test` leaves to other suites."""


def test_there_are_many_faults_and_each_breaks_a_different_promise():
    promises = [each.promise for each in MUTATIONS]
    assert len(promises) >= FEWEST
    assert len(set(promises)) == len(promises)


@pytest.mark.parametrize("mutation", MUTATIONS, ids=lambda each: each.promise)
def test_every_fault_applies_to_the_code_and_its_tests_exist(mutation: Mutation):
    text = (ROOT / mutation.path).read_text("utf-8")
    assert text.count(mutation.before) == 1
    assert mutation.before != mutation.after
    assert mutation.suite in {suite.target for suite in SUITES}
    assert bool(mutation.tests) != bool(mutation.command)
    for each in mutation.tests:
        file, _, name = each.partition("::")
        found = (ROOT / file).read_text("utf-8")
        assert not name or f"def {name.partition('[')[0]}(" in found
        left_out = file.split("/")[1] in APART["ini_options"]["norecursedirs"]
        assert left_out != (mutation.suite == "test")


@pytest.mark.parametrize(
    ("status", "text", "outcome"),
    [
        (0, "3 passed", (Outcome.NOT_FOUND, "")),
        (
            1,
            "FAILED tests/a.py::test_b[x] - assert 1 == 2",
            (Outcome.FOUND, "tests/a.py::test_b[x]"),
        ),
        (1, "FAILED tests/a.py::test_b", (Outcome.FOUND, "tests/a.py::test_b")),
        (1, "ERROR tests/a.py::test_b - OSError", (Outcome.BROKEN, "")),
        (2, "ERROR tests/a.py - SyntaxError", (Outcome.BROKEN, "")),
        (1, "not ok 4 - a list is read", (Outcome.FOUND, "a list is read")),
        (1, "not ok 1 - /tmp/dist/list.test.js", (Outcome.BROKEN, "")),
        (1, "    ✖ a list is read (3.2ms)", (Outcome.FOUND, "a list is read")),
        (1, "a.json does not match A.sol: run", (Outcome.FOUND, "a.json does not match A.sol")),
        (
            1,
            "The domain imports nothing BROKEN (1 ignored)",
            (Outcome.FOUND, "The domain imports nothing"),
        ),
    ],
)
def test_only_a_failed_test_counts_as_a_detected_fault(
    status: int, text: str, outcome: tuple[Outcome, str]
):
    assert judge(status, text) == outcome
