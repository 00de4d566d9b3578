"""The HTML of posts: rendered parts, omitted parts, and elements that are never allowed."""

import json
import math
import re
from html import escape
from html.parser import HTMLParser
from random import Random
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from markupsafe import Markup

from imprint.domain.posts.openings import MAX_TEXT, count_attempts
from imprint.domain.posts.text_work import MAX_STEPS, TextWork
from imprint.web.site.texts import markdown
from imprint.web.site.texts.pictures import picture_size
from imprint.web.site.texts.post_html import ATTRIBUTES, TAGS, sanitised, text_markup

PNG = (
    "data:image/png;base64,iVBORw0KGgoAAAANSUhEUgAAAAMAAAACCAYAAACddGYaAAAADUlEQVR42mNk+M9QDwADhgGA"
    "WjR9awAAAABJRU5ErkJggg=="
)
CID = "bafkreigh2akiscaildcqabsyg3dfr6chu3fgpregiymsck7e7aqa4s52zy"
TOO_LONG = "too long or too complex"


def post_html(content: str, title: str = "") -> Markup:
    """The HTML of a text, with its pictures."""
    return text_markup(content, title, TextWork()).with_pictures(content)


class Elements(HTMLParser):
    """Collects every start tag of a page with its attributes."""

    def __init__(self, markup: str) -> None:
        super().__init__()
        self.found: list[tuple[str, dict[str, str | None]]] = []
        self.feed(markup)
        self.close()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.found.append((tag, dict(attrs)))


def check_safe(markup: str) -> None:
    """Fail if an element, attribute or URL is not allowed in texts."""
    for tag, attributes in Elements(markup).found:
        assert tag in TAGS
        allowed = ATTRIBUTES.get(tag, set()) | {"class"} | ({"rel"} if tag == "a" else set())
        assert set(attributes) <= allowed
        if "href" in attributes:
            assert re.match(r"https?://|mailto:|/(?!/)|#", attributes["href"] or "", re.IGNORECASE)
            assert attributes["rel"] == "nofollow noopener ugc"
        if "src" in attributes:
            source = attributes["src"] or ""
            assert re.match(r"data:image/(png|jpeg|gif|webp);base64,|/ipfs/", source) or (
                source.startswith("imprint-picture:")
            )


def blocks(*given: tuple[str, dict[str, Any]]) -> str:
    made = [{"type": kind, "data": data} for kind, data in given]
    return json.dumps({"title": "A title", "content": {"blocks": made}})


@pytest.mark.parametrize(
    ("text", "markup"),
    [
        ("a *b* **c** ~~d~~ `e`", "<p>a <em>b</em> <strong>c</strong> <s>d</s> <code>e</code></p>"),
        ("# A\n\n### B", '<h2 id="s-a">A</h2>\n<h3 id="s-b">B</h3>'),
        ("## A\n\n## A", '<h2 id="s-a">A</h2>\n<h2 id="s-a-2">A</h2>'),
        ("<b>x</b>", "<p>&lt;b&gt;x&lt;/b&gt;</p>"),
        ("> a", "<blockquote>\n<p>a</p>\n</blockquote>"),
        ("```\na < b\n```", '<pre tabindex="0"><code>a &lt; b\n</code></pre>'),
        ("```js x\na < b\n```", '<pre tabindex="0"><code>a &lt; b\n</code></pre>'),
        ("```klingon\nif 1\n```", '<pre tabindex="0"><code>if 1\n</code></pre>'),
        (
            f'![a]({PNG} "b & c")',
            f'<figure><img src="{PNG}" alt="a" width="3" height="2" loading="lazy">'
            "<figcaption>b &amp; c</figcaption></figure>",
        ),
        ("3. a", '<ol start="3">\n<li>a</li>\n</ol>'),
    ],
)
def test_markdown_is_rendered(text: str, markup: str) -> None:
    assert str(post_html(text)).strip() == markup


def test_a_table_is_in_a_scrollable_box() -> None:
    markup = post_html("|a|b|\n|-|-|\n|1|2|")
    (tag, attributes), *_ = Elements(markup).found
    assert tag == "div"
    assert (attributes["class"], attributes["tabindex"]) == ("scroll", "0")
    assert "<td>1</td>" in markup


def test_the_columns_of_a_table_are_aligned() -> None:
    markup = post_html("|a|b|c|\n|:-|:-:|-:|\n|1|2|3|")
    assert '<th class="left">a</th>' in markup
    assert '<td class="center">2</td>' in markup
    assert '<td class="right">3</td>' in markup


