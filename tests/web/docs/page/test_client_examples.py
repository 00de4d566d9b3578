"""The Python examples on the docs page compile and match the client."""

import ast
import inspect
from typing import Any

import pytest
from tests.web.described import DOCUMENT

import imprint.client
from imprint.web.docs.page.client_examples import python_example, snake_case
from imprint.web.docs.page.commands import is_delivery

CALLED = [
    operation
    for methods in DOCUMENT["paths"].values()
    for operation in methods.values()
    if "x-alias-of" not in operation and not is_delivery(operation)
]


@pytest.mark.parametrize("operation", CALLED, ids=lambda each: each["operationId"])
def test_a_python_example_matches_the_client(operation: dict[str, Any]) -> None:
    tree = ast.parse(python_example(operation))
    compile(tree, operation["operationId"], "exec")
    imported = [
        alias.name
        for node in ast.walk(tree)
        if isinstance(node, ast.ImportFrom) and node.module == "imprint.client"
        for alias in node.names
    ]
    assert set(imported) <= set(imprint.client.__all__)
    calls = [
        node
        for node in ast.walk(tree)
        if isinstance(node, ast.Call)
        and isinstance(node.func, ast.Attribute)
        and isinstance(node.func.value, ast.Name)
        and node.func.value.id == "imprint"
    ]
    assert snake_case(operation["operationId"]) in {_name(call) for call in calls}
    for call in calls:
        signature = inspect.signature(getattr(imprint.client.Imprint, _name(call)))
        given = {keyword.arg: None for keyword in call.keywords if keyword.arg}
        signature.bind(None, *call.args, **given)


def _name(call: ast.Call) -> str:
    assert isinstance(call.func, ast.Attribute)
    return call.func.attr
