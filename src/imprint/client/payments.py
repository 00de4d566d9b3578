"""Paying for posts: the offers of a service (x402), and purchases that are made once."""

import asyncio
import re
from base64 import b64decode, b64encode
from collections.abc import Mapping
from dataclasses import dataclass, field
from urllib.parse import urlsplit

import msgspec

from imprint.auth.login_message import (
    LoginMessage,
    NotAnInstant,
    parse_instant,
    parse_uri,
    write_login_message,
)
from imprint.client.marketplace import balance_of, buy_post_call, wait_for_receipt
from imprint.client.transactions import Provider
from imprint.client.transport import Reverted
from imprint.client.wallet import Wallet, settle
from imprint.domain.formats.addresses import checksum_address, parse_address
from imprint.interface.codec import decode_json, encode_json
from imprint.interface.payments import (
    SCHEME,
    SIGN_IN,
    PaymentClaim,
    PaymentRequirements,
    SignedChallenge,
    SignInInfo,
)

_NONCE = re.compile(r"[0-9a-zA-Z]{8,64}")
_STATEMENT = re.compile(r"[ -~]{1,200}")
_POST_ID = re.compile(r"0|[1-9][0-9]{0,77}")


class TooExpensive(Exception):
    """A post costs more than may be paid. Nothing was sent. Amounts are in wei."""

    def __init__(self, price: int, max: int) -> None:  # noqa: A002 - as in `read`
        super().__init__(f"The price is {price} wei, and at most {max} wei may be paid.")
        self.price = price
        self.max = max


class InvalidOffer(Exception):
    """An offer is not for the requested post at the expected marketplace.

    Nothing was signed or sent.
    """


@dataclass(frozen=True, slots=True)
class Seller:
    """A service by its public URL, and the marketplace where its posts are bought."""

    service: str
    chain_id: int
    marketplace: str


@dataclass(frozen=True, slots=True)
class Offer:
    """A checked offer of a post."""

    post_id: str
    price: int
    accepted: PaymentRequirements

    @property
    def sign_in(self) -> SignInInfo:
        """The fields of the message that proves an address for one read of the post."""
        return self.accepted.extra.sign_in


class _Scheme(msgspec.Struct):
    """The scheme of an entry in `accepts`."""

    scheme: str


class _Offered(msgspec.Struct):
    """The entries of an offer, some of which may belong to schemes that are unknown here."""

    accepts: list[msgspec.Raw]


def find_entry(header: str | None) -> bytes:
    """Return the entry for this scheme in the header `PAYMENT-REQUIRED`. Raises `InvalidOffer`."""
    try:
        for entry in decode_json(b64decode(header or "", validate=True), _Offered).accepts:
            if decode_json(bytes(entry), _Scheme).scheme == SCHEME:
                return bytes(entry)
    except (ValueError, msgspec.DecodeError, RecursionError) as error:
        raise InvalidOffer("The offer of the service cannot be read.") from error
    raise InvalidOffer("The service does not offer the post for sale in this way.")


def check_offer(entry: bytes, seller: Seller, post_id: str | None = None) -> Offer:
    """Check that an entry of `accepts`, as JSON, sells this post at the seller's marketplace.

    Without `post_id`, the entry may sell any post. The message to sign must allow only a read
    of that post. Raises `InvalidOffer`.
    """
    try:
        offered = decode_json(entry, PaymentRequirements)
    except (ValueError, msgspec.DecodeError, RecursionError) as error:
        raise InvalidOffer("The offer of the service cannot be read.") from error
    terms, call = offered.extra, offered.extra.call
    sold = call.args[0] if call.args else ""
    _expect(
        (offered.scheme, offered.asset, terms.payment_flow) == (SCHEME, "native", "upfront"),
        "scheme",
    )
    _expect(offered.network == f"eip155:{seller.chain_id}", "chain")
    _expect(_POST_ID.fullmatch(sold) is not None and post_id in (None, sold), "post")
    _expect(call.value == offered.amount, "amount")
    marketplace = seller.marketplace.lower()
    _expect({offered.pay_to.lower(), call.to.lower()} == {marketplace}, "marketplace")
    try:
        wanted = buy_post_call(marketplace, sold, offered.amount)
    except (OverflowError, ValueError) as error:
        raise InvalidOffer("The offer of the service has an unexpected post.") from error
    _expect(call.data.lower() == f"0x{wanted.data.hex()}", "call")
    _check_sign_in(terms.sign_in, seller, sold)
    return Offer(sold, int(offered.amount), offered)


def _check_sign_in(info: SignInInfo, seller: Seller, post_id: str) -> None:
    resources = {f"{seller.service}/posts/{post_id}{end}" for end in ("/content", ".md")}
    domain = urlsplit(seller.service).netloc
    _expect(info.domain == domain and info.uri in resources, "sign-in address")
    _expect(info.version == "1" and _NONCE.fullmatch(info.nonce) is not None, "nonce")
    for instant in (info.issued_at, info.expiration_time):
        _expect(_is_instant(instant), "time")
    _expect(_STATEMENT.fullmatch(info.statement) is not None, "statement")


