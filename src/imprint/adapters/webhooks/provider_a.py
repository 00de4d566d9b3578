"""Provider a: a notification for each block, shaped by a query, with its signature in one header.

The query is expected to select, for the marketplace's logs, `data`, `topics`, `index`,
`account.address`, `transaction.hash` and `transaction.status`, and of the block `hash` and
`number`. There is neither a time nor a nonce in the signature: a delivery that is sent again is
recognized by its events.
"""

from collections.abc import Iterator, Mapping, Sequence
from datetime import datetime
from typing import Any

from imprint.adapters.webhooks.logs import Marketplace, SentLog, read_json, read_list, sort_logs
from imprint.adapters.webhooks.signatures import WebhookSecrets, check_spelling
from imprint.domain.addresses import Address
from imprint.domain.errors import Code, Refusal
from imprint.domain.posts import Delivery

MAX_BODY = 16 * 1024 * 1024
"""How many bytes a delivery may have."""


class ProviderA:
    """A `WebhookProvider` for provider a."""

    name = "provider-a"

    def __init__(
        self,
        secrets: Sequence[str],
        chain_id: int,
        marketplace: Address,
        *,
        max_body: int = MAX_BODY,
    ) -> None:
        self._secrets = WebhookSecrets(secrets)
        self._ours = Marketplace(chain_id, marketplace)
        self._max_body = max_body

    def check_headers(self, headers: Mapping[str, str], now: datetime) -> None:
        """Refuse what its headers give away."""
        if headers.get("content-encoding", "identity").strip().lower() not in ("", "identity"):
            raise Refusal(Code.UNSUPPORTED_MEDIA_TYPE, "The delivery must not be compressed.")
        check_spelling(headers.get("x-alchemy-signature", ""))

    def open(self, headers: Mapping[str, str], body: bytes, now: datetime) -> Delivery:
        """Verify the raw body, then read the logs of its block."""
        if len(body) > self._max_body:
            raise Refusal(Code.TOO_LARGE, "The delivery is too large.")
        self.check_headers(headers, now)
        self._secrets.verify(headers.get("x-alchemy-signature", ""), [body])
        try:
            sent = read_json(body)
        except ValueError:
            return Delivery(self.name, None, ignored=1)
        found = sort_logs(_find_logs(sent), self._ours)
        return Delivery(self.name, None, found.events, found.dead_letters, found.ignored)


def _find_logs(sent: Any) -> Iterator[SentLog]:
    event = _member(sent, "event")
    block = _member(_member(event, "data"), "block")
    about = (event, block)
    networks = tuple(n for n in (_member(one, "network") for one in about) if n is not None)
    chain_ids = tuple(c for c in (_member(one, "chainId") for one in about) if c is not None)
    for log in read_list(_member(block, "logs")):
        transaction = _member(log, "transaction")
        yield SentLog(
            raw=log,
            address=_member(_member(log, "account"), "address"),
            topics=read_list(_member(log, "topics")),
            data=_member(log, "data"),
            index=_member(log, "index"),
            block_hash=_member(block, "hash"),
            block_number=_member(block, "number"),
            tx_hash=_member(transaction, "hash"),
            status=_member(transaction, "status"),
            removed=_member(log, "removed"),
            networks=networks,
            chain_ids=chain_ids,
        )


def _member(value: Any, name: str) -> Any:
    return value.get(name) if isinstance(value, dict) else None
