"""The texts of the pages are all in one file, and all of them are used."""

import ast
import re
from html.parser import HTMLParser
from pathlib import Path

import pytest
from markupsafe import Markup
from tools.files import ROOT

from imprint.bootstrap import operator_page as wiring
from imprint.services.installation import operator_page
from imprint.web.site import pages
from imprint.web.site.words import Words, page_words

FOLDER = Path(pages.__file__).parent
TEMPLATES = sorted((FOLDER / "templates").glob("*.html"))

JINJA = re.compile(r"\{\{.*?\}\}|\{%.*?%\}|\{#.*?#\}", re.DOTALL)
NAMED_ELEMENT = re.compile(r"(</?)\{\{.*?\}\}")
LITERAL = re.compile(r"\"[^\"]*\"|'[^']*'")
PREFIX = re.compile(r"""["']([a-z_]+(?:\.[a-z_]+)*\.)(?:["'] ~|\{)""")
"""Matches the start of a key that ends with a computed value."""
KEY = re.compile(r"""["']([a-z_]+(?:\.[a-z_0-9]+)+)["']""")
SOURCES = [
    *sorted(FOLDER.rglob("*.py")),
    Path(operator_page.__file__),
    Path(wiring.__file__),
]
"""Modules whose texts appear on pages."""
SHOWN = ("alt", "aria-label", "placeholder")
"""Attributes whose values people read. `title` only repeats addresses."""


class Sentences(HTMLParser):
    """Collects the words in a template that do not come from an expression."""

    def __init__(self) -> None:
        super().__init__()
        self.found: list[str] = []

    def handle_data(self, data: str) -> None:
        self._look(data)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        for name, value in attrs:
            if name in SHOWN:
                self._look(value or "")

    def _look(self, text: str) -> None:
        if re.search("[A-Za-z]", text):
            self.found.append(text.strip())


def sentences_in(template: str) -> list[str]:
    """Return the sentences written in a template, and the texts in its expressions."""
    reader = Sentences()
    reader.feed(JINJA.sub("", NAMED_ELEMENT.sub(r"\1x", template)))
    literals = (each[1:-1] for code in JINJA.findall(template) for each in LITERAL.findall(code))
    return reader.found + [each for each in literals if re.match("[A-Z]", each)]


@pytest.mark.parametrize("path", TEMPLATES, ids=lambda path: path.stem)
def test_no_template_contains_a_hard_coded_sentence(path: Path) -> None:
    assert sentences_in(path.read_text("utf-8")) == []


@pytest.mark.parametrize(
    "template",
    [
        "<p>Read on</p>",
        '<a aria-label="Pages" href="/">{{ x }}</a>',
        '{{ "Post" if one else x }}',
        "{% if a %}Sold{% endif %}",
    ],
)
def test_a_hard_coded_sentence_in_a_template_is_detected(template: str) -> None:
    assert sentences_in(template)


def test_every_key_has_a_sentence_and_every_sentence_is_used() -> None:
    texts = [path.read_text("utf-8") for path in (*SOURCES, *TEMPLATES)]
    named = {key for text in texts for key in KEY.findall(text)}
    prefixes = tuple(prefix for text in texts for prefix in PREFIX.findall(text))
    words = page_words()
    by_name = {f"{page}.{key}" for page in ("search", "library", "studio") for key in NAMED}
    by_value = {key for key in words.keys if key.rpartition(".")[0] + "." in prefixes}
    sections = {key.partition(".")[0] for key in words.keys}
    asked = {key for key in named if key.partition(".")[0] in sections} - FILES
    assert asked - words.keys == set()
    assert words.keys - named - by_name - by_value == set()


NAMED = ("title", "about")
"""Last parts of the keys whose first part is the name of a page."""

FILES = {f"{page}.html" for page in ("front", "tag", "author", "search", "post", "library")}
FILES |= {f"{page}.html" for page in ("studio", "problem", "operator")}
FILES |= {"studio.css", "studio.js"}
"""Names of files that look like keys."""


