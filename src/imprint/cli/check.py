"""`imprint check`: whether the service would run, and what to fix if not."""

import asyncio
import sys
from collections.abc import Awaitable, Callable
from contextlib import nullcontext
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from enum import Enum
from pathlib import Path

import click

from imprint.bootstrap import examine_chain, has_network_name
from imprint.cli.errors import FAILED, reporting_errors
from imprint.cli.installation import Installation, config_option, open_installation
from imprint.cli.progress import show_progress
from imprint.domain.errors import CannotStart, StoreMisconfigured, Unavailable
from imprint.services.chain_sync import History, examine_history
from imprint.services.scrub import verify_everything, verify_some

CLOCK_TOLERANCE = timedelta(seconds=15)
"""How far this clock may be behind the newest block; beyond it, fresh signatures seem to be from
the future."""

OLD_HEAD = timedelta(minutes=10)
"""How old the newest block may be before the check warns."""

MOST_LISTED = 100
"""How many damaged records and documents are listed one by one."""


class Level(Enum):
    """How a check ended, with its symbol and colour."""

    GOOD = ("✓", "green")
    WARNING = ("!", "yellow")
    BAD = ("✗", "red")


@dataclass(frozen=True, slots=True)
class Finding:
    """The result of one check."""

    subject: str
    level: Level
    message: str


@click.command()
@config_option
@click.option(
    "--deep",
    is_flag=True,
    help="Also verify every record and every document; the service may run meanwhile.",
)
def check(config: Path | None, deep: bool) -> None:
    """Say whether the service would run, and what to fix.

    It looks at settings, database, records, store, node, contract, webhooks and clock.
    """
    with reporting_errors():
        findings = asyncio.run(_check(config, deep))
    for finding in findings:
        symbol, color = finding.level.value
        click.echo(f"{click.style(symbol, fg=color)} {finding.subject:<10} {finding.message}")
    sys.exit(FAILED if any(finding.level is Level.BAD for finding in findings) else 0)


async def _check(config: Path | None, deep: bool) -> list[Finding]:
    async with open_installation(config, verify=False) as installation:
        adapters = installation.adapters
        return [
            _check_settings(installation),
            await _check_database(installation),
            *await _check_records(installation, deep),
            await _probe("store", adapters.content.probe, "Documents can be stored and read."),
            await _check_claim(installation),
            await _check_node(installation),
            await _check_contract(installation),
            _check_webhooks(installation),
            await _check_clock(installation),
        ]


def _check_settings(installation: Installation) -> Finding:
    if warnings := installation.settings.warnings:
        return Finding("settings", Level.WARNING, " ".join(warnings))
    return Finding("settings", Level.GOOD, "They can be read, and no secret is weak.")


async def _check_database(installation: Installation) -> Finding:
    catalog = installation.adapters.catalog
    finding = await _probe("database", catalog.probe, "It can be written to.")
    if finding.level is Level.GOOD and (warnings := await catalog.warnings()):
        return Finding("database", Level.WARNING, " ".join(warnings))
    return finding


async def _check_records(installation: Installation, deep: bool) -> list[Finding]:
    """Verify all records and documents, or some records and the structure of a small database."""
    catalog, content = installation.adapters.catalog, installation.adapters.content
    damage, verified = [], 0
    try:
        if deep:
            damage += await catalog.examine()
        elif catalog.damage.structure is not None:
            damage.append(catalog.damage.structure)
        with show_progress("records") if deep else nullcontext() as progress:
            walk = verify_everything(catalog, content) if deep else verify_some(catalog)
            async for verified, found in walk:
                damage += [] if found is None else [f"Damaged: {found}."]
                if progress is not None:
                    progress(verified, verified + 1)
    except Unavailable as problem:
        message = f"After {verified} records: {problem.detail}"
        return [*_list_damage(damage), Finding("records", Level.BAD, message)]
    if damage:
        return _list_damage(damage)
    if deep:
        message = f"{verified} records and their documents are as they were stored."
    elif catalog.damage.examined:
        message = f"The database is intact, and {verified} records are. --deep reads documents."
    else:
        message = f"{verified} records are as they were stored. --deep looks at everything."
    return [Finding("records", Level.GOOD, message)]


def _list_damage(damage: list[str]) -> list[Finding]:
    shown = [Finding("records", Level.BAD, each) for each in damage[:MOST_LISTED]]
    if len(damage) > MOST_LISTED:
        message = f"… and {len(damage) - MOST_LISTED} more."
        shown.append(Finding("records", Level.BAD, message))
    if damage:
        message = "Stop the service and run imprint repair: see docs/operating.md."
        shown.append(Finding("records", Level.BAD, message))
    return shown


