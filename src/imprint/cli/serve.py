"""`imprint serve`: a supervisor, and the workers it replaces on SIGHUP."""

import asyncio
import ctypes
import gc
import logging
import os
import socket
import sys
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path

import click
import uvloop

from imprint import __version__
from imprint.bootstrap import (
    Adapters,
    OpenDatabase,
    build_service,
    build_starting_service,
    open_when_reachable,
)
from imprint.bootstrap.adapters import describe_database, tracing
from imprint.bootstrap.archives import describe_store
from imprint.bootstrap.installation_check import log_findings
from imprint.cli.errors import FAILED, report_cannot_start, reporting_errors
from imprint.cli.installation import (
    config_option,
    configure_service_logging,
    connection_limits,
    open_checked_adapters,
)
from imprint.domain.errors import CannotStart, Unavailable
from imprint.domain.formats.addresses import checksum_address
from imprint.logs import writing_in_thread
from imprint.server.http import HttpServer, NotStarted, serve_all
from imprint.server.link import Link
from imprint.server.listeners import listen
from imprint.server.supervisor import Plan, ReloadRefused, Supervisor
from imprint.settings import (
    Settings,
    SettingsProblems,
    SqliteDatabase,
    find_changes,
    read_settings,
)

log = logging.getLogger(__name__)

SILENT_SECONDS = 10.0
"""How long new connections wait during a slow start before they are refused."""

STOP_MARGIN = 30.0
"""Seconds after `IMPRINT_SHUTDOWN_SECONDS` at which a worker that has not stopped is killed."""

ARENAS = 2
"""Maximum number of memory arenas of a process."""

_M_ARENA_MAX = -8
"""The parameter of glibc's `mallopt` that limits the arenas."""

LASTING = ("IMPRINT_DATA_DIR", "IMPRINT_CONTENT_STORE")
"""Settings that a reload cannot change, because old and new workers would write to different
stores."""


@click.command()
@config_option
@click.option("--host", help="The address to listen on.")
@click.option("--port", help="The port to listen on.")
def serve(config: Path | None, host: str | None, port: str | None) -> None:
    """Run the service.

    Its settings come from the environment and from a TOML file.
    """
    with reporting_errors(starts=True):
        deployment = _Deployment(config, {"IMPRINT_HOST": host, "IMPRINT_PORT": port})
        plan = deployment.plan()
        limit_arenas()
        # Everything loaded so far stays until the end: the garbage collector need not scan it, and
        # workers keep sharing its memory.
        gc.collect()
        gc.freeze()
        sys.exit(Supervisor(plan, deployment.plan_anew).run())


@dataclass(slots=True)
class _Deployment:
    """The settings and sockets of a service, from one reload to the next."""

    config: Path | None
    options: Mapping[str, str | None]
    _settings: Settings = field(init=False)
    _sockets: dict[tuple[str, int], socket.socket] = field(default_factory=dict)

    def plan(self) -> Plan:
        """The plan for starting a service. Raises `SettingsProblems` and `CannotStart`."""
        settings = self._settings = self._read_settings()
        configure_service_logging(settings)
        plan = self._plan(settings, ())
        log.info("Imprint starts", extra=describe_start(settings))
        return plan

    def plan_anew(self) -> Plan:
        """The plan for a reload, with settings and secrets read again. Raises `ReloadRefused`."""
        try:
            settings = self._read_settings()
        except SettingsProblems as error:
            raise ReloadRefused(error.problems) from error
        changes = find_changes(self._settings, settings)
        self._refuse_lasting(settings, changes)
        try:
            return self._plan(settings, changes)
        except CannotStart as error:
            raise ReloadRefused([f"{error} To listen there, restart the service."]) from error

    def _read_settings(self) -> Settings:
        return read_settings(os.environ, self.config, options=self.options)

    def _refuse_lasting(self, settings: Settings, changes: tuple[str, ...]) -> None:
        refused = [name for name in LASTING if name in changes]
        old, new = self._settings.storage.database, settings.storage.database
        # Another password or host may lead to the same records; another file never does.
        if old != new and (type(old) is not type(new) or isinstance(new, SqliteDatabase)):
            refused.append("IMPRINT_DATABASE_URL")
        if refused:
            raise ReloadRefused(
                [f"{name} has changed. Restart the service to apply it." for name in refused]
            )

    def _plan(self, settings: Settings, changes: tuple[str, ...]) -> Plan:
        server = settings.server
        service, metrics = self._open_sockets(server.host, server.port, server.metrics_port)

        def adopt() -> None:
            self._settings = settings
            configure_service_logging(settings)

        return Plan(
            server.workers,
            partial(run_worker, settings, service),
            (service,),
            metrics,
            settings.limits.shutdown_seconds + STOP_MARGIN,
            changes,
            adopt,
        )

    def _open_sockets(
        self, host: str, port: int, metrics_port: int
    ) -> tuple[socket.socket, socket.socket | None]:
        """The sockets of the service and its metrics. Sockets that are already open are kept.

        Raises `CannotStart` after closing the sockets that this call opened.
        """
        self._sockets = {place: each for place, each in self._sockets.items() if each.fileno() >= 0}
        before = dict(self._sockets)
        try:
            service = self._listen(host, port)
            return service, self._listen(host, metrics_port) if metrics_port else None
        except CannotStart:
            for each in {*self._sockets.values()} - {*before.values()}:
                each.close()
            raise

    def _listen(self, host: str, port: int) -> socket.socket:
        if (host, port) not in self._sockets:
            self._sockets[host, port] = listen(host, port)
        return self._sockets[host, port]


