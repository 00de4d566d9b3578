"""Schemas of what is answered: the shapes of the bodies, and what their texts look like."""

from collections.abc import Mapping
from typing import Any

import msgspec

from imprint.domain.posts import EventStatus
from imprint.web import bodies
from imprint.web.manual import patterns
from imprint.web.manual.schemas import Schema, record, ref, text

_SHAPES = {
    "LoginAnswer": bodies.LoginAnswer,
    "CreatedAnswer": bodies.CreatedAnswer,
    "UpdatedAnswer": bodies.UpdatedAnswer,
    "PublishedAnswer": bodies.PublishedAnswer,
    "DeletedAnswer": bodies.DeletedAnswer,
    "ContentAnswer": bodies.ContentAnswer,
    "FilesAnswer": bodies.FilesAnswer,
    "TaggedFilesAnswer": bodies.TaggedFilesAnswer,
    "DeliveryAnswer": bodies.DeliveryAnswer,
}

_SAME_SHAPE = {
    "DraftAnswer": "ContentAnswer",
    "PostAnswer": "ContentAnswer",
    "DraftsAnswer": "FilesAnswer",
}
"""Answers of one shape that are told apart by their examples."""

_ADDRESS = text("An Ethereum address in lower case.", patterns.LOWER_ADDRESS)
_UUID = text("A UUID.", format="uuid")
_TX_HASH = text("The transaction that published the file.", "^0x[0-9a-f]{64}$")


def _or_null(schema: Schema) -> Schema:
    return {"anyOf": [schema, {"type": "null"}]}


_RECORD: dict[str, Schema] = {
    "id": _UUID,
    "name": text("The owner, and a number that rises.", "^0x[0-9a-f]{40}_[0-9]+$"),
    "cid": ref("Cid"),
    "size": {"type": "integer", "minimum": 0, "description": "Bytes of the stored document."},
    "group_id": _UUID,
}

_NARROWED: dict[str, dict[str, Schema]] = {
    "LoginAnswer": {
        "token": text("The session, a JWT, for the Authorization header."),
        "address": _ADDRESS,
        "expiresIn": {"const": "2h"},
    },
    "KeyValues": {"owner": _ADDRESS, "status": {"enum": ["pending", "onchain"]}},
    "Record": _RECORD,
    "ReadRecord": {
        **_RECORD,
        "thumbnail_cid": _or_null(ref("Cid")),
        "post_id": _or_null(ref("PostId")),
        "tx_hash": _or_null(_TX_HASH),
    },
    "PublishedAnswer": {"thumbnailCid": ref("Cid")},
    "DeletedFile": {"id": _UUID, "status": {"const": "deleted"}},
    "FilesAnswer": {"next_page_token": _or_null(ref("PageToken"))},
    "TaggedFilesAnswer": {"next_page_token": _or_null(ref("PageToken"))},
    "EventAnswer": {
        "postId": _or_null(ref("PostId")),
        "status": {"enum": [status.value for status in EventStatus]},
    },
    "DeliveryAnswer": {"success": {"const": True}},
}
"""What the types of the bodies leave open, by their names and the names of their members."""

_REACHABLE = {"enum": ["ok", "unavailable"]}


def describe_answers(facts: Mapping[str, Any]) -> dict[str, Schema]:
    """Every component that an answer is made of."""
    _, components = msgspec.json.schema_components(
        tuple(_SHAPES.values()), ref_template="#/components/schemas/{name}"
    )
    for name, members in _NARROWED.items():
        for member, schema in members.items():
            components[name]["properties"][member] = schema
    for schema in components.values():
        schema.pop("title", None)
    aliases = {name: ref(shape) for name, shape in _SAME_SHAPE.items()}
    return {**components, **aliases, **_about(facts), "Problem": _problem()}


def _about(facts: Mapping[str, Any]) -> dict[str, Schema]:
    checks = {"database": _REACHABLE, "storage": _REACHABLE, "chain": _REACHABLE}
    return {
        "Facts": _shape_of(facts),
        "Description": {"type": "object", "description": "An OpenAPI 3.1 document."},
        "Contact": text("Contact and Expires, a line each.", "^Contact: .+\\nExpires: .+\\n$"),
        "Page": text("HTML."),
        "Picture": text("A PNG or JPEG.", format="binary"),
        "Block": text("The root block.", format="binary"),
        "Blocks": text("All blocks, in a CAR of version 1.", format="binary"),
        "Bytes": text("Bytes of no other kind.", format="binary"),
        "Health": record({"status": {"const": "alive"}}),
        "Readiness": record(
            {"status": {"enum": ["ready", "degraded", "unavailable"]}, "checks": record(checks)}
        ),
    }


def _shape_of(value: Any) -> Schema:
    """The schema of a value that never changes while the service runs: its names and types."""
    if isinstance(value, Mapping):
        return record({name: _shape_of(member) for name, member in value.items()})
    if isinstance(value, str):
        return {"type": "string"}
    if isinstance(value, int):
        return {"type": "integer"}
    return {"type": "array", "items": {"type": "string"}}


def _problem() -> Schema:
    members = {
        "type": text("The problem's name as a URI.", "^urn:imprint:problem:[a-z_]+$"),
        "title": text("The status in words."),
        "status": {"type": "integer"},
        "detail": text("What is wrong, for people."),
        "code": text("What is wrong, for programs; it never changes its meaning."),
        "error": text("The same sentence as `detail`."),
    }
    described = "The one body of every refusal (RFC 9457)."
    return record(members) | {"description": described}
