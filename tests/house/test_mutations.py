"""Deliberate faults apply to the current code, and generated faults change what the code does."""

import tomllib
from typing import Any

import pytest
from tools.files import ROOT
from tools.mutations.__main__ import MUTATIONS, Outcome, judge
from tools.mutations.generator import compile_mutant, generate
from tools.mutations.guarded import TESTS
from tools.mutations.mutants import choose, guarded_files, read_survivors
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