def run_worker(
    settings: Settings, listener: socket.socket, place: int, link: Link | None = None
) -> int:
    """Serve until a signal stops this process, and return its exit status."""
    configure_service_logging(settings, warn=False)
    pin_worker(settings.server.worker_cpus, place)
    try:
        with writing_in_thread(), tracing(settings):
            uvloop.run(_serve(settings, listener, place, link))
    except CannotStart as error:
        if link is not None:
            link.report_failure(str(error))
        return report_cannot_start(error)
    except NotStarted:
        return FAILED
    return 0


def limit_arenas() -> None:
    """Let all threads share a few memory arenas, unless MALLOC_ARENA_MAX is set.

    By default, glibc gives nearly every thread an arena of its own, which keeps the memory that its
    thread once needed. Other C libraries have no arenas.
    """
    if "MALLOC_ARENA_MAX" in os.environ:
        return
    with suppress(AttributeError):
        ctypes.CDLL(None).mallopt(_M_ARENA_MAX, ARENAS)


def pin_worker(cpus: Sequence[int], place: int) -> None:
    """Pin this process to the CPU of its slot, if CPUs are named and available."""
    if not cpus:
        return
    cpu = cpus[place % len(cpus)]
    try:
        os.sched_setaffinity(0, {cpu})
    except OSError as error:
        # The settings were right when they were read; a container can lose a CPU later.
        log.warning("the worker is not pinned", extra={"cpu": cpu, "reason": error.strerror})


async def _serve(
    settings: Settings, listener: socket.socket, place: int, link: Link | None
) -> None:
    limits = settings.limits
    starting = build_starting_service(settings)
    service = HttpServer(
        starting,
        listener,
        limits=connection_limits(settings),
        keep_alive=limits.keep_alive_seconds,
        shutdown_timeout=limits.shutdown_seconds,
        has_lifespan=False,
        is_shared=link is not None,
        others_serve=lambda: link is not None and link.is_replaced,
    )
    waits = asyncio.Event()
    opened: list[Adapters] = []
    reports: list[asyncio.Task[None]] = []

    def wait_for(missing: Unavailable) -> None:
        starting.wait_for(missing)
        if link is not None and not waits.is_set():
            link.report_waiting()
        waits.set()

    async def start() -> None:
        attempt = partial(open_checked_adapters, settings, OpenDatabase())
        adapters = await open_when_reachable(attempt, wait_for)
        measures = place == 0 and settings.server.metrics_port != 0
        await service.replace_app(build_service(settings, adapters, measures=measures))
        opened.append(adapters)
        # Everything loaded so far stays until the end: the garbage collector need not scan it.
        gc.collect()
        gc.freeze()
        if link is not None:
            await link.wait_for_permission()

    def note_ready() -> None:
        if link is not None:
            link.report_ready()
        else:
            patience.cancel()
        if place == 0 and opened:
            # Only one worker runs the checks, and no start waits for them.
            reports.append(asyncio.create_task(log_findings(settings, opened[0])))

    patience = asyncio.get_running_loop().call_later(SILENT_SECONDS, waits.set)
    await serve_all(
        [service],
        start=start(),
        # A worker need not accept connections before it is ready if others serve.
        may_serve=waits if link is None or link.serves_early else None,
        on_ready=note_ready,
    )


def describe_start(settings: Settings) -> dict[str, object]:
    """Fields of the first line that `imprint serve` logs."""
    server, storage, chain = settings.server, settings.storage, settings.chain
    host = f"[{server.host}]" if ":" in server.host else server.host
    return {
        "version": __version__,
        "address": f"{host}:{server.port}",
        "data": str(storage.data_dir.absolute()),
        "database": describe_database(storage.database),
        "store": describe_store(settings),
        "chain": chain.id,
        "marketplace": checksum_address(chain.marketplace),
        "workers": server.workers,
    }
