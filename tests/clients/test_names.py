"""The Python and TypeScript clients use the same names, each in the style of its language."""

import inspect
import json
import re
import subprocess
from pathlib import Path

from imprint import client
from imprint.client import Imprint

PACKAGE = Path(__file__).parents[2] / "clients" / "typescript" / "dist" / "index.js"

LIST_NAMES = """
import * as names from %s;
const classes = [names.Imprint, names.ImprintWriter, names.ImprintReader];
const methods = classes.flatMap((each) => Object.getOwnPropertyNames(each.prototype));
console.log(JSON.stringify({ methods, exported: Object.keys(names) }));
"""

OF_PYTHON = {
    "beside",  # `as` and `within`; `as` is a word of Python
    "close",  # connections of Python are closed by their owner
    "connect",  # `static`
    "node",  # a page has a provider of its own
    "resume_writing_session",  # a function, so that pages for readers do not load it
}
"""Methods that the TypeScript client provides in a different way."""


def camel_case(name: str) -> str:
    """Convert a name like `list_posts` to `listPosts`."""
    return re.sub(r"_(\w)", lambda found: found[1].upper(), name)


def typescript_names() -> dict[str, list[str]]:
    program = LIST_NAMES % json.dumps(str(PACKAGE))
    command = ["node", "--input-type=module", "--eval", program]
    done = subprocess.run(command, check=True, capture_output=True, text=True, timeout=60)
    names: dict[str, list[str]] = json.loads(done.stdout)
    return names


def test_both_clients_have_the_same_methods_and_functions() -> None:
    names = typescript_names()
    methods = {
        camel_case(name)
        for name, _ in inspect.getmembers(Imprint, inspect.isfunction)
        if not name.startswith("_") and name not in OF_PYTHON
    }
    assert methods - set(names["methods"]) == set()
    functions = {camel_case(name) for name in client.__all__ if name.islower()}
    assert {"createPostCall", "verifyDocument"} <= functions
    assert functions - set(names["exported"]) == set()
    failures = {"Refusal", "Unconfirmed", "Unreachable", "WalletNeeded"}
    assert failures | {"POST_LIMITS"} <= set(names["exported"])
    assert failures | {"POST_LIMITS"} <= set(client.__all__)
