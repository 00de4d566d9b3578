"""The fields of parameters and bodies, with their types as the docs page shows them."""

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

Json = Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class Field:
    """A parameter, or a member of a body at this path; `kind` is its type as the page shows it."""

    path: str
    kind: str
    required: bool
    description: str
    pattern: str | None


def resolve(schema: Json, openapi: Json) -> Json:
    """The schema, with a reference replaced by its target."""
    while "$ref" in schema:
        found: Any = openapi
        for step in schema["$ref"].removeprefix("#/").split("/"):
            found = found[step]
        schema = found
    return schema


def list_fields(schema: Json, openapi: Json, path: str = "") -> Iterator[Field]:
    """Every member of an object and of the objects nested in it."""
    schema = resolve(schema, openapi)
    required = schema.get("required", ())
    for name, member in schema.get("properties", {}).items():
        yield from _list_member(f"{path}{name}", member, name in required, openapi)


def _list_member(path: str, member: Json, required: bool, openapi: Json) -> Iterator[Field]:
    schema = resolve(member, openapi)
    described = schema.get("description", "")
    # An object without a description is listed only by its members.
    if described or "properties" not in schema:
        kind = name_kind(schema, openapi)
        yield Field(path, kind, required, described, schema.get("pattern"))
    items = resolve(schema.get("items", {}), openapi)
    if "properties" in schema:
        yield from list_fields(schema, openapi, f"{path}.")
    elif "properties" in items:
        yield from list_fields(items, openapi, f"{path}[].")
    elif _is_choice_of_objects(schema, openapi):
        # The description of such a member covers the others.
        yield from list_fields(schema["anyOf"][0], openapi, f"{path}.")


def _is_choice_of_objects(schema: Json, openapi: Json) -> bool:
    """Whether there are several objects to choose from."""
    options = [resolve(option, openapi) for option in schema.get("anyOf", ())]
    return len(options) > 1 and all("properties" in option for option in options)


def name_kind(schema: Json, openapi: Json) -> str:
    """The type of a value as the page shows it."""
    schema = resolve(schema, openapi)
    if "const" in schema:
        return _json(schema["const"])
    if "enum" in schema:
        return " | ".join(_json(value) for value in schema["enum"])
    if "type" not in schema and "anyOf" in schema:
        kinds = [name_kind(option, openapi) for option in schema["anyOf"]]
        return " | ".join(dict.fromkeys(kinds))
    kind = schema.get("type", "any")
    if not isinstance(kind, str):
        return " | ".join(kind)
    if kind == "array":
        return f"array of {name_kind(schema.get('items', {}), openapi)}"
    return str(schema.get("format", kind))


def _json(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False)
