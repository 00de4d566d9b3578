"""The codes as a table for people."""

from imprint.web.manual.refusals import FAILURE_MEANING, MEANINGS
from imprint.web.problems import FAILURE, STATUSES

BEGIN = "<!-- codes: begin -->"
"""Where the table begins in a page."""

END = "<!-- codes: end -->"
"""Where the table ends in a page."""


def render_codes() -> str:
    """Every code with its status and meaning, as a Markdown table."""
    rows = [
        (status, str(code), MEANINGS[code]) for status, codes in STATUSES.items() for code in codes
    ]
    rows.append((500, FAILURE, FAILURE_MEANING))
    rows.sort(key=lambda row: row[0])
    lines = [f"| {status} | `{code}` | {meaning} |" for status, code, meaning in rows]
    return "\n".join(["| status | code | when |", "|---|---|---|", *lines]) + "\n"


def place_codes_in(page: str) -> str:
    """The page with the table between its marks brought up to date."""
    before, _, rest = page.partition(BEGIN)
    _, _, after = rest.partition(END)
    return f"{before}{BEGIN}\n\n{render_codes()}\n{END}{after}"
