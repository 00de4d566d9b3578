"""JSON Schemas in the words that generators of clients understand.

An enum has a type, and a constant is an enum of one. A value that may be null has a list of types,
or is `anyOf` a reference to an object and null; a reference to a string would become a class.
"""

from typing import Any

Schema = dict[str, Any]


def ref(name: str) -> Schema:
    """A reference to a component."""
    return {"$ref": f"#/components/schemas/{name}"}


def string(description: str, pattern: str | None = None, **more: Any) -> Schema:
    """A string, with a pattern if one is given."""
    matching = {} if pattern is None else {"pattern": pattern}
    return {"type": "string", "description": description, **matching, **more}


def integer(description: str, minimum: int = 0) -> Schema:
    """An integer of up to 64 bits."""
    return {"type": "integer", "format": "int64", "description": description, "minimum": minimum}


def choice(description: str, *values: str) -> Schema:
    """One of some strings."""
    return {"type": "string", "description": description, "enum": list(values)}


def array(description: str, items: Schema) -> Schema:
    """A list of items."""
    return {"type": "array", "description": description, "items": items}


def structure(description: str, properties: Schema, *optional: str, **more: Any) -> Schema:
    """An object with these members, all required but the optional ones."""
    required = [name for name in properties if name not in optional]
    return {
        "type": "object",
        "description": description,
        **({"required": required} if required else {}),
        "properties": properties,
        **more,
    }


def closed_structure(description: str, properties: Schema, *optional: str) -> Schema:
    """An object with these members and no others."""
    return structure(description, properties, *optional, additionalProperties=False)


def nullable(schema: Schema) -> Schema:
    """The schema, or null."""
    if "$ref" in schema:
        return {"anyOf": [schema, {"type": "null"}]}
    return {**schema, "type": [schema["type"], "null"]}
