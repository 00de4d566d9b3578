"""DOMPurify finds nothing harmful in the HTML that Imprint shows, except for known differences."""

import re
from collections.abc import Callable
from random import Random
from typing import Any

from playwright.sync_api import Page
from tests.browser.chromium import open_chromium
from tests.browser.hostile.payloads import as_markdown, everything, in_blocks, in_markdown
from tests.differences.comparison import HERE, Known, Subject, compare
from tests.differences.random_values import HOSTILE

from imprint.domain.posts.text_work import TextWork
from imprint.web.site.texts.post_html import sanitised, text_markup

PURIFY = HERE / "node_modules" / "dompurify" / "dist" / "purify.js"
PAYLOADS = [payload.text for payload in everything()]
ELEMENTS = (
    *("a", "b", "blockquote", "br", "code", "div", "em", "figure", "h2", "img", "li", "ol", "p"),
    *("pre", "span", "table", "tbody", "td", "tr", "ul", "sup", "mark", "cite", "del"),
    *("math", "mtext", "mglyph", "malignmark", "mi", "annotation-xml", "svg", "desc", "title"),
    *("foreignObject", "style", "script", "noscript", "template", "textarea", "xmp", "plaintext"),
    *("iframe", "noembed", "noframes", "select", "option", "form", "input", "button", "object"),
    *("embed", "base", "link", "meta", "body", "html", "head", "frameset", "image", "isindex"),
    *("video", "audio", "source", "details", "summary", "dialog", "marquee", "font", "x-y", "nobr"),
)
ATTRIBUTES = (
    *("href", "src", "id", "name", "class", "style", "onerror", "onload", "onclick", "xlink:href"),
    *("srcdoc", "action", "formaction", "is", "xmlns", "role", "tabindex", "aria-label", "alt"),
    *("width", "height", "start", "loading", "title", "target", "rel", "data-x", "dir", "ping"),
)
VALUES = (
    *("javascript:alert(1)", "JaVaScRiPt:alert(1)", "jav&#x09;ascript:alert(1)", "//evil.example"),
    *("https://a.example/", "/t/ink", "#s-part", "mailto:a@b.c", "data:text/html,<script>", "x"),
    *("data:image/png;base64,AAAA", "imprint-picture:0", "vbscript:x", "\x01javascript:x"),
    *("s-part", "fn-1", "fnref-1-1", "cookie", "body", "__proto__", "attributes", "innerHTML"),
    *("region", "doc-noteref", "scroll", "notice", "1", "-1", "lazy", "ipfs://x", "&quot;><b>"),
    *("/ipfs/bafkreigh2akiscaildcqabsyg3dfr6chu3fgpregiymsck7e7aqa4s52zy", "</style><img src=x>"),
)
PIECES = (*HOSTILE, "<!--", "-->", "<![CDATA[", "]]>", "<?x?>", "<!doctype html>", "&lt;", "&", "x")


def random_markup(rng: Random) -> str:
    """Return hostile HTML: a known payload, parts of several, or random elements."""
    match rng.randrange(4):
        case 0:
            return _mutate(rng, rng.choice(PAYLOADS))
        case 1:
            parts = [rng.choice(PAYLOADS) for _ in range(rng.randint(2, 3))]
            return "".join(part[: rng.randrange(len(part) + 1)] for part in parts)
        case _:
            return "".join(_random_piece(rng) for _ in range(rng.randint(1, 14)))


def _mutate(rng: Random, text: str) -> str:
    for _ in range(rng.randrange(4)):
        at, end = sorted(rng.randrange(len(text) + 1) for _ in range(2))
        piece = rng.choice([_random_piece(rng), rng.choice(PIECES), text[at:end], ""])
        text = text[:at] + piece + text[rng.choice([at, end]) :]
    return text


