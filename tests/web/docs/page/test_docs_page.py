"""The /docs page shows every operation and can be read completely without its script."""

import copy
import dataclasses
import json
import re
from html import unescape
from html.parser import HTMLParser

import pytest
from tests.web.described import DOCUMENT, FACTS
from tests.world import World

from imprint.domain.errors import Code
from imprint.web.docs.openapi import OPERATIONS
from imprint.web.docs.operation import Operation
from imprint.web.docs.page.commands import curl_command, is_signed
from imprint.web.docs.page.docs_page import (
    Markup,
    PageAssets,
    docs_page,
    element,
    render_json,
    render_line,
    render_text,
)
from imprint.web.http.problems import HIDDEN

ASSETS = PageAssets("/assets/docs-1.css", "/assets/docs-1.js", "/assets/theme-1.js", "Tidewater")
PAGE = docs_page(DOCUMENT, FACTS, ASSETS)
VOID = {"input", "link", "meta"}


class Reader(HTMLParser):
    """Collects the tags, anchors, links and styles of a page."""

    def __init__(self) -> None:
        super().__init__()
        self.open: list[str] = []
        self.names: list[str] = []
        self.anchors: list[str] = []
        self.links: list[str] = []
        self.attributes: set[str] = set()
        self.styles: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.names.append(tag)
        self.attributes |= {name for name, _ in attrs}
        self.anchors += [value or "" for name, value in attrs if name == "id"]
        self.links += [value or "" for name, value in attrs if name in ("href", "src")]
        if tag not in VOID:
            self.open.append(tag)

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag

    def handle_data(self, data: str) -> None:
        if self.open and self.open[-1] == "style":
            self.styles.append(data)


def read(page: str) -> Reader:
    reader = Reader()
    reader.feed(page)
    reader.close()
    assert reader.open == []
    return reader


def article_of(operation: Operation) -> str:
    (article,) = re.findall(
        rf'<article id="{operation.name}"[^>]*>(.*?)</article>', PAGE, re.DOTALL
    )
    return str(article)


def section_of(article: str, opening: str) -> str:
    """Return the definition list that starts with this tag or title, or an empty text."""
    return article.partition(opening)[2].partition("</dl>")[0]


@pytest.mark.parametrize("operation", OPERATIONS, ids=lambda each: each.name)
def test_an_article_shows_the_method_path_and_alias_of_its_operation(operation: Operation) -> None:
    route = article_of(operation).partition('<p class="route">')[2].partition("</p>")[0]
    assert f">{operation.method.upper()}</span><span>{operation.path}</span>" in route
    assert re.findall(r"also at ([^<]+)<", route) == [operation.alias] * bool(operation.alias)


@pytest.mark.parametrize("operation", OPERATIONS, ids=lambda each: each.name)
def test_an_article_lists_exactly_the_error_codes_of_its_operation(operation: Operation) -> None:
    errors = section_of(article_of(operation), '<dl class="errors">')
    # Some codes have another status in compatibility mode, and are listed under both.
    codes = [*set(operation.codes), *(set(operation.codes) & HIDDEN.keys())]
    assert sorted(re.findall(r'<li><a href="#error-\w+"><code>(\w+)</code>', errors)) == sorted(
        codes
    )


@pytest.mark.parametrize("operation", OPERATIONS, ids=lambda each: each.name)
def test_an_article_lists_exactly_the_parameters_of_its_operation(operation: Operation) -> None:
    parameters = section_of(article_of(operation), "<h4>Parameters</h4>")
    names = [parameter.name for parameter in operation.parameters]
    assert re.findall(r"<dt><code>([^<]+)</code>", parameters) == names


def test_the_page_loads_only_its_own_script_and_style_sheet() -> None:
    reader = read(PAGE)
    assert {"img", "iframe", "form", "style"}.isdisjoint(reader.names)
    assert not any(name.startswith("on") or name == "style" for name in reader.attributes)
    assert [link for link in reader.links if not link.startswith("#")] == [
        ASSETS.theme,
        ASSETS.style,
        "/icon.svg",
        ASSETS.script,
        "/",
        "openapi.json",
        ".well-known/imprint.json",
        ".well-known/marketplace.json",
    ]


