"""`imprint dev` and `imprint site preview`: the service with its own chain, and without one."""

import asyncio
import os
import socket
import sys
import tempfile
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from types import ModuleType
from typing import TYPE_CHECKING

import click
import uvloop
from rich.console import Console, Group
from rich.panel import Panel
from rich.table import Table
from rich.text import Text
from starlette.types import ASGIApp, Message, Scope

from imprint.bootstrap import build_service
from imprint.bootstrap.preview import open_preview, preview_settings
from imprint.cli.errors import FAILED, reporting_errors
from imprint.cli.installation import (
    config_option,
    configure_service_logging,
    connection_limits,
    open_checked_adapters,
)
from imprint.domain.errors import CannotStart
from imprint.domain.formats.addresses import checksum_address, parse_address
from imprint.logs import configure_logging
from imprint.server.http import HttpServer, serve_all
from imprint.server.listeners import listen
from imprint.settings import DEVELOPMENT, Settings, read_settings

if TYPE_CHECKING:
    from imprint.cli.dev_chain import DevChain

WITHOUT_DEV_CHAIN = (3, 13)
"""The first Python version without a wheel for pyrevm, which runs the contract."""

EVERY_ADDRESS = "0.0.0.0"  # noqa: S104 - compared with, never listened on without being asked
"""The host that binds to every address."""

STARTED_POLL = 0.02
"""Seconds between checks whether the service has started."""

SHOWN_ACCOUNTS = 3
"""Number of development accounts listed in the welcome message."""

PUBLIC_WARNING = (
    "Warning: imprint dev listens on {host}. Its secrets and the keys of its accounts are "
    "public: anybody who can reach this address can act as any account. Use --host 127.0.0.1 "
    "unless your network is trusted."
)
"""Warning printed if other machines may reach the service."""

_CLIENT_HOSTS = {EVERY_ADDRESS: "127.0.0.1", "::": "[::1]", "::1": "[::1]"}
"""Hosts to listen on, and how a URL names them where that differs."""


@click.command()
@click.option("--host", help="The address to listen on (127.0.0.1).")
@click.option("--port", help="The port of the service (8000).")
@click.option("--rpc-port", help="The port of the chain's JSON-RPC (8545).")
@click.option("--data-dir", help="The folder for all stored data (./data).")
@config_option
def dev(
    host: str | None,
    port: str | None,
    rpc_port: str | None,
    data_dir: str | None,
    config: Path | None,
) -> None:
    """Run the service with its own chain, to try it out.

    The chain has a marketplace and funded accounts, and its blocks arrive as signed webhooks. All
    data is stored in the data folder.
    """
    options = {
        "IMPRINT_HOST": host,
        "IMPRINT_PORT": port,
        "IMPRINT_DEV_RPC_PORT": rpc_port,
        "IMPRINT_DATA_DIR": data_dir,
    }
    with reporting_errors(starts=True):
        uvloop.run(_run(import_dev_chain(), options, config))


async def _run(dev_chain: ModuleType, options: dict[str, str | None], config: Path | None) -> None:
    settings = _read_settings(options, config)
    listener, node_listener = _open_sockets(settings, dev_chain.runs_own_chain(settings))
    if 0 in (settings.server.port, settings.development.rpc_port):
        # Other settings include the ports, so replace each 0 with the free port that was found.
        found = {"IMPRINT_PORT": listener, "IMPRINT_DEV_RPC_PORT": node_listener}
        ports = {name: str(each.getsockname()[1]) for name, each in found.items() if each}
        options = {**options, **ports}
        settings = _read_settings(options, config)
    configure_service_logging(settings)
    host = settings.server.host
    if not dev_chain.is_loopback(host):
        click.secho(PUBLIC_WARNING.format(host=host), fg="yellow", err=True)
    url = f"http://{_CLIENT_HOSTS.get(host, host)}:{settings.server.port}"
    with dev_chain.open_dev_chain(settings, node_listener, url) as chain:
        if chain.adapter is not None:
            settings = _read_settings({**options, "IMPRINT_ADAPTER_ADDRESS": chain.adapter}, config)
        await _serve(settings, chain, listener, url)


