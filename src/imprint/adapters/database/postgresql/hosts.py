"""Connections to a cluster: the URL may name several hosts, of which one accepts writes."""

import asyncio
from contextlib import suppress
from typing import Any
from urllib.parse import parse_qs, unquote, urlsplit

import asyncpg
from asyncpg.connect_utils import SessionAttribute
from asyncpg.connection import Connection

DEFAULT_PORT = 5432


async def connect_any(url: str, seconds: float, **options: Any) -> Any:
    """Connect to the host that accepts writes. All hosts of the URL are tried at the same time.

    asyncpg tries one host after the other within a single time limit, so that a host that does not
    respond keeps it from the next one.
    """
    options["target_session_attrs"] = SessionAttribute.read_write
    hosts = hosts_of(url)
    if len(hosts) < 2:
        return await asyncpg.connect(url, timeout=seconds, **options)
    tries = [
        asyncio.create_task(asyncpg.connect(url, host=host, port=port, timeout=seconds, **options))
        for host, port in hosts
    ]
    found: Connection | None = None
    errors: list[BaseException] = []
    try:
        for each in asyncio.as_completed(tries):
            try:
                found = await each
                return found
            except (asyncpg.PostgresError, asyncpg.InternalClientError, OSError) as error:
                errors.append(error)
        # That a host is a standby says less than why another one is not reached.
        raise next((each for each in errors if not _is_standby(each)), errors[0])
    finally:
        for each in tries:
            each.cancel()
        for late in await asyncio.gather(*tries, return_exceptions=True):
            if isinstance(late, Connection) and late is not found:
                late.terminate()


def _is_standby(error: BaseException) -> bool:
    return isinstance(error, asyncpg.TargetServerAttributeNotMatched)


def hosts_of(url: str) -> list[tuple[str, int]]:
    """Return the hosts that a URL names, with their ports; a socket folder counts as a host.

    >>> hosts_of("postgresql://user:secret@a,[::1]:5433/imprint")
    [('a', 5432), ('::1', 5433)]
    >>> hosts_of("postgresql:///imprint?host=/run/postgresql,b&port=5433")
    [('/run/postgresql', 5433), ('b', 5433)]
    """
    parts = urlsplit(url)
    query = parse_qs(parts.query)
    named = unquote(parts.netloc.rpartition("@")[2]) or query.get("host", [""])[-1]
    ports = query.get("port", [""])[-1].split(",")
    hosts = []
    for number, text in enumerate(filter(None, named.split(","))):
        host, port = text, ports[min(number, len(ports) - 1)]
        if text.startswith("["):
            host, _, rest = text[1:].partition("]")
            port = rest.removeprefix(":") or port
        elif not text.startswith("/"):
            host, _, given = text.partition(":")
            port = given or port
        with suppress(ValueError):
            hosts.append((host, int(port or DEFAULT_PORT)))
    return hosts
