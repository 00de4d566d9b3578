"""Installations for the command tests: a data folder with files, and its settings."""

import asyncio
import logging
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path

from click.testing import CliRunner, Result
from tests.canaries import CANARIES, RPC_PATH, UNUSED, canaries_of
from tests.stores import open_sqlite_stores
from tests.world import World, open_world

from imprint.cli import main
from imprint.domain.drafts.files import File

MARKETPLACE = "0x5fbdb2315678afecb367f032d93f642f64180aa3"


def run(environ: Mapping[str, str], *arguments: str | Path, typed: str | None = None) -> Result:
    """Run a command with these settings in the environment, and restore logging afterwards."""
    root = logging.getLogger()
    handlers, level = root.handlers[:], root.level
    try:
        words = [str(each) for each in arguments]
        return CliRunner(env=environ).invoke(main, words, input=typed)
    finally:
        root.handlers[:] = handlers
        root.setLevel(level)


def environment_of(folder: Path) -> dict[str, str]:
    """Return the settings of an installation with an unreachable node."""
    return {
        **canaries_of("JWT_SECRET", *UNUSED),
        "IMPRINT_DATA_DIR": str(folder),
        "IMPRINT_PUBLIC_URL": "https://imprint.test",
        "IMPRINT_CHAIN_RPC_URL": CANARIES["CHAIN_RPC_URL"],
        "IMPRINT_CHAIN_ID": "31337",
        "IMPRINT_MARKETPLACE_ADDRESS": MARKETPLACE,
    }


def environment_beside(world: World) -> dict[str, str]:
    """Return settings that use the data folder and the chain of `world`."""
    return environment_of(world.settings.storage.data_dir) | {
        "IMPRINT_CHAIN_RPC_URL": world.node.url + RPC_PATH,
        "IMPRINT_MARKETPLACE_ADDRESS": world.marketplace,
    }


async def fill_folder(folder: Path) -> None:
    """Create two files by one author and a post by another."""
    async with open_world(folder) as world:
        alice, bob = world.wallet(1), world.wallet(2)
        draft = await world.create(alice, "A draft.")
        await world.publish(alice, draft["cid"], "essay")
        await world.post(bob, "A post.")
        await world.create(alice, "Large. " * 60_000)


def files_in(folder: Path) -> list[File]:
    """Return every live file of an installation, without its position."""
    return asyncio.run(_files_in(folder))


async def _files_in(folder: Path) -> list[File]:
    stores = open_sqlite_stores(folder / "imprint.db")
    try:
        walked = stores.archives.walk_files(None, 10)
        return [replace(each.file, position=0) async for files in walked for each in files]
    finally:
        await stores.close()
