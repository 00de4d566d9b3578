"""The paywall of the two addresses that serve a post's text: who reads it, and who must pay.

Both are decided in the endpoint that serves the text, by the same access decision as everywhere,
so no spelling of a path can pass it.
"""

from base64 import b64decode, b64encode
from binascii import Error as NotBase64
from dataclasses import dataclass
from enum import Enum

import msgspec
from starlette.requests import Request

from imprint.auth.sign_in_with_x import CHALLENGE_TIME, SIGNATURE_TYPE, SignInClaim, SignInProof
from imprint.domain.drafts.files import File
from imprint.domain.errors import Code, PaymentRequired, Refusal, Unpaid
from imprint.domain.formats.abi import encode_call
from imprint.domain.posts.marketplace import SUBSCRIBE_POST
from imprint.interface.codec import decode_json, encode_json
from imprint.interface.payments import (
    SCHEME,
    SIGN_IN,
    ContractCall,
    PaidResource,
    PaymentOffer,
    PaymentRequirements,
    PaymentTerms,
    SignInAnswer,
    SignInChain,
    SignInExtension,
    SignInInfo,
    TokenReceipt,
)
from imprint.interface.values import Wei
from imprint.services.access.payments import Offer, Payments
from imprint.services.access.reads import Reads
from imprint.services.accounts.login import Login
from imprint.web.api.feed_links import FeedLinks
from imprint.web.http.requests import client_of
from imprint.web.http.responses import JSON_TYPE, OWN, SHORT_LIVED

MAX_OFFER = 3_500
"""Maximum length of `PAYMENT-REQUIRED`. Proxies have 4 KB for all headers of a response."""

MAX_PROOF = 8 * 1024
"""Maximum length of `SIGN-IN-WITH-X`. Longer signatures of contract wallets fit in a login."""

MARKDOWN = "text/markdown"


class PaidPath(Enum):
    """The addresses that serve a post's text, and the media type of each."""

    CONTENT = ("/posts/{}/content", JSON_TYPE)
    MARKDOWN = ("/posts/{}.md", MARKDOWN)

    def of(self, post_id: int) -> str:
        """Return the path for a post."""
        return self.value[0].format(post_id)

    @property
    def media_type(self) -> str:
        return self.value[1]


@dataclass(frozen=True, slots=True)
class OpenedPost:
    """A post that the caller may read, and the cache header of its text.

    `proof` must be spent before the text is sent.
    """

    file: File
    cache: str
    proof: SignInProof | None = None


@dataclass(frozen=True, slots=True)
class Paywall:
    """Identifies the caller, and offers a post to those who may not read it."""

    login: Login
    reads: Reads
    payments: Payments
    links: FeedLinks

    async def open(self, request: Request, post_id: int, path: PaidPath) -> OpenedPost:
        """Return the post if the caller may read it: by session, by proof, or because it is free.

        A session wins over a proof. Refuses with `payment_required` if the caller can buy the
        post, and otherwise like `Reads`.
        """
        try:
            return await self._read(request, post_id, path)
        except Unpaid as unpaid:
            offer = await self.payments.offer(unpaid, post_id, path.of(post_id))
            if offer is None:
                raise
            header = encode_offer(offer, self.links, path)
        raise PaymentRequired(header, offer.price)

    async def spend(self, opened: OpenedPost) -> None:
        """Spend the proof by which a post was opened, if any. Raises `NonceUsed`."""
        if opened.proof is not None:
            await self.payments.spend(opened.proof)

    async def _read(self, request: Request, post_id: int, path: PaidPath) -> OpenedPost:
        if "authorization" in request.headers:
            session = self.login.recognize(request.headers["authorization"])
            return OpenedPost(await self.reads.own_post(session, post_id), OWN)
        claim = _sign_in_claim(request)
        if claim is None:
            return OpenedPost(await self.reads.free_post(post_id), SHORT_LIVED)
        proof = await self.payments.prove(claim, path.of(post_id))
        return OpenedPost(await self.reads.post_for(proof.address, post_id), OWN, proof)


def encode_offer(
    offer: Offer, links: FeedLinks, path: PaidPath, error: str = Code.PAYMENT_REQUIRED.value
) -> str:
    """Return the value of the header `PAYMENT-REQUIRED`, without the title if it is too long."""
    title = "" if offer.title is None else f": {offer.title}"
    description = f"Post {offer.post_id}{title}"
    header = _encode(_payment_offer(offer, links, path, error, description))
    if len(header) > MAX_OFFER:
        header = _encode(_payment_offer(offer, links, path, error, None))
    return header


def _encode(record: msgspec.Struct) -> str:
    return b64encode(encode_json(record)).decode()


def _payment_offer(
    offer: Offer, links: FeedLinks, path: PaidPath, error: str, description: str | None
) -> PaymentOffer:
    challenge, contract, post_id = offer.challenge, links.contract, str(offer.post_id)
    network, price = f"eip155:{links.chain_id}", Wei(offer.price)
    info = SignInInfo(
        challenge.domain,
        challenge.uri,
        "1",
        challenge.nonce,
        challenge.issued_at,
        challenge.expires_at,
        challenge.statement,
    )
    data = "0x" + encode_call(SUBSCRIBE_POST, offer.post_id).hex()
    terms = PaymentTerms(
        "upfront",
        "contract-call",
        ContractCall(contract, data, price, "subscribePost(uint256)", (post_id,)),
        offer.author,
        TokenReceipt("erc6909", contract, post_id),
        info,
    )
    seconds = int(CHALLENGE_TIME.total_seconds())
    accepted = PaymentRequirements(SCHEME, network, price, "native", contract, seconds, terms)
    extension = SignInExtension(info, (SignInChain(network, SIGNATURE_TYPE),))
    resource = PaidResource(challenge.uri, path.media_type, description)
    return PaymentOffer(2, error, resource, (accepted,), {SIGN_IN: extension})


def _sign_in_claim(request: Request) -> SignInClaim | None:
    """Return the unverified proof in the header `SIGN-IN-WITH-X`. Refuses a malformed one."""
    given = request.headers.getlist(SIGN_IN)
    if not given:
        return None
    if len(given) > 1 or len(given[0]) > MAX_PROOF:
        detail = f"Send one SIGN-IN-WITH-X of at most {MAX_PROOF} characters, or log in instead."
        raise Refusal(Code.INVALID_REQUEST, detail)
    try:
        answer = decode_json(b64decode(given[0], validate=True), SignInAnswer)
    except (NotBase64, ValueError, msgspec.DecodeError, RecursionError) as error:
        detail = "SIGN-IN-WITH-X is not a proof as JSON in base64."
        raise Refusal(Code.INVALID_LOGIN_MESSAGE, detail) from error
    return SignInClaim(
        answer.domain,
        answer.address,
        answer.uri,
        answer.chain_id,
        answer.nonce,
        answer.issued_at,
        answer.signature,
        answer.version,
        answer.type,
        answer.statement,
        answer.expiration_time,
        answer.not_before,
        answer.request_id,
        answer.resources,
        client_of(request),
    )
