"""The installation that a command works on: settings, logs and adapters."""

import logging
import os
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from functools import partial
from pathlib import Path

import click

from imprint.bootstrap import (
    Adapters,
    OpenDatabase,
    check_chain,
    in_daemon_thread,
    open_adapters,
)
from imprint.bootstrap.installation_check import check_start_block
from imprint.domain.errors import Unavailable
from imprint.domain.installation import Access
from imprint.logs import configure_logging
from imprint.server.connection_limits import ConnectionLimits, raise_file_limit
from imprint.services.installation.master_keys import MasterKeys
from imprint.settings import Settings, read_settings
from imprint.web.http.middleware import request_id

log = logging.getLogger(__name__)

config_option = click.option(
    "--config", type=click.Path(path_type=Path), help="A TOML file with settings."
)
"""The option shared by all commands that read settings."""


@dataclass(frozen=True, slots=True)
class Installation:
    """An installation's settings and the adapters they name."""

    settings: Settings
    adapters: Adapters


@asynccontextmanager
async def open_installation(
    config: Path | None, access: Access, *, verify: bool = True
) -> AsyncIterator[Installation]:
    """Open the installation for a command that does not serve. The service may keep running.

    Only warnings are logged, and the adapters are closed at the end. Raises `CannotStart` if the
    content store belongs to another installation, unless `verify` is False, and `NeedsUpgrade` for
    an older schema.
    """
    settings = read_settings(os.environ, config)
    configure_logging("warning", "text", settings.secrets)
    adapters = open_adapters(settings, access=access)
    try:
        if verify:
            await verify_installation(adapters, mark=access is not Access.READ)
        yield Installation(settings, adapters)
    finally:
        await adapters.close()


def configure_service_logging(settings: Settings, *, warn: bool = True) -> None:
    """Configure logging from the settings, with request ids. With `warn`, log doubtful settings
    first."""
    server = settings.server
    configure_logging(server.log_level, server.log_format, settings.secrets, request_id.get)
    for warning in settings.warnings if warn else ():
        log.warning("%s", warning)


async def verify_installation(adapters: Adapters, *, mark: bool = True) -> None:
    """Raise `CannotStart` if the documents belong to another installation. With `mark`, claim
    unclaimed documents.

    An unreachable store is not an error, because the service verifies it later.
    """
    try:
        await adapters.claim.verify(mark=mark)
    except Unavailable as problem:
        log.warning("whose documents these are is not known yet", extra={"code": problem.code})
    else:
        log.info("installation", extra={"installation": adapters.stores.installation.identity.id})


async def open_checked_adapters(
    settings: Settings, left: OpenDatabase | None = None, *, chain: bool = True
) -> Adapters:
    """Open a service's adapters, and check the owner of its documents, the master key and the
    chain.

    Raises `CannotStart` if the documents belong to another installation, or if the master key, the
    chain or the start block is wrong. `left` is passed to `open_adapters`, whose errors are raised,
    too.
    """
    adapters = await in_daemon_thread(partial(open_adapters, settings, left=left))
    try:
        await verify_installation(adapters)
        await MasterKeys(adapters.stores.keys, adapters.cipher).verify()
        if chain and await check_chain(adapters.marketplace):
            await check_start_block(settings, adapters)
    except BaseException:
        await adapters.close()
        raise
    return adapters


def connection_limits(settings: Settings) -> ConnectionLimits:
    """Connection limits that the settings and this process allow."""
    limits = settings.limits
    per_address = limits.connections_per_address if limits.rate_limits else limits.connections
    return ConnectionLimits.within(
        raise_file_limit() - settings.storage.connections,
        connections=limits.connections,
        per_address=per_address,
        proxies=settings.server.trusted_proxies,
        write_seconds=limits.write_seconds,
    )
