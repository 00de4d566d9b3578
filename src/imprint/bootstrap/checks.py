"""The individual installation checks, run by `installation_check`."""

import os
from datetime import timedelta
from pathlib import Path

from imprint.adapters.chain.http_client import NodeFailure
from imprint.adapters.chain.json_rpc import ChainMisconfigured
from imprint.adapters.content.http_retry import StoreFailure
from imprint.adapters.disk_space import LocalDiskSpace
from imprint.bootstrap.adapters import (
    describe_database,
    has_network_name,
)
from imprint.bootstrap.archives import describe_store
from imprint.bootstrap.stores import Stores
from imprint.domain.errors import CannotStart, NeedsUpgrade, StoreMisconfigured, Unavailable
from imprint.domain.formats.addresses import Address
from imprint.domain.installation import Access, Finding, Status
from imprint.domain.posts.marketplace import EARLIER_FUNCTIONS, missing_functions
from imprint.ports import (
    ChainReader,
    Clock,
    ContentStore,
    MarketplaceReader,
    Progress,
)
from imprint.ports.content import DocumentCipher, ReadProbe
from imprint.ports.damage import DatabaseHealth
from imprint.ports.installation import KeyStore
from imprint.ports.publication import EventStore
from imprint.services.chain.log_stream import History, examine_history
from imprint.services.chain.start_block import StartBlock
from imprint.services.content.store_claim import InstallationClaim
from imprint.services.installation.master_keys import MasterKeys
from imprint.services.installation.scrub import verify_everything, verify_some
from imprint.settings import Compatibility, Settings
from imprint.settings.declaration import declared_in
from imprint.settings.groups import Signing

CLOCK_TOLERANCE = timedelta(seconds=15)
"""How far this machine's clock may lag behind the newest block. With a greater lag, fresh
signatures seem to come from the future."""

OLD_HEAD = timedelta(minutes=10)
"""Age of the newest block at which the check warns, on a chain without an age limit."""

NEARLY_FULL = 4
"""A disk is nearly full if it has less than this multiple of the space that drafts need."""

LEAST_SPACE = 64 * 2**20
"""Free bytes below which a disk is nearly full, if drafts have no quota."""

MOST_LISTED = 100
"""Maximum number of damaged records and documents listed individually."""

_STORE_REMEDY = "Check the address of the store in the settings, and whether it is running."

DATABASE, STORE, NODE = "the database", "the store", "a node"
"""Prerequisites of checks, as named in the findings of skipped checks."""


# The settings


def check_settings(settings: Settings) -> Finding:
    """Check the settings for anything suspicious. Invalid settings have already been refused."""
    if settings.warnings:
        return Finding("settings", Status.WARNING, " ".join(settings.warnings))
    return Finding("settings", Status.OK, "All settings are valid, and no secret is weak.")


def check_signing(settings: Settings) -> Finding:
    """Check that no other deployment accepts signatures made for this one."""
    signing, chain_id = settings.signing, settings.chain.id
    name = signing.name
    if name == declared_in(Signing)["name"].default and not signing.require_bound:
        return Finding(
            "signing",
            Status.WARNING,
            f"IMPRINT_SIGNING_NAME is '{name}', the default: every other service on chain "
            f"{chain_id} with the same name accepts signatures made for this one in the forms "
            "imprint-1 and inkdao-1. Signatures in the form imprint-2 name the service.",
            "Choose a name of your own before the first author signs, or set "
            "IMPRINT_REQUIRE_BOUND_SIGNATURES=on if all front ends sign in the form imprint-2.",
        )
    if settings.server.compatibility is Compatibility.INKDAO and not signing.require_bound:
        return Finding(
            "signing",
            Status.WARNING,
            "With IMPRINT_COMPATIBILITY=inkdao, signatures in the form inkdao-1 carry the name "
            f"of the earlier service: every other service on chain {chain_id} with this setting "
            "accepts signatures made for this one, whatever IMPRINT_SIGNING_NAME is.",
            "Set IMPRINT_REQUIRE_BOUND_SIGNATURES=on once no front end uses this form any more.",
        )
    return Finding("signing", Status.OK, f"Authors sign for '{name}' on chain {chain_id}.")


