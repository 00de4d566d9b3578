"""`imprint events`: outcomes of the chain's events, and the events an operator should look at."""

import asyncio
import json
from pathlib import Path
from typing import Any

import click
from rich.console import Console
from rich.table import Table

from imprint.cli.errors import reporting_errors
from imprint.cli.installation import config_option, open_installation
from imprint.domain.posts.posts import EventReport, KnownEvent


@click.command()
@click.option("--limit", type=click.IntRange(1, 10_000), default=20, help="How many of each kind.")
@click.option("--json", "as_json", is_flag=True, help="Print all of it as JSON.")
@config_option
def events(limit: int, as_json: bool, config: Path | None) -> None:
    """List what became of the events of the chain.

    All are counted. Dead letters, events of strangers and events without a file are listed.
    """
    with reporting_errors():
        report = asyncio.run(_read(limit, config))
    if as_json:
        click.echo(json.dumps(_members_of(report), indent=2))
        return
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
        return await installation.adapters.stores.events.report_events(limit)


def _members_of(report: EventReport) -> dict[str, Any]:
    return {
        "counts": {status.value: count for status, count in report.counts.items()},
        "mismatches": [_members_of_event(each) for each in report.mismatches],
        "unknown": [_members_of_event(each) for each in report.unknown],
        "dead_letters": [
            {
                "seen_at": letter.seen_at.isoformat(),
                "source": letter.source,
                "reason": letter.reason,
                "identity": letter.identity,
                "payload": letter.payload,
            }
            for letter in report.dead_letters
        ],
    }


def _members_of_event(known: KnownEvent) -> dict[str, Any]:
    event = known.event
    return {
        "seen_at": known.seen_at.isoformat(),
        # A post id may have 256 bits, which readers of JSON numbers would round.
        "post_id": str(event.post_id),
        "author": event.author,
        "cid": event.spelled_cid,
        "block": event.place.block_number,
        "confirmed": known.confirmed,
    }


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
