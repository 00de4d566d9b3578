"""Deliberate faults apply to the current code, and generated faults change what the code does."""

import tomllib
from pathlib import Path
from typing import Any

import pytest
from tools.files import ROOT
from tools.mutations.__main__ import MUTATIONS, Outcome, judge
from tools.mutations.generator import compile_mutant, generate
from tools.mutations.guarded import TESTS
from tools.mutations.mutants import (
    STUCK,
    Verdicts,
    choose,
    expect_success,
    guarded_files,
    problems_of,
    read_survivors,
)
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


@pytest.mark.parametrize(
    ("code", "faults"),
    [
        ("return a < b", ["return None", "a <= b"]),
        ("return a is None", ["return None", "a is not None"]),
        ("if a and b: c()", ["if False: pass", "True and b", "a and True", "pass"]),
        ("if not a: raise b", ["not not a", "pass"]),
        ("if a == b: c()", ["a != b", "pass"]),
        ("self.a = b + 1", ["pass", "b - 1", "b + 2"]),
        ("a += 1", ["a -= 1"]),
        ("return min(a)", ["return None", "max"]),
        ("await a(b=True)", ["pass", "b=False"]),
        ("a = b if c else 'word'", ["b if False else 'word'", "'wordx'"]),
        ("a = [b for b in c if b]", ["for b in c if True"]),
        ("return None", []),
        ("return False", ["return True"]),
        ("raise Refusal(code, 'A sentence for people.')", ["pass"]),
        ("log.info('done', extra=1)", []),
        ("a: Literal['b'] = c", []),
        ("assert isinstance(a, int)", []),
    ],
)
def test_faults_are_generated_in_the_order_of_the_code(code: str, faults: list[str]):
    found = generate("a.py", f"async def f(self):\n    {code}\n")
    assert [each.name.partition(" → ")[2] for each in found] == faults
    assert all(each.is_inside and each.line == 2 for each in found)


def test_a_fault_in_a_module_variable_or_default_counts_as_outside_functions():
    source = "LIMIT = 8 * 2\n\n\ndef f(a=True):\n    return a\n"
    *outside, inside = generate("a.py", source)
    assert [each.name for each in outside] == [
        "module: 8 * 2 → 8 // 2",
        "module: 8 * 2 → 9 * 2",
        "module: 8 * 2 → 8 * 3",
        "f: True → False",
    ]
    assert {each.subject for each in outside} == {"LIMIT", ""}
    assert not any(each.is_inside for each in outside)
    assert inside.name == "f: return a → return None"


def test_a_compiled_fault_changes_what_its_name_says():
    source = "def f(a, b):\n    return a < b\n\n\ndef g():\n    return 1\n"
    (fault,) = (each for each in generate("a.py", source) if "<=" in each.name)
    space: dict[str, Any] = {}
    exec(compile_mutant(fault, source, "a.py"), space)
    assert space["f"](1, 1)
    assert space["g"]() == 1


def test_a_sample_stays_the_same_while_other_code_changes():
    before = generate("a.py", "def f(a):\n    return a == 1\n")
    after = generate("a.py", "def e(a):\n    return a == 2\n\n\ndef f(a):\n    return a == 1\n")
    names = [each.name for each in choose(before, 0, "0")]
    kept = [each.name for each in choose(after, 0, "0") if each.name in names]
    assert kept == names
    assert choose(after, 2, "0") == choose(after, 0, "0")[:2]


LISTED, OTHER = ("a.py", "f: a → b"), ("a.py", "f: b → c")
"""Two faults, of which one is listed as a survivor."""

FOUND = {("b.py", str(number)): "test" for number in range(9)}
"""Nine faults that tests found."""


@pytest.mark.parametrize(
    ("finders", "is_complete", "problems"),
    [
        ({**FOUND, LISTED: ""}, True, []),
        ({**FOUND, OTHER: STUCK}, True, []),
        ({**FOUND, OTHER: ""}, False, ["1 survivors that are not listed"]),
        (
            {**FOUND, LISTED: "test"},
            True,
            ["1 listed survivors that a test finds (a.py: f: a → b)"],
        ),
        ({**FOUND, LISTED: "test"}, False, []),
        ({**FOUND, LISTED: STUCK}, True, []),
        ({OTHER: "test", LISTED: ""}, False, ["only 50.0% found"]),
        ({}, True, []),
    ],
)
def test_new_survivors_found_survivors_and_a_low_share_are_problems(
    finders: dict[tuple[str, str], str], is_complete: bool, problems: list[str]
):
    listed = {LISTED: "It changes nothing."}
    assert problems_of(finders, listed, is_complete=is_complete) == problems


def test_a_recorded_run_ignores_what_earlier_runs_found(tmp_path: Path):
    path = tmp_path / "verdicts.jsonl"
    (mutant,) = generate("tools/files.py", "def f():\n    return 1\n")[:1]
    Verdicts(path).add(mutant, "tests/house/test_mutations.py::test")
    key = mutant.path, mutant.name
    assert key in Verdicts(path).known
    assert key not in Verdicts(path, is_recorded=True).known


def test_a_test_that_fails_without_a_fault_ends_the_run():
    expect_success("")
    with pytest.raises(RuntimeError, match="even without a fault: test_a"):
        expect_success("test_a")


def test_every_listed_survivor_is_a_fault_of_the_current_code():
    listed = read_survivors()
    files = {path for path, _ in listed}
    assert files <= {*guarded_files()}
    faults = {
        (path, each.name)
        for path in files
        for each in generate(path, (ROOT / path).read_text("utf-8"))
    }
    assert [each for each in listed if each not in faults] == []
    assert all(why.endswith(".") for why in listed.values())


def test_the_guarded_files_have_tests():
    assert [each for each in TESTS if not (ROOT / each).exists()] == []
    assert "src/imprint/services/access/entitlement.py" in guarded_files()
