"""Texts in feeds have absolute addresses, bounded sizes, and nothing that a page would not show."""

import base64
import re
from html.parser import HTMLParser

import pytest
from hypothesis import given
from hypothesis import strategies as st

from imprint.domain.posts.text_work import TextWork
from imprint.web.site.texts.feed_texts import cut_html, feed_html
from imprint.web.site.texts.post_html import TAGS, text_markup

SERVICE = "https://words.example"
PAGE = f"{SERVICE}/p/7/a-title"
CID = "bafkreigh2akiscaildcqabsyg3dfr6chu3fgpregiymsck7e7aqa4s52zy"
LINK = f'<p><a href="{PAGE}">Read the whole post on its page.</a></p>'


def html_of(content: str, title: str = "A title", longest: int = 10_000) -> str:
    """The HTML of a text in a feed."""
    text = text_markup(content, title, TextWork())
    return feed_html(text, content, SERVICE, PAGE, longest)


class Balance(HTMLParser):
    """Collects tags and attributes, and checks that every element is closed in order."""

    def __init__(self, markup: str) -> None:
        super().__init__()
        self.opened: list[str] = []
        self.tags: set[str] = set()
        self.attributes: set[str] = set()
        self.feed(markup)
        self.close()
        assert self.opened == []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.add(tag)
        self.attributes |= {name for name, _ in attrs}
        if tag not in ("br", "hr", "img"):
            self.opened.append(tag)

    def handle_endtag(self, tag: str) -> None:
        assert self.opened.pop() == tag


def test_feed_html_keeps_lists_code_and_tables_without_page_markup() -> None:
    content = "## Part\n\n1. one\n2. two\n\n```py\na < b\n```\n\n| a | b |\n|---|---|\n| 1 | 2 |"
    assert html_of(content).replace("\n", "") == (
        "<h2>Part</h2><ol><li>one</li><li>two</li></ol><pre><code>a &lt; b</code></pre>"
        "<table><thead><tr><th>a</th><th>b</th></tr></thead>"
        "<tbody><tr><td>1</td><td>2</td></tr></tbody></table>"
    )


def test_all_addresses_are_absolute() -> None:
    content = f"[a](/t/ink) [b](#s-part) [c](ipfs://{CID}) ![d](/ipfs/{CID}) [e](mailto:a@b.c)"
    found = re.findall(r'(?:href|src)="([^"]*)"', html_of(content))
    assert found == [
        f"{SERVICE}/t/ink",
        f"{PAGE}#s-part",
        f"{SERVICE}/ipfs/{CID}",
        f"{SERVICE}/ipfs/{CID}",
        "mailto:a@b.c",
    ]


@pytest.mark.parametrize(
    "content",
    [
        "# A title\n\nWords.",
        "A  Title\n===\nWords.",
        "# *A* title\nWords.",
        "# `A` TITLE #\nWords.",
    ],
)
def test_a_first_heading_that_repeats_the_title_is_left_out(content: str) -> None:
    assert html_of(content) == "<p>Words.</p>"


def test_a_first_block_that_repeats_the_title_is_left_out() -> None:
    blocks = (
        '{"blocks": [{"type": "header", "data": {"text": "<b>A</b> title &amp;&nbsp;more"}},'
        '{"type": "header", "data": {"text": "A title &amp; more"}},'
        '{"type": "paragraph", "data": {"text": "Words."}}]}'
    )
    assert html_of(blocks, "A title & more") == "<h2>A title &amp; more</h2>\n<p>Words.</p>"


def test_a_heading_that_is_not_the_title_stays() -> None:
    assert html_of("# Another title\n\nWords.").startswith("<h2>Another title</h2>")


@pytest.mark.parametrize(
    "content",
    [
        "<script>alert(1)</script>",
        "[x](javascript:alert(1))",
        "[x](data:text/html;base64,PHNjcmlwdD4=)",
        "![x](data:image/svg+xml;base64,PHN2Zz4=)",
        "![x](//evil.example/x.png)",
        '<img src=x onerror="alert(1)">',
        "]]><script>alert(1)</script>",
        "`]]>` &#x3c;script&#x3e;",
        '{"blocks": [{"type": "raw", "data": {"html": "<script>alert(1)</script>"}}]}',
        '{"blocks": [{"type": "paragraph", "data": {"text": "<a href=//e.example onclick=x>"}}]}',
    ],
)
def test_hostile_texts_have_only_harmless_elements_and_addresses(content: str) -> None:
    shown = Balance(html_of(content))
    assert shown.tags <= TAGS
    assert shown.attributes <= {"alt", "height", "href", "rel", "src", "start", "width"}
    for address in re.findall(r' (?:href|src)="([^"]*)"', html_of(content)):
        assert address.startswith(f"{SERVICE}/"), address


def test_control_characters_are_replaced() -> None:
    assert html_of("a\x01b\x1bc\ufffed\x00e") == "<p>a�b�c�d�e</p>"


def test_bidi_characters_stay_within_their_paragraph() -> None:
    assert html_of("\u202eevil\n\nafter") == "<p>\u202eevil</p>\n<p>after</p>"


def picture(size: int) -> str:
    """A bitmap as a `data:` URL of this many characters."""
    start = "data:image/png;base64,"
    return start + base64.b64encode(b"\x89PNG" * size).decode()[: size - len(start)]


def test_pictures_are_included_as_long_as_they_fit() -> None:
    small, large = picture(500), picture(1_200)
    shown = html_of(f"![one]({small})\n\n![two]({large})\n\n![three]({small})", longest=1_500)
    assert shown.count(f'src="{small}"') == 2
    assert large not in shown
    assert "<p>two</p>" in shown
    assert shown.endswith(LINK)
    assert len(shown) < 1_500 + len(LINK) + 2


def test_an_omitted_picture_without_a_description_is_replaced_by_a_text() -> None:
    shown = html_of(f"[![]({picture(5_000)})](https://elsewhere.example)", longest=1_000)
    assert ">Picture on the page</a>" in shown
    Balance(shown)


def test_a_text_is_cut_after_a_block() -> None:
    shown = html_of("\n\n".join(f"Paragraph {number}." for number in range(100)), longest=1_000)
    assert shown == ("\n".join(f"<p>Paragraph {number}.</p>" for number in range(48)) + f"\n{LINK}")


@pytest.mark.parametrize("content", ["墨" * 2_000, "> " * 15 + "a&b " * 900, "`" + "<" * 900 + "`"])
def test_a_single_long_block_is_cut_inside_the_block(content: str) -> None:
    shown = html_of(content, longest=1_001)
    assert 900 < len(shown.removesuffix(LINK).encode()) < 1_300
    assert not re.search(r"&[a-z]*<", shown)
    Balance(shown)


@given(
    st.text(st.sampled_from("ab &<>\"'`*_-#|>[]()!\n\\1.墨")),
    st.integers(0, 200),
)
def test_a_cut_text_is_well_formed_html(content: str, longest: int) -> None:
    markup = str(text_markup(content, "", TextWork()).markup)
    cut = cut_html(markup, longest)
    Balance(cut)
    assert cut == markup or len(cut.encode()) < max(1, longest) * 4
