"""The client has a method for every API operation, and no undocumented ones."""

import ast
import doctest
import importlib
import inspect
import pkgutil
import re
import subprocess
import sys
from pathlib import Path

import pytest
from tests.client.interface import described
from tests.processes import Service, free_port

from imprint import client as package
from imprint.client import Imprint, Unreachable
from imprint.client.accounts import AccountMethods
from imprint.client.drafts import DraftMethods
from imprint.client.posts import PostMethods

ROOT = Path(__file__).parents[2]
ROOMS = (AccountMethods, DraftMethods, PostMethods)
BESIDE = {
    "build_write",
    "resend_draft",
    "resume_writing_session",
    "sales_csv",
    "save_draft",
    "wait_for_post",
}
"""Methods that are not API operations themselves but use API operations."""


def test_every_operation_except_webhooks_has_a_client_method():
    assert [name for name in sorted(described()) if not hasattr(Imprint, name)] == []


def test_every_method_that_is_not_an_operation_is_listed():
    methods = {name for room in ROOMS for name in vars(room) if not name.startswith("_")}
    assert methods - described() == BESIDE


def test_every_method_has_a_docstring():
    silent = [
        name
        for name, method in inspect.getmembers(Imprint, inspect.isfunction)
        if not name.startswith("_") and not (method.__doc__ or "").strip()
    ]
    assert silent == []


def test_the_doctests_pass():
    tried = 0
    for found in pkgutil.iter_modules(package.__path__, f"{package.__name__}."):
        results = doctest.testmod(importlib.import_module(found.name))
        assert results.failed == 0
        tried += results.attempted
    assert tried >= 4


def test_the_code_in_the_clients_documentation_runs(service: Service, tmp_path: Path):
    page = (ROOT / "docs" / "clients.md").read_text(encoding="utf-8")
    (block,) = re.findall(r"^## Python\n.+?^```python\n(.+?)^```$", page, re.MULTILINE | re.DOTALL)
    program = tmp_path / "program.py"
    program.write_text(block.replace("http://127.0.0.1:8000", service.url), encoding="utf-8")
    command = [sys.executable, str(program)]
    done = subprocess.run(command, check=False, capture_output=True, text=True, timeout=60)
    assert (done.returncode, done.stdout) == (0, "# Hello\n"), done.stderr


async def test_the_code_in_the_readme_runs(service: Service, capsys: pytest.CaptureFixture[str]):
    page = (ROOT / "README.md").read_text(encoding="utf-8")
    (block,) = re.findall(r"^```python\n(.+?)^```$", page, re.MULTILINE | re.DOTALL)
    block = block.replace("http://127.0.0.1:8000", service.url)
    code = compile(block, "README.md", "exec", flags=ast.PyCF_ALLOW_TOP_LEVEL_AWAIT)
    await eval(code, {})
    assert capsys.readouterr().out == "# Hello, again\n"


async def test_a_service_that_does_not_respond_is_reported_as_unreachable():
    with pytest.raises(Unreachable, match="cannot be reached"):
        await Imprint.connect(f"http://127.0.0.1:{free_port()}")
