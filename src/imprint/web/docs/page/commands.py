"""Shell commands that send the request of an operation, signing it first if necessary."""

import json
from collections.abc import Iterator, Mapping
from typing import Any
from urllib.parse import quote

from imprint.web.docs.operation import Topic

BASE = "$BASE"
"""The shell variable for the service's address in every command."""

SESSION = "$SESSION"
"""The shell variable for a session."""

SIGNED = {"salt": "$SALT", "address": "$ADDRESS", "signature": "$SIGNATURE"}
"""The members of a signed body, and their shell variables. `$SALT` is JSON."""

SECRET_NOTE = (
    "`$SECRET` is the signing secret of the provider, as in the settings of this service. Change "
    "one character of the body, and the delivery is refused as `webhook_signature_invalid`."
)
"""The note below the commands of webhook operations."""

SIGNATURES = {"X-Alchemy-Signature", "X-QN-Signature"}
"""Headers that contain the signature of a delivery."""

VARIABLES = {
    "X-QN-Nonce": ("NONCE", "$(openssl rand -hex 16)"),
    "X-QN-Timestamp": ("TIMESTAMP", "$(date +%s)"),
}
"""Headers that are signed before the body, with their variables and the commands to set them."""

Json = Mapping[str, Any]


def is_signed(operation: Json) -> bool:
    """Whether a wallet signs the body of the operation."""
    return any(
        isinstance(example := first_example(media), dict) and example.keys() >= SIGNED.keys()
        for media in operation.get("requestBody", {}).get("content", {}).values()
    )


def curl_command(method: str, path: str, operation: Json) -> str:
    """Return a `curl` command with the operation's examples."""
    return " \\\n  ".join(_words(method, path, operation))


def first_example(media: Json) -> Any:
    """Return the example of a body, or the first of several."""
    several: Json = media.get("examples", {})
    return next((each["value"] for each in several.values()), media.get("example"))


def _words(method: str, path: str, operation: Json) -> Iterator[str]:
    parameters = operation.get("parameters", ())
    address = f'"{BASE}{_fill_path(path, parameters)}"'
    yield f"curl {address}" if method == "get" else f"curl -X {method.upper()} {address}"
    if {"session": []} in operation.get("security", ()):
        yield f'-H "Authorization: Bearer {SESSION}"'
    for parameter in parameters:
        if parameter["in"] == "header" and "example" in parameter:
            yield f"-H {shell_quote(parameter['name'] + ': ' + parameter['example'])}"
    for media_type, media in operation.get("requestBody", {}).get("content", {}).items():
        if media_type == "multipart/form-data":
            yield from _form_options(media)
        else:
            yield f"-H {shell_quote('Content-Type: ' + media_type)}"
            yield f"-d {_quote_body(first_example(media), is_signed(operation))}"


def _fill_path(path: str, parameters: Any) -> str:
    query = []
    for parameter in parameters:
        name, example = parameter["name"], parameter.get("example")
        if parameter["in"] == "path":
            path = path.replace(f"{{{name}}}", quote(example, safe=""))
        elif parameter["in"] == "query" and parameter["required"]:
            query.append(f"{name}={quote(example, safe=',')}")
    return f"{path}?{'&'.join(query)}" if query else path


def _form_options(media: Json) -> Iterator[str]:
    encoding = media.get("encoding", {})
    for name, value in first_example(media).items():
        if encoding.get(name, {}).get("contentType", "").startswith("image/"):
            yield f"-F {name}=@{value}"
        elif name in SIGNED:
            yield f'--form-string "{name}={SIGNED[name]}"'
        else:
            yield f"--form-string {shell_quote(name + '=' + value)}"


def _quote_body(example: Any, signed: bool) -> str:
    if not signed:
        return shell_quote(json.dumps(example, indent=2, ensure_ascii=False))
    text = shell_quote(json.dumps({**example, **SIGNED}, indent=2, ensure_ascii=False))
    for name, variable in SIGNED.items():
        # The shell fills in variables between double quotes only; the salt is JSON already.
        open_, close = ("", "") if name == "salt" else ('"', '"')
        text = text.replace(f'"{variable}"', f"{open_}'\"{variable}\"'{close}", 1)
    return text


def shell_quote(text: str) -> str:
    """Quote a text as one shell word."""
    return "'" + text.replace("'", "'\\''") + "'"


# Deliveries


def is_delivery(operation: Json) -> bool:
    """Whether a provider calls the operation, because only providers have the signing secret."""
    return Topic.DELIVERIES in operation["tags"]


def delivery_command(path: str, operation: Json) -> str:
    """Return the commands for the example of an operation that providers call."""
    ((media_type, media),) = operation["requestBody"]["content"].items()
    headers = [parameter["name"] for parameter in operation["parameters"]]
    signed = [VARIABLES[name] for name in headers if name in VARIABLES]
    body = json.dumps(first_example(media), indent=2, ensure_ascii=False)
    pieces = "".join(f"${name}" for name, _ in signed) + "$BODY"
    lines = [
        f"BODY={shell_quote(body)}",
        *(f"{name}={made}" for name, made in signed),
        f'SIGNATURE=$(printf %s "{pieces}" |',
        '  openssl dgst -sha256 -hmac "$SECRET" -r | cut -d " " -f 1)',
        "",
    ]
    words = [f'curl -X POST "{BASE}{path}"']
    words += [f'-H "{name}: ${VARIABLES[name][0]}"' for name in headers if name in VARIABLES]
    words += [f'-H "{name}: $SIGNATURE"' for name in headers if name in SIGNATURES]
    words += [f"-H {shell_quote('Content-Type: ' + media_type)}", '--data-raw "$BODY"']
    return "\n".join([*lines, " \\\n  ".join(words)])
