"""Operations about the service itself: parameters, description, health and readiness."""

import msgspec

from imprint.domain.errors import Code
from imprint.interface.service import Checks, Health, MarketplaceFacts, Readiness, ServiceFacts
from imprint.web.docs import examples
from imprint.web.docs.examples import FACTS
from imprint.web.docs.operation import (
    MIDDLEWARE_CODES,
    SERVER_CODES,
    Operation,
    Response,
    Schema,
    Topic,
)

_WELL = Checks(*["ok"] * len(Checks.__struct_fields__))

UNREADY = Readiness(
    "not ready",
    msgspec.structs.replace(_WELL, storage="unavailable"),
    (
        "Documents cannot be read: the content store does not respond, or belongs to another "
        "installation.",
    ),
)
"""The readiness response while the content store is unreachable."""

SERVICE_COMPONENTS: dict[str, Schema] = {
    "Description": {
        "type": "object",
        "description": "An OpenAPI 3.1 document.",
        "additionalProperties": True,
    },
}
"""Components for responses that have no struct."""

_NEXT_TOKEN_ID = {
    "type": "function",
    "name": "nextTokenId",
    "inputs": [],
    "outputs": [{"name": "", "type": "uint256", "internalType": "uint256"}],
    "stateMutability": "view",
}
"""An example entry of the contract's ABI, which has about forty entries."""

SERVICE_FACTS = Operation(
    "getServiceFacts",
    "get",
    "/.well-known/imprint.json",
    Topic.SERVICE,
    "Get the service's parameters",
    "Returns what differs between services: the address, the signing domain, the login domains, "
    "the chain, the limits and the page sizes. Everything else is the same everywhere. `now` helps "
    "a client whose clock is wrong: a signed write is valid for 60 seconds.",
    Response("The parameters.", ServiceFacts, FACTS),
    MIDDLEWARE_CODES,
)

MARKETPLACE = Operation(
    "getMarketplace",
    "get",
    "/.well-known/marketplace.json",
    Topic.SERVICE,
    "Get the marketplace contract",
    "Returns the chain, the address and the ABI of the contract that authors publish and readers "
    "buy on, and the block since which it exists.",
    Response(
        "The contract.",
        MarketplaceFacts,
        MarketplaceFacts(FACTS.chain.id, examples.MARKETPLACE, 23_100_004, [_NEXT_TOKEN_ID]),
    ),
    MIDDLEWARE_CODES,
)

OPENAPI_DOCUMENT = Operation(
    "getOpenapi",
    "get",
    "/openapi.json",
    Topic.SERVICE,
    "Get the OpenAPI description",
    "Returns the OpenAPI 3.1 document that the `/docs` page is rendered from.",
    Response("The OpenAPI document.", "Description"),
    MIDDLEWARE_CODES,
)

HEALTH = Operation(
    "checkHealth",
    "get",
    "/healthz",
    Topic.SERVICE,
    "Check that the process runs",
    "Checks the process only, not its dependencies.",
    Response("The process runs.", Health, Health("alive")),
    SERVER_CODES,
)

READINESS = Operation(
    "checkReadiness",
    "get",
    "/readyz",
    Topic.SERVICE,
    "Check the dependencies",
    "Returns `ready` if everything works, and `degraded` if reads work but something else does "
    "not: records or documents are `read_only`; the chain cannot be reached, or `disagrees` about "
    "final blocks or logs; disk space is low; no process follows the chain or collects garbage; or "
    "a damaged record was found. `details` has a sentence for each problem. A function that is "
    "switched off is `off`, which is not a problem. If records or documents cannot be read, or the "
    "service is starting or stopping, it is `not ready`, with status 503. While it waits for one "
    "dependency to start, the others are `unknown`.",
    Response("The service can handle requests.", Readiness, Readiness("ready", _WELL, ())),
    (*SERVER_CODES, Code.OVERLOADED),
)

SERVICE_OPERATIONS = (SERVICE_FACTS, MARKETPLACE, OPENAPI_DOCUMENT, HEALTH, READINESS)
"""The operations about the service, in docs order."""
