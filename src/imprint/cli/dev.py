"""`imprint dev`: everything in one process, with no account anywhere."""

import asyncio
import os
import secrets
import socket
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass
from pathlib import Path

import click
import uvloop

from imprint.adapters.clock import SystemClock
from imprint.bootstrap import CannotStart, build_service, check_chain, open_parts
from imprint.cli.complaints import complaining
from imprint.cli.servers import listen, make_server, serve_all
from imprint.cli.welcome import print_welcome
from imprint.devchain.chain import Chain
from imprint.devchain.deliveries import Destination, Provider, Sender
from imprint.devchain.deployment import DeploymentImpossible, deploy_marketplace
from imprint.devchain.journal import JournalDamaged
from imprint.devchain.server import rpc_app
from imprint.logs import set_up_logs
from imprint.settings import DEVELOPMENT, Settings, read_settings
from imprint.web.edge import request_id


@dataclass(frozen=True, slots=True)
class _World:
    """The chain of a development service, and where it is reached."""

    chain: Chain
    marketplace: str
    listener: socket.socket
    url: str


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