def check_webhooks(settings: Settings) -> Finding:
    """Check whether posts are discovered through webhook deliveries or by the follower alone."""
    webhooks = settings.webhooks
    secrets = {"provider-a": webhooks.a_secret, "provider-b": webhooks.b_secret}
    on = [name for name, secret in secrets.items() if secret is not None]
    off = [name for name, secret in secrets.items() if secret is None]
    if on and not has_network_name(settings):
        return Finding(
            "webhooks",
            Status.WARNING,
            f"No name of chain {settings.chain.id} is known: deliveries that name their network"
            " are ignored.",
            "List what the providers call it in IMPRINT_WEBHOOK_NETWORKS.",
        )
    if not off:
        return Finding("webhooks", Status.OK, "Both providers have a secret.")
    paths = "its path is" if on else "their paths are"
    detail = f"No secret is set for {' and '.join(off)}, so {paths} switched off (404)"
    if not on and not settings.chain.follow_seconds:
        return Finding(
            "webhooks",
            Status.FAILED,
            f"{detail}, and the follower is off: no draft can become a post.",
            "Set IMPRINT_CHAIN_FOLLOW_SECONDS, or the secret of a provider.",
        )
    status = Status.OK if on else Status.WARNING
    return Finding("webhooks", status, f"{detail}; the follower works without it.")


# Records, keys, documents and the disk


def check_new_installation(settings: Settings, *folders: Path) -> Finding:
    """Check whether a starting service could create the catalog, without creating anything."""
    for folder in folders:
        there = next(each for each in (folder, *folder.absolute().parents) if each.exists())
        if not there.is_dir() or not os.access(there, os.W_OK | os.X_OK):
            detail = f"The folder {folder} cannot be created: {there} is not writable."
            return Finding("database", Status.FAILED, detail, "Correct IMPRINT_DATA_DIR.")
    place = describe_database(settings.storage.database)
    detail = f"The service will create the catalog at {place} when it starts."
    return Finding("database", Status.OK, detail)


async def check_database(database: DatabaseHealth, settings: Settings, access: Access) -> Finding:
    """Check that records can be read or written, and that the database server needs no change."""
    writes = access is not Access.READ
    try:
        await (database.probe() if writes else database.probe_reads())
    except Unavailable as problem:
        return Finding("database", Status.FAILED, problem.detail)
    place = describe_database(settings.storage.database)
    detail = f"{place} can be {'written to' if writes else 'read'}."
    return await check_server(database) or Finding("database", Status.OK, detail)


async def check_server(database: DatabaseHealth) -> Finding | None:
    """Report the changes that the database server needs, if any. Writes nothing."""
    try:
        warnings = await database.warnings()
    except Unavailable as problem:
        return Finding("database", Status.FAILED, problem.detail)
    return Finding("database", Status.WARNING, " ".join(warnings)) if warnings else None


async def check_records(
    stores: Stores, content: ContentStore | None, progress: Progress | None
) -> list[Finding]:
    """Verify some records or, if a content store is given, all records and their documents."""
    damage, verified, records = [], 0, stores.records
    known = stores.database.damage
    try:
        if content is not None:
            damage += await stores.database.examine()
        else:
            damage += [finding for finding in (known.structure, known.index) if finding is not None]
        if content is None:
            walk = verify_some(records)
        else:
            walk = verify_everything(records, stores.files, content)
        async for verified, found in walk:
            damage += [] if found is None else [f"Damaged: {found}."]
            if progress is not None:
                progress(verified, verified + 1)
    except Unavailable as problem:
        detail = f"After {verified} records: {problem.detail}"
        return [*_list_damage(damage), Finding("records", Status.FAILED, detail)]
    if damage:
        return _list_damage(damage)
    if content is not None:
        detail = f"{verified} records and their documents are intact."
    elif known.examined:
        detail = f"The database and {verified} records are intact. --deep also checks documents."
    else:
        detail = f"{verified} records are intact. --deep checks everything."
    return [Finding("records", Status.OK, detail)]


def _list_damage(damage: list[str]) -> list[Finding]:
    shown = [Finding("records", Status.FAILED, each) for each in damage[:MOST_LISTED]]
    if len(damage) > MOST_LISTED:
        detail = f"… and {len(damage) - MOST_LISTED} more."
        shown.append(Finding("records", Status.FAILED, detail))
    if damage:
        remedy = "Stop the service and run imprint repair: see docs/operating/damage.md."
        detail = f"{len(damage)} findings of damage."
        shown.append(Finding("records", Status.FAILED, detail, remedy))
    return shown


async def check_keys(keys: KeyStore, cipher: DocumentCipher) -> Finding:
    """Check that the configured master keys decrypt the stored documents."""
    try:
        sample = await MasterKeys(keys, cipher).examine()
    except CannotStart as error:
        return refused("keys", error)
    except Unavailable as problem:
        return Finding("keys", Status.FAILED, problem.detail)
    if unknown := sample.by_key.total():
        return Finding(
            "keys",
            Status.WARNING,
            f"{unknown} of {sample.looked_at} documents are encrypted with a master key that is "
            "not set: nobody can read them.",
            "Set IMPRINT_ENCRYPTION_KEY_PREVIOUS to their key, and run imprint rotate-key.",
        )
    if not cipher.key_ids:
        return Finding("keys", Status.OK, "No document is encrypted, and no master key is set.")
    if not sample.looked_at:
        return Finding("keys", Status.OK, "No document is encrypted yet.")
    detail = f"The master key decrypts the stored documents ({sample.looked_at} documents checked)."
    return Finding("keys", Status.OK, detail)


