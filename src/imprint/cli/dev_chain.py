"""Worlds: the chain that a development service lives on, its own or somebody else's."""

import secrets
import socket
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass

from imprint.bootstrap import CannotStart
from imprint.devchain.chain import Chain
from imprint.devchain.deployment import DeploymentImpossible, deploy_marketplace
from imprint.devchain.journal import JournalDamaged, JournalInUse
from imprint.devchain.rpc import rpc_app
from imprint.devchain.webhooks import Destination, Provider, Sender
from imprint.domain.addresses import checksum_address
from imprint.server.http import HttpServer
from imprint.settings import Settings


@dataclass(frozen=True, slots=True)
class World:
    """Where the chain is reached, who has money on it, and what runs it, if that is ours."""

    url: str
    accounts: Sequence[str] = ()
    node: HttpServer | None = None
    sender: Sender | None = None


def is_own(settings: Settings) -> bool:
    """Whether the node that the settings name is the one that `imprint dev` brings."""
    own = f"http://127.0.0.1:{settings.development.rpc_port}"
    return [each.reveal() for each in settings.chain.rpc_urls] == [own]


@contextmanager
def open_world(settings: Settings, listener: socket.socket | None, url: str) -> Iterator[World]:
    """The world of these settings; with a listener the chain is our own and tells it at `url`.

    Raises `CannotStart` if there cannot be such a chain.
    """
    node = settings.chain.rpc_urls[0].reveal()
    if listener is None:
        yield World(node)
        return
    chain = _open_chain(settings)
    try:
        yield World(
            node,
            chain.wallet.addresses,
            HttpServer(rpc_app(chain), listener, patience=1),
            _build_sender(chain, settings, url),
        )
    finally:
        chain.close()


def _open_chain(settings: Settings) -> Chain:
    journal = settings.storage.data_dir / "chain.jsonl"
    try:
        chain = Chain.open(journal, _seconds, settings.chain.id)
        deploy_marketplace(chain)
    except (DeploymentImpossible, JournalDamaged, JournalInUse, OSError) as error:
        raise CannotStart(f"The chain cannot be opened: {error}.") from error
    if not chain.account(settings.chain.marketplace).code:
        chain.close()
        raise CannotStart(
            f"There is no contract at IMPRINT_MARKETPLACE_ADDRESS ({settings.chain.marketplace})."
        )
    return chain


def _build_sender(chain: Chain, settings: Settings, url: str) -> Sender:
    hooks = settings.webhooks
    known = ((Provider.A, hooks.a_secret), (Provider.B, hooks.b_secret))
    destinations = [
        Destination(provider, f"{url}/webhook/provider-{provider.value}/publish", secret.reveal())
        for provider, secret in known
        if secret is not None
    ]
    return Sender(
        chain,
        checksum_address(settings.chain.marketplace),
        destinations,
        clock=_seconds,
        draw=secrets.token_bytes,
    )


def _seconds() -> int:
    return int(time.time())
