"""The service's parameters, marketplace contract, health and readiness."""

from typing import Annotated, Any

from msgspec import Meta, Struct

from imprint.domain.posts.posts import EventStatus as Status
from imprint.interface.values import LOWER_ADDRESS_PATTERN, Count, Positive, PostId, doc

ChainId = Annotated[Positive, doc("The id of the chain.")]


class SigningFacts(Struct, frozen=True, rename="camel"):
    """The EIP-712 domain of typed data. Spread it into the `domain` of `salt`."""

    name: Annotated[str, doc("The name of the domain.")]
    version: Annotated[str, doc("The version of the domain.")]
    chain_id: ChainId


class LoginFacts(Struct, frozen=True):
    """The rules that login messages (EIP-4361) are checked against."""

    domains: Annotated[
        tuple[str, ...], doc("The domains that messages may name; `:*` is any port.")
    ]
    freshness_seconds: Annotated[Positive, doc("How old a message may be.")]


class CoinFacts(Struct, frozen=True):
    """The coin of the chain, in which prices are paid."""

    symbol: Annotated[str, doc("Its symbol, such as ETH.")]
    decimals: Annotated[Positive, doc("Its decimals: a price of 1 is the smallest amount.")]


class ChainFacts(Struct, frozen=True, omit_defaults=True):
    """The chain and the contract on which posts are published."""

    id: ChainId
    marketplace: Annotated[str, doc("The contract, in lower case.", LOWER_ADDRESS_PATTERN)]
    name: Annotated[str, doc("The name of the chain.")]
    coin: CoinFacts
    rpc_url: Annotated[
        str | None, doc("A node that everybody may use, if the operator publishes one.")
    ] = None
    explorer_url: Annotated[
        str | None, doc("A block explorer, if the operator names one; it has paths like `/tx/…`.")
    ] = None
    adapter: Annotated[
        str | None,
        doc(
            "The purchase adapter of the marketplace, if there is one; posts are bought for "
            "somebody else, or several at once, through it.",
            LOWER_ADDRESS_PATTERN,
        ),
    ] = None


class LimitFacts(Struct, frozen=True):
    """The limits on what the service accepts."""

    content_bytes: Annotated[Positive, doc("Bytes of UTF-8 of a content.")]
    quota_bytes: Annotated[Count, doc("Bytes of all drafts of a signer; 0 is no limit.")]
    quota_drafts: Annotated[Count, doc("Drafts of a signer; 0 is no limit.")]
    thumbnail_bytes: Annotated[Positive, doc("Bytes of a thumbnail.")]
    thumbnail_pixels: Annotated[Positive, doc("Pixels of a thumbnail.")]
    thumbnail_side: Annotated[Positive, doc("Pixels of a side of a thumbnail.")]
    hashtags: Annotated[Positive, doc("Hashtags of a file.")]
    hashtag_length: Annotated[Positive, doc("Characters of a hashtag.")]
    nonce_length: Annotated[Positive, doc("Characters of a nonce.")]
    login_message_bytes: Annotated[Positive, doc("Bytes of a login message.")]


class PageSizes(Struct, frozen=True, rename="camel"):
    """The number of records per page."""

    files_by_tags: Annotated[Positive, doc("Of `GET /filesByTags`.")]
    files_meta_data: Annotated[Positive, doc("Of `GET /filesMetaData`.")]
    files_by_next_page_token: Annotated[Positive, doc("Of `GET /filesByNextPageToken`.")]
    pending_files_by_owner: Annotated[Positive, doc("Of `GET /pendingFilesByOwner`.")]


class Parameters(Struct, frozen=True, omit_defaults=True):
    """Parameters that differ between services and change only when the operator restarts one."""

    name: Annotated[str, doc("The name of the software.")]
    version: Annotated[str, doc("The version of the interface.")]
    service: Annotated[str, doc("The public URL of the service, without a slash at its end.")]
    signing: SigningFacts
    signing_forms: Annotated[
        tuple[str, ...],
        doc("The forms of signed writes that are accepted; later versions add some."),
    ]
    features: Annotated[
        tuple[str, ...],
        doc(
            "What the service offers beyond drafts and their publication; `posts`, `feeds` and "
            "`search` only where it follows the chain."
        ),
    ]
    login: LoginFacts
    chain: ChainFacts
    limits: LimitFacts
    page_sizes: PageSizes
    inkdao_domain: Annotated[
        str | None, doc("The `name` of the domain of the form `inkdao-1`, if it is another one.")
    ] = None


class ServiceFacts(Parameters, frozen=True, kw_only=True):
    """Parameters of this service that a client must know."""

    now: Annotated[Count, doc("The time of the service in Unix seconds, at most 5 seconds old.")]


AbiEntry = Annotated[dict[str, Any], Meta(extra_json_schema={"additionalProperties": True})]


class MarketplaceFacts(Struct, frozen=True, rename="camel"):
    """The marketplace contract, for libraries that call it directly."""

    chain_id: ChainId
    address: Annotated[str, doc("The contract, in lower case.", LOWER_ADDRESS_PATTERN)]
    start_block: Annotated[
        Count, doc("The block that it was deployed in; nothing of it is earlier.")
    ]
    abi: Annotated[
        list[AbiEntry],
        doc("Its interface, as compilers write it and client libraries take it."),
    ]


class Health(Struct, frozen=True):
    """The liveness of the process."""

    status: Annotated[str, doc("It runs.", enum=["alive"])]


ReadinessStatus = Annotated[
    str,
    doc("The state in one word.", title="ReadinessStatus", enum=["ready", "degraded", "not ready"]),
]


class Checks(Struct, frozen=True):
    """A one-word status for each dependency and task."""

    # Strings rather than enums, because code generators would create a type for each enum.
    database: Annotated[str, doc("`ok`, `read_only`, `unavailable` or `unknown`.")]
    storage: Annotated[str, doc("`ok`, `read_only`, `unavailable` or `unknown`.")]
    chain: Annotated[str, doc("`ok`, `unavailable`, `disagrees` or `unknown`.")]
    disk: Annotated[str, doc("`ok`, `low` or `unknown`.")]
    follower: Annotated[str, doc("`ok`, `off`, `stopped` or `unknown`.")]
    indexer: Annotated[str, doc("`ok`, `off`, `stopped` or `unknown`.")]
    collector: Annotated[str, doc("`ok`, `off`, `stopped` or `unknown`.")]
    records: Annotated[str, doc("`ok`, `damaged` or `unknown`.")]


class Readiness(Struct, frozen=True):
    """The state of the service and its dependencies."""

    status: ReadinessStatus
    checks: Checks
    details: Annotated[tuple[str, ...], doc("A sentence for everything that is not well.")]


EventStatus = Annotated[
    str,
    doc("What became of an event.", title="EventStatus", enum=[each.value for each in Status]),
]


class EventResponse(Struct, frozen=True, rename="camel"):
    """The result of one event in a delivery."""

    post_id: PostId | None
    post_cid: Annotated[str | None, doc("The cid as the event spells it.")]
    status: EventStatus


class DeliveryResponse(Struct, frozen=True):
    """The result of a webhook delivery."""

    success: Annotated[bool, doc("Always `true`.")]
    applied: Annotated[Count, doc("Events that were applied.")]
    ignored: Annotated[Count, doc("Logs that were ignored.")]
    duplicate: Annotated[bool, doc("Whether it was delivered before.")]
    events: Annotated[
        tuple[EventResponse, ...], doc("Events and dead letters in the order of the logs.")
    ]
