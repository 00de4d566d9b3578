"""`imprint moderate`: measures of the operator, their log, and the reports of readers."""

import asyncio
import json
from pathlib import Path
from typing import Any

import click

from imprint.cli.errors import reporting_errors
from imprint.cli.installation import Installation, config_option, open_installation
from imprint.domain.formats.instants import format_instant
from imprint.domain.installation import Access
from imprint.domain.moderation import Ground, Measure, Report, TargetKind
from imprint.services.moderation import CurrentMeasures, Moderation, parse_target

MEASURES = {
    "unlist": Measure.UNLISTED,
    "withhold": Measure.WITHHELD,
    "refuse": Measure.REFUSED,
    "allow": Measure.ALLOWED,
    "undo": Measure.UNDONE,
}
"""The measure that each action takes."""

LISTS = ("log", "reports")

MOST_REPORTS = 1_000
"""The most reports that are listed."""


@click.command()
@click.argument("action", type=click.Choice([*MEASURES, *LISTS]))
@click.argument("kind", type=click.Choice([each.value for each in TargetKind]), required=False)
@click.argument("value", required=False)
@click.option(
    "--ground",
    type=click.Choice([each.value for each in Ground]),
    default=Ground.POLICY.value,
    help="Why: the law, or the rules of the service.",
)
@click.option("--statement", default="", help="What readers and the author are told.")
@click.option("--json", "as_json", is_flag=True, help="Print the log or the reports as JSON.")
@config_option
def moderate(  # noqa: PLR0917  one parameter for each of click's
    action: str,
    kind: str | None,
    value: str | None,
    ground: str,
    statement: str,
    as_json: bool,
    config: Path | None,
) -> None:
    """Hide posts and authors, and list reports.

    unlist takes posts out of every list, and their pages stay. withhold gives them to nobody, their
    buyers included. refuse refuses an author's signed writes, except deletes. allow shows an author
    where IMPRINT_SHOW is allowed. undo lifts everything on a target. Running services follow within
    a second. Afterwards it prints the addresses to purge from caches in front of the service. log
    and reports only list.
    """
    if action in LISTS:
        if kind is not None:
            raise click.UsageError(f"{action} takes no target.")
        with reporting_errors():
            asyncio.run(_list(action, as_json, config))
        return
    if kind is None or value is None:
        raise click.UsageError(f"{action} needs a target: post, author, cid or tag, and which.")
    with reporting_errors():
        target = parse_target(TargetKind(kind), value)
        addresses = asyncio.run(
            _decide(config, target, MEASURES[action], Ground(ground), statement)
        )
    click.echo(f"Done: {target.kind} {target.value} is {MEASURES[action]}.")
    click.echo("Purge these addresses if a cache in front of the service keeps them:")
    for address in addresses:
        click.echo(address)


async def _decide(config: Path | None, *decision: Any) -> list[str]:
    async with open_installation(config, Access.WRITE, verify=False) as installation:
        service = installation.settings.server.public_url
        return [f"{service}{path}" for path in await _desk(installation).decide(*decision)]


async def _list(action: str, as_json: bool, config: Path | None) -> None:
    async with open_installation(config, Access.READ, verify=False) as installation:
        desk = _desk(installation)
        if action == "log":
            records = [each.record async for each in desk.whole_log()]
        else:
            records = [_report(each) for each in await desk.open_reports(MOST_REPORTS)]
    if as_json:
        click.echo(json.dumps(records, indent=2))
        return
    for record in records:
        # Texts of readers are escaped: a terminal would obey what they may contain.
        click.echo("  ".join(ascii(cell)[1:-1] for cell in map(str, record.values())))
    if not records:
        click.echo("There are none.")


def _desk(installation: Installation) -> Moderation:
    adapters = installation.adapters
    stores = adapters.stores
    measures = CurrentMeasures(stores.moderation, adapters.monotonic)
    return Moderation(
        stores.moderation, stores.index_reader, stores.files, measures, adapters.clock
    )


def _report(report: Report) -> dict[str, Any]:
    return {
        "id": report.id,
        "at": format_instant(report.at),
        "postId": str(report.post_id),
        "reason": report.reason.value,
        "text": report.text,
        "contact": report.contact,
    }