def _read_settings(options: dict[str, str | None], config: Path | None) -> Settings:
    return read_settings(
        os.environ, config, options=options, defaults=DEVELOPMENT, check_secrets=False
    )


def _open_sockets(
    settings: Settings, owns_chain: bool
) -> tuple[socket.socket, socket.socket | None]:
    """The sockets of the service and of its chain, if it runs its own."""
    server = settings.server
    listener = listen(server.host, server.port)
    if not owns_chain:
        return listener, None
    # The service reaches its chain at 127.0.0.1, whatever address it listens on itself.
    host = EVERY_ADDRESS if server.host == EVERY_ADDRESS else "127.0.0.1"
    return listener, listen(host, settings.development.rpc_port)


async def _serve(settings: Settings, chain: "DevChain", listener: socket.socket, url: str) -> None:
    # Our own chain responds only once the service does, so it is not checked here.
    adapters = await open_checked_adapters(settings, chain=chain.node is None)
    service = HttpServer(
        build_service(settings, adapters, chain.url),
        listener,
        limits=connection_limits(settings),
        keep_alive=settings.limits.keep_alive_seconds,
        shutdown_timeout=5,
    )
    tasks = [asyncio.create_task(_welcome(service, settings, chain, url))]
    if chain.sender is not None:
        tasks.append(asyncio.create_task(chain.sender.run()))
    try:
        servers = [service] if chain.node is None else [service, chain.node]
        await serve_all(servers, drain=False)
    finally:
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)


async def _welcome(service: HttpServer, settings: Settings, chain: "DevChain", url: str) -> None:
    while not service.started:  # noqa: ASYNC110 - the server has no event for it
        await asyncio.sleep(STARTED_POLL)
    tables: list[Table | str] = [_list_places(settings, chain, url), "", _list_steps(url)]
    if chain.accounts:
        tables[1:1] = ["", _list_accounts(chain)]
    console = Console(stderr=True)
    console.print(Panel(Group(*tables), title="Imprint is running", expand=False))
    for line in _invite(settings, chain, url):
        # Neither wrapped nor highlighted: terminals turn an address on one line into a link.
        console.print(line, soft_wrap=True, highlight=False)


def _invite(settings: Settings, chain: "DevChain", url: str) -> list[Text]:
    """The welcome message: what to try, and where. The address comes last, on its own line."""
    if not settings.site.enabled:
        return [Text.assemble("Open ", (f"{url}/docs", "bold cyan"))]
    steps = (
        *(["Fill it with sample posts from the account menu."] if chain.accounts else []),
        "Write and publish in the Studio.",
        "Buy as another account, and read.",
    )
    return [
        *(Text(f"  {number}. {step}") for number, step in enumerate(steps, 1)),
        Text.assemble("Open ", (url, "bold cyan")),
    ]


def _list_places(settings: Settings, chain: "DevChain", url: str) -> Table:
    places = Table.grid(padding=(0, 2))
    places.add_row("Service", url)
    places.add_row("Interface", f"{url}/docs")
    places.add_row("For clients", f"{url}/.well-known/imprint.json")
    places.add_row("Chain", f"{chain.url}  (id {settings.chain.id}, JSON-RPC)")
    places.add_row("Marketplace", checksum_address(settings.chain.marketplace))
    places.add_row("Data", str(settings.storage.data_dir.absolute()))
    return places


def _list_accounts(chain: "DevChain") -> Table:
    accounts = Table.grid(padding=(0, 2))
    for index, account in enumerate(chain.accounts[:SHOWN_ACCOUNTS]):
        accounts.add_row(f"Account {index}", checksum_address(parse_address(account)), "10 000 ETH")
    note = "test test … test junk: public keys, for development only"
    accounts.add_row("", Text(note, "dim"))
    return accounts


