"""The paywall of the two paths that serve a post's text: who may read it, and who must pay.

The endpoint that serves the text uses the same access decision as all others, so no spelling of a
path can bypass the paywall.
"""

from base64 import b64decode, b64encode
from collections.abc import Mapping
from dataclasses import dataclass, field
from urllib.parse import urlsplit

import msgspec
from starlette.requests import Request

from imprint.auth.sign_in_with_x import (
    CHALLENGE_TIME,
    SIGNATURE_TYPE,
    Challenge,
    SignInClaim,
    SignInProof,
)
from imprint.domain.bounded_cache import BoundedCache
from imprint.domain.drafts.files import File
from imprint.domain.errors import Code, PaymentRequired, Refusal, Unavailable, Unpaid
from imprint.domain.formats.abi import encode_call
from imprint.domain.formats.addresses import Address
from imprint.domain.formats.hexadecimal import NotHexadecimal, parse_hash
from imprint.domain.posts.marketplace import SUBSCRIBE_POST
from imprint.domain.posts.posts import Purchase
from imprint.domain.sessions import Session
from imprint.interface.codec import decode_json, encode_json
from imprint.interface.payments import (
    SCHEME,
    SIGN_IN,
    ContractCall,
    PaidResource,
    PaymentClaim,
    PaymentOffer,
    PaymentPayload,
    PaymentRequirements,
    PaymentTerms,
    Settlement,
    SignedChallenge,
    SignInChain,
    SignInExtension,
    SignInInfo,
    TokenReceipt,
)
from imprint.interface.values import Wei
from imprint.services.access.payments import Payments
from imprint.services.access.reads import Reads
from imprint.services.accounts.login import Login
from imprint.web.api.feed_links import FeedLinks
from imprint.web.http.middleware import PROOF_HEADERS
from imprint.web.http.requests import client_of
from imprint.web.http.responses import JSON_TYPE, OWN, PAID_VARY, SHORT_LIVED

MAX_OFFER = 3_500
"""Maximum length of `PAYMENT-REQUIRED` in characters. Proxies allow 4 KB of response headers."""

_CHALLENGE_LENGTH = 2 * (32 + 20 + 20)
"""Number of characters that a challenge adds to an offer, which contains it twice."""

_PARTS = 5
"""Number of parts of an offer that are encoded separately, each padded with up to two spaces."""

MAX_TEMPLATE = MAX_OFFER * 3 // 4 - _CHALLENGE_LENGTH - 2 * _PARTS
"""Maximum number of bytes of an offer before its challenge is added, and before base64."""

MAX_TEMPLATES = 1_024
"""Number of encoded offers that are cached, about two kilobytes each."""

MAX_PROOF = 8 * 1024
"""Maximum length of `SIGN-IN-WITH-X` in characters. A login allows longer signatures."""

MAX_PAYMENT = 16 * 1024
"""Maximum length in characters of `PAYMENT-SIGNATURE`, which contains the offer and a proof."""

TRANSACTION_PENDING = "transaction_pending"
"""The error in an offer to a caller whose purchase is not in a block yet."""

RETRY_SECONDS = 2
"""Seconds after which a caller with a pending purchase should try again."""

MARKDOWN = "text/markdown"

Template = tuple[str, ...]
"""The parts of an offer before, between and after its two challenges, in base64.

An offer is encoded once per post and price, which saves 5 of about 80 µs per response.
"""


@dataclass(frozen=True, slots=True)
class PaidPath:
    """A type of path that serves a post's text, and the media type of its responses."""

    ending: str
    media_type: str

    def of(self, post_id: int) -> str:
        """Return the path for a post."""
        return f"/posts/{post_id}{self.ending}"


CONTENT_PATH = PaidPath("/content", JSON_TYPE)
MARKDOWN_PATH = PaidPath(".md", MARKDOWN)


@dataclass(frozen=True, slots=True)
class OpenedPost:
    """A post that the caller may read, and the headers of the response with its text.

    `proof` must be spent before the text is sent.
    """

    file: File
    headers: Mapping[str, str]
    proof: SignInProof | None = None


@dataclass(frozen=True, slots=True)
class Caller:
    """The address of the reader, from a session or a proof in the request, or None.

    `transaction` is the purchase that the caller claims to have made.
    """

    session: Session | None = None
    proof: SignInProof | None = None
    transaction: str | None = None

    @property
    def address(self) -> Address | None:
        known = self.session or self.proof
        return None if known is None else known.address


NOBODY = Caller()

IDENTIFYING = frozenset({b"authorization", *PROOF_HEADERS})
"""Headers that identify the reader."""


