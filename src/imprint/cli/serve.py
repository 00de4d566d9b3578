"""`imprint serve`: the service, from settings."""

import asyncio
import gc
import logging
import os
import signal
import socket
import sys
from dataclasses import dataclass
from functools import partial
from pathlib import Path

import click
import uvloop
from prometheus_client import make_asgi_app

from imprint.bootstrap import CannotStart, build_service, check_chain, open_adapters
from imprint.cli.errors import complain, reporting_errors
from imprint.cli.offline import config_option, log_warnings
from imprint.logs import set_up_logs
from imprint.server.http import HttpServer, listen, serve_all
from imprint.server.supervisor import Supervisor
from imprint.settings import Settings, read_settings
from imprint.web.middleware import request_id

log = logging.getLogger(__name__)

_ONE_WORKER = "SIGHUP is ignored: there is one worker, and no supervisor to replace it"


@click.command()
@config_option
@click.option("--host", help="The address to listen on.")
@click.option("--port", help="The port to listen on.")
def serve(config: Path | None, host: str | None, port: str | None) -> None:
    """Run the service from the settings in the environment and in a TOML file."""
    with reporting_errors():
        options = {"IMPRINT_HOST": host, "IMPRINT_PORT": port}
        given = {name: text for name, text in options.items() if text is not None}
        settings = read_settings(os.environ, config, options=given)
        server = settings.server
        set_up_logs(server.log_level, server.log_format, settings.secrets, request_id.get)
        log_warnings(settings)
        sockets = _open_sockets(settings)
        if server.workers == 1:
            uvloop.run(_serve_alone(settings, sockets))
        else:
            sys.exit(Supervisor(server.workers, partial(_work, settings, sockets)).run())


@dataclass(frozen=True, slots=True)
class _Sockets:
    """Where all workers listen together, and where each tells its measures."""

    service: socket.socket
    metrics: list[socket.socket]


def _open_sockets(settings: Settings) -> _Sockets:
    server = settings.server
    service = listen(server.host, server.port)
    if server.metrics_port == 0:
        return _Sockets(service, [])
    ports = range(server.metrics_port, server.metrics_port + server.workers)
    return _Sockets(service, [listen(server.host, port) for port in ports])


def _work(settings: Settings, sockets: _Sockets, place: int) -> int:
    try:
        uvloop.run(_serve(settings, sockets, place))
    except CannotStart as error:
        return complain(error)
    return 0


async def _serve_alone(settings: Settings, sockets: _Sockets) -> None:
    # SIGHUP asks for new workers; unheard, it would end the only one.
    asyncio.get_running_loop().add_signal_handler(signal.SIGHUP, log.warning, _ONE_WORKER)
    await _serve(settings, sockets, 0)


async def _serve(settings: Settings, sockets: _Sockets, place: int) -> None:
    adapters = open_adapters(settings)
    try:
        await check_chain(adapters.marketplace)
    except BaseException:
        await adapters.close()
        raise
    limits = settings.limits
    service = HttpServer(
        build_service(settings, adapters),
        sockets.service,
        keep_alive=limits.keep_alive_seconds,
        patience=limits.shutdown_seconds,
    )
    metrics = [
        HttpServer(make_asgi_app(), listener, keep_alive=0, has_lifespan=False)
        for listener in sockets.metrics[place : place + 1]
    ]
    # What is loaded by now stays for good, and need not be looked through for garbage ever again.
    gc.collect()
    gc.freeze()
    await serve_all([service, *metrics])
