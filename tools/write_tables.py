"""Generates documentation tables: settings, codes, commands, metrics, suites, bugs, results."""

from collections.abc import Callable, Iterator
from itertools import groupby
from pathlib import Path

import click
from prometheus_client import Counter, Gauge, Histogram
from tools.files import ROOT
from tools.show_bug import READING, Bug, read_bugs
from tools.suites import SUITES, Suite
from tools.trust import Result, read_results

from imprint import metrics
from imprint.cli import COMMANDS
from imprint.cli import main as imprint
from imprint.interface.problems import FAILURE
from imprint.settings import DEVELOPMENT
from imprint.settings.declaration import Setting, declared_in
from imprint.settings.values import GROUPS
from imprint.web.docs.operation import FAILURE_MEANING, MEANINGS
from imprint.web.http.problems import STATUSES

DOCS = ROOT / "docs"


def main() -> None:
    """Write the current tables into the documentation pages."""
    for path, update in PAGES.items():
        path.write_text(update(path.read_text(encoding="utf-8")), encoding="utf-8")
        print(f"{path.name} is up to date.")


def update_settings(page: str) -> str:
    """Return the page with the current table of settings."""
    return _replace_table(page, "settings", _render_settings())


def update_codes(page: str) -> str:
    """Return the page with the current table of error codes."""
    return _replace_table(page, "codes", _render_codes())


def update_commands(page: str) -> str:
    """Return the page with the current commands and their options."""
    return _replace_table(page, "commands", _render_commands())


def update_metrics(page: str) -> str:
    """Return the page with the current table of metrics."""
    return _replace_table(page, "metrics", _render_metrics())


def update_suites(page: str) -> str:
    """Return the page with the current table of test suites."""
    return _replace_table(page, "suites", _render_suites())


def update_bugs(page: str) -> str:
    """Return the page with the current tables of bugs."""
    return _replace_table(page, "bugs", _render_bugs())


def update_results(page: str) -> str:
    """Return the page with the results of the long test commands."""
    return _replace_table(page, "results", _render_results())


def declared_metrics() -> dict[str, Counter | Gauge | Histogram]:
    """Return the metrics, keyed by their Prometheus names."""
    found = [m for m in vars(metrics).values() if isinstance(m, Counter | Gauge | Histogram)]
    return {
        f"{family.name}_total" if family.type == "counter" else family.name: metric
        for metric in found
        for family in metric.describe()
    }


PAGES: dict[Path, Callable[[str], str]] = {
    DOCS / "bugs.md": update_bugs,
    DOCS / "commands.md": update_commands,
    DOCS / "configuration.md": update_settings,
    DOCS / "errors.md": update_codes,
    DOCS / "monitoring.md": update_metrics,
    DOCS / "trust.md": update_results,
    DOCS / "contributing" / "tests.md": update_suites,
}
"""The pages with generated tables, and the function that updates each page."""


def _replace_table(page: str, name: str, table: str) -> str:
    begin, end = f"<!-- {name}: begin -->", f"<!-- {name}: end -->"
    before, _, rest = page.partition(begin)
    _, _, after = rest.partition(end)
    return f"{before}{begin}\n\n{table}\n{end}{after}"


def _render_settings() -> str:
    parts = []
    for group in GROUPS.values():
        title = (group.__doc__ or "").rstrip(".")
        rows = [_render_setting(each) for each in declared_in(group).values()]
        head = [f"### {title}", "", "| setting | default | meaning |", "|---|---|---|"]
        parts.append("\n".join([*head, *rows]))
    return "\n\n".join(parts) + "\n"


def _render_setting(setting: Setting) -> str:
    default = f"`{setting.default}`" if setting.default else ""
    if setting.required:
        default = "**required**"
    if setting.name in DEVELOPMENT:
        default += f"<br>`dev`: `{DEVELOPMENT[setting.name]}`"
    return f"| `{setting.name}` | {default.removeprefix('<br>')} | {setting.sentence} |"


def _render_codes() -> str:
    rows = [
        (status, str(code), MEANINGS[code]) for status, codes in STATUSES.items() for code in codes
    ]
    rows.append((500, FAILURE, FAILURE_MEANING))
    rows.sort(key=lambda row: row[0])
    lines = [f"| {status} | `{code}` | {meaning} |" for status, code, meaning in rows]
    return "\n".join(["| status | code | when |", "|---|---|---|", *lines]) + "\n"


