"""Fields: the members of a schema in one flat list, as people read them."""

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True, slots=True)
class Field:
    """One member, by the path to it; `kind` says in a few words what it may be."""

    path: str
    kind: str
    required: bool
    description: str
    pattern: str | None


def resolve(schema: Mapping[str, Any], openapi: Mapping[str, Any]) -> Mapping[str, Any]:
    """What a reference refers to, or the schema itself."""
    while "$ref" in schema:
        found: Any = openapi
        for step in schema["$ref"].removeprefix("#/").split("/"):
            found = found[step]
        schema = found
    return schema


def list_fields(
    schema: Mapping[str, Any], openapi: Mapping[str, Any], path: str = ""
) -> Iterator[Field]:
    """Every member of an object, and of the objects in it."""
    schema = resolve(schema, openapi)
    required = schema.get("required", ())
    for name, member in schema.get("properties", {}).items():
        yield from _list_member(f"{path}{name}", member, name in required, openapi)


def _list_member(
    path: str, member: Mapping[str, Any], required: bool, openapi: Mapping[str, Any]
) -> Iterator[Field]:
    schema = resolve(member, openapi)
    described = schema.get("description", "")
    # Of an object without a word of its own the members say everything.
    if described or "properties" not in schema:
        kind = name_kind(schema, openapi)
        yield Field(path, kind, required, described, schema.get("pattern"))
    items = resolve(schema.get("items", {}), openapi)
    if "properties" in schema:
        yield from list_fields(schema, openapi, f"{path}.")
    elif "properties" in items:
        yield from list_fields(items, openapi, f"{path}[].")


def name_kind(schema: Mapping[str, Any], openapi: Mapping[str, Any]) -> str:
    """A few words for what a value may be."""
    schema = resolve(schema, openapi)
    if "const" in schema:
        return _spell(schema["const"])
    if "enum" in schema:
        return " | ".join(_spell(value) for value in schema["enum"])
    if "type" not in schema and "anyOf" in schema:
        kinds = [name_kind(option, openapi) for option in schema["anyOf"]]
        return " | ".join(dict.fromkeys(kinds))
    kind = schema.get("type", "any")
    if not isinstance(kind, str):
        return " | ".join(kind)
    if kind == "array":
        return f"array of {name_kind(schema.get('items', {}), openapi)}"
    return str(schema.get("format", kind))


def _spell(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False)
