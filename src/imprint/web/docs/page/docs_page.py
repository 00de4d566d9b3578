"""The HTML page at /docs, rendered from the OpenAPI document."""

import json
import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from html import escape
from http import HTTPStatus
from typing import Any, Literal

from imprint.interface.problems import FAILURE
from imprint.web.docs.openapi import CURL_SIGNING
from imprint.web.docs.operation import FAILURE_MEANING, MEANINGS
from imprint.web.docs.page.client_examples import python_example, typescript_example
from imprint.web.docs.page.commands import (
    BASE,
    SECRET_NOTE,
    SESSION,
    curl_command,
    delivery_command,
    first_example,
    is_delivery,
    is_signed,
)
from imprint.web.http.problems import STATUSES
from imprint.web.site.assets import MARK
from imprint.web.site.templates import script_data

_INLINE = re.compile(r"`([^`]+)`|\*\*([^*]+)\*\*")
_ITEM = re.compile(r"(-|[0-9]+\.) ")
_TOKEN = re.compile(r'(?P<key>"(?:[^"\\]|\\.)*"(?=:))|(?P<text>"(?:[^"\\]|\\.)*")')


class Markup(str):
    """Escaped HTML."""

    __slots__ = ()


def element(name: str, *children: str, **attributes: str) -> Markup:
    """Build an element. Children that are not markup are escaped. `class_` becomes `class`."""
    given = "".join(
        f' {key.rstrip("_").replace("_", "-")}="{escape(value)}"'
        for key, value in attributes.items()
    )
    return Markup(f"<{name}{given}>{join(children)}</{name}>")


def join(pieces: Iterable[str]) -> Markup:
    """Concatenate the pieces, escaping each unless it is markup."""
    return Markup("".join(p if isinstance(p, Markup) else escape(p, quote=False) for p in pieces))


def render_text(text: str) -> Markup:
    """Render a CommonMark subset: paragraphs, second-level headings and lists.

    The ID of a heading is `guide-` followed by its anchor.
    """
    return join(_render_block(block) for block in text.strip().split("\n\n") if block.strip())


def render_line(text: str) -> Markup:
    """Render a line of text with inline code and strong emphasis."""
    pieces: list[str] = []
    position = 0
    for match in _INLINE.finditer(text):
        pieces.append(text[position : match.start()])
        code, strong = match.groups()
        pieces.append(element("code", code) if code else element("strong", strong))
        position = match.end()
    return join([*pieces, text[position:]])


def render_json(value: Any) -> Markup:
    """Render a value as indented, highlighted JSON."""
    return render_code(json.dumps(value, indent=2, ensure_ascii=False))


def render_code(source: str) -> Markup:
    """Render source code with highlighted member names and strings."""
    return join(_highlight(source))


def anchor_of(heading: str) -> str:
    """Return the URL fragment of a heading."""
    return re.sub(r"[^a-z0-9]+", "-", heading.lower()).strip("-")


def _render_block(block: str) -> Markup:
    lines = block.strip().split("\n")
    if lines[0].startswith("## "):
        title = lines[0].removeprefix("## ")
        return element("h2", title, id=f"guide-{anchor_of(title)}")
    if all(_ITEM.match(line) for line in lines):
        items = [element("li", render_line(_ITEM.sub("", line, count=1))) for line in lines]
        return element("ul" if lines[0].startswith("-") else "ol", *items)
    return element("p", render_line(" ".join(lines)))


def _highlight(source: str) -> Iterator[str]:
    position = 0
    for match in _TOKEN.finditer(source):
        yield source[position : match.start()]
        kind = "k" if match["key"] else "s"
        yield element("span", match[0], class_=kind)
        position = match.end()
    yield source[position:]


Json = Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class Field:
    """A parameter, or the member of a body at `path`. `kind` is its type as shown on the page."""

    path: str
    kind: str
    required: bool
    description: str
    pattern: str | None


