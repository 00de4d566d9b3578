"""`imprint events`: outcomes of the chain's events, and the events an operator should look at."""

import asyncio
from pathlib import Path

import click
from rich.console import Console
from rich.table import Table

from imprint.cli.errors import reporting_errors
from imprint.cli.installation import config_option, open_installation
from imprint.domain.posts import EventReport, KnownEvent


@click.command()
@click.option("--limit", type=click.IntRange(1, 10_000), default=20, help="How many of each kind.")
@config_option
def events(limit: int, config: Path | None) -> None:
    """List dead letters, events of strangers, and events without a file; count all of them."""
    with reporting_errors():
        report = asyncio.run(_read(limit, config))
    console = Console()
    console.print(_count_table(report))
    if report.mismatches:
        console.print(_event_table("Published by somebody who is not the owner", report.mismatches))
    if report.unknown:
        console.print(_event_table("Without a file here", report.unknown))
    if report.dead_letters:
        console.print(_dead_letter_table(report))


async def _read(limit: int, config: Path | None) -> EventReport:
    async with open_installation(config, verify=False) as installation:
        return await installation.adapters.catalog.report_events(limit)


def _count_table(report: EventReport) -> Table:
    table = Table("outcome", "events", title="Events")
    for status, count in report.counts.items():
        table.add_row(status.value, str(count))
    return table


def _event_table(title: str, known: tuple[KnownEvent, ...]) -> Table:
    table = Table("seen", "post", "author", "cid", "block", title=title)
    for each in known:
        event = each.event
        # Anybody can write a cid to the chain, so it is escaped and never rendered as markup.
        table.add_row(
            f"{each.seen_at:%Y-%m-%d %H:%M:%S}",
            str(event.post_id),
            event.author,
            ascii(event.spelled_cid[:64])[1:-1].replace("[", "\\["),
            str(event.place.block_number),
        )
    return table


def _dead_letter_table(report: EventReport) -> Table:
    table = Table("seen", "from", "reason", "known by", title="Dead letters")
    for letter in report.dead_letters:
        seen = f"{letter.seen_at:%Y-%m-%d %H:%M:%S}"
        table.add_row(seen, letter.source or "the chain", letter.reason, letter.identity[:80])
    return table
