"""The HTML page at /docs, rendered from the OpenAPI document."""

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
"""The shell variable for the service's address in every command."""

SESSION = "$SESSION"
"""The shell variable for a session."""

_STYLE = files("imprint.web.docs").joinpath("page.css").read_text(encoding="utf-8")
_STYLE_HASH = b64encode(sha256(_STYLE.encode()).digest()).decode()

DOCS_POLICY = (
    f"default-src 'none'; style-src 'sha256-{_STYLE_HASH}'; base-uri 'none'; form-action 'none'; "
    "frame-ancestors 'none'"
)
"""Allows the style sheet of the page and nothing else."""

LONG_KIND = 40
"""A type with more characters than this is shown on a separate line."""

_NOTE = (
    f"\n\nIn the example requests, `{BASE}` is the address of this service and `{SESSION}` a "
    "session."
)

_THIS_SERVICE = "This service"

Json = Mapping[str, Any]

PlacedOperation = tuple[str, str, Json]
"""A method, a path, and the operation there."""


@dataclass(frozen=True, slots=True)
class Field:
    """A parameter, or a member of a body at this path; `kind` is its type as the page shows it."""

    path: str
    kind: str
    required: bool
    description: str
    pattern: str | None


def docs_page(openapi: Json, facts: Json) -> str:
    """The docs page of an OpenAPI document and a service; every text in it is escaped."""
    info = openapi["info"]
    head = [
        Markup('<meta charset="utf-8">'),
        Markup('<meta name="viewport" content="width=device-width, initial-scale=1">'),
        element("title", f"{info['title']} — interface {info['version']}"),
        # Escaping would change the style sheet, and DOCS_POLICY contains its hash.
        Markup(f"<style>{_STYLE}</style>"),
    ]
    topics = {
        topic["name"]: list(_operations_of(topic["name"], openapi)) for topic in openapi["tags"]
    }
    body = [_contents(info, topics), _main(openapi, topics, facts)]
    page = element("html", element("head", *head), element("body", *body), lang="en")
    return f"<!doctype html>\n{page}\n"


def _operations_of(topic: str, openapi: Json) -> Iterator[PlacedOperation]:
    for path, methods in openapi["paths"].items():
        for method, operation in methods.items():
            if topic in operation["tags"] and "x-alias-of" not in operation:
                yield method, path, operation


def _contents(info: Json, topics: Mapping[str, list[PlacedOperation]]) -> Markup:
    headings = [line[3:] for line in info["description"].split("\n") if line.startswith("## ")]
    guide = [(title, f"guide-{anchor_of(title)}") for title in [*headings, _THIS_SERVICE]]
    groups = [_group("Guide", "guide", guide)]
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


def _main(openapi: Json, topics: Mapping[str, list[PlacedOperation]], facts: Json) -> Markup:
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
    guide = info["description"] + _NOTE
    source = element("a", "/openapi.json", href="openapi.json")
    return element(
        "main",
        element("h1", info["title"], id="top"),
        element("p", info["summary"], class_="lead"),
        element("section", render_text(guide), *_this_service(facts), class_="guide", id="guide"),
        *sections,
        element("footer", "As an OpenAPI document: ", source, "."),
    )


def _this_service(facts: Json) -> Iterator[Markup]:
    """What differs between services, which the description does not contain."""
    yield element("h2", _THIS_SERVICE, id=f"guide-{anchor_of(_THIS_SERVICE)}")
    yield element("p", render_line("`GET /.well-known/imprint.json` returns this to programs:"))
    yield element("pre", render_json(dict(facts)), tabindex="0")


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
    shown = [element("span", note, class_="note") for note in notes]
    return element("p", badge, element("span", path), *shown, class_="route")


def _parameters(operation: Json, openapi: Json) -> Iterator[Markup]:
    rows = []
    for parameter in operation.get("parameters", ()):
        schema = _resolve(parameter["schema"], openapi)
        described = f"{parameter['description']} {schema.get('description', '')}"
        kind = f"{_name_kind(schema, openapi)}, {parameter['in']}"
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
    successes, errors = [], []
    for status, response in operation["responses"].items():
        if int(status) < HTTPStatus.BAD_REQUEST:
            successes.append(_success_row(status, response))
        else:
            errors.append(_error_row(status, response))
    yield element("h4", "Responses")
    yield element("dl", *successes)
    bodies = _bodies(operation)
    if bodies and "properties" in _resolve(schema := bodies[0]["schema"], openapi):
        yield element("details", element("summary", "all fields"), _field_list(schema, openapi))
    if errors:
        yield element("h4", "Errors")
        yield element("dl", *errors, class_="errors")


def _success_row(status: str, response: Json) -> Markup:
    title = element("span", f"{status} {HTTPStatus(int(status)).phrase}", class_="status")
    kinds = element("span", ", ".join(response.get("content", {})), class_="kind")
    return element(
        "div", element("dt", title, kinds), element("dd", render_text(response["description"]))
    )


def _error_row(status: str, response: Json) -> Markup:
    title = element("span", status, class_="status", title=HTTPStatus(int(status)).phrase)
    described = element("dd", render_text(response["description"]))
    return element("div", element("dt", title), described)


