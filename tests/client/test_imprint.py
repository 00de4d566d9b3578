"""The client has every operation of the description, and no other names."""

import doctest
import importlib
import inspect
import pkgutil

import pytest
from tests.client.snake_case import snake_case
from tests.processes import free_port

from imprint import client as package
from imprint.client import Imprint, Unreachable
from imprint.client.draft_operations import DraftOperations
from imprint.client.feed_operations import FeedOperations
from imprint.client.post_operations import PostOperations
from imprint.client.service_operations import ServiceOperations
from imprint.client.session_operations import SessionOperations
from imprint.web.docs.openapi import describe_interface

ROOMS = (DraftOperations, FeedOperations, PostOperations, ServiceOperations, SessionOperations)
BESIDE = {
    "build_write",
    "resume_writing_session",
    "sales_csv",
    "save_draft",
    "wait_until_onchain",
}
"""Methods that are no operations, but use some."""


def described() -> set[str]:
    return {
        snake_case(operation["operationId"])
        for path in describe_interface("1")["paths"].values()
        for operation in path.values()
        if "Deliveries" not in operation["tags"]
    }


def test_every_operation_but_the_webhooks_has_a_method():
    assert [name for name in sorted(described()) if not hasattr(Imprint, name)] == []


def test_every_other_method_is_known():
    methods = {name for room in ROOMS for name in vars(room) if not name.startswith("_")}
    assert methods - described() == BESIDE


def test_every_method_has_a_sentence():
    silent = [
        name
        for name, method in inspect.getmembers(Imprint, inspect.isfunction)
        if not name.startswith("_") and not (method.__doc__ or "").strip()
    ]
    assert silent == []


def test_the_examples_of_the_docstrings_are_true():
    tried = 0
    for found in pkgutil.iter_modules(package.__path__, f"{package.__name__}."):
        results = doctest.testmod(importlib.import_module(found.name))
        assert results.failed == 0
        tried += results.attempted
    assert tried >= 4


async def test_a_service_that_does_not_respond_is_unreachable():
    with pytest.raises(Unreachable, match="cannot be reached"):
        await Imprint.connect(f"http://127.0.0.1:{free_port()}")
