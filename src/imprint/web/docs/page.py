"""Commands: how an operation is called from a shell."""

import json
from base64 import b64encode
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from hashlib import sha256
from http import HTTPStatus
from importlib.resources import files
from typing import Any
from urllib.parse import quote

from imprint.web.docs.html import (
    Markup,
    anchor_of,
    element,
    render_code,
    render_json,
    render_line,
    render_text,
)

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
        return _spell_value(schema["const"])
    if "enum" in schema:
        return " | ".join(_spell_value(value) for value in schema["enum"])
    if "type" not in schema and "anyOf" in schema:
        kinds = [name_kind(option, openapi) for option in schema["anyOf"]]
        return " | ".join(dict.fromkeys(kinds))
    kind = schema.get("type", "any")
    if not isinstance(kind, str):
        return " | ".join(kind)
    if kind == "array":
        return f"array of {name_kind(schema.get('items', {}), openapi)}"
    return str(schema.get("format", kind))


def _spell_value(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False)


_STYLE = files("imprint.web.docs").joinpath("page.css").read_text(encoding="utf-8")
_STYLE_HASH = b64encode(sha256(_STYLE.encode()).digest()).decode()

DOCS_POLICY = (
    f"default-src 'none'; style-src 'sha256-{_STYLE_HASH}'; base-uri 'none'; form-action 'none'; "
    "frame-ancestors 'none'"
)
"""Nothing is loaded, nothing runs, and only this very style sheet applies."""

LONG_KIND = 40
"""Above so many characters the kind of a field stands on a line of its own."""

Json = Mapping[str, Any]

_NOTE = (
    f"\n\nIn the commands beside the operations, `{BASE}` is the address of this service and "
    f"`{SESSION}` a session."
)


def docs_page(openapi: Json) -> str:
    """The page of an interface; everything in it is escaped."""
    info = openapi["info"]
    head = [
        Markup('<meta charset="utf-8">'),
        Markup('<meta name="viewport" content="width=device-width, initial-scale=1">'),
        element("title", f"{info['title']} — interface {info['version']}"),
        # A style sheet is no text: escaping would change it, and its hash with it.
        Markup(f"<style>{_STYLE}</style>"),
    ]
    topics = {
        topic["name"]: list(_operations_of(topic["name"], openapi)) for topic in openapi["tags"]
    }
    body = [_contents(info, topics), _main(openapi, topics)]
    page = element("html", element("head", *head), element("body", *body), lang="en")
    return f"<!doctype html>\n{page}\n"


ListPage = tuple[str, str, Json]
"""A method, a path, and the operation there."""


def _operations_of(topic: str, openapi: Json) -> Iterator[ListPage]:
    for path, methods in openapi["paths"].items():
        for method, operation in methods.items():
            if topic in operation["tags"] and "x-alias-of" not in operation:
                yield method, path, operation


def _contents(info: Json, topics: Mapping[str, list[ListPage]]) -> Markup:
    headings = [line[3:] for line in info["description"].split("\n") if line.startswith("## ")]
    groups = [
        _group("Guide", "guide", [(title, f"guide-{anchor_of(title)}") for title in headings])
    ]
    for topic, operations in topics.items():
        links = [(each["summary"], each["operationId"]) for _, _, each in operations]
        groups.append(_group(topic, anchor_of(topic), links))
    brand = element("a", info["title"], href="#top", class_="brand")
    version = element("span", info["version"], class_="version")
    return element(
        "nav",
        element("div", brand, version, class_="home"),
        element("ul", *groups, class_="groups"),
        aria_label="Contents",
    )


def _group(title: str, anchor: str, links: list[tuple[str, str]]) -> Markup:
    items = [element("li", element("a", text, href=f"#{target}")) for text, target in links]
    return element("li", element("a", title, href=f"#{anchor}"), element("ul", *items))


def _main(openapi: Json, topics: Mapping[str, list[ListPage]]) -> Markup:
    info = openapi["info"]
    introductions = {topic["name"]: topic["description"] for topic in openapi["tags"]}
    sections = [
        element(
            "section",
            element("h2", topic),
            element("p", render_line(introductions[topic])),
            *(_article(*listed, openapi) for listed in operations),
            class_="topic",
            id=anchor_of(topic),
        )
        for topic, operations in topics.items()
    ]
    source = element("a", "/openapi.json", href="openapi.json")
    return element(
        "main",
        element("h1", info["title"], id="top"),
        element("p", info["summary"], class_="lead"),
        element("section", render_text(info["description"] + _NOTE), class_="guide", id="guide"),
        *sections,
        element("footer", "The same for machines: ", source, "."),
    )


