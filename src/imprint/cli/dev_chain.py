"""The chain of `imprint dev`: its own in this process, or the configured node."""

import secrets
import socket
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass

from starlette.types import ASGIApp

from imprint.devchain.chain import Chain
from imprint.devchain.deployment import (
    DeploymentImpossible,
    deploy_adapter,
    deploy_marketplace,
    locate_marketplace,
)
from imprint.devchain.journal import JournalDamaged, JournalInUse
from imprint.devchain.rpc import is_loopback, rpc_app
from imprint.devchain.webhooks import Destination, Provider, Sender
from imprint.domain.errors import CannotStart
from imprint.domain.formats.addresses import checksum_address
from imprint.server.http import HttpServer
from imprint.settings import Settings

__all__ = ["DevChain", "is_loopback", "open_dev_chain", "runs_own_chain"]


@dataclass(frozen=True, slots=True)
class DevChain:
    """Where the chain is reached. Our own chain also has funded accounts, a node and a webhook
    sender, and our own marketplace has a purchase adapter."""

    url: str
    adapter: str | None = None
    accounts: Sequence[str] = ()
    node: HttpServer | None = None
    sender: Sender | None = None


def runs_own_chain(settings: Settings) -> bool:
    """Whether the configured node is the one that `imprint dev` runs."""
    own = f"http://127.0.0.1:{settings.development.rpc_port}"
    return [each.reveal() for each in settings.chain.rpc_urls] == [own]


@contextmanager
def open_dev_chain(
    settings: Settings, listener: socket.socket | None, service_url: str
) -> Iterator[DevChain]:
    """Open our own chain on `listener`, or without a listener use the configured node.

    Our own chain sends its webhooks to `service_url`. Raises `CannotStart` if it cannot be opened.
    """
    url = settings.chain.rpc_urls[0].reveal()
    if listener is None:
        yield DevChain(url)
        return
    chain = _open_chain(settings)
    try:
        yield DevChain(
            url,
            _deploy_adapter(chain, settings),
            chain.wallet.addresses,
            HttpServer(_build_node(chain, settings), listener, shutdown_timeout=1),
            _build_sender(chain, settings, service_url),
        )
    finally:
        chain.close()


def _open_chain(settings: Settings) -> Chain:
    journal = settings.storage.data_dir / "chain.jsonl"
    try:
        chain = Chain.open(journal, _unix_time, settings.chain.id)
        deploy_marketplace(chain)
    except (DeploymentImpossible, JournalDamaged, JournalInUse, OSError) as error:
        raise CannotStart(f"The chain cannot be opened: {error}.") from error
    if not chain.account(settings.chain.marketplace).code:
        chain.close()
        raise CannotStart(
            f"There is no contract at IMPRINT_MARKETPLACE_ADDRESS ({settings.chain.marketplace})."
        )
    return chain


def _deploy_adapter(chain: Chain, settings: Settings) -> str | None:
    own = settings.chain.marketplace == locate_marketplace(chain).lower()
    return deploy_adapter(chain) if own and settings.chain.adapter is None else None


def _build_node(chain: Chain, settings: Settings) -> ASGIApp:
    # `imprint dev` allows all origins by default, but only for the service. Its own pages call the
    # chain, too.
    origins = [each for each in settings.server.cors_origins if each != "*"]
    origins.append(settings.server.public_url)
    return rpc_app(chain, hosts=[settings.server.host], origins=origins)


def _build_sender(chain: Chain, settings: Settings, service_url: str) -> Sender:
    hooks = settings.webhooks
    destinations = [
        Destination(
            provider,
            f"{service_url}/webhook/provider-{provider.value}/publish",
            secret.reveal(),
        )
        for provider, secret in ((Provider.A, hooks.a_secret), (Provider.B, hooks.b_secret))
        if secret is not None
    ]
    return Sender(
        chain,
        checksum_address(settings.chain.marketplace),
        destinations,
        clock=_unix_time,
        draw=secrets.token_bytes,
    )


def _unix_time() -> int:
    return int(time.time())
