"""JSON Schemas in the subset that client generators understand.

An enum has a type, and a constant is an enum of one. A value that may be null has a list of types,
or is `anyOf` a reference to an object and null; a reference to a string would become a class. A
member with a default may be missing, and is not null.
"""

from collections.abc import Iterable
from typing import Any

import msgspec

Schema = dict[str, Any]


def ref(name: str) -> Schema:
    """A reference to a component."""
    return {"$ref": f"#/components/schemas/{name}"}


def string(description: str, pattern: str | None = None, **more: Any) -> Schema:
    """A string, with a pattern if one is given."""
    matching = {} if pattern is None else {"pattern": pattern}
    return {"type": "string", "description": description, **matching, **more}


def choice(description: str, *values: str) -> Schema:
    """One of some strings."""
    return string(description, enum=list(values))


def array(description: str, items: Schema, **more: Any) -> Schema:
    """A list of items."""
    return {"type": "array", "description": description, "items": items, **more}


def closed_structure(description: str, properties: Schema, *optional: str) -> Schema:
    """An object with these members and no others, all required but the optional ones."""
    return {
        "type": "object",
        "description": description,
        "required": [name for name in properties if name not in optional],
        "properties": properties,
        "additionalProperties": False,
    }


_NAMES = {
    "Content": "ContentResponse",
    "DeletedDraft": "DeletedFile",
    "Draft": "FileRecord",
    "FeedsResponse": "FeedList",
    "File": "ReadRecord",
    "MarketplaceFacts": "Marketplace",
    "OpeningBody": "WritingSessionBody",
    "Published": "PublishedResponse",
    "ServiceFacts": "Facts",
    "WritingSessionRecord": "WritingSession",
    "WritingSessionsResponse": "WritingSessionList",
}
"""Names of components that differ from the names of their structs."""


def component_name(struct: type[msgspec.Struct]) -> str:
    """The name of the component of a struct."""
    return _component_name(struct.__name__)


def _component_name(name: str) -> str:
    return _NAMES.get(name, name)


def describe_structs(structs: Iterable[type[msgspec.Struct]]) -> dict[str, Schema]:
    """The components of structs, of nested structs, and of the titled types in those."""
    _, generated = msgspec.json.schema_components(
        structs, schema_hook=_describe_amount, ref_template="{name}"
    )
    components: dict[str, Schema] = {}
    for name, schema in generated.items():
        del schema["title"]
        schema["description"] = " ".join(schema["description"].split())
        if not schema["required"]:
            del schema["required"]
        components[_component_name(name)] = _adapt(schema, components)
    return components


def _describe_amount(kind: type) -> Schema:
    """`Wei`, the only type in the structs that JSON lacks."""
    return {"type": "string"}


def _adapt(schema: Any, components: dict[str, Schema]) -> Any:
    """A schema of msgspec in the subset above; titled types become components."""
    if isinstance(schema, list):
        return [_adapt(each, components) for each in schema]
    if not isinstance(schema, dict):
        return schema
    if "$ref" in schema:
        return ref(_component_name(schema["$ref"]))
    schema = _adapt_null(schema)
    title = schema.get("title")
    if isinstance(title, str):
        components[title] = {name: value for name, value in schema.items() if name != "title"}
        return ref(title)
    return {name: _adapt(value, components) for name, value in schema.items() if name != "default"}


def _adapt_null(schema: Schema) -> Schema:
    """A schema without `anyOf` for null, if possible."""
    options = schema.get("anyOf", ())
    if {"type": "null"} not in options:
        return schema
    [given] = [option for option in options if option != {"type": "null"}]
    around = {name: value for name, value in schema.items() if name not in ("anyOf", "default")}
    if "default" in schema:
        return {**given, **around}
    if "$ref" in given:
        return {"anyOf": options}
    shown = {name: value for name, value in given.items() if name != "title"}
    return {**shown, **around, "type": [given["type"], "null"]}
