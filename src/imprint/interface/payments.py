"""The JSON that the headers of a paid read carry in base64 (x402, version 2)."""

from typing import Annotated

from msgspec import Raw, Struct, field

from imprint.interface.values import (
    Address,
    Amount,
    LowerAddress,
    PostId,
    Signature,
    TransactionHash,
    doc,
)

SCHEME = "imprint-subscribe"
"""The payment scheme: the client calls the marketplace itself, and the token is the receipt."""

SIGN_IN = "sign-in-with-x"
"""The extension with which a client proves its address for one request."""

Network = Annotated[str, doc("The chain as CAIP-2: `eip155:` and its id.", "^eip155:[0-9]+$")]
Nonce = Annotated[str, doc("A nonce of this service for this address.", "^[0-9a-f]{32}$")]
Time = Annotated[str, doc("A time, ISO 8601 in UTC, exactly as the service wrote it.")]


class SignInInfo(Struct, frozen=True, rename="camel"):
    """The fields of the EIP-4361 message that a client signs to read once."""

    domain: Annotated[str, doc("The host of the service, with a port unless it is the default.")]
    uri: Annotated[str, doc("The address that is read.")]
    version: Annotated[str, doc("Always `1`.")]
    nonce: Nonce
    issued_at: Time
    expiration_time: Time
    statement: Annotated[str, doc("What the wallet shows.")]


class SignInChain(Struct, frozen=True, rename="camel"):
    """A chain whose wallets may sign."""

    chain_id: Network
    type: Annotated[str, doc("Always `eip191`.")]


class SignInExtension(Struct, frozen=True, rename="camel"):
    """How to prove an address that already holds the token."""

    info: SignInInfo
    supported_chains: Annotated[tuple[SignInChain, ...], doc("Exactly one chain.")]


class ContractCall(Struct, frozen=True):
    """The transaction that buys the token."""

    to: LowerAddress
    data: Annotated[str, doc("The encoded call.", "^0x[0-9a-f]+$")]
    value: Amount
    function: Annotated[str, doc("Always `subscribePost(uint256)`.")]
    args: Annotated[tuple[PostId, ...], doc("The id of the post.")]


class TokenReceipt(Struct, frozen=True):
    """The token that the purchase yields, which entitles its holder to read."""

    standard: Annotated[str, doc("Always `erc6909`.")]
    contract: LowerAddress
    id: PostId


class PaymentTerms(Struct, frozen=True, rename="camel"):
    """How to pay, in the terms of this scheme."""

    payment_flow: Annotated[str, doc("Always `upfront`.")]
    asset_transfer_method: Annotated[str, doc("Always `contract-call`.")]
    call: ContractCall
    beneficiary: LowerAddress
    receipt: TokenReceipt
    sign_in: SignInInfo


class PaymentRequirements(Struct, frozen=True, rename="camel"):
    """One way to pay."""

    scheme: Annotated[str, doc(f"Always `{SCHEME}`.")]
    network: Network
    amount: Amount
    asset: Annotated[str, doc("Always `native`.")]
    pay_to: LowerAddress
    max_timeout_seconds: Annotated[int, doc("How long the challenge in it is valid.")]
    extra: PaymentTerms


class PaidResource(Struct, frozen=True, rename="camel", omit_defaults=True):
    """What is sold."""

    url: Annotated[str, doc("Its address.")]
    mime_type: Annotated[str, doc("The media type of the response to a holder.")]
    description: Annotated[str | None, doc("The title of the post.")] = None


class PaymentOffer(Struct, frozen=True, rename="camel"):
    """The JSON in the header `PAYMENT-REQUIRED` (x402, version 2)."""

    x402_version: Annotated[int, doc("Always 2.")] = field(name="x402Version")
    error: Annotated[str, doc("`payment_required` or `transaction_pending`.")]
    resource: PaidResource
    accepts: Annotated[tuple[PaymentRequirements, ...], doc("Exactly one way to pay.")]
    extensions: Annotated[
        dict[str, SignInExtension], doc(f"`{SIGN_IN}`: how to read what is already bought.")
    ]


class SignedChallenge(Struct, frozen=True, rename="camel", omit_defaults=True):
    """The JSON in the header `SIGN-IN-WITH-X`: the fields of the signed message, and a signature.

    `domain`, `uri`, `nonce`, `issuedAt` and the optional fields have the values in the offer.
    """

    domain: str
    address: Address
    uri: str
    version: str
    chain_id: Network
    type: str
    nonce: str
    issued_at: str
    signature: Signature
    statement: str | None = None
    expiration_time: str | None = None
    not_before: str | None = None
    request_id: str | None = None
    resources: tuple[str, ...] | None = None


class PaymentClaim(Struct, frozen=True, rename="camel", omit_defaults=True):
    """A client's claim about its purchase: a hint to wait for it, never an entitlement."""

    transaction: TransactionHash
    sign_in: SignedChallenge | None = None


class ChosenTerms(Struct, frozen=True):
    """The way to pay that a client chose from an offer."""

    scheme: str
    network: str


class PaymentPayload(Struct, frozen=True):
    """The JSON in the header `PAYMENT-SIGNATURE`. Its `payload` depends on the scheme."""

    accepted: ChosenTerms
    payload: Raw


class Settlement(Struct, frozen=True):
    """The JSON in the header `PAYMENT-RESPONSE`: the purchase with which the reader paid."""

    success: Annotated[bool, doc("Always `true`.")]
    transaction: TransactionHash
    network: Network
    payer: LowerAddress
    amount: Amount
