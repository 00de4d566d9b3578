"""Generates the record types of the TypeScript client from the OpenAPI description."""

import json
from collections.abc import Iterator
from typing import Any

import msgspec
from tools.files import ROOT

from imprint import RELEASE
from imprint.interface import accounts, drafts, posts, problems, service
from imprint.interface.values import ADDRESS_PATTERN, LOWER_ADDRESS_PATTERN, TRANSACTION_PATTERN
from imprint.web.docs.openapi import describe_interface
from imprint.web.docs.operation import component_name

RECORDS_FILE = ROOT / "clients" / "typescript" / "src" / "records.ts"
"""The file whose generated section is between two markers."""

RECORDS: dict[str, type[msgspec.Struct]] = {
    "ServiceFacts": service.ServiceFacts,
    "MarketplaceFacts": service.MarketplaceFacts,
    "Readiness": service.Readiness,
    "Problem": problems.Problem,
    "Session": accounts.Session,
    "WritingSessionRecord": accounts.WritingSessionRecord,
    "Draft": drafts.Draft,
    "HostedFile": drafts.File,
    "Content": drafts.Content,
    "PostContent": drafts.PostContent,
    "PublishedDraft": drafts.Published,
    "DeletedDraft": drafts.DeletedDraft,
    "Post": posts.Post,
    "HeldPost": posts.HeldPost,
    "Opening": posts.Opening,
    "PostProof": posts.PostProof,
    "Author": posts.Author,
    "Profile": posts.Profile,
    "RevisionRecord": posts.RevisionRecord,
    "ListedRevision": posts.ListedRevision,
    "Sale": posts.Sale,
    "Stats": posts.Stats,
    "GlobalMetrics": posts.MarketMetrics,
    "UserMetrics": posts.UserMetrics,
    "HeatMap": posts.HeatMap,
    "FeedAccess": posts.FeedAccess,
    "MeasureRecord": posts.MeasureRecord,
    "OwnPost": posts.OwnPost,
    "PrivateFeed": posts.PrivateFeed,
    "JsonFeed": posts.JsonFeed,
}
"""The records of the client. Nested records are named after their components."""

NAMED_TEXTS = {"ProblemCode": "Code"}
"""String types in the description that have their own TypeScript type."""

_TEXTS = {
    ADDRESS_PATTERN: "Address",
    LOWER_ADDRESS_PATTERN: "Address",
    TRANSACTION_PATTERN: "Hex",
}
_TYPES = {"integer": "number", "boolean": "boolean", "null": "null"}
_BEGIN, _END = "// records: begin", "// records: end"

Schema = dict[str, Any]


def main() -> None:
    """Write the current records into the TypeScript client."""
    RECORDS_FILE.write_text(update_records(RECORDS_FILE.read_text(encoding="utf-8")), "utf-8")
    print(f"{RECORDS_FILE.name} is up to date.")


def update_records(source: str) -> str:
    """Return the file with the current records between its markers."""
    before, _, rest = source.partition(_BEGIN)
    records = "\n\n".join(_Renderer(describe_interface(RELEASE)).render())
    return f"{before}{_BEGIN}\n\n{records}\n\n{_END}{rest.partition(_END)[2]}"


class _Renderer:
    """Renders records, and renders each type that they refer to only once."""

    def __init__(self, document: Schema) -> None:
        self._schemas: dict[str, Schema] = document["components"]["schemas"]
        self._names = {component_name(struct): name for name, struct in RECORDS.items()}
        self._names |= NAMED_TEXTS

    def render(self) -> Iterator[str]:
        waiting, done = list(self._names), set[str]()
        while waiting:
            component = waiting.pop(0)
            if component not in done:
                done.add(component)
                waiting = [*self._objects_in(self._schemas[component]), *waiting]
                yield self._declare(component)

    def _objects_in(self, schema: Any) -> Iterator[str]:
        """Yield the components of the objects that a schema refers to."""
        for value in schema.values() if isinstance(schema, dict) else schema:
            if isinstance(value, dict | list):
                yield from self._objects_in(value)
            elif isinstance(schema, dict) and "$ref" in schema and self._is_object(value):
                yield _target(schema)

    def _is_object(self, reference: str) -> bool:
        return "properties" in self._schemas[_target({"$ref": reference})]

    def _declare(self, component: str) -> str:
        schema, name = self._schemas[component], self._names.get(component, component)
        comment = f"/** {schema['description']} */\nexport"
        if "enum" in schema:
            options = "".join(f"\n  | {json.dumps(value)}" for value in schema["enum"])
            return f"{comment} type {name} ={options};"
        members = "".join(
            self._member(member, value, member in schema.get("required", ()))
            for member, value in schema["properties"].items()
        )
        if "additionalProperties" in schema:
            return f"{comment} type {name} = {{\n{members}}} & {{ [name: string]: string }};"
        return f"{comment} interface {name} {{\n{members}}}"

    def _member(self, name: str, schema: Schema, required: bool) -> str:
        shown = self._schemas[_target(schema)] if "$ref" in schema else schema
        described = "" if "properties" in shown else shown.get("description", "")
        comment = f"  /** {described} */\n" if described else ""
        return f"{comment}  {name}{'' if required else '?'}: {self._type(schema)};\n"

    def _type(self, schema: Schema) -> str:
        if "$ref" in schema:
            component = _target(schema)
            if component in self._names or self._is_object(schema["$ref"]):
                return self._names.get(component, component)
            return self._type(self._schemas[component])
        if "anyOf" in schema:
            return " | ".join(self._type(option) for option in schema["anyOf"])
        kind = schema["type"]
        if isinstance(kind, list):
            return " | ".join(self._type({**schema, "type": each}) for each in kind)
        if "enum" in schema:
            return " | ".join(json.dumps(value) for value in schema["enum"])
        if kind == "array":
            item = self._type(schema["items"])
            return f"({item})[]" if " | " in item else f"{item}[]"
        if kind == "object":
            return "Record<string, unknown>"
        return _TYPES.get(kind) or _TEXTS.get(schema.get("pattern", ""), "string")


def _target(schema: Schema) -> str:
    reference: str = schema["$ref"]
    return reference.rpartition("/")[2]


if __name__ == "__main__":
    main()