def _article(method: str, path: str, operation: Json, openapi: Json) -> Markup:
    name = operation["operationId"]
    prose = [
        render_text(operation["description"]),
        *_parameters(operation, openapi),
        *_request_body(operation, openapi),
        *_responses(operation, openapi),
    ]
    sample = element("div", *_sample(method, path, operation), class_="sample")
    return element(
        "article",
        element("h3", element("a", operation["summary"], href=f"#{name}")),
        _route(method, path, operation, openapi),
        element("div", element("div", *prose), sample, class_="body"),
        id=name,
    )


def _route(method: str, path: str, operation: Json, openapi: Json) -> Markup:
    badge = element("span", method.upper(), class_=f"method {method}")
    notes = ["needs a session"] if operation.get("security") else []
    notes += [
        f"also at {other}"
        for other, methods in openapi["paths"].items()
        if methods.get(method, {}).get("x-alias-of") == path
    ]
    told = [element("span", note, class_="note") for note in notes]
    return element("p", badge, element("span", path), *told, class_="route")


def _parameters(operation: Json, openapi: Json) -> Iterator[Markup]:
    rows = []
    for parameter in operation.get("parameters", ()):
        schema = resolve(parameter["schema"], openapi)
        described = f"{parameter['description']} {schema.get('description', '')}"
        kind = f"{name_kind(schema, openapi)}, {parameter['in']}"
        required = parameter["required"]
        pattern = schema.get("pattern")
        rows.append(_row(Field(parameter["name"], kind, required, described, pattern)))
    if rows:
        yield element("h4", "Parameters")
        yield element("dl", *rows)


def _request_body(operation: Json, openapi: Json) -> Iterator[Markup]:
    body = operation.get("requestBody")
    if body is None:
        return
    for media_type, media in body["content"].items():
        yield element("h4", "Body")
        yield element("p", render_line(f"{body['description']} `{media_type}`"))
        yield _field_list(media["schema"], openapi)


def _responses(operation: Json, openapi: Json) -> Iterator[Markup]:
    answers, refusals = [], []
    for status, response in operation["responses"].items():
        if int(status) < HTTPStatus.BAD_REQUEST:
            answers.append(_answer_row(status, response))
        else:
            refusals.append(_refusal_row(status, response))
    yield element("h4", "Answers")
    yield element("dl", *answers)
    schema = next(iter(operation["responses"]["200"]["content"].values()))["schema"]
    if "properties" in resolve(schema, openapi):
        yield element("details", element("summary", "all fields"), _field_list(schema, openapi))
    if refusals:
        yield element("h4", "Refusals")
        yield element("dl", *refusals, class_="refusals")


def _answer_row(status: str, response: Json) -> Markup:
    title = element("span", f"{status} {HTTPStatus(int(status)).phrase}", class_="status")
    kinds = element("span", ", ".join(response.get("content", {})), class_="kind")
    return element(
        "div", element("dt", title, kinds), element("dd", render_text(response["description"]))
    )


def _refusal_row(status: str, response: Json) -> Markup:
    title = element("span", status, class_="status", title=HTTPStatus(int(status)).phrase)
    described = element("dd", render_text(response["description"]))
    return element("div", element("dt", title), described)


def _field_list(schema: Json, openapi: Json) -> Markup:
    return element("dl", *(_row(field) for field in list_fields(schema, openapi)))


def _row(field: Field) -> Markup:
    long = " long" if len(field.kind) > LONG_KIND else ""
    optional = [] if field.required else [element("span", "optional", class_="optional")]
    kind = element("span", field.kind, class_=f"kind{long}")
    pieces = [element("dt", element("code", field.path), *optional, kind)]
    if field.description:
        pieces.append(element("dd", render_line(field.description)))
    if field.pattern is not None:
        pattern = [element("summary", "pattern"), element("code", field.pattern)]
        pieces.append(element("dd", element("details", *pattern, class_="pattern")))
    return element("div", *pieces)


def _sample(method: str, path: str, operation: Json) -> Iterator[Markup]:
    yield element("h4", "Request")
    yield element("pre", render_code(write_command(method, path, operation)), tabindex="0")
    media = next(iter(operation["responses"]["200"]["content"].values()))
    if "example" in media:
        yield element("h4", "Answer")
        yield element("pre", render_json(media["example"]), tabindex="0")