def _render_commands() -> str:
    root = click.Context(imprint, info_name="imprint", **imprint.context_settings)
    named = [(name, imprint.get_command(root, name)) for name in COMMANDS]
    parts = [
        part
        for name, command in named
        if command is not None
        for part in _render_all(command, click.Context(command, root, info_name=name))
    ]
    return "\n\n".join(parts) + "\n"


def _render_all(command: click.Command, context: click.Context) -> Iterator[str]:
    """Return the section of a command, or of a group's commands."""
    if not isinstance(command, click.Group):
        yield _render_command(command, context)
        return
    for name, each in command.commands.items():
        yield from _render_all(each, click.Context(each, context, info_name=name))


def _render_command(command: click.Command, context: click.Context) -> str:
    usage = " ".join([context.command_path, *command.collect_usage_pieces(context)])
    paragraphs = [" ".join(each.split()) for each in (command.help or "").split("\n\n")]
    options = [each for each in command.params if isinstance(each, click.Option)]
    records = [each.get_help_record(context) for each in options]
    rows = [
        f"| `{names}` | {meaning.replace('|', chr(92) + '|')} |"
        for names, meaning in filter(None, records)
    ]
    table = ["\n".join(["| option | meaning |", "|---|---|", *rows])] if rows else []
    name = context.command_path.removeprefix("imprint ")
    head = f"### {name}\n\n```\n{usage}\n```"
    return "\n\n".join([head, *paragraphs, *table])


def _render_metrics() -> str:
    lines = []
    for name, metric in sorted(declared_metrics().items()):
        (family,) = metric.describe()
        labels = ", ".join(f"`{label}`" for label in metric._labelnames)
        lines.append(f"| `{name}` | {family.type} | {labels} | {family.documentation} |")
    return "\n".join(["| metric | kind | labels | meaning |", "|---|---|---|---|", *lines]) + "\n"


def _render_suites() -> str:
    rows = [
        f"| `make {each.target}` | {each.finds} | {each.seconds} | {_render_share(each)} |"
        for each in SUITES
    ]
    head = ["| suite | what only it can find | seconds | in CI |", "|---|---|---|---|"]
    return "\n".join([*head, *rows]) + "\n"


def _render_share(suite: Suite) -> str:
    share = "all" if suite.shares == 1 else f"1/{suite.shares}"
    return f"{share}, if affected" if suite.reach else share


def _render_bugs() -> str:
    bugs = read_bugs()
    tested = sum(bool(bug.test) for bug in bugs)
    shown = sum(bug.shown for bug in bugs)
    numbers = (
        f"There are {len(bugs)} bugs. {tested} have a test of their own, and `make show-bug` was"
        f" run for {shown} and reproduced them."
    )
    head = ["| what happened | since | found by | fixed in | test |", "|---|---|---|---|---|"]
    parts = [
        "\n".join([f"### {area.capitalize()}", "", *head, *(_render_bug(bug) for bug in bugs)])
        for area, bugs in groupby(bugs, key=lambda bug: bug.area)
    ]
    return "\n\n".join([numbers, *parts]) + "\n"


def _render_bug(bug: Bug) -> str:
    found = bug.found if bug.found == READING else f"`make {bug.found}`"
    module = bug.test.partition("::")[0].removeprefix("tests/")
    test = f"{'✓ ' if bug.shown else ''}`{module}`" if module else "–"
    return f"| {bug.what} | `{bug.since}` | {found} | `{bug.fix}` | {test} |"


def _render_results() -> str:
    results = read_results()
    head = ["| what was tried | how many | found | command | result of |", "|---|---|---|---|---|"]
    parts = ["\n".join([*head, *map(_render_result, results)])]
    parts += [
        "\n".join([f"### {each.suite}: exceptions", "", *(f"- {one}" for one in each.exceptions)])
        for each in results
        if each.exceptions
    ]
    return "\n\n".join(parts) + "\n"


def _render_result(result: Result) -> str:
    counts = "<br>".join(f"{count:,} {name}" for name, count in result.counts.items())
    seed = f"<br>seed {result.seed}" if result.seed else ""
    took = f"{result.seconds / 60:,.0f} min" if result.seconds >= 100 else f"{result.seconds} s"
    origin = f"{result.date}<br>`{result.commit}`<br>{took}"
    tried = f"**{result.suite}.** {result.tried}"
    return f"| {tried} | {counts} | {result.found} | `{result.command}`{seed} | {origin} |"


if __name__ == "__main__":
    main()
