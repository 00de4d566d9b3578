"""Opening: settings and adapters for commands that work beside a service, or without one."""

import logging
import os
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path

import click

from imprint.bootstrap import Adapters, open_adapters
from imprint.logs import set_up_logs
from imprint.settings import Settings, read_settings

log = logging.getLogger(__name__)

config_option = click.option(
    "--config", type=click.Path(path_type=Path), help="A TOML file with settings."
)
"""The option of every command that reads settings."""


@dataclass(frozen=True, slots=True)
class Opened:
    """What such a command works with."""

    settings: Settings
    adapters: Adapters


def log_warnings(settings: Settings) -> None:
    """Log what is doubtful about the settings."""
    for warning in settings.warnings:
        log.warning("%s", warning)


@asynccontextmanager
async def open_offline(config: Path | None) -> AsyncIterator[Opened]:
    """The adapters that the settings name, closed at the end; warnings go to standard error."""
    settings = read_settings(os.environ, config)
    set_up_logs("warning", "text", settings.secrets)
    adapters = open_adapters(settings)
    try:
        yield Opened(settings, adapters)
    finally:
        await adapters.close()
