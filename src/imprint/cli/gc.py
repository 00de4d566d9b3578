"""`imprint gc`: shows or deletes unreferenced documents."""

import asyncio
import json
from dataclasses import dataclass
from datetime import timedelta
from pathlib import Path

import click

from imprint.bootstrap.background import build_collector
from imprint.cli.errors import MISCONFIGURED, reporting_errors
from imprint.cli.installation import Installation, config_option, open_installation
from imprint.domain.drafts.files import Network
from imprint.domain.installation import Access
from imprint.ports.drafts import GarbageReport
from imprint.services.drafts.garbage_collector import SAMPLE, Strays, StrayScan
from imprint.services.tasks.leases import pause_collection

EXPLANATION = """\
Choose one:
  imprint gc --dry-run   lists what would be destroyed now, and the documents that are not in the
                         catalog; changes nothing
  imprint gc --really    destroys what is due, and every document that is not in the catalog, at
                         once. If the settings name the wrong catalog, this cannot be undone."""


@dataclass(frozen=True, slots=True)
class Findings:
    """Documents due for deletion, and strays by network (None if strays cannot be listed)."""

    garbage: GarbageReport
    strays: dict[Network, Strays] | None


@click.command()
@click.option("--dry-run", is_flag=True, help="List what would be destroyed; change nothing.")
@click.option("--really", is_flag=True, help="Destroy what is due and all strays, now.")
@click.option("--json", "as_json", is_flag=True, help="Print the list as JSON.")
@click.option("--limit", type=click.IntRange(0, SAMPLE), default=10, help="How many cids to list.")
@config_option
def gc(dry_run: bool, really: bool, as_json: bool, limit: int, config: Path | None) -> None:
    """Show or delete documents that nothing references.

    The service may keep running. Deleted and replaced documents are due after their grace period.
    Strays are documents that are not in the catalog. The service deletes them only if there are
    few. Documents younger than IMPRINT_WRITE_LEASE_SECONDS are left alone, because a write may
    still record them.
    """
    if dry_run == really:
        click.echo(EXPLANATION, err=True)
        raise SystemExit(MISCONFIGURED)
    with reporting_errors():
        if really:
            destroyed = asyncio.run(_collect(config))
            text = json.dumps({"destroyed": destroyed})
            click.echo(text if as_json else f"{destroyed} documents were destroyed.")
            return
        findings = asyncio.run(_find(limit, config))
    click.echo(_json_of(findings, limit) if as_json else _text_of(findings, limit))


async def _find(limit: int, config: Path | None) -> Findings:
    async with open_installation(config, Access.READ) as installation:
        store = installation.adapters.stores.garbage
        now = installation.adapters.clock()
        grace = timedelta(hours=installation.settings.retention.grace_hours)
        garbage = await store.report_garbage(now, now - grace, limit)
        scan = _scan_of(installation)
        if scan is None:
            return Findings(garbage, None)
        return Findings(garbage, {network: await scan.count(network) for network in Network})


async def _collect(config: Path | None) -> int:
    async with open_installation(config, Access.WRITE) as installation:
        adapters = installation.adapters
        collector = build_collector(installation.settings, adapters)
        scan = _scan_of(installation)
        async with pause_collection(adapters.stores.leases, "imprint gc", adapters.clock) as lease:
            if scan is not None:
                await scan.detach_all(lambda count: _show(f"Strays found: {count}"))
            destroyed = await collector.destroy_due(
                lambda: lease.lost, lambda count: _show(f"Documents destroyed: {count}")
            )
        click.echo(err=True)
        return destroyed


def _scan_of(installation: Installation) -> StrayScan | None:
    adapters, retention = installation.adapters, installation.settings.retention
    if adapters.inventory is None:
        return None
    age = timedelta(seconds=retention.lease_seconds)
    stores = adapters.stores
    return StrayScan(stores.garbage, stores.installation, adapters.inventory, adapters.clock, age)


def _show(progress: str) -> None:
    click.echo(f"\r{progress}", nl=False, err=True)


def _text_of(findings: Findings, limit: int) -> str:
    garbage = findings.garbage
    lines = [
        f"{garbage.due} documents are due and would be destroyed now"
        f" ({garbage.due_bytes} bytes, of those whose size is known)."
    ]
    lines += [f"  {cid} ({network.value})" for cid, network in garbage.first]
    lines.append(f"{garbage.waiting} more are within their grace period.")
    if findings.strays is None:
        return "\n".join([*lines, "Strays are not looked for: others may use this content store."])
    for network, found in findings.strays.items():
        fate = "none are destroyed without --really" if found.held else "the service detaches them"
        lines.append(
            f"{found.strays} of {found.listed} finished {network.value} documents are strays"
            + (f": {fate}." if found.strays else ".")
        )
        lines += [f"  {cid}" for cid in found.first[:limit]]
    return "\n".join(lines)


def _json_of(findings: Findings, limit: int) -> str:
    garbage, strays = findings.garbage, findings.strays
    report = {
        "due": {
            "documents": garbage.due,
            "bytes": garbage.due_bytes,
            "first": [{"cid": cid, "network": network.value} for cid, network in garbage.first],
        },
        "waiting": garbage.waiting,
        "strays": None
        if strays is None
        else {
            network.value: {
                "documents": found.listed,
                "strays": found.strays,
                "held": found.held,
                "first": found.first[:limit],
            }
            for network, found in strays.items()
        },
    }
    return json.dumps(report, indent=2)
