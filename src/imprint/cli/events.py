"""`imprint events`, `imprint reconcile`: list the outcomes of chain events, or read them again."""

import asyncio
import json
from pathlib import Path
from typing import Any

import click
from rich.console import Console
from rich.table import Table

from imprint.bootstrap import build_follower, build_indexer, check_chain
from imprint.cli.errors import reporting_errors
from imprint.cli.installation import Installation, config_option, open_installation
from imprint.cli.progress import report_progress, show_progress
from imprint.domain.installation import Access
from imprint.domain.posts.posts import EventReport, KnownEvent
from imprint.ports.post_index import IndexMoved
from imprint.services.content.labels import LabelUpdater
from imprint.services.posts.indexer import IndexBusy, take_index


@click.command()
@click.option(
    "--limit",
    type=click.IntRange(1, 10_000),
    default=20,
    help="How many entries of each kind to list.",
)
@click.option("--json", "as_json", is_flag=True, help="Print everything as JSON.")
@config_option
def events(limit: int, as_json: bool, config: Path | None) -> None:
    """List the outcomes of the chain's events.

    The command counts all events, and lists dead letters, events of other authors and events
    without a file.
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
        console.print(_event_table("Documents that are not stored here", report.unknown))
    if report.dead_letters:
        console.print(_dead_letter_table(report))


async def _read(limit: int, config: Path | None) -> EventReport:
    async with open_installation(config, Access.READ, verify=False) as installation:
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
        # A post id may have 256 bits, which JSON parsers would round as a number.
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


@click.command()
@click.option(
    "--from-block", type=click.IntRange(min=0), required=True, help="The block to start from."
)
@config_option
def reconcile(from_block: int, config: Path | None) -> None:
    """Read the chain's events again, starting at a block.

    Afterwards, the catalog agrees with the chain. Then the index of posts is rebuilt from the start
    block, or from the given block if it is earlier. Until the index has reached the newest block, a
    service finds only some of the posts. The service may keep running, and the command may be
    repeated.
    """
    with reporting_errors():
        reached, indexed = asyncio.run(_reconcile(from_block, config))
    click.echo(f"The catalog matches the chain from block {from_block} to {reached}.")
    click.echo(f"The index of posts is rebuilt up to block {indexed}.")


async def _reconcile(from_block: int, config: Path | None) -> tuple[int, int]:
    async with open_installation(config, Access.WRITE) as installation:
        settings, adapters = installation.settings, installation.adapters
        await check_chain(adapters.marketplace)
        labels = LabelUpdater(adapters.stores.files, adapters.content)
        follower = build_follower(settings, adapters, labels)
        with show_progress("Reading blocks") as progress:
            await follower.rebuild(
                from_block,
                lambda block, last: progress(block - from_block + 1, last - from_block + 1),
            )
            await labels.update_all()
        cursor = await adapters.stores.events.cursor(settings.chain.id)
        reached = from_block if cursor is None else cursor.number
        return reached, await _rebuild_index(installation, from_block)


async def _rebuild_index(installation: Installation, from_block: int) -> int:
    """Rebuild the index and return the last block in it. Raises `IndexBusy`."""
    settings, adapters = installation.settings, installation.adapters
    indexer = build_indexer(settings, adapters, from_block)
    async with take_index(adapters.stores.leases, report_progress) as lease:
        with show_progress("Indexing posts") as progress:
            try:
                reached = await indexer.rebuild(lease, progress)
            except IndexMoved:
                raise IndexBusy(
                    "Another process changed the index of posts in the meantime. Please try again."
                ) from None
    return from_block if reached is None else reached.number
