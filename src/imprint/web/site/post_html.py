"""Texts of posts as HTML that runs nothing: Markdown is rendered, then sanitised."""

import nh3
from markdown_it import MarkdownIt
from markupsafe import Markup

_markdown = MarkdownIt("commonmark", {"html": False}).enable(["table", "strikethrough"])


def post_html(content: str) -> Markup:
    """The HTML of a post's content."""
    return Markup(nh3.clean(_markdown.render(content)))  # noqa: S704 - sanitised