def _is_instant(text: str) -> bool:
    try:
        parse_instant(text)
    except NotAnInstant:
        return False
    return True


def _expect(holds: bool, part: str) -> None:
    if not holds:
        raise InvalidOffer(f"The offer of the service has an unexpected {part}.")


async def sign_offer(wallet: Wallet, seller: Seller, offer: Offer) -> SignedChallenge:
    """Sign the message of an offer, which proves the wallet's address for one read."""
    info, address = offer.sign_in, checksum_address(parse_address(wallet.address))
    message = LoginMessage(
        None,
        info.domain,
        address,
        info.statement,
        parse_uri(info.uri),
        seller.chain_id,
        info.nonce,
        parse_instant(info.issued_at),
        parse_instant(info.expiration_time),
    )
    return SignedChallenge(
        info.domain,
        address,
        info.uri,
        "1",
        f"eip155:{seller.chain_id}",
        "eip191",
        info.nonce,
        info.issued_at,
        await settle(wallet.sign_message(write_login_message(message))),
        info.statement,
        info.expiration_time,
    )


def has_expired(proof: SignedChallenge, offer: Offer) -> bool:
    """Whether a proof had expired when an offer was made, by the clock of the service."""
    expires = proof.expiration_time or proof.issued_at
    return parse_instant(offer.sign_in.issued_at).moment >= parse_instant(expires).moment


def read_headers(
    offer: Offer, proof: SignedChallenge, transaction: str | None
) -> Mapping[str, str]:
    """Return the headers of a read with a proof, and with the purchase if there is one."""
    if transaction is None:
        return {SIGN_IN.upper(): _encode(proof)}
    claim = PaymentClaim(transaction, proof)
    payment = {"x402Version": 2, "accepted": offer.accepted, "payload": claim}
    return {"PAYMENT-SIGNATURE": _encode(payment)}


def _encode(value: object) -> str:
    return b64encode(encode_json(value)).decode()


Purchases = dict[tuple[str, str], "asyncio.Future[str | None]"]
"""Purchases that were sent, by wallet and post.

A result of None means that the wallet already held the token.
"""


@dataclass(slots=True)
class LimitedBuyer:
    """A wallet that buys posts, each of them once, and never spends more than `left` wei."""

    seller: Seller
    wallet: Wallet
    node: Provider
    left: int
    purchases: Purchases = field(default_factory=dict)
    _reserved: dict["asyncio.Future[str | None]", int] = field(default_factory=dict, init=False)

    async def buy(self, offer: Offer) -> str | None:
        """Return the transaction that buys a post, or None if the wallet holds its token.

        The transaction may be pending. A purchase that was sent before is not repeated. Raises
        `TooExpensive` before anything is sent, and `NodeError`.
        """
        key = self._key(offer)
        if key not in self.purchases:
            if offer.price > self.left:
                raise TooExpensive(offer.price, self.left)
            # Reserved before anything is awaited, so that concurrent purchases share the limit.
            self.left -= offer.price
            sending = asyncio.ensure_future(self._send(offer))
            self._reserved[sending] = offer.price
            self.purchases[key] = sending
            # The callback runs even if nobody waits for the purchase any more.
            sending.add_done_callback(lambda sent: self._release_unsent(offer, sent))
        # A caller that gives up does not interrupt a wallet that is sending.
        return await asyncio.shield(self.purchases[key])

    async def confirm(self, offer: Offer, transaction: str, seconds: float | None) -> None:
        """Wait until a purchase is in a block.

        Raises `Reverted`, `NodeError`, and TimeoutError after `seconds` seconds.
        """
        sending = self.purchases.get(self._key(offer))
        try:
            await wait_for_receipt(self.node, transaction, seconds)
        except Reverted:
            if sending is not None:
                self._give_back(offer, sending)
            raise

    async def _send(self, offer: Offer) -> str | None:
        seller, address = self.seller, self.wallet.address
        if await balance_of(self.node, seller.marketplace, address, offer.post_id) > 0:
            return None
        call = buy_post_call(
            seller.marketplace, offer.post_id, offer.price, chain_id=seller.chain_id
        )
        return await settle(self.wallet.send_transaction(call))

    def _release_unsent(self, offer: Offer, sent: "asyncio.Future[str | None]") -> None:
        # A cancelled wallet may have sent the transaction.
        if not sent.cancelled() and (sent.exception() is not None or sent.result() is None):
            self._give_back(offer, sent)

    def _give_back(self, offer: Offer, sending: "asyncio.Future[str | None]") -> None:
        """Forget a purchase that cost nothing, unless another purchase has replaced it."""
        key = self._key(offer)
        if self.purchases.get(key) is sending:
            del self.purchases[key]
        # Another buyer may have reserved the price, and a later offer may have another price.
        self.left += self._reserved.pop(sending, 0)

    def _key(self, offer: Offer) -> tuple[str, str]:
        return self.wallet.address.lower(), offer.post_id