def _field_list(schema: Json, openapi: Json) -> Markup:
    return element("dl", *(_row(field) for field in _list_fields(schema, openapi)))


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
    yield element("pre", render_code(_command(method, path, operation)), tabindex="0")
    media = next(iter(_bodies(operation)), {})
    if "example" in media:
        example = media["example"]
        shown = example if isinstance(example, str) else render_json(example)
        yield element("h4", "Response")
        yield element("pre", shown, tabindex="0")


def _bodies(operation: Json) -> list[Json]:
    """The media types of the response without an error, if it has a body."""
    first = next(iter(operation["responses"].values()))
    return list(first.get("content", {}).values())


def _resolve(schema: Json, openapi: Json) -> Json:
    """The schema, with a reference replaced by its target."""
    while "$ref" in schema:
        found: Any = openapi
        for step in schema["$ref"].removeprefix("#/").split("/"):
            found = found[step]
        schema = found
    return schema


def _list_fields(schema: Json, openapi: Json, path: str = "") -> Iterator[Field]:
    """Every member of an object and of the objects nested in it."""
    schema = _resolve(schema, openapi)
    required = schema.get("required", ())
    for name, member in schema.get("properties", {}).items():
        yield from _list_member(f"{path}{name}", member, name in required, openapi)


def _list_member(path: str, member: Json, required: bool, openapi: Json) -> Iterator[Field]:
    schema = _resolve(member, openapi)
    described = schema.get("description", "")
    # An object without a description is listed only by its members.
    if described or "properties" not in schema:
        kind = _name_kind(schema, openapi)
        yield Field(path, kind, required, described, schema.get("pattern"))
    items = _resolve(schema.get("items", {}), openapi)
    if "properties" in schema:
        yield from _list_fields(schema, openapi, f"{path}.")
    elif "properties" in items:
        yield from _list_fields(items, openapi, f"{path}[].")
    elif _is_choice_of_objects(schema, openapi):
        # The description of such a member says what the others are.
        yield from _list_fields(schema["anyOf"][0], openapi, f"{path}.")


def _is_choice_of_objects(schema: Json, openapi: Json) -> bool:
    """Whether there are several objects to choose from."""
    options = [_resolve(option, openapi) for option in schema.get("anyOf", ())]
    return len(options) > 1 and all("properties" in option for option in options)


def _name_kind(schema: Json, openapi: Json) -> str:
    """The type of a value as the page shows it."""
    schema = _resolve(schema, openapi)
    if "const" in schema:
        return _json(schema["const"])
    if "enum" in schema:
        return " | ".join(_json(value) for value in schema["enum"])
    if "type" not in schema and "anyOf" in schema:
        kinds = [_name_kind(option, openapi) for option in schema["anyOf"]]
        return " | ".join(dict.fromkeys(kinds))
    kind = schema.get("type", "any")
    if not isinstance(kind, str):
        return " | ".join(kind)
    if kind == "array":
        return f"array of {_name_kind(schema.get('items', {}), openapi)}"
    return str(schema.get("format", kind))


def _json(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False)


def _command(method: str, path: str, operation: Json) -> str:
    """A `curl` command with the examples of the operation."""
    return " \\\n  ".join(_command_words(method, path, operation))


def _command_words(method: str, path: str, operation: Json) -> Iterator[str]:
    parameters = operation.get("parameters", ())
    address = f'"{BASE}{_fill_path(path, parameters)}"'
    yield f"curl {address}" if method == "get" else f"curl -X {method.upper()} {address}"
    if operation.get("security"):
        yield f'-H "Authorization: Bearer {SESSION}"'
    for parameter in parameters:
        if parameter["in"] == "header" and "example" in parameter:
            yield f"-H {_shell_quote(parameter['name'] + ': ' + parameter['example'])}"
    for media_type, media in operation.get("requestBody", {}).get("content", {}).items():
        if media_type == "multipart/form-data":
            yield from _form_options(media)
        else:
            yield f"-H {_shell_quote('Content-Type: ' + media_type)}"
            text = json.dumps(_first_example(media), indent=2, ensure_ascii=False)
            yield f"-d {_shell_quote(text)}"


def _fill_path(path: str, parameters: Any) -> str:
    query = []
    for parameter in parameters:
        name, example = parameter["name"], parameter.get("example")
        if parameter["in"] == "path":
            path = path.replace(f"{{{name}}}", quote(example, safe=""))
        elif parameter["in"] == "query" and example is not None:
            query.append(f"{name}={quote(example, safe=',')}")
    return f"{path}?{'&'.join(query)}" if query else path


def _form_options(media: Json) -> Iterator[str]:
    encoding = media.get("encoding", {})
    for name, value in _first_example(media).items():
        if encoding.get(name, {}).get("contentType", "").startswith("image/"):
            yield f"-F {name}=@{value}"
        else:
            text = value if isinstance(value, str) else json.dumps(value, separators=(",", ":"))
            yield f"--form-string {_shell_quote(name + '=' + text)}"


def _first_example(media: Json) -> Any:
    """The example of a body, or the first of several."""
    several: Json = media.get("examples", {})
    return next((each["value"] for each in several.values()), media.get("example"))


def _shell_quote(text: str) -> str:
    return "'" + text.replace("'", "'\\''") + "'"
