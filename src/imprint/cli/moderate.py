"""`imprint moderate`, `imprint erase`: measures, their log, reports, and permanent erasure."""

import asyncio
import json
import sys
from pathlib import Path
from typing import Any

import click

from imprint.bootstrap.background import build_collector
from imprint.cli.errors import FAILED, reporting_errors
from imprint.cli.installation import Installation, config_option, open_installation
from imprint.domain.formats.instants import format_instant
from imprint.domain.installation import Access
from imprint.domain.moderation import Ground, Measure, Report, Target, TargetKind
from imprint.ports.moderation import PersonalRecords
from imprint.services.erasure import Erased, Erasure
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
"""Maximum number of reports to list."""


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

    unlist takes posts out of every list, but their pages stay. withhold hides posts from everybody,
    including their buyers. refuse refuses an author's signed writes, except deletes. allow shows an
    author if IMPRINT_SHOW is allowed. undo lifts all measures on a target. Running services apply a
    measure within a second. Afterwards, the command prints the addresses to purge from caches in
    front of the service. log and reports only print lists.
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
    _show_addresses(addresses)


def _show_addresses(addresses: list[str]) -> None:
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
        # Readers' texts are escaped, because they may contain terminal control sequences.
        click.echo("  ".join(ascii(cell)[1:-1] for cell in map(str, record.values())))
    if not records:
        click.echo("There are none.")


def _desk(installation: Installation) -> Moderation:
    adapters = installation.adapters
    stores = adapters.stores
    measures = CurrentMeasures(stores.moderation, adapters.monotonic)
    return Moderation(
        stores.moderation,
        stores.index_reader,
        stores.files,
        stores.revisions,
        measures,
        adapters.clock,
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


KEPT_BY_CHAIN = """\
The chain keeps what was published there, and nobody can erase it: the transactions, the address,
titles, descriptions, hashtags, prices, sales, and the cids of texts and pictures."""

KEPT_ELSEWHERE = """\
Copies may still be in backups, exports, replicas and logs of the database, caches of proxies and
CDNs, and IPFS nodes that fetched public pictures. After restoring an older backup, run this again.
Running services keep texts in memory, but give them to nobody; a restart empties it."""


@click.command()
@click.argument("target", metavar="ADDRESS|CID")
@click.option("--dry-run", is_flag=True, help="List what would be erased; change nothing.")
@click.option("--yes", is_flag=True, help="Do not ask for confirmation.")
@config_option
def erase(target: str, dry_run: bool, yes: bool, config: Path | None) -> None:
    """Erase all data about a person or a document.

    For an ADDRESS: documents of drafts and posts with their keys, pictures that nobody else uses,
    the profile, writing sessions and private feeds. For a CID: a draft or post with its earlier
    versions and corrections, a correction, or a picture. From then on, the posts respond with
    status 410. The service may keep running. If the command is interrupted, run it again.
    """
    kind = TargetKind.AUTHOR if target.startswith("0x") else TargetKind.CID
    with reporting_errors():
        asyncio.run(_erase(parse_target(kind, target), dry_run, yes, config))


async def _erase(target: Target, dry_run: bool, yes: bool, config: Path | None) -> None:
    access = Access.READ if dry_run else Access.WRITE
    async with open_installation(config, access) as installation:
        adapters = installation.adapters
        stores = adapters.stores
        erasure = Erasure(
            stores.erasure,
            stores.moderation,
            CurrentMeasures(stores.moderation, adapters.monotonic),
            stores.leases,
            build_collector(installation.settings, adapters),
            adapters.clock,
        )
        found = await erasure.find(target)
        paths = await _desk(installation).purge_paths(target)
        paths += [f"/ipfs/{cid}" for cid in found.pictures if f"/ipfs/{cid}" not in paths]
        click.echo("Would be erased:" if dry_run else "To be erased:")
        for line in _lines_of(found):
            click.echo(f"  {line}")
        if not dry_run:
            if not yes:
                click.confirm("Erase all of it for good?", abort=True)
            erased = await erasure.erase(target)
        click.echo(KEPT_BY_CHAIN)
        click.echo(KEPT_ELSEWHERE)
        if not dry_run:
            _show_erased(erased, [f"{installation.settings.server.public_url}{p}" for p in paths])


def _lines_of(found: PersonalRecords) -> list[str]:
    groups = {
        "draft": found.drafts,
        "post": found.posts,
        "earlier version": found.versions,
        "correction": found.revisions,
        "picture": found.pictures,
    }
    lines = [f"{name} {cid}" for name, cids in groups.items() for cid in cids]
    if found.profile:
        lines.append("profile")
    if found.writing_sessions:
        lines.append(f"{found.writing_sessions} writing sessions")
    if found.private_feeds:
        lines.append(f"{found.private_feeds} private feeds")
    return lines or ["no records; documents that an earlier run left are destroyed"]


def _show_erased(erased: Erased, addresses: list[str]) -> None:
    _show_addresses(addresses)
    click.echo(f"Erased: {erased.files} files. {erased.destroyed} documents were destroyed.")
    if erased.left:
        click.echo(
            f"{erased.left} documents cannot be destroyed yet. Run this again, or leave them to "
            "the garbage collector of the service.",
            err=True,
        )
        sys.exit(FAILED)
