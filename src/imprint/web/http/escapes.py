"""Escaping of untrusted texts in XML, HTML and Markdown."""

import html
import re

_FORBIDDEN = re.compile("[^\t\n\r\u0020-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")
"""Characters that XML 1.0 forbids, even escaped."""

_REPLACEMENT = "\N{REPLACEMENT CHARACTER}"

_BIDI = "\u061c\u200e\u200f\u202a\u202b\u202c\u202d\u202e\u2066\u2067\u2068\u2069"
"""Characters that change the direction of the text after them."""

_XML = {
    ord("&"): "&amp;",
    ord("<"): "&lt;",
    ord(">"): "&gt;",
    ord('"'): "&quot;",
    ord("\r"): "&#xD;",
    **{ord(char): f"&#x{ord(char):X};" for char in _BIDI},
}
"""Escapes for characters that are special in XML, are normalized by parsers, or reorder text."""

_MARKDOWN = re.compile(r"[\\`*_\[\]#|~!$^=@]|(?<=[a-zA-Z]):(?=//)|(?<=\b[wW]{3})\.")
"""Special characters within a line of Markdown, and characters that turn addresses into links."""

_LINE_START = re.compile(r"^(?:[-+]|\d{1,9}(?=[.)]))")
"""Characters that begin a list or underline a heading in Markdown."""

_CONTROLS = re.compile(f"[\x00-\x08\x0e-\x1f\x7f-\x84\x86-\x9f{_BIDI}\ufffe\uffff\ud800-\udfff]")
"""Control and direction characters, which pages do not show as text."""


def xml_characters(text: str) -> str:
    """Replace the characters that XML forbids."""
    return _FORBIDDEN.sub(_REPLACEMENT, text)


def xml_text(text: str) -> str:
    """Escape a text as the content of an XML element, or of a double-quoted attribute."""
    return xml_characters(text).translate(_XML)


def markdown_line(text: str) -> str:
    """Escape a text as one line of plain Markdown without links, HTML or lists."""
    line = " ".join(_CONTROLS.sub(_REPLACEMENT, text).split())
    line = _MARKDOWN.sub(r"\\\g<0>", html.escape(line, quote=False))
    return _LINE_START.sub(_escape_start, line)


def _escape_start(found: re.Match[str]) -> str:
    start = found[0]
    return f"{start}\\" if start.isdecimal() else f"\\{start}"