def _list_steps(url: str) -> Table:
    steps = Table.grid(padding=(0, 2))
    steps.add_row("All steps", Text("python examples/publish_a_post.py", "green"))
    steps.add_row("Newest posts", Text(f"curl {url}/posts", "green"))
    steps.add_row("Readiness", Text(f"curl {url}/readyz", "green"))
    steps.add_row("Stop", Text("Ctrl+C; the data stays", "dim"))
    return steps


@click.group()
def site() -> None:
    """Preview the site that the settings describe."""


@site.command()
@click.option("--port", type=click.IntRange(0, 65_535), default=8000, help="The port (8000).")
@click.option("--once", is_flag=True, help="Render the pages once, list them, and stop.")
@config_option
def preview(port: int, once: bool, config: Path | None) -> None:
    """Show the site with sample posts, without a chain.

    The command reads [publication] and listens on 127.0.0.1 only. It does not touch the
    installation, and removes its own data at the end. Start it again to see changed settings.
    """
    with reporting_errors(starts=True), tempfile.TemporaryDirectory() as folder:
        sys.exit(uvloop.run(_preview(Path(folder), port, once, config)))


async def _preview(folder: Path, port: int, once: bool, config: Path | None) -> int:
    listener = None if once else listen("127.0.0.1", port)
    port = port if listener is None else listener.getsockname()[1]
    settings = _read_settings({**preview_settings(folder, port)}, config)
    configure_logging("warning", "text", settings.secrets)
    async with open_preview(settings) as app:
        if listener is None:
            return await _render_once(app, settings)
        server = HttpServer(app, listener, shutdown_timeout=1)
        await serve_all([server], drain=False, on_ready=lambda: _say_where(settings))
    return 0


def _say_where(settings: Settings) -> None:
    click.echo(f"Sample posts under the name {settings.publication.name}; Ctrl+C stops.", err=True)
    click.echo(f"Open {settings.server.public_url}", err=True)


async def _render_once(app: ASGIApp, settings: Settings) -> int:
    """Render a page of every type, print its status, and return the exit status."""
    pages = ["/", "/about", *(f"/{page.name}" for page in settings.publication.pages), "/search"]
    statuses = {path: await _status_of(app, path) for path in dict.fromkeys(pages)}
    for path, status in statuses.items():
        click.echo(f"{status}  {path}")
    return 0 if set(statuses.values()) == {200} else FAILED


async def _status_of(app: ASGIApp, path: str) -> int:
    """Request a page from the app without a server, and return its HTTP status."""
    found: list[int] = []

    async def receive() -> Message:
        return {"type": "http.request", "body": b"", "more_body": False}

    async def send(message: Message) -> None:
        if message["type"] == "http.response.start":
            found.append(message["status"])

    scope: Scope = {
        "type": "http",
        "method": "GET",
        "path": path,
        "raw_path": path.encode(),
        "query_string": b"",
        "headers": [(b"accept", b"text/html")],
        "client": ("127.0.0.1", 0),
        "server": ("127.0.0.1", 80),
        "scheme": "http",
        "http_version": "1.1",
        "root_path": "",
    }
    await app(scope, receive, send)
    return found[0]


def import_with_extra(module: str, what: str, extra: str) -> ModuleType:
    """Import a module that needs an extra.

    Raises `CannotStart` if the extra is missing. The message says that `what` needs the extra.
    """
    try:
        return import_module(module)
    except ModuleNotFoundError as error:
        if (error.name or "").partition(".")[0] == "imprint":
            raise
        raise CannotStart.missing_extra(what, extra) from error


def import_dev_chain() -> ModuleType:
    """Import `cli.dev_chain`.

    Raises `CannotStart` if this Python version or installation does not support it.
    """
    if sys.version_info >= WITHOUT_DEV_CHAIN and find_spec("pyrevm") is None:
        raise CannotStart(
            "imprint dev needs pyrevm, which has no release for this version of Python: use "
            "Python 3.11 or 3.12."
        )
    return import_with_extra("imprint.cli.dev_chain", "imprint dev", "dev")