def test_code_is_coloured_by_its_language() -> None:
    markup = post_html("```python\ndef f(a):  # <b>\n    return 'x' + str(1)\n```")
    assert '<span class="c-keyword">def</span> <span class="c-name">f</span>' in markup
    assert '<span class="c-comment"># &lt;b&gt;</span>' in markup
    assert "<span class=\"c-string\">'x'</span>" in markup
    assert '<span class="c-number">1</span>' in markup


def test_long_code_is_shown_without_colours() -> None:
    assert "<span" in post_html("```py\n1\n```")
    assert "<span" not in post_html(f"```py\n{'1 + ' * 2_000}1\n```")


def test_footnotes_are_listed_at_the_end_with_links_both_ways() -> None:
    text = "One[^b] two[^a] three[^b].\n\n[^a]: Of *two*.\n[^b]: Of one.\n\n    More.\n\nThe end."
    markup = post_html(text)
    assert '<sup><a href="#fn-1" id="fnref-1-1" role="doc-noteref" rel=' in markup
    words = " ".join(re.sub("<[^>]*>", "", markup).split())
    assert words == "One1 two2 three1. The end. Of one. More. ↩ ↩ Of two. ↩"
    anchors = [given["id"] for _, given in Elements(markup).found if "id" in given]
    assert anchors == ["fnref-1-1", "fnref-2-1", "fnref-1-2", "fn-1", "fn-2"]
    targets = [given["href"] for _, given in Elements(markup).found if "href" in given]
    assert targets[3:] == ["#fnref-1-1", "#fnref-1-2", "#fnref-2-1"]
    check_safe(markup)


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("One[^1].", "One[^1]."),
        ("One.\n\n[^1]: Unused.", "One."),
        ("One[^ 1].\n\nx", "One[^ 1]. x"),
        ("`[^1]`\n\n[^1]: x", "[^1]"),
        ("A[^1]\n\n[^1]: First.\n\n[^1]: Second.", "A1 First. ↩"),
        ("A[^1]\n\n[^1]: See[^1].", "A1 See1. ↩ ↩"),
        ("A[^1]\n\n[^1]: [^2]: x", "A1 ↩"),
        ("A[^1]\n\n> [^1]: Quoted.", "A1 Quoted. ↩"),
    ],
)
def test_text_that_only_resembles_a_footnote_stays_text(text: str, shown: str) -> None:
    markup = post_html(text)
    assert " ".join(re.sub("<[^>]*>", "", markup).split()) == shown
    check_safe(markup)


def test_a_first_heading_that_repeats_the_title_is_left_out() -> None:
    assert str(post_html("# On  Ink\n\nText.", "On ink")).strip() == "<p>Text.</p>"
    assert "<h2" in post_html("# On Ink\n\nText.", "Another")


@pytest.mark.parametrize(
    "address",
    [
        "javascript:alert(1)",
        "JaVaScRiPt:alert(1)",
        "data:text/html;base64,AAAA",
        "vbscript:x",
        "//other.example/x",
        "file:///etc/passwd",
        PNG,
    ],
)
def test_a_link_with_an_unsafe_scheme_has_no_href(address: str) -> None:
    markup = post_html(f"[x](<{address}>)")
    assert all("href" not in attributes for _, attributes in Elements(markup).found)


@pytest.mark.parametrize(
    "address", ["https://a.example/b?c=d", "mailto:a@b.example", "/p/1", "#s-a"]
)
def test_a_link_is_marked_as_user_generated(address: str) -> None:
    ((_, _), (tag, attributes)) = Elements(post_html(f"[x]({address})")).found
    assert tag == "a"
    assert attributes == {"href": address, "rel": "nofollow noopener ugc"}


@pytest.mark.parametrize("name", ["title", "lang"])
def test_only_listed_attributes_are_kept_on_an_element(name: str) -> None:
    # The address passes the check of links, which all attributes of a block's text go through.
    bold = f'<b {name}="https://a.example/">x</b>'
    assert sanitised(bold) == "<b>x</b>"
    assert post_html(blocks(("paragraph", {"text": bold}))) == "<p><b>x</b></p>"


def test_a_link_to_ipfs_points_to_this_service() -> None:
    assert f'href="/ipfs/{CID}"' in post_html(f"[x](ipfs://{CID})")


