"""The operations of providers and operators: deliveries, and the service about itself."""

from imprint.domain.refusals import Code
from imprint.web.manual.operations import EVERYWHERE, Answer, Body, Operation, Parameter, Topic
from imprint.web.manual.samples import DELIVERY_NONCE, DELIVERY_SIGNATURE, DELIVERY_TIMESTAMP

_DELIVERY_CODES = (
    Code.WEBHOOK_SIGNATURE_INVALID,
    Code.NOT_FOUND,
    Code.REQUEST_TIMEOUT,
    Code.TOO_LARGE,
    Code.UNSUPPORTED_MEDIA_TYPE,
    Code.DATABASE_UNAVAILABLE,
    Code.OVERLOADED,
)

_CONSEQUENCE = (
    "\n\nEvery `PostCreated` log of the marketplace in the delivery moves its file from `pending` "
    "to `onchain`, if its author is the file's owner. What is signed is never refused for what it "
    "says: other logs and heartbeats are ignored with 200, and a delivery or an event that comes "
    "again has no effect. Without a secret in the settings the path is 404."
)


def _signature(name: str, signed: str) -> Parameter:
    text = f"HMAC-SHA256 of {signed} with the provider's secret, in lower-case hex."
    return Parameter(name, "DeliverySignature", text, DELIVERY_SIGNATURE, "header")


RECEIVE_A = Operation(
    "receiveFromProviderA",
    "post",
    "/webhook/provider-a/publish",
    Topic.DELIVERIES,
    "Receive from provider a",
    "For Alchemy Notify, with a custom (GraphQL) webhook whose logs are at "
    "`event.data.block.logs[]`." + _CONSEQUENCE,
    Answer("What became of the delivery.", "DeliveryAnswer"),
    _DELIVERY_CODES,
    parameters=(_signature("X-Alchemy-Signature", "the raw body"),),
    body=Body("ProviderADelivery", "A delivery as the provider sends it."),
    alias="/webhook/alchemy/publish",
)

RECEIVE_B = Operation(
    "receiveFromProviderB",
    "post",
    "/webhook/provider-b/publish",
    Topic.DELIVERIES,
    "Receive from provider b",
    "For QuickNode Streams. Logs (`address`, `topics`, `data`) are found in any nesting of "
    "arrays and objects; the body may be compressed with gzip." + _CONSEQUENCE,
    Answer("What became of the delivery.", "DeliveryAnswer"),
    _DELIVERY_CODES,
    parameters=(
        Parameter(
            "X-QN-Nonce",
            "DeliveryNonce",
            "Unique for each delivery; one seen before makes it a duplicate.",
            DELIVERY_NONCE,
            "header",
        ),
        Parameter(
            "X-QN-Timestamp",
            "Timestamp",
            "Unix time in seconds, at most 300 seconds away from now.",
            DELIVERY_TIMESTAMP,
            "header",
        ),
        _signature("X-QN-Signature", "nonce, timestamp and the body (after gzip is undone)"),
    ),
    body=Body("ProviderBDelivery", "A delivery as the provider sends it."),
    alias="/webhook/quicknode/publish",
)

TELL_FACTS = Operation(
    "tellFacts",
    "get",
    "/.well-known/imprint.json",
    Topic.SERVICE,
    "What a client needs to know",
    "The domain to sign for, the domains that may log in, the chain, the limits and the sizes "
    "of pages.",
    Answer("The facts.", "Facts"),
    EVERYWHERE,
)

TELL_CONTACT = Operation(
    "tellContact",
    "get",
    "/.well-known/security.txt",
    Topic.SERVICE,
    "Where to report a weakness",
    "The operator's contact, as RFC 9116 has it. Without one in the settings the path is 404.",
    Answer("The contact.", "Contact", ("text/plain",)),
    (Code.NOT_FOUND, *EVERYWHERE),
)

DESCRIBE = Operation(
    "describe",
    "get",
    "/openapi.json",
    Topic.SERVICE,
    "This interface, for machines",
    "The OpenAPI 3.1 description that this page is made from.",
    Answer("The description.", "Description"),
    EVERYWHERE,
)

SHOW_MANUAL = Operation(
    "showManual",
    "get",
    "/docs",
    Topic.SERVICE,
    "This interface, for people",
    "One page, without scripts and without anything from elsewhere.",
    Answer("The page.", "Page", ("text/html",)),
    EVERYWHERE,
)

TELL_HEALTH = Operation(
    "tellHealth",
    "get",
    "/healthz",
    Topic.SERVICE,
    "Whether the process lives",
    "The process alone, without its dependencies.",
    Answer("It lives.", "Health"),
    (),
)

TELL_READINESS = Operation(
    "tellReadiness",
    "get",
    "/readyz",
    Topic.SERVICE,
    "Whether the dependencies answer",
    "`ready`, or `degraded` while only the chain is away: most reads still work then. Without "
    "the database or the content store it is `unavailable`, with status 503.",
    Answer("Requests can be served.", "Readiness"),
    (Code.OVERLOADED,),
)

SERVICE_OPERATIONS = (
    RECEIVE_A,
    RECEIVE_B,
    TELL_FACTS,
    TELL_CONTACT,
    DESCRIBE,
    SHOW_MANUAL,
    TELL_HEALTH,
    TELL_READINESS,
)
"""Everything that machines ask of machines."""
