"""The installation that a command works on: its settings, its logs and its adapters."""

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
"""The option of every command that reads settings."""


@dataclass(frozen=True, slots=True)
class Installation:
    """The settings of an installation and the adapters that they name."""

    settings: Settings
    adapters: Adapters


@asynccontextmanager
async def open_installation(
    config: Path | None, access: Access, *, verify: bool = True
) -> AsyncIterator[Installation]:
    """Open the installation for a command that does not serve; the service may keep running.

    Only warnings are logged. The adapters are closed at the end. Raises `CannotStart` for a content
    store of another installation, unless `verify` is False, and `NeedsUpgrade` for an older schema.
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
    """Configure logging as the settings say, with request ids; `warn` about the settings first."""
    server = settings.server
    configure_logging(server.log_level, server.log_format, settings.secrets, request_id.get)
    for warning in settings.warnings if warn else ():
        log.warning("%s", warning)


async def verify_installation(adapters: Adapters, *, mark: bool = True) -> None:
    """Raise `CannotStart` if the documents are another installation's; `mark` those of nobody.

    An unreachable store is not an error: the service verifies it later.
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
    """Open the adapters of a service, and check the owner of the documents, the master key and the
    chain.

    Raises `CannotStart` if the documents belong to another installation, if the master key or the
    chain is wrong, if the start block is wrong, and as `open_adapters` does, which gets `left`.
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
    """The limits on connections that the settings and this process allow."""
    limits = settings.limits
    per_address = limits.connections_per_address if limits.rate_limits else limits.connections
    return ConnectionLimits.within(
        raise_file_limit() - settings.storage.connections,
        connections=limits.connections,
        per_address=per_address,
        proxies=settings.server.trusted_proxies,
        write_seconds=limits.write_seconds,
    )