def check_disk(disk: LocalDiskSpace) -> Finding:
    """Check that there is space for more documents and records."""
    free, floor = disk.free_bytes(), disk.floor
    if free is None:
        return Finding("disk", Status.OK, "Nothing is stored on the disks of this machine.")
    detail = f"{_spell_bytes(free)} are free"
    needed = f"drafts are accepted while at least {_spell_bytes(floor)} are"
    if free < floor:
        detail = f"{detail}, and {needed}: drafts are refused now."
        return Finding("disk", Status.FAILED, detail, "Free some space, or move to a larger disk.")
    if free < max(NEARLY_FULL * floor, LEAST_SPACE):
        remedy = "Free some space, or move to a larger disk, before it is full."
        return Finding("disk", Status.WARNING, f"Only {detail}, and {needed}.", remedy)
    return Finding("disk", Status.OK, f"{detail}, and {needed}.")


def _spell_bytes(count: int) -> str:
    mebibytes = count / 2**20
    return f"{mebibytes / 1024:.1f} GiB" if mebibytes >= 1024 else f"{mebibytes:.0f} MiB"


async def check_store(content: ContentStore, settings: Settings, access: Access) -> Finding:
    """Check that documents can be read and, if requested, stored."""
    place, reads_only = describe_store(settings), access is Access.READ
    try:
        if reads_only and isinstance(content, ReadProbe):
            await content.probe_reads()
        else:
            # In a store without `probe_reads`, `probe` writes nothing.
            await content.probe()
    except Unavailable as problem:
        remedy = "" if _failure_in(problem) is None else _STORE_REMEDY
        return Finding("store", Status.FAILED, f"{_reason(problem)} ({place})", remedy)
    can = "can be read" if reads_only else "can be stored and read"
    return Finding("store", Status.OK, f"Documents {can} ({place}).")


def _reason(problem: Unavailable) -> str:
    if isinstance(problem, StoreMisconfigured):
        return problem.sentence
    failure = _failure_in(problem)
    return problem.detail if failure is None else f"{problem.detail.rstrip('.')}: {failure}."


def _failure_in(problem: Unavailable) -> StoreFailure | None:
    """The failure of a remote store, or None if the problem has another cause."""
    cause = problem.__cause__
    return cause if isinstance(cause, StoreFailure) else None


async def check_claim(claim: InstallationClaim) -> Finding:
    """Check that the store's documents belong to the catalog."""
    try:
        holder = await claim.holder()
    except Unavailable as problem:
        return Finding("documents", Status.FAILED, _reason(problem))
    own = claim.identity
    if holder == own.id:
        return Finding("documents", Status.OK, f"They belong to the installation {holder}.")
    if holder is None and not own.claimed:
        detail = "The store has no owner yet; the service claims it when it starts."
        return Finding("documents", Status.OK, detail)
    detail = f"They belong to the installation {holder}, but the catalog to {own.id}."
    if holder is None:
        detail = "The store has no marker of this installation: is it the right one?"
    remedy = "Check IMPRINT_DATABASE_URL, IMPRINT_DATA_DIR and IMPRINT_CONTENT_STORE."
    return Finding("documents", Status.FAILED, detail, remedy)


# The chain


async def check_node(chain: ChainReader, chain_id: int) -> Finding:
    """Check that a node responds and is on the configured chain."""
    try:
        head = await chain.head()
    except ChainMisconfigured as error:
        remedy = "Correct IMPRINT_CHAIN_ID or IMPRINT_CHAIN_RPC_URL."
        return Finding("node", Status.FAILED, error.sentence, remedy)
    except Unavailable as problem:
        why = f": {problem.__cause__}" if isinstance(problem.__cause__, NodeFailure) else ""
        return Finding(
            "node",
            Status.FAILED,
            f"No node responds{why}.",
            "Check the addresses in IMPRINT_CHAIN_RPC_URL, and whether the nodes are running.",
        )
    detail = f"The node is on chain {chain_id}, at block {head.number}."
    return Finding("node", Status.OK, detail)


async def check_history(chain: ChainReader, events: EventStore, chain_id: int) -> Finding | None:
    """A description of how the node contradicts the final blocks, or None."""
    try:
        history = await examine_history(chain, events, chain_id)
    except Unavailable:
        # The checks of the database and of the node report this failure.
        return None
    if history is History.BEHIND:
        detail = "The node is behind a final block."
        return Finding("node", Status.FAILED, detail, "Wait until it has synced.")
    if history is History.REPLACED:
        detail = "The node does not have a block that was final."
        return Finding("node", Status.FAILED, detail, "Run imprint reconcile.")
    return None


