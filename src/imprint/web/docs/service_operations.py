"""The operations about the service itself: facts, description, health and readiness."""

from imprint.domain.errors import Code
from imprint.web.docs.operation import (
    MIDDLEWARE_CODES,
    SERVER_CODES,
    Operation,
    Response,
    Topic,
)

SERVICE_FACTS = Operation(
    "getServiceFacts",
    "get",
    "/.well-known/imprint.json",
    Topic.SERVICE,
    "Get the service's parameters",
    "Returns what differs between services: the address, the signing domain, the login domains, "
    "the chain, the limits and the page sizes. Everything else is the same everywhere. `now` helps "
    "a client whose clock is wrong: a signed write is valid for 60 seconds.",
    Response("The parameters.", "Facts"),
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
    Response("The contract.", "Marketplace"),
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
    Response("The process runs.", "Health"),
    SERVER_CODES,
)

READINESS = Operation(
    "checkReadiness",
    "get",
    "/readyz",
    Topic.SERVICE,
    "Check the dependencies",
    "Returns `ready`, or `degraded` while reads go on but something is not well: records or "
    "documents are `read_only`, the chain cannot be reached or `disagrees` with what was final, "
    "disk space is low, nobody follows the chain or collects garbage, or a damaged record is "
    "known. `details` has a sentence for each. If records or documents cannot be read, and while "
    "the service starts or stops, it is `not ready`, with status 503; while it waits for a "
    "dependency to start, it has not asked the others, which are `unknown`.",
    Response("The service can handle requests.", "Readiness"),
    (*SERVER_CODES, Code.OVERLOADED),
)
