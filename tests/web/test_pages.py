"""The page for people: everything is on it, and nothing on it runs or comes from elsewhere."""

import re
from base64 import b64encode
from hashlib import sha256
from html.parser import HTMLParser

from tests.web.described import DOCUMENT, FACTS
from tests.world import World

from imprint.web.docs.html import Markup, element, render_json, render_line, render_text
from imprint.web.docs.openapi import OPERATIONS, describe_interface
from imprint.web.docs.page import DOCS_POLICY, docs_page

PAGE = docs_page(DOCUMENT)
VOID = {"meta"}


class Reader(HTMLParser):
    """Collects what a browser would act on."""

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


def test_every_operation_code_and_parameter_is_on_the_page() -> None:
    for operation in OPERATIONS:
        assert f'id="{operation.name}"' in PAGE
        for word in (operation.path, operation.alias, *operation.codes):
            assert word is None or word in PAGE
        for parameter in operation.parameters:
            assert parameter.name in PAGE


def test_the_page_needs_nothing_from_elsewhere_and_runs_nothing() -> None:
    reader = read(PAGE)
    assert {"script", "img", "link", "iframe", "form"}.isdisjoint(reader.names)
    assert not any(name.startswith("on") or name == "style" for name in reader.attributes)
    assert [link for link in reader.links if not link.startswith("#")] == ["openapi.json"]


def test_every_link_leads_to_a_place_of_its_own() -> None:
    reader = read(PAGE)
    assert len(set(reader.anchors)) == len(reader.anchors)
    assert {link[1:] for link in reader.links if link.startswith("#")} <= set(reader.anchors)


def test_the_policy_admits_the_style_sheet_and_nothing_else() -> None:
    (style,) = read(PAGE).styles
    digest = b64encode(sha256(style.encode()).digest()).decode()
    assert f"style-src 'sha256-{digest}'" in DOCS_POLICY
    assert "default-src 'none'" in DOCS_POLICY
    assert "unsafe" not in DOCS_POLICY


def test_what_an_operator_names_is_escaped() -> None:
    hostile = "<script>alert(1)</script>"
    facts = {**FACTS, "name": hostile, "signing": {**FACTS["signing"], "name": hostile}}
    page = docs_page(describe_interface(facts))
    assert "script" not in read(page).names
    assert "&lt;script&gt;" in page


def test_an_attribute_cannot_be_left() -> None:
    assert element("a", "x", href='"><b>') == '<a href="&quot;&gt;&lt;b&gt;">x</a>'


def test_only_markup_passes_unescaped() -> None:
    assert element("p", "<i>", Markup("<b></b>")) == "<p>&lt;i&gt;<b></b></p>"


def test_a_text_is_rendered_with_its_lists_headings_and_code() -> None:
    text = "## A title\n\nOne `<b>` and **two**.\n\n- a\n- b\n\n1. c"
    assert render_text(text) == (
        '<h2 id="guide-a-title">A title</h2>'
        "<p>One <code>&lt;b&gt;</code> and <strong>two</strong>.</p>"
        "<ul><li>a</li><li>b</li></ul><ol><li>c</li></ol>"
    )


def test_a_line_without_marks_stays_as_it_is() -> None:
    assert render_line("a < b") == "a &lt; b"


def test_json_keeps_every_character_between_its_colors() -> None:
    value = {"a<b": ['x "quoted" \\ \n', 1, None]}
    plain = re.sub(r"<[^>]*>", "", render_json(value))
    assert plain == '{\n  "a&lt;b": [\n    "x \\"quoted\\" \\\\ \\n",\n    1,\n    null\n  ]\n}'


def test_a_command_quotes_what_a_shell_would_take_for_its_own() -> None:
    facts = {**FACTS, "signing": {**FACTS["signing"], "name": "Anna's"}}
    page = docs_page(describe_interface(facts))
    assert "Anna'\\''s" in page


async def test_the_page_is_served_under_its_policy(world: World) -> None:
    answer = await world.client.get("/docs")
    assert answer.headers["content-type"] == "text/html; charset=utf-8"
    assert answer.headers["content-security-policy"] == DOCS_POLICY
    assert answer.text.startswith("<!doctype html>")