@dataclass(frozen=True, slots=True)
class Paywall:
    """Identifies the caller, and offers a post to callers who may not read it."""

    login: Login
    reads: Reads
    payments: Payments
    links: FeedLinks
    _templates: BoundedCache[tuple[str, str, int, str], Template] = field(
        default_factory=lambda: BoundedCache(MAX_TEMPLATES)
    )

    async def open(self, request: Request, post_id: int, path: PaidPath) -> OpenedPost:
        """Return the post if the caller may read it by session, by proof, or because it is free.

        Waits for a purchase that the caller names. Refuses with `payment_required` if the caller
        can buy the post, and otherwise as `Reads` does.
        """
        caller = await self._identify(request, path.of(post_id))
        purchase = None
        try:
            file = await self._read(caller, post_id)
        except Unpaid as unpaid:
            if caller.address is None or caller.transaction is None:
                raise await self._refusal(unpaid, post_id, path) from None
            purchase = await self.payments.wait_for_purchase(
                caller.transaction, post_id, caller.address, client_of(request)
            )
            try:
                # The token may also have come as a gift, or by another transaction.
                file = await self._read(caller, post_id)
            except Unpaid as again:
                is_pending = purchase is None or (
                    purchase.amount is not None and purchase.is_recent
                )
                raise await self._refusal(again, post_id, path, is_pending=is_pending) from None
        headers = await self._headers(caller, post_id, purchase)
        return OpenedPost(file, headers, caller.proof)

    async def spend(self, opened: OpenedPost) -> None:
        """Spend the proof by which a post was opened, if any. Raises `NonceUsed`."""
        if opened.proof is not None:
            await self.payments.spend(opened.proof)

    async def _identify(self, request: Request, path: str) -> Caller:
        """Return the caller. A session takes precedence over a proof."""
        if IDENTIFYING.isdisjoint(name for name, _ in request.scope["headers"]):
            return NOBODY
        payment = _payment_claim(request, self.network)
        transaction = None if payment is None else _parse_transaction(payment.transaction)
        if "authorization" in request.headers:
            session = self.login.recognize(request.headers["authorization"])
            return Caller(session, transaction=transaction)
        signed = _signed_challenge(request)
        if signed is None and payment is not None:
            signed = payment.sign_in
        if signed is None:
            return NOBODY
        proof = await self.payments.prove(_claim_of(signed, client_of(request)), path)
        return Caller(None, proof, transaction)

    async def _read(self, caller: Caller, post_id: int) -> File:
        if caller.session is not None:
            return await self.reads.own_post(caller.session, post_id)
        if caller.proof is not None:
            return await self.reads.post_for(caller.proof.address, post_id)
        return await self.reads.free_post(post_id)

    async def _refusal(
        self, unpaid: Unpaid, post_id: int, path: PaidPath, *, is_pending: bool = False
    ) -> Refusal:
        """Return the offer of a post that the caller may not read, or else the refusal."""
        if not await self.payments.offers(unpaid):
            return unpaid
        error = TRANSACTION_PENDING if is_pending else Code.PAYMENT_REQUIRED.value
        where = path.of(post_id)
        key = (unpaid.file.cid, where, unpaid.price, error)
        template = self._templates.get(key)
        if template is None:
            title = await self.payments.title(post_id, unpaid.file)
            template = self._template(unpaid, post_id, title, path, error)
            if title is not None:
                self._templates.put(key, template)
        header = _fill(template, self.payments.challenge(where))
        return PaymentRequired(header, unpaid.price, RETRY_SECONDS if is_pending else None)

    def _template(
        self, unpaid: Unpaid, post_id: int, title: str | None, path: PaidPath, error: str
    ) -> Template:
        """Encode an offer without its challenge, and without a title that is too long."""
        named = f"Post {post_id}: {title}" if title else f"Post {post_id}"
        url = self.links.service + path.of(post_id)
        resource = PaidResource(url, path.media_type, named)
        offer = encode_json(self._offer(unpaid, post_id, resource, error))
        if len(offer) > MAX_TEMPLATE:
            resource = PaidResource(url, path.media_type)
            offer = encode_json(self._offer(unpaid, post_id, resource, error))
        # No text of a post can contain these members, because its quotes are escaped.
        return tuple(map(_encode_part, offer.split(_NO_CHALLENGE)))

    def _offer(
        self, unpaid: Unpaid, post_id: int, resource: PaidResource, error: str
    ) -> PaymentOffer:
        contract, number, price = self.links.contract, str(post_id), Wei(unpaid.price)
        domain, statement = urlsplit(resource.url).netloc, f"Sign in to read post {post_id}."
        info = SignInInfo(domain, resource.url, "1", "", "", "", statement)
        data = "0x" + encode_call(SUBSCRIBE_POST, post_id).hex()
        terms = PaymentTerms(
            "upfront",
            "contract-call",
            ContractCall(contract, data, price, "subscribePost(uint256)", (number,)),
            unpaid.file.owner,
            TokenReceipt("erc6909", contract, number),
            info,
        )
        network, seconds = self.network, int(CHALLENGE_TIME.total_seconds())
        accepted = PaymentRequirements(SCHEME, network, price, "native", contract, seconds, terms)
        extension = SignInExtension(info, (SignInChain(network, SIGNATURE_TYPE),))
        return PaymentOffer(2, error, resource, (accepted,), {SIGN_IN: extension})

    async def _headers(
        self, caller: Caller, post_id: int, purchase: Purchase | None
    ) -> dict[str, str]:
        cache = SHORT_LIVED if caller.address is None else OWN
        headers = {"Cache-Control": cache, "Vary": PAID_VARY}
        if caller.address is None or caller.transaction is None:
            return headers
        if purchase is None:
            try:
                purchase = await self.payments.find_purchase(
                    caller.transaction, post_id, caller.address
                )
            except Unavailable:
                # The text needs no receipt.
                return headers
        if purchase is not None and purchase.amount is not None:
            amount = Wei(purchase.amount)
            paid = Settlement(True, caller.transaction, self.network, caller.address, amount)
            headers["PAYMENT-RESPONSE"] = _encode(paid)
        return headers

    @property
    def network(self) -> str:
        """The chain's identifier as defined by CAIP-2."""
        return f"eip155:{self.links.chain_id}"


