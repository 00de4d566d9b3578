"""The settings as a table for people."""

from imprint.settings.setting import Setting, declared_in
from imprint.settings.values import DEVELOPMENT, GROUPS

BEGIN = "<!-- settings: begin -->"
"""Where the table begins in a page."""

END = "<!-- settings: end -->"
"""Where the table ends in a page."""


def render_markdown() -> str:
    """Every setting with its meaning and defaults, one Markdown table for each group."""
    parts = []
    for group in GROUPS.values():
        rows = [_render_row(each) for each in declared_in(group).values()]
        head = ["| setting | default | meaning |", "|---|---|---|"]
        title = (group.__doc__ or "").rstrip(".")
        parts.append("\n".join([f"### {title}", "", *head, *rows]))
    return "\n\n".join(parts) + "\n"


def place_in(page: str) -> str:
    """The page with the table between its marks brought up to date."""
    before, _, rest = page.partition(BEGIN)
    _, _, after = rest.partition(END)
    return f"{before}{BEGIN}\n\n{render_markdown()}\n{END}{after}"


def _render_row(setting: Setting) -> str:
    default = f"`{setting.default}`" if setting.default else ""
    if setting.required:
        default = "**required**"
    if setting.name in DEVELOPMENT:
        default += f"<br>`dev`: `{DEVELOPMENT[setting.name]}`"
    return f"| `{setting.name}` | {default.removeprefix('<br>')} | {setting.sentence} |"