def _random_piece(rng: Random) -> str:
    if rng.random() < 0.25:
        return rng.choice(PIECES)
    name = rng.choice(ELEMENTS)
    if rng.random() < 0.35:
        return f"</{name}>"
    attributes = ""
    for _ in range(rng.choice([0, 0, 1, 1, 2, 3])):
        quote = rng.choice(['"', '"', "'", ""])
        attributes += f" {rng.choice(ATTRIBUTES)}={quote}{rng.choice(VALUES)}{quote}"
    return f"<{name}{attributes}{rng.choice(['', '', '', '/', ' '])}>"


def random_text(rng: Random) -> str:
    """Return a post whose text has hostile HTML, as Markdown or as blocks."""
    write = rng.choice([as_markdown, as_markdown, in_markdown, in_blocks])
    return write(random_markup(rng).replace("\0", ""))


def show(content: str) -> str:
    """Return the HTML of a post with its pictures."""
    return text_markup(content, "", TextWork()).with_pictures(content)


INSPECT = """
(texts) => texts.map((html) => {
  DOMPurify.sanitize(html);
  const removed = DOMPurify.removed.map(({element, attribute, from}) =>
    attribute ? `${from.localName} ${attribute.name}=${attribute.value}` : element.nodeName);
  const place = document.createElement("template");
  place.innerHTML = html;
  const once = place.innerHTML;
  place.innerHTML = once;
  const found = removed.filter((each) => each !== undefined);
  if (place.innerHTML !== once) found.push("changes when it is parsed again");
  return found;
})
"""
"""Returns what DOMPurify removes from each text, and whether a second parse changes the text."""


def purify(page: Page, render: Callable[[str], str]) -> Callable[[list[str]], list[Any]]:
    """Return a function that renders texts, and lists what DOMPurify removes from each."""

    def inspect(texts: list[str]) -> list[Any]:
        found: list[Any] = page.evaluate(INSPECT, [render(text) for text in texts])
        return found

    return inspect


HARMLESS = {
    "a closing tag in an attribute": (
        r"(?is)[a-z]+ (?:alt|aria-label|height|width|loading|start|tabindex)=.*(?:--!?>|\]>|"
        r"</(?:style|script|title|xmp|textarea|noscript|iframe|noembed|noframes))",
        "DOMPurify removes attributes that would break out of such elements in another parser, but "
        "texts are never inside of them.",
    ),
    "a size that looks like a URL": (
        r"(?s)img (?:height|width|loading)=.*:.*|ol start=.*:.*|(?:div|pre) tabindex=.*:.*",
        "DOMPurify checks the scheme in every attribute, but a browser reads a number from these.",
    ),
    "the name of a picture": (
        r"(?s)img src=imprint-picture:.*",
        "A picture of a text has a name until its data URL is put back, and a forged name loads "
        "nothing.",
    ),
}
"""Harmless parts that DOMPurify removes: the rule that matches them and the reason, by name."""


def _knows(name: str, removed: list[str]) -> bool:
    """Whether the rule of this name matches a removed part, and every removed part matches a
    rule."""
    rules = [re.compile(rule) for rule, _ in HARMLESS.values()]
    return any(re.match(HARMLESS[name][0], each) for each in removed) and all(
        any(rule.match(each) for rule in rules) for each in removed
    )


REMOVED = tuple(
    Known(name, why, lambda case, ours, theirs, name=name: _knows(name, theirs))
    for name, (_, why) in HARMLESS.items()
)


def test_dompurify_finds_nothing_harmful_in_the_html_of_texts():
    with open_chromium() as browser:
        page = browser.new_page()
        page.add_script_tag(path=PURIFY)
        compare(
            "DOMPurify",
            "Random hostile HTML from known payloads, cleaned by Imprint's sanitiser (nh3), alone "
            "or inside a post, in which DOMPurify in a browser may find nothing more to remove.",
            [
                Subject("HTML", 70, random_markup, lambda _: [], purify(page, sanitised), REMOVED),
                Subject("posts", 30, random_text, lambda _: [], purify(page, show), REMOVED),
            ],
        )