def resolve(schema: Json, openapi: Json) -> Json:
    """Return the schema, or the schema that it refers to if it is a reference."""
    while "$ref" in schema:
        found: Any = openapi
        for step in schema["$ref"].removeprefix("#/").split("/"):
            found = found[step]
        schema = found
    return schema


def list_fields(schema: Json, openapi: Json, path: str = "") -> Iterator[Field]:
    """Yield every member of an object and of its nested objects."""
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
    """Whether the schema is a choice of several objects."""
    options = [resolve(option, openapi) for option in schema.get("anyOf", ())]
    return len(options) > 1 and all("properties" in option for option in options)


def name_kind(schema: Json, openapi: Json) -> str:
    """Return the type of a value as shown on the page."""
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


Access = Literal["none", "optional", "session", "wallet"]
"""The access that an operation needs."""


def describe_request(method: str, path: str, operation: Json, openapi: Json) -> dict[str, Any]:
    """Return the method, path and parameters of an operation, and the members of its body."""
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
    """Return the access that a caller needs for an operation."""
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


LONG_KIND = 40
"""Number of characters above which a type is shown on a separate line."""

_NOTE = (
    f"\n\nIn the commands, `{BASE}` is the address of this service and `{SESSION}` a session. "
    "The signatures in signed requests are fresh for a minute and good for one request, so no "
    "example carries one: see *Signing for curl*, or use a client, which signs by itself."
).replace("*Signing for curl*", "**Signing for curl**")

_THIS_SERVICE = "This service"
_SIGNING = "Signing for curl"

LANGUAGES = {"curl": "curl", "typescript": "TypeScript", "python": "Python"}
"""Languages keyed by the values of their radio buttons, in display order."""

_LISTED = re.compile(r"<li><code>(\w+)</code>")


PlacedOperation = tuple[str, str, Json]
"""A method and a path, with their OpenAPI operation."""


@dataclass(frozen=True, slots=True)
class PageAssets:
    """The URLs of the style sheet and the scripts."""

    style: str
    script: str
    theme: str
    """The script that applies the reader's colour theme before the page is painted."""
    site: str | None
    """The name of the site, shown as a link. None if this service has no pages for readers."""


def docs_page(openapi: Json, facts: Json, assets: PageAssets) -> str:
    """Render the docs page of an OpenAPI document and a service, with all text escaped."""
    info = openapi["info"]
    topics = {
        topic["name"]: list(_operations_of(topic["name"], openapi)) for topic in openapi["tags"]
    }
    requests = [
        describe_request(*placed, openapi)
        for operations in topics.values()
        for placed in operations
        if not is_delivery(placed[2])
    ]
    head = [
        Markup('<meta charset="utf-8">'),
        Markup('<meta name="viewport" content="width=device-width, initial-scale=1">'),
        Markup('<meta name="color-scheme" content="light dark">'),
        element("title", f"API reference · {assets.site or info['title']}"),
        element("script", src=assets.theme),
        Markup(f'<link rel="stylesheet" href="{assets.style}">'),
        # Without a site there is no icon. The empty `data:` URL keeps browsers from requesting one.
        Markup(f'<link rel="icon" href="{"data:," if assets.site is None else "/icon.svg"}">'),
        _data("facts", facts),
        _data("operations", requests),
        element("script", type="module", src=assets.script),
    ]
    body = [
        element("a", "Skip to content", class_="skip", href="#main"),
        _bar(assets.site, info["title"], topics),
        _contents(info, topics),
        _main(openapi, topics, facts),
        element("footer", element("span", f"{info['title']} {info['version']}"), class_="bottom"),
    ]
    page = element("html", element("head", *head), element("body", *body), lang="en")
    return f"<!doctype html>\n{page}\n"


def _data(name: str, value: object) -> Markup:
    """Embed JSON data for the page's script in an inert element."""
    return element("script", Markup(script_data(value)), type="application/json", id=name)


