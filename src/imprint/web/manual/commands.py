"""Commands: how an operation is called from a shell."""

import json
from collections.abc import Iterator, Mapping
from typing import Any
from urllib.parse import quote

BASE = "$BASE"
"""The variable that stands for the service's address in every command."""

SESSION = "$SESSION"
"""The variable that stands for a session."""


def write_command(method: str, path: str, operation: Mapping[str, Any]) -> str:
    """A `curl` command with the operation's own examples."""
    return " \\\n  ".join(_words(method, path, operation))


def _words(method: str, path: str, operation: Mapping[str, Any]) -> Iterator[str]:
    parameters = operation.get("parameters", ())
    address = f'"{BASE}{_fill(path, parameters)}"'
    yield f"curl {address}" if method == "get" else f"curl -X {method.upper()} {address}"
    if operation.get("security"):
        yield f'-H "Authorization: Bearer {SESSION}"'
    for parameter in parameters:
        if parameter["in"] == "header" and "example" in parameter:
            yield f"-H {_shell(parameter['name'] + ': ' + parameter['example'])}"
    for media_type, media in operation.get("requestBody", {}).get("content", {}).items():
        if media_type == "multipart/form-data":
            yield from _form(media)
        else:
            yield f"-H {_shell('Content-Type: ' + media_type)}"
            yield f"-d {_shell(_pretty(media['example']))}"


def _fill(path: str, parameters: Any) -> str:
    query = []
    for parameter in parameters:
        name, example = parameter["name"], parameter.get("example")
        if parameter["in"] == "path":
            path = path.replace(f"{{{name}}}", quote(example, safe=""))
        elif parameter["in"] == "query" and example is not None:
            query.append(f"{name}={quote(example, safe=',')}")
    return f"{path}?{'&'.join(query)}" if query else path


def _form(media: Mapping[str, Any]) -> Iterator[str]:
    encoding = media.get("encoding", {})
    for name, value in media["example"].items():
        if encoding.get(name, {}).get("contentType", "").startswith("image/"):
            yield f"-F {name}=@{value}"
        else:
            text = value if isinstance(value, str) else json.dumps(value, separators=(",", ":"))
            yield f"--form-string {_shell(name + '=' + text)}"


def _pretty(value: Any) -> str:
    return json.dumps(value, indent=2, ensure_ascii=False)


def _shell(text: str) -> str:
    return "'" + text.replace("'", "'\\''") + "'"
