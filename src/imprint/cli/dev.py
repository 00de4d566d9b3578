"""`imprint dev`: everything in one process, with no account anywhere."""

import asyncio
import os
import secrets
import socket
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path

import click
import uvloop

from imprint.bootstrap import CannotStart, build_service, open_parts
from imprint.cli.complaints import complaining
from imprint.cli.servers import Serving, listen, serve_all
from imprint.cli.welcome import print_welcome
from imprint.devchain.chain import Chain
from imprint.devchain.deliveries import Destination, Provider, Sender
from imprint.devchain.deployment import DeploymentImpossible, deploy_marketplace
from imprint.devchain.journal import JournalDamaged, JournalInUse
from imprint.devchain.server import rpc_app
from imprint.logs import set_up_logs
from imprint.settings import DEVELOPMENT, Settings, read_settings
from imprint.web.edge import request_id

MARKETPLACE = "0x5FbDB2315678afecb367f032d93F642f64180aa3"
"""Where the first development account's first transaction puts a contract, on every chain."""

EVERYWHERE = "0.0.0.0"  # noqa: S104 - compared with, to find an address that can be called
"""The host that listens on every address and cannot be called itself."""

READY_POLL = 0.02
"""Seconds between two looks at whether the service has started."""


@click.command()
@click.option("--host", help="The address to listen on (127.0.0.1).")
@click.option("--port", help="The port of the service (8000).")
@click.option("--rpc-port", help="The port of the chain's JSON-RPC (8545).")
@click.option("--data-dir", help="The folder for everything kept (./data).")
@click.option("--config", type=click.Path(path_type=Path), help="A TOML file with settings.")
def dev(
    host: str | None,
    port: str | None,
    rpc_port: str | None,
    data_dir: str | None,
    config: Path | None,
) -> None:
    """Run the service with a chain, a marketplace and signed deliveries of its own."""
    options = {
        "IMPRINT_HOST": host,
        "IMPRINT_PORT": port,
        "IMPRINT_DEV_RPC_PORT": rpc_port,
        "IMPRINT_DATA_DIR": data_dir,
    }
    with complaining():
        given = {name: text for name, text in options.items() if text is not None}
        uvloop.run(_run(given, config))


async def _run(options: dict[str, str], config: Path | None) -> None:
    # Where the marketplace will be is known before there is a chain: a default like the others.
    defaults = {**DEVELOPMENT, "IMPRINT_MARKETPLACE_ADDRESS": MARKETPLACE}
    settings = read_settings(
        os.environ, config, options=options, defaults=defaults, judge_secrets=False
    )
    server = settings.server
    set_up_logs(server.log_level, server.log_format, settings.secrets, request_id.get)
    listener = listen(server.host, server.port)
    host = "127.0.0.1" if server.host == EVERYWHERE else server.host
    url = f"http://{host}:{server.port}"
    with _open_world(settings) as world:
        parts = open_parts(settings)
        app = build_service(settings, parts, world.url)
        service = Serving(app, listener, keep_alive=settings.limits.keep_alive_seconds, patience=5)
        node = Serving(rpc_app(world.chain), world.listener, patience=1)
        helpers = [
            asyncio.create_task(_sender(world, settings, url).run()),
            asyncio.create_task(_greet(service, settings, url, world)),
        ]
        try:
            await serve_all([service, node], in_haste=True)
        finally:
            for helper in helpers:
                helper.cancel()
                with suppress(asyncio.CancelledError):
                    await helper


@dataclass(frozen=True, slots=True)
class _World:
    """The chain of a development service, and where it is reached."""

    chain: Chain
    marketplace: str
    listener: socket.socket
    url: str


@contextmanager
def _open_world(settings: Settings) -> Iterator[_World]:
    port = settings.development.rpc_port
    # Wherever the service listens, it looks for its chain on this machine.
    host = EVERYWHERE if settings.server.host == EVERYWHERE else "127.0.0.1"
    listener = listen(host, port)
    try:
        journal = settings.storage.data_dir / "chain.jsonl"
        chain = Chain.open(journal, _seconds)
        marketplace = deploy_marketplace(chain)
    except (DeploymentImpossible, JournalDamaged, JournalInUse, OSError) as error:
        listener.close()
        raise CannotStart(f"The chain cannot be opened: {error}.") from error
    try:
        yield _World(chain, marketplace, listener, f"http://127.0.0.1:{port}")
    finally:
        chain.close()


def _sender(world: _World, settings: Settings, url: str) -> Sender:
    hooks = settings.webhooks
    known = ((Provider.A, hooks.a_secret), (Provider.B, hooks.b_secret))
    destinations = [
        Destination(provider, f"{url}/webhook/provider-{provider.value}/publish", secret.reveal())
        for provider, secret in known
        if secret is not None
    ]
    return Sender(
        world.chain,
        world.marketplace,
        destinations,
        clock=_seconds,
        draw=secrets.token_bytes,
    )


def _seconds() -> int:
    return int(time.time())


async def _greet(service: Serving, settings: Settings, url: str, world: _World) -> None:
    while not service.started:  # noqa: ASYNC110 - the server has no event for it
        await asyncio.sleep(READY_POLL)
    addresses = world.chain.wallet.addresses
    print_welcome(url, world.url, world.marketplace, addresses, settings.storage.data_dir)
