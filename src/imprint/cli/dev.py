"""The welcome of `imprint dev`: where everything is, and what to try."""

import asyncio
import os
import socket
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path

import click
import uvloop
from rich.console import Console, Group
from rich.panel import Panel
from rich.table import Table
from rich.text import Text

from imprint.bootstrap import Adapters, build_service, check_chain, open_adapters
from imprint.cli.dev_chain import World, is_own, open_world
from imprint.cli.errors import reporting_errors
from imprint.cli.offline import log_warnings
from imprint.domain.addresses import checksum_address, parse_address
from imprint.logs import set_up_logs
from imprint.server.http import HttpServer, listen, serve_all
from imprint.settings import DEVELOPMENT, Settings, read_settings
from imprint.settings.groups import Chain
from imprint.web.middleware import request_id

SHOWN_ACCOUNTS = 3
"""How many development accounts are listed; a wallet shows the others."""


def print_welcome(
    url: str, rpc_url: str, chain: Chain, accounts: Sequence[str], data_dir: Path
) -> None:
    """Print where the service, its chain and its accounts are, and first steps.

    Without accounts the chain is somebody else's, and they know who has money there.
    """
    places = Table.grid(padding=(0, 2))
    places.add_row("Service", Text(url, style="bold cyan"))
    places.add_row("Interface", f"{url}/docs")
    places.add_row("For clients", f"{url}/.well-known/imprint.json")
    places.add_row("Chain", f"{rpc_url}  (id {chain.id}, JSON-RPC)")
    places.add_row("Marketplace", checksum_address(chain.marketplace))
    places.add_row("Data", str(data_dir.absolute()))
    wallets = Table.grid(padding=(0, 2))
    for index, account in enumerate(accounts[:SHOWN_ACCOUNTS]):
        wallets.add_row(f"Account {index}", checksum_address(parse_address(account)), "10 000 ETH")
    if accounts:
        note = "test test … test junk: public keys, for development only"
        wallets.add_row("", Text(note, "dim"))
    steps = Table.grid(padding=(0, 2))
    steps.add_row("Walk through all", Text("python examples/publish_a_post.py", "green"))
    steps.add_row("Newest posts", Text(f"curl {url}/filesMetaData", "green"))
    steps.add_row("Is it well?", Text(f"curl {url}/readyz", "green"))
    steps.add_row("Stop", Text("Ctrl+C; the data stays", "dim"))
    content = Group(places, "", wallets, "", steps) if accounts else Group(places, "", steps)
    Console(stderr=True).print(Panel(content, title="Imprint is running", expand=False))


EVERYWHERE = "0.0.0.0"  # noqa: S104 - compared with, to find an address that can be called
"""The host that listens on every address and cannot be called itself."""

_CALLABLE = {EVERYWHERE: "127.0.0.1", "::": "[::1]", "::1": "[::1]"}
"""How hosts are called that cannot be called as they are written."""

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
    with reporting_errors():
        given = {name: text for name, text in options.items() if text is not None}
        uvloop.run(_run(given, config))


async def _run(options: dict[str, str], config: Path | None) -> None:
    settings = _read_settings(options, config)
    listener, node_listener = _open_sockets(settings)
    if 0 in (settings.server.port, settings.development.rpc_port):
        # Much is named after a port, so that it must be known before the rest is.
        found = {"IMPRINT_PORT": listener, "IMPRINT_DEV_RPC_PORT": node_listener}
        ports = {name: str(each.getsockname()[1]) for name, each in found.items() if each}
        settings = _read_settings(options | ports, config)
    server = settings.server
    set_up_logs(server.log_level, server.log_format, settings.secrets, request_id.get)
    log_warnings(settings)
    url = f"http://{_CALLABLE.get(server.host, server.host)}:{server.port}"
    with open_world(settings, node_listener, url) as world:
        adapters = open_adapters(settings)
        if world.node is None:
            await _check_chain(adapters)
        app = build_service(settings, adapters, world.url)
        service = HttpServer(
            app, listener, keep_alive=settings.limits.keep_alive_seconds, patience=5
        )
        helpers = [asyncio.create_task(_greet(service, settings, url, world))]
        if world.sender is not None:
            helpers.append(asyncio.create_task(world.sender.run()))
        try:
            servings = [service] if world.node is None else [service, world.node]
            await serve_all(servings, in_haste=True)
        finally:
            for helper in helpers:
                helper.cancel()
                with suppress(asyncio.CancelledError):
                    await helper


def _read_settings(options: dict[str, str], config: Path | None) -> Settings:
    return read_settings(
        os.environ, config, options=options, defaults=DEVELOPMENT, judge_secrets=False
    )


def _open_sockets(settings: Settings) -> tuple[socket.socket, socket.socket | None]:
    """Where the service listens and where its chain does, if it brings one."""
    server = settings.server
    listener = listen(server.host, server.port)
    if not is_own(settings):
        return listener, None
    # Wherever the service listens, it looks for its chain on this machine.
    host = EVERYWHERE if server.host == EVERYWHERE else "127.0.0.1"
    return listener, listen(host, settings.development.rpc_port)


async def _check_chain(adapters: Adapters) -> None:
    try:
        await check_chain(adapters.marketplace)
    except BaseException:
        await adapters.close()
        raise


async def _greet(service: HttpServer, settings: Settings, url: str, world: World) -> None:
    while not service.started:  # noqa: ASYNC110 - the server has no event for it
        await asyncio.sleep(READY_POLL)
    print_welcome(url, world.url, settings.chain, world.accounts, settings.storage.data_dir)