def test_an_embedded_picture_has_its_width_and_height() -> None:
    (_, (tag, attributes)) = Elements(post_html(f"![alt *x*]({PNG})")).found
    assert (tag, attributes["src"], attributes["alt"]) == ("img", PNG, "alt x")
    assert (attributes["width"], attributes["height"]) == ("3", "2")
    assert attributes["loading"] == "lazy"


def test_a_picture_on_this_service_without_a_known_size_is_marked_as_unsized() -> None:
    (_, (_, attributes)) = Elements(post_html(f"![](ipfs://{CID})")).found
    assert (attributes["src"], attributes["class"]) == (f"/ipfs/{CID}", "unsized")


def test_a_picture_on_another_host_becomes_a_link() -> None:
    markup = post_html("![A *cat*](https://other.example/cat.png)")
    assert "<img" not in markup
    assert "A cat (picture on another site)</a>" in markup


def test_a_picture_that_may_contain_scripts_is_not_shown() -> None:
    assert "<img" not in post_html("![x](data:image/svg+xml;base64,AAAA)")


def test_editor_blocks_are_rendered() -> None:
    markup = post_html(
        blocks(
            ("header", {"text": "A <b>b</b>", "level": 3}),
            ("paragraph", {"text": 'c <i>d</i> <a href="https://e.example/" onclick="x()">e</a>'}),
            ("list", {"style": "ordered", "items": ["f", {"content": "g", "items": ["h"]}, "i"]}),
            ("checklist", {"items": [{"text": "j", "checked": True}, {"text": "k"}]}),
            ("quote", {"text": "l", "caption": "m"}),
            ("code", {"code": "n < o"}),
            ("image", {"file": {"url": PNG}, "caption": "p"}),
            ("delimiter", {}),
            ("table", {"withHeadings": True, "content": [["q"], ["r"]]}),
            ("embed", {"source": "https://s.example/", "caption": "t"}),
            ("unknown", {"text": "u"}),
        )
    )
    for part in (
        '<h2 id="s-a-b">A <b>b</b></h2>',
        '<p>c <i>d</i> <a href="https://e.example/" rel="nofollow noopener ugc">e</a></p>',
        "<ol><li>f</li><li>g<ol><li>h</li></ol></li><li>i</li></ol>",
        "<ul><li>☑ j</li><li>☐ k</li></ul>",
        "<blockquote><p>l</p><p><cite>m</cite></p></blockquote>",
        "<code>n &lt; o</code>",
        f'<img src="{PNG}" alt="p" width="3" height="2" loading="lazy">',
        "<figcaption>p</figcaption>",
        "<hr>",
        "<tr><th>q</th></tr><tr><td>r</td></tr>",
        '<a href="https://s.example/" rel="nofollow noopener ugc">https://s.example/</a><br>t',
        "<p>u</p>",
    ):
        assert part in markup
    check_safe(markup)


@pytest.mark.parametrize(
    "content",
    ["{", '{"title": 1, "content": 2}', '{"blocks": [1, null, {"type": 7, "data": []}]}', "{}"],
)
def test_malformed_editor_blocks_are_rendered_safely(content: str) -> None:
    check_safe(post_html(content))


PIECES = (
    *("[", "]", "(", ")", "!", "*", "**", "_", "~~", "`", "``", "\\", "\n", "  \n", "<", ">", "#"),
    *("&", "&amp;", "&#35;", "a", "b ", " ", "é", "http://a.example", "<http://a.example>", "<b>"),
    *("[^1]", "\n\n[^1]: note\n\n", "[r]", "[r]: /u 't'\n\n", "|", "\n- ", "$", "{", ":", "@", "^"),
)


