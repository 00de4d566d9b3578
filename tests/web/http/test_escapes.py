"""Escaping untrusted texts for XML, HTML and Markdown."""

from xml.etree import ElementTree

import pytest
from hypothesis import given
from hypothesis import strategies as st

from imprint.web.http.escapes import markdown_line, xml_text

TEXTS = st.text(st.characters(exclude_categories=["Cs"]))


@given(TEXTS)
def test_arbitrary_text_is_escaped_for_xml_elements_and_attributes(text: str) -> None:
    escaped = xml_text(text)
    element = ElementTree.fromstring(f'<a b="{escaped.replace(chr(10), " ")}">{escaped}</a>')
    shown = element.text or ""
    assert len(shown) == len(text)
    assert all(one in (other, "\ufffd") for one, other in zip(shown, text, strict=True))


@given(TEXTS)
def test_arbitrary_text_becomes_one_line_of_markdown_without_html(text: str) -> None:
    line = markdown_line(text)
    assert len(line.splitlines()) <= 1
    assert "<" not in line
    assert not line.startswith((" ", "#", "-", "+", ">", "*", "=", "`", "~", "|"))


@pytest.mark.parametrize(
    ("text", "line"),
    [
        ("A title: with, words.", "A title: with, words."),
        ("[x](https://evil.example)", r"\[x\](https\://evil.example)"),
        ("![x](y)", r"\!\[x\](y)"),
        ("<script>alert(1)</script>", "&lt;script&gt;alert(1)&lt;/script&gt;"),
        ("# *big* `code`", r"\# \*big\* \`code\`"),
        ("1. one\n2. two", r"1\. one 2. two"),
        ("- item", r"\- item"),
        ("www.evil.example", r"www\.evil.example"),
        ("me@evil.example", r"me\@evil.example"),
        ("a\r\n\u2028b\x00\u202ec", "a b\ufffd\ufffdc"),
        ("&lt;b&gt;", "&amp;lt;b&amp;gt;"),
        ("", ""),
    ],
)
def test_markdown_syntax_in_a_line_is_escaped(text: str, line: str) -> None:
    assert markdown_line(text) == line
