"""`imprint check`: whether the service would run, and in plain words what is wrong if not."""

import asyncio
import sys
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path

import click

from imprint.bootstrap import CannotStart, examine_chain
from imprint.cli.errors import reporting_errors
from imprint.cli.offline import Opened, config_option, open_offline
from imprint.domain.errors import Unavailable

CLOCK_TOLERANCE = timedelta(seconds=15)
"""How far this clock may be behind a block: more, and fresh signatures seem to be of tomorrow."""

OLD_HEAD = timedelta(minutes=10)
"""How old the newest block may be before somebody should look at the node."""


@dataclass(frozen=True, slots=True)
class Finding:
    """One thing that was looked at; `good` None means: works, but read this."""

    what: str
    good: bool | None
    words: str


@click.command()
@config_option
def check(config: Path | None) -> None:
    """Look at settings, database, store, node, contract, webhooks and clock."""
    with reporting_errors():
        findings = asyncio.run(_examine(config))
    for finding in findings:
        mark, color = _MARKS[finding.good]
        click.echo(f"{click.style(mark, fg=color)} {finding.what:<10} {finding.words}")
    sys.exit(0 if all(finding.good is not False for finding in findings) else 1)


_MARKS = {True: ("✓", "green"), None: ("!", "yellow"), False: ("✗", "red")}


async def _examine(config: Path | None) -> list[Finding]:
    async with open_offline(config) as opened:
        adapters = opened.adapters
        return [
            _settings(opened),
            await _probe("database", adapters.catalog.probe, "It can be written to."),
            await _probe("store", adapters.content.probe, "Documents can be stored and read."),
            await _chain(opened),
            await _contract(opened),
            _webhooks(opened),
            await _clock(opened),
        ]


def _settings(opened: Opened) -> Finding:
    if warnings := opened.settings.warnings:
        return Finding("settings", None, " ".join(warnings))
    return Finding("settings", True, "They can be read, and no secret is weak.")


async def _probe(what: str, probe: Callable[[], Awaitable[None]], words: str) -> Finding:
    try:
        await probe()
    except Unavailable as problem:
        return Finding(what, False, problem.detail)
    return Finding(what, True, words)


async def _chain(opened: Opened) -> Finding:
    chain_id = opened.settings.chain.id
    try:
        await examine_chain(opened.adapters.marketplace)
    except CannotStart as error:
        return Finding("node", False, str(error))
    except Unavailable:
        return Finding("node", False, "No node answers at IMPRINT_CHAIN_RPC_URL.")
    return Finding("node", True, f"It answers for chain {chain_id}.")


async def _contract(opened: Opened) -> Finding:
    address = opened.settings.chain.marketplace
    try:
        # The entry of a post that never exists is made of zeros, in the shape of every other one.
        facts = await opened.adapters.marketplace.post_facts(0, None)
    except Unavailable:
        return Finding("contract", False, f"What is at {address} does not answer as a marketplace.")
    if facts.entry.exists:
        return Finding("contract", False, f"The contract at {address} has a post 0.")
    return Finding("contract", True, f"The marketplace at {address} answers.")


def _webhooks(opened: Opened) -> Finding:
    on = sorted(opened.adapters.webhook_providers)
    off = sorted({"provider-a", "provider-b"} - set(on))
    if not off:
        return Finding("webhooks", True, "Both providers have a secret.")
    follows = opened.settings.chain.follow_seconds > 0
    words = f"No secret for {' and '.join(off)}, so its path is 404"
    if not on and not follows:
        return Finding(
            "webhooks", False, f"{words}, and the follower is off: no post gets onchain."
        )
    return Finding("webhooks", None if not on else True, f"{words}; the follower does without.")


async def _clock(opened: Opened) -> Finding:
    try:
        head = await opened.adapters.chain.head_time()
    except Unavailable:
        return Finding("clock", None, "Not compared: no node answers.")
    now = datetime.now(UTC)
    if head - now > CLOCK_TOLERANCE:
        behind = round((head - now).total_seconds())
        return Finding("clock", False, f"It is {behind} seconds behind the newest block.")
    if now - head > OLD_HEAD:
        age = round((now - head).total_seconds() / 60)
        return Finding("clock", None, f"The newest block is {age} minutes old: is the node synced?")
    return Finding("clock", True, "It agrees with the newest block.")
