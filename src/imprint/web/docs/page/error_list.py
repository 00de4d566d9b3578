"""The section of the docs page that explains every error code, and the links to it."""

import re

from imprint.web.docs.errors import FAILURE_MEANING, MEANINGS
from imprint.web.docs.page.html import Markup, element, render_line
from imprint.web.http.problems import STATUSES

_LISTED = re.compile(r"<li><code>(\w+)</code>")


def error_section() -> Markup:
    """Every code with its statuses and its meaning, in the order of the statuses."""
    statuses: dict[str, list[int]] = {}
    for status, codes in STATUSES.items():
        for code in codes:
            statuses.setdefault(code, []).append(status)
    meanings = {str(code): meaning for code, meaning in MEANINGS.items()}
    rows = [
        _row(code, given, meanings.get(code, FAILURE_MEANING)) for code, given in statuses.items()
    ]
    if "internal_error" not in statuses:
        rows.append(_row("internal_error", [500], FAILURE_MEANING))
    return element(
        "section",
        element("h2", "Error codes"),
        element("p", "What `code` of a problem can be; programs decide by it.".replace("`", "")),
        element("dl", *rows, class_="codes"),
        class_="topic",
        id="errors",
    )


def link_codes(errors: Markup) -> Markup:
    """The list of an operation's codes, each with a link to its explanation."""
    return Markup(_LISTED.sub(r'<li><a href="#error-\1"><code>\1</code></a>', errors))


def _row(code: str, statuses: list[int], meaning: str) -> Markup:
    kinds = element("span", ", ".join(str(each) for each in statuses), class_="kind")
    title = element("dt", element("code", code), kinds)
    return element("div", title, element("dd", render_line(meaning)), id=f"error-{code}")
