"""The /docs page: it shows every operation, runs no script and loads nothing."""

import copy
import json
import re
from base64 import b64encode
from hashlib import sha256
from html import unescape
from html.parser import HTMLParser

import pytest
from tests.web.described import DOCUMENT, FACTS
from tests.world import World

from imprint.web.docs.html import Markup, element, render_json, render_line, render_text
from imprint.web.docs.operation import Operation
from imprint.web.docs.operations import OPERATIONS
from imprint.web.docs.page import DOCS_POLICY, docs_page
from imprint.web.problems import HIDDEN

PAGE = docs_page(DOCUMENT, FACTS)
VOID = {"meta"}


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
    (article,) = re.findall(rf'<article id="{operation.name}">(.*?)</article>', PAGE, re.DOTALL)
    return str(article)


def section_of(article: str, opening: str) -> str:
    """The definition list that starts with this tag or title; empty if the article has none."""
    return article.partition(opening)[2].partition("</dl>")[0]


@pytest.mark.parametrize("operation", OPERATIONS, ids=lambda each: each.name)
def test_an_article_shows_the_method_path_and_alias_of_its_operation(operation: Operation) -> None:
    route = article_of(operation).partition('<p class="route">')[2].partition("</p>")[0]
    assert f">{operation.method.upper()}</span><span>{operation.path}</span>" in route
    assert re.findall(r"also at ([^<]+)<", route) == [operation.alias] * bool(operation.alias)


@pytest.mark.parametrize("operation", OPERATIONS, ids=lambda each: each.name)
def test_an_article_lists_exactly_the_codes_of_its_operation(operation: Operation) -> None:
    errors = section_of(article_of(operation), '<dl class="errors">')
    # Some codes have another status in compatibility, and are listed under both.
    codes = [*set(operation.codes), *(set(operation.codes) & HIDDEN.keys())]
    assert sorted(re.findall(r"<li><code>(\w+)</code>", errors)) == sorted(codes)


@pytest.mark.parametrize("operation", OPERATIONS, ids=lambda each: each.name)
def test_an_article_lists_exactly_the_parameters_of_its_operation(operation: Operation) -> None:
    parameters = section_of(article_of(operation), "<h4>Parameters</h4>")
    names = [parameter.name for parameter in operation.parameters]
    assert re.findall(r"<dt><code>([^<]+)</code>", parameters) == names


def test_the_page_loads_no_resource_and_runs_no_script() -> None:
    reader = read(PAGE)
    assert {"script", "img", "link", "iframe", "form"}.isdisjoint(reader.names)
    assert not any(name.startswith("on") or name == "style" for name in reader.attributes)
    assert [link for link in reader.links if not link.startswith("#")] == ["openapi.json"]


def test_every_anchor_is_unique_and_every_link_has_one() -> None:
    reader = read(PAGE)
    assert len(set(reader.anchors)) == len(reader.anchors)
    assert {link[1:] for link in reader.links if link.startswith("#")} <= set(reader.anchors)


def test_the_content_security_policy_allows_only_the_style_sheet() -> None:
    (style,) = read(PAGE).styles
    digest = b64encode(sha256(style.encode()).digest()).decode()
    assert f"style-src 'sha256-{digest}'" in DOCS_POLICY
    assert "default-src 'none'" in DOCS_POLICY
    assert "unsafe" not in DOCS_POLICY


def test_the_page_shows_what_differs_between_services() -> None:
    section = PAGE.partition('<h2 id="guide-this-service">')[2].partition("</section>")[0]
    shown = re.sub(r"<[^>]*>", "", section.partition("<pre")[2].partition(">")[2])
    assert json.loads(unescape(shown)) == FACTS


def test_names_from_the_settings_are_escaped() -> None:
    hostile = "<script>alert(1)</script>"
    facts = {**FACTS, "name": hostile, "signing": {**FACTS["signing"], "name": hostile}}
    page = docs_page(DOCUMENT, facts)
    assert "script" not in read(page).names
    assert "&lt;script&gt;" in page


def test_attribute_values_are_escaped() -> None:
    assert element("a", "x", href='"><b>') == '<a href="&quot;&gt;&lt;b&gt;">x</a>'


def test_every_child_but_markup_is_escaped() -> None:
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
    page = docs_page(document, FACTS)
    assert "Anna'\\''s" in page


async def test_the_page_is_served_with_its_content_security_policy(world: World) -> None:
    response = await world.client.get("/docs")
    assert response.headers["content-type"] == "text/html; charset=utf-8"
    assert response.headers["content-security-policy"] == DOCS_POLICY
    assert response.text.startswith("<!doctype html>")
