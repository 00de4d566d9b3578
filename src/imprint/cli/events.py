"""`imprint events`: what became of the chain's events, and which of them want a look."""

import asyncio
from pathlib import Path

import click
from rich.console import Console
from rich.table import Table

from imprint.cli.errors import reporting_errors
from imprint.cli.offline import config_option, open_offline
from imprint.domain.posts import EventReport, KnownEvent


@click.command()
@click.option("--limit", type=click.IntRange(1, 10_000), default=20, help="How many of each kind.")
@config_option
def events(limit: int, config: Path | None) -> None:
    """List dead letters, events of strangers, and events without a file; count all of them."""
    with reporting_errors():
        report = asyncio.run(_read(limit, config))
    console = Console()
    console.print(_counts(report))
    if report.mismatches:
        console.print(_table("Published by somebody who is not the owner", report.mismatches))
    if report.unknown:
        console.print(_table("Of no file here", report.unknown))
    if report.dead_letters:
        console.print(_letters(report))


async def _read(limit: int, config: Path | None) -> EventReport:
    async with open_offline(config) as opened:
        return await opened.adapters.catalog.report_events(limit)


def _counts(report: EventReport) -> Table:
    table = Table("outcome", "events", title="Events")
    for status, count in report.counts.items():
        table.add_row(status.value, str(count))
    return table


def _table(title: str, known: tuple[KnownEvent, ...]) -> Table:
    table = Table("seen", "post", "author", "cid", "block", title=title)
    for each in known:
        event = each.event
        # What strangers wrote on the chain is shown as it is spelled, and never as markup.
        table.add_row(
            f"{each.seen_at:%Y-%m-%d %H:%M:%S}",
            str(event.post_id),
            event.author,
            ascii(event.spelled_cid[:64])[1:-1].replace("[", "\\["),
            str(event.place.block_number),
        )
    return table


def _letters(report: EventReport) -> Table:
    table = Table("seen", "from", "reason", "known by", title="Dead letters")
    for letter in report.dead_letters:
        seen = f"{letter.seen_at:%Y-%m-%d %H:%M:%S}"
        table.add_row(seen, letter.source or "the chain", letter.reason, letter.identity[:80])
    return table