def test_trying_rules_by_character_finds_the_same_tokens_as_trying_all_rules(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    parser = markdown._build_parser()
    monkeypatch.setattr(
        markdown._InlineParser, "try_by_character", lambda self: count_attempts(self.ruler)
    )
    thorough = markdown._build_parser()
    random = Random(1)
    for _ in range(1_000):
        text = "".join(random.choices(PIECES, k=random.randrange(1, 30)))
        tokens = [each.as_dict() for each in parser.parse(text, {"work": TextWork()})]
        assert tokens == [each.as_dict() for each in thorough.parse(text, {"work": TextWork()})]


ROW = "|a|b|c|\n|-|-|-|\n"

INTRICATE = {
    "long": "a" * (MAX_TEXT + 1),
    "short lines": "a\n" * (MAX_TEXT + 1),
    "brackets": "[" * 20_000,
    "pictures": "![](" * 20_000,
    "titles": "[](a '" * 10_000,
    "emphasis": "*a**b_c__" * 10_000,
    "strikethrough": "~~a" * 20_000,
    "references": "[a]: b\n" * 14_000,
    "lines of one paragraph": ("a\n" * 4_000 + "\n") * 10,
    "headings": "# a\n" * 20_000,
    "list": "1. a\n" * 20_000,
    "backslashes": "\\" * 90_000,
    "entities": "&a" * 40_000,
    "footnotes": "[^a]: b\n" * 14_000,
    "references to footnotes": "[^a]: b\n\n" + "[^a]" * 20_000,
    "half footnotes": "[^a]: b\n\n" + "[^" * 20_000,
    "code": ("```js\n" + "a." * 3_000 + "\n```\n") * 2,
    "table": ROW + "|\n" * 30_000,
    "table with CR": (ROW + "|\n" * 30_000).replace("\n", "\r"),
    "table with CRLF": (ROW + "|\n" * 30_000).replace("\n", "\r\n"),
    "wide tables with CR": "".join(
        f"|{'a|' * 40}\r|{'-|' * 40}\r{'|' + chr(13)}" * 8 + "\r" for _ in range(40)
    ),
    "cells": json.dumps({"blocks": [{"type": "table", "data": {"content": [["a"] * 6_000]}}]}),
    "items": json.dumps({"blocks": [{"type": "list", "data": {"items": ["a"] * 6_000}}]}),
    "blocks": json.dumps({"blocks": [{"type": "x", "data": {"text": ""}}] * 2_600}),
}
"""Texts that, at ten times the size, would take seconds, minutes or gigabytes without limits."""


@pytest.mark.parametrize("text", INTRICATE.values(), ids=INTRICATE)
def test_a_text_that_takes_too_much_work_is_shown_unrendered(text: str) -> None:
    made = text_markup(text, "", TextWork(MAX_STEPS // 10, math.inf))
    assert TOO_LONG in made.markup
    assert len(made.markup) <= len(escape(text[:MAX_TEXT])) + 1_000
    check_safe(made.markup)


@pytest.mark.parametrize(
    "text",
    [
        "a\n\n" * 8_000,
        "An ordinary sentence with a [link](https://a.example/) and *emphasis* in it.\n\n" * 4_000,
        "A line of verse,\nand another one\n\n" * 4_000,
        ROW + "|1|2|3|\n" * 1_000,
        "> quoted\n" * 5_000,
    ],
    ids=["paragraphs", "links", "verse", "table", "quote"],
)
def test_a_long_ordinary_text_is_rendered(text: str) -> None:
    assert TOO_LONG not in text_markup(text, "", TextWork(seconds=math.inf)).markup


def test_all_types_of_line_endings_are_accepted() -> None:
    text = "# A\n\nb\nc\n\n|d|\n|-|\n|e|"
    assert {post_html(text.replace("\n", end)) for end in ("\n", "\r\n", "\r")} == {post_html(text)}


def test_unrendered_text_is_escaped() -> None:
    markup = post_html("<script>alert(1)</script>\n" * (MAX_TEXT // 20))
    assert TOO_LONG in markup
    check_safe(markup)


def test_pictures_in_unrendered_text_are_left_out() -> None:
    markup = post_html(f"![x]({PNG})\n" + "[" * 200_000)
    assert "![x](picture)" in markup
    assert PNG not in markup


def test_blocks_that_take_too_much_work_are_shown_as_plain_text() -> None:
    items = [{"type": "paragraph", "data": {"text": "<b>first</b>"}}]
    items.append({"type": "list", "data": {"items": ["a"] * 60_000}})
    markup = post_html(json.dumps({"blocks": items}))
    assert TOO_LONG in markup
    assert '<pre class="written">first' in markup


def test_pictures_do_not_count_towards_the_text_limit() -> None:
    picture = "data:image/png;base64," + "A" * MAX_TEXT
    assert TOO_LONG not in post_html(f"![x]({picture})")


@pytest.mark.parametrize(
    ("head", "size"),
    [
        (b"\x89PNG\r\n\x1a\n" + b"\0\0\0\rIHDR" + b"\0\0\0\x05\0\0\0\x07", (5, 7)),
        (b"GIF89a\x05\0\x07\0", (5, 7)),
        (b"\xff\xd8\xff\xe0\0\x04ab\xff\xc0\0\x11\x08\0\x07\0\x05\x03", (5, 7)),
        (b"RIFF\0\0\0\0WEBPVP8X\0\0\0\0\0\0\0\0\x04\0\0\x06\0\0", (5, 7)),
        (b"RIFF\0\0\0\0WEBPVP8 \0\0\0\0\0\0\0\x9d\x01\x2a\x05\0\x07\0", (5, 7)),
        (b"\xff\xd8\xff\xe0\0\0", None),
        (b"\x89PNG\r\n\x1a\n", None),
        (b"", None),
    ],
)
def test_the_size_of_a_picture_is_read_from_its_header(
    head: bytes, size: tuple[int, int] | None
) -> None:
    assert picture_size(head) == size


HOSTILE = st.lists(
    st.sampled_from(
        [
            *("<script>", "</script>", "<img src=x onerror=alert(1)>", "<svg/onload=a>", "<!--"),
            *("[a](", "![a](", ")", "javascript:alert(1)", "https://a.example", "\n", "\n\n", "- "),
            *(
                "> ",
                "`",
                "```",
                "|",
                "|-|",
                "#",
                "*",
                "_",
                "~~",
                "<",
                ">",
                '"',
                "'",
                "&",
                "\\",
                "\0",
            ),
            *(
                "imprint-picture:0",
                PNG,
                f"ipfs://{CID}",
                "//b.example",
                "[r]: ",
                "[r]",
                "\t",
                "&#x6a;",
            ),
            *("<a href='javascript:1'>", "<iframe srcdoc=x>", "<style>", "<math>", "<b style=x>"),
        ]
    )
    | st.text(max_size=8),
    max_size=40,
).map("".join)


RUNNING = {
    *("applet", "audio", "base", "body", "button", "embed", "form", "frame", "head", "html"),
    *("iframe", "input", "link", "math", "meta", "object", "script", "select", "source", "style"),
    *("svg", "template", "textarea", "video"),
}
"""Elements that run, load or send something, or affect the surrounding page."""


def test_allowed_elements_and_attributes_neither_run_nor_load_anything() -> None:
    assert not TAGS & RUNNING
    attributes = {name for names in ATTRIBUTES.values() for name in names}
    known = {"alt", "aria-label", "height", "href", "id", "loading", "role", "src", "start"}
    assert attributes <= known | {"tabindex", "width"}
    assert {tag for tag, names in ATTRIBUTES.items() if names & {"href", "src"}} == {"a", "img"}


@given(HOSTILE)
def test_rendered_markdown_has_only_allowed_elements(text: str) -> None:
    check_safe(post_html(text))


@given(
    st.sampled_from(
        [
            *("paragraph", "header", "list", "quote", "code", "image", "table", "checklist"),
            *("embed", "raw", "warning", "unknown"),
        ]
    ),
    HOSTILE,
)
def test_rendered_blocks_have_only_allowed_elements(kind: str, text: str) -> None:
    data = {
        **dict.fromkeys(("text", "caption", "code", "html", "title", "url", "source"), text),
        "items": [text, {"content": text, "items": [text]}],
        "content": [[text, text]],
        "file": {"url": text},
        "level": text,
    }
    check_safe(post_html(blocks((kind, data))))


PICTURE = "data:image/png;base64," + "A" * 10_000


def test_text_cannot_insert_a_picture_by_writing_its_placeholder():
    html = post_html(f"![a]({PICTURE})\n\n" + "imprint-picture:0 " * 1_000)
    assert html.count("base64") == 1


def test_a_picture_referenced_many_times_is_embedded_at_most_twice():
    html = post_html(f"[p]: {PICTURE}\n\n" + "![a][p] " * 1_000)
    assert html.count(PICTURE) == 2
    assert html.count("<img") == 1_000


def test_tables_with_too_many_cells_are_shown_unrendered():
    table = "|a" * 181 + "\n" + "|-" * 181 + "\n" + "|\n" * 360 + "\n"
    assert "<table" not in post_html(table)
    assert "too complex" in post_html(table)
    assert "<table" in post_html("|a|b|\n|-|-|\n|1|2|\n")


def test_a_block_with_too_many_tags_is_shown_without_tags():
    blocks = [{"type": "paragraph", "data": {"text": "<b>" * 1_001 + "words"}}]
    assert post_html(json.dumps({"title": "", "content": {"blocks": blocks}})) == "<p>words</p>"


def test_a_lone_surrogate_is_shown_as_a_replacement_character():
    text = r'{"title":"","content":{"blocks":[{"type":"paragraph","data":{"text":"a\ud800<b>b"}}]}}'
    assert post_html(text) == "<p>a�<b>b</b></p>"
