"""Code in texts, coloured on the server by spans with class names, without styles or scripts."""

from html import escape
from itertools import groupby
from typing import Any

from pygments.lexers import get_lexer_by_name
from pygments.token import Comment, Generic, Keyword, Literal, Name, Number, Operator

from imprint.domain.posts.text_work import TextWork

SPAN_STEPS = 10
"""Work charged per token of code, for the time to recognise, render and sanitise it."""

MAX_CODE = 8_000
"""Maximum number of characters in a coloured piece of code, about 200 lines.

Some lexers take time quadratic in the length.
"""

LANGUAGES = {
    "c": "c",
    "h": "c",
    "c++": "cpp",
    "cpp": "cpp",
    "c#": "csharp",
    "cs": "csharp",
    "csharp": "csharp",
    "css": "css",
    "dart": "dart",
    "diff": "diff",
    "patch": "diff",
    "go": "go",
    "golang": "go",
    "html": "html",
    "java": "java",
    "javascript": "javascript",
    "js": "javascript",
    "jsx": "javascript",
    "mjs": "javascript",
    "json": "json",
    "kotlin": "kotlin",
    "kt": "kotlin",
    "lua": "lua",
    "php": "php",
    "py": "python",
    "python": "python",
    "rb": "ruby",
    "ruby": "ruby",
    "rs": "rust",
    "rust": "rust",
    "bash": "bash",
    "sh": "bash",
    "shell": "bash",
    "zsh": "bash",
    "sol": "solidity",
    "solidity": "solidity",
    "sql": "sql",
    "swift": "swift",
    "toml": "toml",
    "ts": "typescript",
    "tsx": "typescript",
    "typescript": "typescript",
    "xml": "xml",
    "svg": "xml",
    "yaml": "yaml",
    "yml": "yaml",
}
"""Pygments' lexers, keyed by the word after the fence. All were tested with hostile code."""

_CLASSES = (
    (Comment, "c-comment"),
    (Generic.Inserted, "c-added"),
    (Generic.Deleted, "c-removed"),
    (Generic.Heading, "c-comment"),
    (Generic.Subheading, "c-comment"),
    (Keyword, "c-keyword"),
    (Operator.Word, "c-keyword"),
    (Name.Tag, "c-keyword"),
    (Number, "c-number"),
    (Literal, "c-string"),
    (Name.Function, "c-name"),
    (Name.Class, "c-name"),
    (Name.Decorator, "c-name"),
    (Name.Attribute, "c-name"),
)

CODE_CLASSES = frozenset(name for _, name in _CLASSES)
"""The class names that coloured code may have."""


def coloured_code(code: str, language: str, work: TextWork) -> str:
    """Return escaped code with spans, or without them if it is long or its language is unknown.

    Raises the same errors as `TextWork.spend`.
    """
    name = LANGUAGES.get(language.lower())
    if name is None or len(code) > MAX_CODE:
        return escape(code)
    found = []
    for _, kind, text in get_lexer_by_name(name).get_tokens_unprocessed(code):
        work.spend(SPAN_STEPS)
        found.append((_class(kind), text))
    parts = []
    for css, run in groupby(found, key=lambda each: each[0]):
        text = escape("".join(each for _, each in run))
        parts.append(text if css is None else f'<span class="{css}">{text}</span>')
    return "".join(parts)


def _class(kind: Any) -> str | None:
    return next((name for outer, name in _CLASSES if kind in outer), None)
