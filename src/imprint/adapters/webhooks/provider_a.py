"""Provider A: one delivery per block, shaped by a GraphQL query, with its signature in a header.

The query is expected to select `data`, `topics`, `index`, `account.address`, `transaction.hash`
and `transaction.status` of the marketplace's logs, and `hash` and `number` of the block. The
signature covers neither a time nor a nonce. A repeated delivery is recognized by its events.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from datetime import datetime
from itertools import chain
from typing import Any

from imprint.adapters.webhooks.logs import (
    MAX_PAYLOAD,
    MAX_VALUES,
    Marketplace,
    SentLog,
    TooManyValues,
    is_given,
    read_list,
    sort_logs,
)
from imprint.adapters.webhooks.payloads import network_names, read_payload
from imprint.adapters.webhooks.signatures import WebhookSecrets, check_spelling
from imprint.domain.errors import Code, Refusal
from imprint.domain.formats.addresses import Address
from imprint.domain.posts.posts import Delivery


class ProviderA:
    """`WebhookProvider` for provider A."""

    name = "provider-a"

    def __init__(
        self,
        secrets: Sequence[str],
        chain_id: int,
        marketplace: Address,
        networks: Iterable[str] = (),
    ) -> None:
        self._secrets = WebhookSecrets(secrets)
        self._marketplace = Marketplace(chain_id, marketplace, network_names(chain_id, networks))

    def is_connection_test(self, headers: Mapping[str, str]) -> bool:
        """Always False, because this provider signs its test deliveries."""
        return False

    def check_headers(self, headers: Mapping[str, str], now: datetime) -> None:
        """Refuse a compressed delivery or a malformed signature."""
        if headers.get("content-encoding", "identity").strip().lower() not in ("", "identity"):
            raise Refusal(Code.UNSUPPORTED_MEDIA_TYPE, "The delivery must not be compressed.")
        check_spelling(headers.get("x-alchemy-signature", ""))

    def open(self, headers: Mapping[str, str], body: bytes) -> Delivery:
        """Verify the raw body, then parse the logs of its block. The headers have been checked."""
        self._secrets.verify(headers.get("x-alchemy-signature", ""), [body])
        payload = read_payload(body, MAX_PAYLOAD)
        if not (payload.documents or payload.problem):
            return Delivery(self.name, None, ignored=1)
        sent = chain.from_iterable(map(_find_logs, payload.documents))
        logs = sort_logs(sent, payload, self._marketplace)
        return Delivery(self.name, None, logs.findings, logs.access_changes, logs.ignored)


def _find_logs(sent: Any) -> Iterator[SentLog]:
    """The logs of the block, and values among them that are not logs. Raises `TooManyValues`."""
    event = _member(sent, "event")
    data = _member(event, "data")
    block = _member(data, "block")
    about = (sent, event, data, block)
    networks = tuple(n for n in (_member(one, "network") for one in about) if is_given(n))
    chain_ids = tuple(c for c in (_member(one, "chainId") for one in about) if c is not None)
    for count, log in enumerate(read_list(_member(block, "logs"))):
        if count == MAX_VALUES:
            raise TooManyValues
        transaction = _member(log, "transaction")
        yield SentLog(
            raw=log,
            address=_member(_member(log, "account"), "address"),
            topics=_member(log, "topics"),
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