def test_values_are_escaped_in_html_and_not_in_text() -> None:
    words = Words({"a": {"b": "<b>{name}</b>"}})
    assert words.html("a.b", name="<i>&") == Markup("<b>&lt;i&gt;&amp;</b>")
    assert words.text("a.b", name="<i>&") == "<b><i>&</b>"


def test_a_number_selects_singular_or_plural() -> None:
    words = Words({"a": {"b": {"one": "{count} post", "other": "{count} posts"}}})
    assert [words.text("a.b", count=number) for number in (0, 1, 2)] == [
        "0 posts",
        "1 post",
        "2 posts",
    ]


UNSAID = {"debug", "info", "warning", "error", "exception", "compile", "Refusal", "TypeVar"}
UNSAID |= {"RuntimeError", "ValueError", "KeyError", "LookupError", "encode", "TooIntricate"}
"""Calls whose texts appear on no page, or whose texts also appear in the API."""


class Literals(ast.NodeVisitor):
    """Collects the strings of a module that read like a sentence, except docstrings."""

    def __init__(self) -> None:
        self.found: list[str] = []

    def visit_Expr(self, node: ast.Expr) -> None:
        if not isinstance(node.value, ast.Constant):
            self.generic_visit(node)

    def visit_Call(self, node: ast.Call) -> None:
        if getattr(node.func, "attr", getattr(node.func, "id", "")) not in UNSAID:
            self.generic_visit(node)

    def visit_Constant(self, node: ast.Constant) -> None:
        if isinstance(node.value, str) and PROSE.search(node.value.replace(RELATION, "")):
            self.found.append(node.value)


RELATION = "nofollow noopener ugc"
"""The `rel` attribute of links in texts."""

PROSE = re.compile(r"(?<![-\w])(?!imprint )[A-Za-z’]+,? [a-z]+ [a-z]+(?![-\w(=])|: [a-z]+ [a-z]+")


def prose_in(source: str) -> list[str]:
    reader = Literals()
    reader.visit(ast.parse(source))
    return reader.found


SPOKEN = [path for path in SOURCES if path.name != "machines.py"]
"""All modules except the one for machine-readable files, which are in English like the API."""


@pytest.mark.parametrize("path", SPOKEN, ids=lambda path: path.stem)
def test_no_module_contains_a_hard_coded_sentence(path: Path) -> None:
    assert prose_in(path.read_text("utf-8")) == []


@pytest.mark.parametrize(
    "source",
    [
        'x = "none is known"',
        'f(f"{n} more than one")',
        'Fact("Free on disk", 1)',
        'f("off: not set")',
    ],
)
def test_a_hard_coded_sentence_in_a_module_is_detected(source: str) -> None:
    assert prose_in(source)


SITE = ROOT / "site"
PARTS = ("page", "wallet", "chain", "reader", "studio", "docs")
SENTENCE = re.compile(
    r"""\bcount\(.*["`]|["`>][A-Z“][a-z’]* ?[^"`<>]* [a-z][^"`<>]*["`<]|"""
    r"""\} (?!else )[a-z]+ [a-z][^`]*`"""
)
NOT_SHOWN = ("*", "//", "/*", "import ")
INTERNAL = (
    "TypeError(",
    "Nested too deeply.",
    "AUTHORIZATION =",
    "Bearer ",
    "chainName",
    "fonts.load",
    "context.font",
    "facts of its service",
)
DEVELOPMENT = "wallet/development.ts"
"""The script that names the accounts of the development chain."""


def test_no_script_contains_a_hard_coded_sentence() -> None:
    found = [
        f"{path.relative_to(SITE)}: {line.strip()}"
        for part in PARTS
        for path in (SITE / part).rglob("*.ts*")
        if not path.name.endswith((".test.ts", "words.ts", "-double.ts"))
        if not path.match(DEVELOPMENT)
        for line in path.read_text("utf-8").splitlines()
        if SENTENCE.search(line)
        if not line.strip().startswith(NOT_SHOWN)
        if not any(each in line for each in INTERNAL)
    ]
    assert found == []