def test_the_page_does_not_link_to_a_site_that_is_off() -> None:
    page = docs_page(DOCUMENT, FACTS, dataclasses.replace(ASSETS, site=None))
    assert {"/", "/icon.svg"}.isdisjoint(read(page).links)


def test_every_error_code_is_explained_once() -> None:
    explained = re.findall(r'<div id="error-(\w+)">', PAGE)
    assert sorted(explained) == sorted({*Code, "internal_error"})


def test_every_anchor_is_unique_and_every_internal_link_resolves() -> None:
    reader = read(PAGE)
    assert len(set(reader.anchors)) == len(reader.anchors)
    assert {link[1:] for link in reader.links if link.startswith("#")} <= set(reader.anchors)


def test_the_page_shows_the_facts_of_this_service() -> None:
    section = PAGE.partition('<h2 id="guide-this-service">')[2].partition("</section>")[0]
    shown = re.sub(r"<[^>]*>", "", section.partition("<pre")[2].partition(">")[2])
    assert json.loads(unescape(shown)) == FACTS


def test_names_from_the_settings_are_escaped() -> None:
    hostile = "<script>alert(1)</script>"
    facts = {**FACTS, "name": hostile, "signing": {**FACTS["signing"], "name": hostile}}
    page = docs_page(DOCUMENT, facts, ASSETS)
    assert hostile not in page
    assert read(page).names.count("script") == read(PAGE).names.count("script")
    assert "&lt;script&gt;" in page


def test_attribute_values_are_escaped() -> None:
    assert element("a", "x", href='"><b>') == '<a href="&quot;&gt;&lt;b&gt;">x</a>'


def test_every_child_except_markup_is_escaped() -> None:
    assert element("p", "<i>", Markup("<b></b>")) == "<p>&lt;i&gt;<b></b></p>"


def test_text_is_rendered_with_headings_lists_code_and_emphasis() -> None:
    text = "## A title\n\nOne `<b>` and **two**.\n\n- a\n- b\n\n1. c"
    assert render_text(text) == (
        '<h2 id="guide-a-title">A title</h2>'
        "<p>One <code>&lt;b&gt;</code> and <strong>two</strong>.</p>"
        "<ul><li>a</li><li>b</li></ul><ol><li>c</li></ol>"
    )


def test_a_line_without_markup_is_only_escaped() -> None:
    assert render_line("a < b") == "a &lt; b"


def test_highlighting_json_keeps_every_character() -> None:
    value = {"a<b": ['x "quoted" \\ \n', 1, None]}
    plain = re.sub(r"<[^>]*>", "", render_json(value))
    assert plain == '{\n  "a&lt;b": [\n    "x \\"quoted\\" \\\\ \\n",\n    1,\n    null\n  ]\n}'


def test_a_command_quotes_its_arguments_for_the_shell() -> None:
    document = copy.deepcopy(DOCUMENT)
    body = document["paths"]["/create/group"]["post"]["requestBody"]["content"]["application/json"]
    body["examples"]["imprint-2"]["value"]["content"] = "Anna's"
    page = docs_page(document, FACTS, ASSETS)
    assert "Anna'\\''s" in page


def test_no_example_command_contains_a_stale_signature() -> None:
    commands = [
        curl_command(method, path, operation)
        for path, methods in DOCUMENT["paths"].items()
        for method, operation in methods.items()
        if is_signed(operation)
    ]
    assert len(commands) == 8
    for command in commands:
        assert "0x" not in command
        assert all(
            f'"{name}"' in command or f"={name}" in command for name in ("$SALT", "$ADDRESS")
        )


async def test_the_content_security_policy_allows_only_files_of_the_service(world: World) -> None:
    response = await world.client.get("/docs")
    assert response.headers["content-type"] == "text/html; charset=utf-8"
    policy = response.headers["content-security-policy"]
    assert "default-src 'none'; script-src 'self'; style-src 'self'; " in policy
    assert "unsafe" not in policy
    assert response.text.startswith("<!doctype html>")


async def test_the_assets_of_the_page_are_served(world: World) -> None:
    page = await world.client.get("/docs")
    loaded = [link for link in read(page.text).links if link.startswith("/assets/")]
    assert [(await world.client.get(link)).status_code for link in loaded] == [200] * 3