def _encode(record: msgspec.Struct) -> str:
    return b64encode(encode_json(record)).decode()


_NO_CHALLENGE = b'"nonce":"","issuedAt":"","expirationTime":""'


def _fill(template: Template, challenge: Challenge) -> str:
    """Return the value of the `PAYMENT-REQUIRED` header for this challenge."""
    members = (
        f'"nonce":"{challenge.nonce}","issuedAt":"{challenge.issued_at}",'
        f'"expirationTime":"{challenge.expires_at}"'
    )
    return _encode_part(members.encode()).join(template)


def _encode_part(part: bytes) -> str:
    """Encode a part of a JSON text so that encoded parts can be concatenated.

    Spaces are appended to make the length of the part divisible by three.
    """
    return b64encode(part + b" " * (-len(part) % 3)).decode()


def _signed_challenge(request: Request) -> SignedChallenge | None:
    """Return the unverified proof in the header `SIGN-IN-WITH-X`. Refuses a malformed proof."""
    data = _only_header(request, SIGN_IN, MAX_PROOF)
    if data is None:
        return None
    try:
        return decode_json(_decode(data), SignedChallenge)
    except (ValueError, msgspec.DecodeError, RecursionError) as error:
        detail = "SIGN-IN-WITH-X is not a proof as JSON in base64."
        raise Refusal(Code.INVALID_LOGIN_MESSAGE, detail) from error


def _payment_claim(request: Request, network: str) -> PaymentClaim | None:
    """Return the claim in `PAYMENT-SIGNATURE`, unless it is for another scheme or chain.

    Refuses a malformed claim.
    """
    data = _only_header(request, "payment-signature", MAX_PAYMENT)
    if data is None:
        return None
    try:
        payment = decode_json(_decode(data), PaymentPayload)
        if (payment.accepted.scheme, payment.accepted.network) != (SCHEME, network):
            return None
        return decode_json(bytes(payment.payload), PaymentClaim)
    except (ValueError, msgspec.DecodeError, RecursionError) as error:
        detail = "PAYMENT-SIGNATURE is not a payment as JSON in base64."
        raise Refusal(Code.INVALID_REQUEST, detail) from error


def _only_header(request: Request, name: str, longest: int) -> str | None:
    given = request.headers.getlist(name)
    if not given:
        return None
    if len(given) > 1 or len(given[0]) > longest:
        detail = f"Send one {name.upper()} of at most {longest} characters, or log in instead."
        raise Refusal(Code.INVALID_REQUEST, detail)
    return given[0]


def _decode(text: str) -> bytes:
    """Decode standard base64. Raises `ValueError`."""
    return b64decode(text, validate=True)


def _parse_transaction(text: str) -> str:
    try:
        return parse_hash(text)
    except NotHexadecimal as error:
        raise Refusal(Code.INVALID_REQUEST, str(error)) from error


def _claim_of(signed: SignedChallenge, client: str) -> SignInClaim:
    return SignInClaim(
        domain=signed.domain,
        address=signed.address,
        uri=signed.uri,
        network=signed.chain_id,
        nonce=signed.nonce,
        issued_at=signed.issued_at,
        signature=signed.signature,
        version=signed.version,
        type=signed.type,
        statement=signed.statement,
        expires_at=signed.expiration_time,
        not_before=signed.not_before,
        request_id=signed.request_id,
        resources=signed.resources,
        client=client,
    )