async def _probe(subject: str, probe: Callable[[], Awaitable[None]], good: str) -> Finding:
    try:
        await probe()
    except StoreMisconfigured as problem:
        return Finding(subject, Level.BAD, problem.sentence)
    except Unavailable as problem:
        return Finding(subject, Level.BAD, problem.detail)
    return Finding(subject, Level.GOOD, good)


async def _check_claim(installation: Installation) -> Finding:
    claim = installation.adapters.claim
    try:
        holder = await claim.holder()
    except StoreMisconfigured as problem:
        return Finding("documents", Level.BAD, problem.sentence)
    except Unavailable as problem:
        return Finding("documents", Level.BAD, problem.detail)
    if holder == claim.identity.id:
        return Finding("documents", Level.GOOD, f"They belong to the installation {holder}.")
    if holder is None and not claim.identity.claimed:
        return Finding("documents", Level.GOOD, "The store is not marked yet; a service does that.")
    message = f"They belong to the installation {holder}, the catalog to {claim.identity.id}."
    if holder is None:
        message = "The store has no marker of this installation: is it the right one?"
    return Finding("documents", Level.BAD, message)


async def _check_node(installation: Installation) -> Finding:
    try:
        await examine_chain(installation.adapters.marketplace)
    except CannotStart as error:
        return Finding("node", Level.BAD, str(error))
    except Unavailable:
        return Finding("node", Level.BAD, "No node responds at IMPRINT_CHAIN_RPC_URL.")
    return await _check_history(installation)


async def _check_history(installation: Installation) -> Finding:
    chain_id, adapters = installation.settings.chain.id, installation.adapters
    try:
        history = await examine_history(adapters.chain, adapters.catalog, chain_id)
    except Unavailable:
        # The check of the database, or the one before, says so.
        history = History.AGREES
    if history is History.BEHIND:
        message = "It is behind a block that was final: is it synced?"
        return Finding("node", Level.BAD, message)
    if history is History.REPLACED:
        message = "It does not have a block that was final: run imprint reconcile."
        return Finding("node", Level.BAD, message)
    return Finding("node", Level.GOOD, f"It responds for chain {chain_id}.")


async def _check_contract(installation: Installation) -> Finding:
    address = installation.settings.chain.marketplace
    try:
        # Post 0 never exists: a marketplace returns its entry as zeros, in the shape of any other.
        facts = await installation.adapters.marketplace.post_facts(0, None)
    except Unavailable:
        message = f"The contract at {address} does not respond like a marketplace."
        return Finding("contract", Level.BAD, message)
    if facts.entry.exists:
        return Finding("contract", Level.BAD, f"The contract at {address} has a post 0.")
    return Finding("contract", Level.GOOD, f"The marketplace at {address} responds.")


def _check_webhooks(installation: Installation) -> Finding:
    on = sorted(installation.adapters.webhook_providers)
    off = sorted({"provider-a", "provider-b"} - set(on))
    if on and not has_network_name(installation.settings):
        message = (
            f"No name of chain {installation.settings.chain.id} is known: deliveries that name"
            " their network are ignored unless IMPRINT_WEBHOOK_NETWORKS lists the name."
        )
        return Finding("webhooks", Level.WARNING, message)
    if not off:
        return Finding("webhooks", Level.GOOD, "Both providers have a secret.")
    message = f"No secret for {' and '.join(off)}, so its path is 404"
    if not on and not installation.settings.chain.follow_seconds:
        message = f"{message}, and the follower is off: no post becomes onchain."
        return Finding("webhooks", Level.BAD, message)
    level = Level.GOOD if on else Level.WARNING
    return Finding("webhooks", level, f"{message}; the follower works without it.")


async def _check_clock(installation: Installation) -> Finding:
    try:
        head = await installation.adapters.chain.head_time()
    except Unavailable:
        return Finding("clock", Level.WARNING, "Not compared: no node responds.")
    now = datetime.now(UTC)
    if head - now > CLOCK_TOLERANCE:
        behind = round((head - now).total_seconds())
        return Finding("clock", Level.BAD, f"It is {behind} seconds behind the newest block.")
    if now - head > OLD_HEAD:
        age = round((now - head).total_seconds() / 60)
        message = f"The newest block is {age} minutes old: is the node synced?"
        return Finding("clock", Level.WARNING, message)
    return Finding("clock", Level.GOOD, "It agrees with the newest block.")
