"""Errors that the service anticipates."""

import ast
import inspect
import re

import pytest

from imprint.domain import errors
from imprint.domain.errors import (
    CannotStart,
    Code,
    NonceUsed,
    OutOfRange,
    Problem,
    RateLimited,
    Refusal,
    Unavailable,
)


def test_a_problem_has_a_code_and_a_detail() -> None:
    problem = Problem(Code.NOT_FOUND, "There is no such file.")
    assert (problem.code, problem.detail) == ("not_found", "There is no such file.")
    assert str(problem) == "There is no such file."


@pytest.mark.parametrize(
    ("problem", "code"),
    [
        (NonceUsed("create", None), Code.NONCE_USED),
        (RateLimited(7), Code.RATE_LIMITED),
        (OutOfRange(11), Code.RANGE_NOT_SATISFIABLE),
        (Unavailable.chain(), Code.CHAIN_UNAVAILABLE),
        (Unavailable.storage(), Code.STORAGE_UNAVAILABLE),
        (Unavailable.database(), Code.DATABASE_UNAVAILABLE),
    ],
)
def test_each_special_problem_has_its_own_code(problem: Problem, code: Code) -> None:
    assert problem.code is code
    assert problem.detail.endswith(".")


def test_a_special_refusal_has_the_values_needed_for_the_response() -> None:
    assert RateLimited(7).retry_after == 7
    assert OutOfRange(11).size == 11
    assert NonceUsed("create", None).file is None


def test_an_unavailable_dependency_is_not_a_refusal() -> None:
    assert not issubclass(Unavailable, Refusal)
    assert not issubclass(CannotStart, Problem)


def test_the_class_tree_in_the_docstring_is_up_to_date() -> None:
    drawn, path = {}, ["Exception"]
    for line in (inspect.getdoc(errors) or "").splitlines():
        branch = re.fullmatch(r"([│ ]*)[├└]── (\w+) .*", line)
        if branch is not None:
            depth = len(branch[1]) // 4
            path[depth:] = [branch[2]]
            drawn[branch[2]] = path[depth - 1]
    classes = [
        node for node in ast.parse(inspect.getsource(errors)).body if isinstance(node, ast.ClassDef)
    ]
    defined = {node.name: ast.unparse(node.bases[0]) for node in classes if node.name != "Code"}
    assert drawn == defined