async def check_contract(marketplace: MarketplaceReader, settings: Settings) -> Finding:
    """Check that the contract is deployed and responds like a marketplace."""
    address, adapter = settings.chain.marketplace, settings.chain.adapter
    remedy = "Correct IMPRINT_MARKETPLACE_ADDRESS."
    try:
        await marketplace.probe()
        # Post 0 never exists, so a marketplace returns an entry of the usual shape with only zeros.
        facts = await marketplace.post_facts(0, None)
    except ChainMisconfigured as error:
        if adapter is not None and adapter in error.sentence:
            remedy = "Correct IMPRINT_ADAPTER_ADDRESS."
        return Finding("contract", Status.FAILED, error.sentence, remedy)
    except Unavailable:
        detail = f"The contract at {address} does not respond like a marketplace."
        return Finding("contract", Status.FAILED, detail, remedy)
    if facts.entry.exists:
        detail = f"The contract at {address} has a post with the id 0, which no marketplace has."
        return Finding("contract", Status.FAILED, detail, remedy)
    if settings.server.compatibility is Compatibility.INKDAO:
        missing = await _missing_functions(marketplace)
        if missing is None or missing:
            return _unfit_for_earlier_front_end(address, missing)
    return Finding("contract", Status.OK, f"The marketplace at {address} responds.")


async def _missing_functions(marketplace: MarketplaceReader) -> list[str] | None:
    try:
        return missing_functions(await marketplace.code(), EARLIER_FUNCTIONS)
    except Unavailable:
        return None


def _unfit_for_earlier_front_end(address: Address, missing: list[str] | None) -> Finding:
    if missing is None:
        detail = f"The code of the contract at {address} cannot be read."
        return Finding("contract", Status.FAILED, detail, "Use a node that returns it.")
    return Finding(
        "contract",
        Status.FAILED,
        f"The contract at {address} lacks {', '.join(missing)}, which the front end of the "
        "earlier service calls: its authors cannot publish, and its buyers would pay without "
        "being able to read.",
        "Set IMPRINT_MARKETPLACE_ADDRESS to the marketplace that front end was made for, or set "
        "IMPRINT_COMPATIBILITY=none.",
    )


async def check_blocks(
    start: StartBlock, marketplace: MarketplaceReader | None = None
) -> list[Finding]:
    """Check that all posts can be found from the start block, and that the node has their logs."""
    try:
        head = await start.verify()
        concerns = await start.find_concerns(head, marketplace)
    except CannotStart as error:
        return [refused("blocks", error)]
    except Unavailable as problem:
        return [Finding("blocks", Status.FAILED, problem.detail)]
    if concerns:
        return [Finding("blocks", Status.WARNING, each.detail, each.remedy) for each in concerns]
    detail = f"Posts are found from block {start.number} on, and the node has their logs."
    return [Finding("blocks", Status.OK, detail)]


async def check_clock(chain: ChainReader, clock: Clock, oldest: float) -> Finding:
    """Check that the clock of this machine and the newest block agree.

    `oldest` is the result of `max_head_age`.
    """
    try:
        head = await chain.head_time()
    except Unavailable:
        return skip("clock", NODE)
    age = clock() - head
    if -age > CLOCK_TOLERANCE:
        detail = f"The clock is {round(-age.total_seconds())} seconds behind the newest block."
        remedy = "Synchronize the clock of this machine."
        return Finding("clock", Status.FAILED, detail, remedy)
    remedy = "Wait until the node has synced, or use another one."
    if oldest and age.total_seconds() > oldest:
        detail = (
            f"The newest block is {_spell_time(age)} old. A node whose block is older than"
            f" {oldest:.0f} seconds is not trusted: nobody can read posts."
        )
        return Finding("clock", Status.FAILED, detail, remedy)
    if age > OLD_HEAD:
        detail = f"The newest block is {_spell_time(age)} old."
        return Finding("clock", Status.WARNING, detail, remedy)
    return Finding("clock", Status.OK, "The clock agrees with the newest block.")


def _spell_time(age: timedelta) -> str:
    return f"{round(age.total_seconds() / 60)} minutes"


def outdated(name: str, error: NeedsUpgrade) -> Finding:
    """The finding for data with the schema of an earlier release, which the next start upgrades."""
    detail = f"{error.reason} The service upgrades it when it starts."
    return Finding(name, Status.WARNING, detail, error.remedy)


def refused(name: str, error: CannotStart) -> Finding:
    """The finding for a problem that prevents a service from starting."""
    return Finding(name, Status.FAILED, error.reason, error.remedy)


def skip(name: str, needed: str) -> Finding:
    """The finding of a check skipped for a missing prerequisite."""
    return Finding(name, Status.SKIPPED, f"Skipped: it needs {needed}.")
