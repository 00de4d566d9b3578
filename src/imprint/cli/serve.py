"""`imprint serve`: the service, in one process or in several workers."""

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

from imprint.bootstrap import build_service
from imprint.cli.errors import report_cannot_start, reporting_errors
from imprint.cli.installation import (
    config_option,
    configure_service_logging,
    connection_limits,
    open_checked_adapters,
)
from imprint.domain.errors import CannotStart
from imprint.server.http import HttpServer, listen, serve_all
from imprint.server.supervisor import Supervisor
from imprint.settings import Settings, read_settings

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
        settings = read_settings(os.environ, config, options=options)
        configure_service_logging(settings)
        sockets = _open_sockets(settings)
        workers = settings.server.workers
        if workers == 1:
            uvloop.run(_serve_alone(settings, sockets))
        else:
            sys.exit(Supervisor(workers, partial(_run_worker, settings, sockets)).run())


@dataclass(frozen=True, slots=True)
class _Sockets:
    """The socket that all workers share, and the metrics socket of each worker."""

    service: socket.socket
    metrics: list[socket.socket]


def _open_sockets(settings: Settings) -> _Sockets:
    server = settings.server
    service = listen(server.host, server.port)
    if server.metrics_port == 0:
        return _Sockets(service, [])
    ports = range(server.metrics_port, server.metrics_port + server.workers)
    return _Sockets(service, [listen(server.host, port) for port in ports])


async def _serve_alone(settings: Settings, sockets: _Sockets) -> None:
    # SIGHUP makes a supervisor replace its workers; unhandled, it would end this process.
    asyncio.get_running_loop().add_signal_handler(signal.SIGHUP, log.warning, _ONE_WORKER)
    await _serve(settings, sockets, 0)


def _run_worker(settings: Settings, sockets: _Sockets, index: int) -> int:
    try:
        uvloop.run(_serve(settings, sockets, index))
    except CannotStart as error:
        return report_cannot_start(error)
    return 0


async def _serve(settings: Settings, sockets: _Sockets, index: int) -> None:
    adapters = await open_checked_adapters(settings)
    limits = settings.limits
    service = HttpServer(
        build_service(settings, adapters),
        sockets.service,
        limits=connection_limits(settings),
        keep_alive=limits.keep_alive_seconds,
        shutdown_timeout=limits.shutdown_seconds,
    )
    metrics = [
        HttpServer(make_asgi_app(), listener, keep_alive=0, has_lifespan=False)
        for listener in sockets.metrics[index : index + 1]
    ]
    # Everything loaded by now stays until the end; the garbage collector need not scan it again.
    gc.collect()
    gc.freeze()
    await serve_all([service, *metrics])