def _bar(site: str | None, software: str, topics: Mapping[str, list[PlacedOperation]]) -> Markup:
    """Render the top bar with the name, slots for search and account, and a menu on phones."""
    groups = [("Guide", "guide"), *((topic, anchor_of(topic)) for topic in topics)]
    items = [
        element("li", element("a", title, href=f"#{anchor}"))
        for title, anchor in [*groups, ("Error codes", "errors")]
    ]
    menu = element(
        "details",
        element("summary", "Menu"),
        element("nav", element("ul", *items), aria_label="Topics"),
        class_="menu",
    )
    brand = element("a", Markup(MARK), software, href="#top", class_="brand")
    if site is not None:
        brand = element("a", site, href="/", class_="brand")
    title = element("a", "API reference", href="#top", class_="bar-title")
    places = [element("div", id="search"), element("div", id="account")]
    return element("header", brand, title, *places, menu, class_="bar")


def _operations_of(topic: str, openapi: Json) -> Iterator[PlacedOperation]:
    for path, methods in openapi["paths"].items():
        for method, operation in methods.items():
            if topic in operation["tags"] and "x-alias-of" not in operation:
                yield method, path, operation


def _contents(info: Json, topics: Mapping[str, list[PlacedOperation]]) -> Markup:
    headings = [line[3:] for line in info["description"].split("\n") if line.startswith("## ")]
    shown = [*headings, _SIGNING, _THIS_SERVICE]
    guide = [(title, f"guide-{anchor_of(title)}") for title in shown]
    groups = [_group("Guide", "guide", guide)]
    for topic, operations in topics.items():
        links = [(each["summary"], each["operationId"]) for _, _, each in operations]
        groups.append(_group(topic, anchor_of(topic), links))
    groups.append(_group("Reference", "errors", [("Error codes", "errors")]))
    return element(
        "nav",
        element("ul", *groups, class_="groups"),
        class_="contents",
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
    return element(
        "main",
        _opening(info, facts),
        element(
            "section",
            render_text(guide),
            *_signing(),
            *_this_service(facts),
            class_="guide",
            id="guide",
        ),
        *sections,
        _error_section(),
        id="main",
        tabindex="-1",
    )


def _opening(info: Json, facts: Json) -> Markup:
    """Render the title, the links, and the essentials for a first request."""
    words = element(
        "div",
        element("h1", "API reference", id="top"),
        element("p", info["summary"], class_="lead"),
        _elsewhere(),
    )
    start = element(
        "div",
        element("h2", "First request"),
        _code_block(f'{BASE[1:]}={facts["service"]}\n\ncurl "{BASE}/posts"'),
        class_="start",
    )
    return element("div", words, start, class_="opening")


def _elsewhere() -> Markup:
    """Render links to the machine-readable documents and to the error codes."""
    places = [
        ("OpenAPI document", "openapi.json"),
        ("Parameters of this service", ".well-known/imprint.json"),
        ("Marketplace contract and its ABI", ".well-known/marketplace.json"),
        ("Error codes", "#errors"),
        ("From draft to post", "#guide-from-draft-to-post"),
    ]
    items = [element("li", element("a", title, href=href)) for title, href in places]
    return element("ul", *items, class_="elsewhere")


def _signing() -> Iterator[Markup]:
    """Explain how to set the variables of signed commands."""
    yield element("h2", _SIGNING, id=f"guide-{anchor_of(_SIGNING)}")
    text, source = CURL_SIGNING
    yield render_text(text)
    yield _code_block(source)


def _this_service(facts: Json) -> Iterator[Markup]:
    """Render the values that differ between services and are not part of the description."""
    yield element("h2", _THIS_SERVICE, id=f"guide-{anchor_of(_THIS_SERVICE)}")
    yield element("p", render_line("`GET /.well-known/imprint.json` returns this to programs:"))
    yield _code_block(render_json(dict(facts)))


def _article(method: str, path: str, operation: Json, openapi: Json) -> Markup:
    name = operation["operationId"]
    prose = [
        render_text(operation["description"]),
        *_parameters(operation, openapi),
        *_request_body(operation, openapi),
        *_responses(operation, openapi),
    ]
    sample = element("div", *_sample(method, path, operation), class_="sample")
    tried = {"data_try": name} if not is_delivery(operation) else {}
    return element(
        "article",
        element("h3", element("a", operation["summary"], href=f"#{name}")),
        _route(method, path, operation, openapi),
        element("div", element("div", *prose), sample, class_="body"),
        id=name,
        **tried,
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
    successes, errors = [], []
    for status, response in operation["responses"].items():
        if int(status) < HTTPStatus.BAD_REQUEST:
            successes.append(_success_row(status, response))
        else:
            errors.append(_error_row(status, response))
    yield element("h4", "Responses")
    yield element("dl", *successes)
    bodies = _bodies(operation)
    if bodies and "properties" in resolve(schema := bodies[0]["schema"], openapi):
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
    described = element("dd", _link_codes(render_text(response["description"])))
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
    yield _request_panels(method, path, operation)
    if is_delivery(operation):
        yield element("p", render_line(SECRET_NOTE), class_="hint")
    media = next(iter(_bodies(operation)), {})
    if "example" in media:
        example = media["example"]
        yield element("h4", "Response")
        yield _code_block(example if isinstance(example, str) else render_json(example))


def _bodies(operation: Json) -> list[Json]:
    """Return the media types of the success response, if it has a body."""
    first = next(iter(operation["responses"].values()))
    return list(first.get("content", {}).values())


# Code


def _code_block(source: str) -> Markup:
    """Render a code block that scrolls with the keyboard. The script adds a copy button."""
    shown = source if isinstance(source, Markup) else render_code(source)
    return element("div", element("pre", shown, tabindex="0"), class_="code")


def _request_panels(method: str, path: str, operation: Json) -> Markup:
    """Render the request in every language that has a client, selected by radio buttons."""
    if is_delivery(operation):
        return _code_block(delivery_command(path, operation))
    sources = {
        "curl": curl_command(method, path, operation),
        "typescript": typescript_example(operation),
        "python": python_example(operation),
    }
    name = operation["operationId"]
    choices = [_choice(f"{name}-language", language) for language in sources]
    panels = [
        element("div", _code_block(source), class_=f"panel {language}")
        for language, source in sources.items()
    ]
    legend = element("legend", "Language", class_="unseen")
    return element(
        "div",
        element("fieldset", legend, *choices, class_="languages"),
        *panels,
        class_="panels",
    )


def _choice(group: str, language: str) -> Markup:
    checked = " checked" if language == "curl" else ""
    field = Markup(f'<input type="radio" name="{group}" value="{language}"{checked}>')
    return element("label", join([field, LANGUAGES[language]]))


# Error codes


def _error_section() -> Markup:
    """Render every error code with its statuses and its meaning, ordered by status."""
    rows = [
        _code_row(code, status, MEANINGS[code])
        for status, codes in STATUSES.items()
        for code in codes
    ]
    rows.append(_code_row(FAILURE, 500, FAILURE_MEANING))
    return element(
        "section",
        element("h2", "Error codes"),
        element("p", "The codes of problems, for programs to act on."),
        element("dl", *rows, class_="codes"),
        class_="topic",
        id="errors",
    )


def _link_codes(errors: Markup) -> Markup:
    """Render a list of an operation's error codes, each linked to its explanation."""
    return Markup(_LISTED.sub(r'<li><a href="#error-\1"><code>\1</code></a>', errors))


def _code_row(code: str, status: int, meaning: str) -> Markup:
    title = element("dt", element("code", code), element("span", str(status), class_="kind"))
    return element("div", title, element("dd", render_line(meaning)), id=f"error-{code}")
