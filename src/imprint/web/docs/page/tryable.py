"""The data that the script of the docs page needs to send a request."""

from collections.abc import Mapping
from typing import Any, Literal

from imprint.web.docs.page.commands import first_example, is_signed
from imprint.web.docs.page.fields import name_kind, resolve

Json = Mapping[str, Any]

Access = Literal["none", "optional", "session", "wallet"]
"""Who may call: everybody, everybody (with more for a session), a session, or a wallet's
signature"""


def describe_request(method: str, path: str, operation: Json, openapi: Json) -> dict[str, Any]:
    """Method, path and parameters of an operation, and the parts of its body."""
    parameters = [
        _describe_parameter(parameter, openapi) for parameter in operation.get("parameters", ())
    ]
    described = {
        "name": operation["operationId"],
        "method": method.upper(),
        "path": path,
        "access": access_of(operation),
        "parameters": parameters,
    }
    for media in operation.get("requestBody", {}).get("content", {}).values():
        example = first_example(media)
        described["body"] = {
            name: value
            for name, value in example.items()
            if name not in ("salt", "address", "signature", "session")
        }
    return described


def access_of(operation: Json) -> Access:
    """What a caller needs."""
    if is_signed(operation):
        return "wallet"
    security = operation.get("security", ())
    if {"session": []} not in security:
        return "none"
    return "optional" if {} in security else "session"


def _describe_parameter(parameter: Json, openapi: Json) -> dict[str, Any]:
    schema = resolve(parameter["schema"], openapi)
    return {
        "name": parameter["name"],
        "in": parameter["in"],
        "required": parameter["required"],
        "example": parameter.get("example", ""),
        "kind": name_kind(schema, openapi),
        "options": list(schema.get("enum", ())),
    }
