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

from imprint.bootstrap import (
    OpenCatalog,
    build_service,
    build_starting_service,
    open_when_reachable,
)
from imprint.bootstrap.installation_check import log_findings
from imprint.cli.errors import FAILED, report_cannot_start, reporting_errors
from imprint.cli.installation import (
    config_option,
    configure_service_logging,
    connection_limits,
    open_checked_adapters,
)
from imprint.cli.start_line import describe_start
from imprint.domain.errors import CannotStart, Unavailable
from imprint.server.http import HttpServer, NotStarted, serve_all
from imprint.server.listeners import listen
from imprint.server.supervisor import Link, Supervisor
from imprint.settings import Settings, read_settings

log = logging.getLogger(__name__)

SILENT_SECONDS = 10.0
"""How long new connections wait for a slow start before they are told that the service starts."""

STOP_MARGIN = 30.0
"""Seconds that a worker may take to stop beyond `IMPRINT_SHUTDOWN_SECONDS` before it is killed."""

_ONE_WORKER = "SIGHUP is ignored: there is one worker, and no supervisor to replace it"


@click.command()
@config_option
@click.option("--host", help="The address to listen on.")
@click.option("--port", help="The port to listen on.")
def serve(config: Path | None, host: str | None, port: str | None) -> None:
    """Run the service.

    Its settings come from the environment and from a TOML file.
    """
    with reporting_errors(starts=True):
        options = {"IMPRINT_HOST": host, "IMPRINT_PORT": port}
        settings = read_settings(os.environ, config, options=options)
        configure_service_logging(settings)
        sockets = _open_sockets(settings)
        log.info("Imprint starts", extra=describe_start(settings))
        workers = settings.server.workers
        if workers == 1:
            uvloop.run(_serve_alone(settings, sockets))
        else:
            work = partial(_run_worker, settings, sockets)
            stop_seconds = settings.limits.shutdown_seconds + STOP_MARGIN
            # Metrics are served until their worker has stopped serving.
            listeners = [sockets.service]
            sys.exit(Supervisor(workers, work, listeners, stop_seconds=stop_seconds).run())


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
    try:
        await _serve(settings, sockets, 0, None)
    except NotStarted:
        sys.exit(FAILED)


def _run_worker(settings: Settings, sockets: _Sockets, index: int, link: Link) -> int:
    try:
        uvloop.run(_serve(settings, sockets, index, link))
    except CannotStart as error:
        return report_cannot_start(error)
    except NotStarted:
        return FAILED
    return 0


async def _serve(settings: Settings, sockets: _Sockets, index: int, link: Link | None) -> None:
    limits = settings.limits
    starting = build_starting_service(settings)
    service = HttpServer(
        starting,
        sockets.service,
        limits=connection_limits(settings),
        keep_alive=limits.keep_alive_seconds,
        shutdown_timeout=limits.shutdown_seconds,
        has_lifespan=False,
        is_shared=link is not None,
    )
    metrics = [
        HttpServer(
            make_asgi_app(), listener, keep_alive=0, has_lifespan=False, is_shared=link is not None
        )
        for listener in sockets.metrics[index : index + 1]
    ]
    waits = asyncio.Event()
    reports: list[asyncio.Task[None]] = []

    def wait_for(missing: Unavailable) -> None:
        starting.wait_for(missing)
        waits.set()

    async def start() -> None:
        attempt = partial(open_checked_adapters, settings, OpenCatalog())
        adapters = await open_when_reachable(attempt, wait_for)
        await service.replace_app(build_service(settings, adapters))
        if index == 0:
            # One worker reports for all, and nobody waits for it.
            reports.append(asyncio.create_task(log_findings(settings, adapters)))
        # Everything loaded by now stays until the end; the garbage collector need not scan it.
        gc.collect()
        gc.freeze()

    patience = asyncio.get_running_loop().call_later(SILENT_SECONDS, waits.set)
    await serve_all(
        [service, *metrics],
        start=start(),
        # While others serve, connections are for them.
        may_serve=None if link is not None and link.has_peers else waits,
        on_ready=link.report_ready if link is not None else patience.cancel,
    )
