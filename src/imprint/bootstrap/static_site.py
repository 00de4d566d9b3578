"""Wires the export of the public site as static files."""

from collections.abc import Callable
from contextlib import AsyncExitStack
from dataclasses import replace
from datetime import UTC, datetime
from enum import StrEnum
from pathlib import Path

from imprint.adapters.archives.backup_files import BackupUnusable
from imprint.adapters.archives.site_folder import replace_site
from imprint.adapters.database.database import PinnedDatabase
from imprint.bootstrap import build_service
from imprint.bootstrap.adapters import Adapters
from imprint.bootstrap.stores import open_stores
from imprint.domain.errors import CannotStart
from imprint.domain.site import ABOUT
from imprint.ports import Progress
from imprint.services.tasks.leases import pause_collection
from imprint.settings import Settings
from imprint.web.app import CopiedFrom
from imprint.web.site.static_site import SiteCopy, StaticSite

_NO_YEAR = datetime(1970, 1, 1, tzinfo=UTC)
"""Fixed timestamp of every export, so that the same posts give the same bytes."""


class SiteFormat(StrEnum):
    """The formats in which a site can be exported."""

    HTML = "html"
    MARKDOWN = "markdown"


async def write_site(
    settings: Settings,
    adapters: Adapters,
    base: str,
    output: Path,
    site_format: SiteFormat,
    *,
    progress: Progress,
    report: Callable[[str], None],
) -> int:
    """Write the current state of the site into a folder, and return the number of posts.

    `base` is the URL, without a trailing slash, at which the site will be published. Raises
    `CannotStart` if the folder must not be replaced, and `NotExported` if a page cannot be read.
    """
    public = settings.server.public_url
    live = None if base == public else public
    names = (ABOUT, *(page.name for page in settings.publication.identity.pages))
    copy = SiteCopy(base, live, tuple(dict.fromkeys(names)))
    try:
        with replace_site(output, report) as folder:
            async with AsyncExitStack() as stack:
                # No document is deleted meanwhile, and records are read from a snapshot.
                await stack.enter_async_context(
                    pause_collection(adapters.stores.leases, "export-site", adapters.clock)
                )
                database = adapters.stores.database
                snapshot = await stack.enter_async_context(database.snapshot())
                stores = open_stores(PinnedDatabase(database, snapshot))
                app = build_service(
                    _copy_settings(settings, base),
                    replace(adapters, stores=stores, clock=lambda: _NO_YEAR),
                    copied=CopiedFrom(live),
                )
                is_markdown = site_format is SiteFormat.MARKDOWN
                site = StaticSite(app, stores.index_reader, copy, folder, is_markdown)
                return await site.write(progress)
    except BackupUnusable as error:
        raise CannotStart(str(error)) from error


def _copy_settings(settings: Settings, base: str) -> Settings:
    """The settings of a copy: the site at another URL, without limits, a hub or an operator."""
    return replace(
        settings,
        server=replace(settings.server, public_url=base, websub_hub=None),
        site=replace(settings.site, enabled=True, operator_secret=None),
        limits=replace(settings.limits, rate_limits=False),
    )
