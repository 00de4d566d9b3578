"""Types that describe an API operation, and the error codes that operations share."""

from collections.abc import Iterable
from dataclasses import dataclass
from enum import StrEnum
from typing import Any, Literal

import msgspec

from imprint.domain.errors import Code


class Topic(StrEnum):
    """The tags that group operations, in docs order."""

    SESSIONS = "Sessions"
    DRAFTS = "Drafts"
    CONTENT = "Content"
    LISTS = "Lists"
    POSTS = "Posts"
    DELIVERIES = "Deliveries"
    FEEDS = "Feeds"
    SERVICE = "Service"


TOPICS = {
    Topic.SESSIONS: "A reader signs a login message and gets a session, valid for two hours at "
    "most. It ends before that if the reader logs out.",
    Topic.DRAFTS: "Writes signed by the author's wallet. They need no session.",
    Topic.CONTENT: "Texts, for those who may read them, and public thumbnails.",
    Topic.LISTS: "Records without their content, newest first, page by page.",
    Topic.POSTS: "Posts, authors, readers and sales as recorded on the chain, from an index.",
    Topic.DELIVERIES: "Webhooks through which two providers deliver the marketplace's events.",
    Topic.FEEDS: "Atom and JSON Feed: the newest 50 posts of all, of a hashtag or of an author, "
    "and private feeds with the texts of what a reader holds or wrote.",
    Topic.SERVICE: "Information about the service: parameters, description and health.",
}
"""The description of every tag."""


@dataclass(frozen=True, slots=True)
class Parameter:
    """A parameter of an operation. `schema` names a component."""

    name: str
    schema: str
    description: str
    example: str | None = None
    location: Literal["query", "path", "header"] = "query"
    required: bool = True


@dataclass(frozen=True, slots=True)
class Body:
    """A request body, given as a struct or as the name of a component."""

    component: type[msgspec.Struct] | str
    description: str
    example: Any
    """An instance of the struct. A signed write has one example per form of signature."""
    media_type: str = "application/json"
    parts: tuple[tuple[str, str], ...] = ()
    """The name and media type of each form part that has a media type."""
    required: bool = True


@dataclass(frozen=True, slots=True)
class Response:
    """The success response, given as a struct, as the name of a component, or without a body."""

    description: str
    component: type[msgspec.Struct] | str | None
    example: Any = None
    media_types: tuple[str, ...] = ("application/json",)
    tagged: bool = False
    """Whether the response carries an `ETag`, so that `If-None-Match` can result in 304."""
    others: tuple[tuple[str, str], ...] = ()
    """Media types that a client can request instead, with their components."""
    ranged: bool = False
    """Whether a client can request a byte range, which results in 206."""
    elsewhere: str = ""
    """The condition for a redirect to another service (302), if any."""
    status: int = 200
    paid: bool = False
    """Whether a caller without access gets an offer in the same media type, with status 402."""


@dataclass(frozen=True, slots=True)
class Operation:
    """One method of one path. `codes` lists every error code that it can return."""

    name: str
    method: Literal["get", "post", "delete"]
    path: str
    topic: Topic
    summary: str
    description: str
    response: Response
    codes: tuple[Code, ...]
    parameters: tuple[Parameter, ...] = ()
    body: Body | None = None
    needs_session: bool = False
    takes_session: bool = False
    """Whether an optional session changes the response."""
    redirects: bool = False
    """Whether browsers are redirected (303) to a page."""
    alias: str | None = None
    """An alternative path of the same endpoint."""
    alias_name: str | None = None
    """The name of the operation at the alternative path."""


SERVER_CODES = (Code.INVALID_REQUEST,)
"""Codes that the server can return for any request, for example if its headers are too long."""

MIDDLEWARE_CODES = (*SERVER_CODES, Code.RATE_LIMITED, Code.OVERLOADED)
"""Codes that the server or the middleware can return before a route is called."""

BODY_CODES = (Code.REQUEST_TIMEOUT, Code.TOO_LARGE, Code.UNSUPPORTED_MEDIA_TYPE)
"""Codes for a body with a fixed media type."""

SESSION_CODES = (
    Code.SESSION_MISSING,
    Code.SESSION_INVALID,
    Code.SESSION_EXPIRED,
    Code.SESSION_ENDED,
    Code.DATABASE_UNAVAILABLE,
)
"""Codes for a session that is missing, invalid, or cannot be checked."""

OWN_CODES = (*SESSION_CODES, *MIDDLEWARE_CODES)
"""Codes for a reader's own records, such as private feeds and writing sessions."""

SIGNATURE_CODES = (
    Code.INVALID_ADDRESS,
    Code.SIGNATURE_STALE,
    Code.SIGNATURE_INVALID,
    Code.CHAIN_UNAVAILABLE,
)
"""Codes for a login or write that a wallet signs. Contract wallets are verified on the chain."""

JSON_CODES = (Code.INVALID_JSON, *SIGNATURE_CODES, *BODY_CODES, *MIDDLEWARE_CODES)
"""Codes for a signed JSON body."""

PROOF_CODES = (
    Code.INVALID_LOGIN_MESSAGE,
    Code.NONCE_USED,
    *SIGNATURE_CODES,
)
"""Codes for a proof of an address in a single request."""

WITHHELD_CODES = (Code.WITHHELD, Code.REMOVED)
"""Codes for data that the operator withholds."""

DOCUMENT_CODES = (
    Code.NOT_FOUND,
    Code.STORAGE_UNAVAILABLE,
    Code.DATABASE_UNAVAILABLE,
    *MIDDLEWARE_CODES,
)
"""Codes for reading a stored document."""

SIGN_IN_WITH_X = Parameter(
    "SIGN-IN-WITH-X",
    "PaymentHeader",
    "The signed challenge of an earlier `PAYMENT-REQUIRED`: it proves the address of the "
    "reader for this request. Ignored beside a session.",
    location="header",
    required=False,
)
"""The header parameter of the operations that accept a proof instead of a session."""

PAYMENT_SIGNATURE = Parameter(
    "PAYMENT-SIGNATURE",
    "PaymentHeader",
    "The hash of the transaction that bought the post, and a proof as in `SIGN-IN-WITH-X`: the "
    "response waits up to 15 seconds for the purchase to be in a block.",
    location="header",
    required=False,
)
"""The header parameter of the operations that wait for a purchase."""

IF_NONE_MATCH = Parameter(
    "If-None-Match",
    "EntityTags",
    "Entity tags of the copies that the client has; if one is current, the response is 304.",
    location="header",
    required=False,
)
"""The header parameter of every operation whose response carries an `ETag`."""


Schema = dict[str, Any]


def ref(name: str) -> Schema:
    """Return a reference to a component."""
    return {"$ref": f"#/components/schemas/{name}"}


def string(description: str, pattern: str | None = None, **more: Any) -> Schema:
    """Return a string schema, with a pattern if one is given."""
    matching = {} if pattern is None else {"pattern": pattern}
    return {"type": "string", "description": description, **matching, **more}


def choice(description: str, *values: str) -> Schema:
    """Return a schema for one of these strings."""
    return string(description, enum=list(values))


def array(description: str, items: Schema, **more: Any) -> Schema:
    """Return a schema for a list of items."""
    return {"type": "array", "description": description, "items": items, **more}


def closed_structure(description: str, properties: Schema, *optional: str) -> Schema:
    """Return a schema for an object with only these members. All but `optional` are required."""
    return {
        "type": "object",
        "description": description,
        "required": [name for name in properties if name not in optional],
        "properties": properties,
        "additionalProperties": False,
    }


_NAMES = {
    "Content": "ContentResponse",
    "DeletedDraft": "DeletedFile",
    "Draft": "FileRecord",
    "FeedsResponse": "FeedList",
    "File": "ReadRecord",
    "MarketplaceFacts": "Marketplace",
    "OpeningBody": "WritingSessionBody",
    "Published": "PublishedResponse",
    "ServiceFacts": "Facts",
    "WritingSessionRecord": "WritingSession",
    "WritingSessionsResponse": "WritingSessionList",
}
"""Component names that differ from the names of their structs."""


def component_name(struct: type[msgspec.Struct]) -> str:
    """Return the component name of a struct."""
    return _component_name(struct.__name__)


def _component_name(name: str) -> str:
    return _NAMES.get(name, name)


def describe_structs(structs: Iterable[type[msgspec.Struct]]) -> dict[str, Schema]:
    """Return the components of structs, including nested structs and titled types."""
    _, generated = msgspec.json.schema_components(
        structs, schema_hook=_describe_amount, ref_template="{name}"
    )
    components: dict[str, Schema] = {}
    for name, schema in generated.items():
        del schema["title"]
        schema["description"] = " ".join(schema["description"].split())
        if not schema["required"]:
            del schema["required"]
        components[_component_name(name)] = _adapt(schema, components)
    return components


def _describe_amount(kind: type) -> Schema:
    """Return the schema of `Wei`, the only type in the structs that has no JSON type."""
    return {"type": "string"}


def _adapt(schema: Any, components: dict[str, Schema]) -> Any:
    """Convert a msgspec schema to the schema subset used here. Titled types become components."""
    if isinstance(schema, list):
        return [_adapt(each, components) for each in schema]
    if not isinstance(schema, dict):
        return schema
    schema = _adapt_null(schema)
    if "$ref" in schema:
        return ref(_component_name(schema["$ref"]))
    title = schema.get("title")
    if isinstance(title, str):
        components[title] = {name: value for name, value in schema.items() if name != "title"}
        return ref(title)
    return {name: _adapt(value, components) for name, value in schema.items() if name != "default"}


def _adapt_null(schema: Schema) -> Schema:
    """Return the schema without an `anyOf` for null, if possible."""
    options = schema.get("anyOf", ())
    if {"type": "null"} not in options:
        return schema
    [given] = [option for option in options if option != {"type": "null"}]
    around = {name: value for name, value in schema.items() if name not in ("anyOf", "default")}
    if "default" in schema:
        return {**given, **around}
    if "$ref" in given:
        return {"anyOf": options}
    shown = {name: value for name, value in given.items() if name != "title"}
    return {**shown, **around, "type": [given["type"], "null"]}


MEANINGS: dict[Code, str] = {
    Code.INVALID_REQUEST: "The request is invalid. Either a field is missing, repeated, of the "
    "wrong type, not UTF-8, or contains a NUL; or a large body has too many members; or the "
    "request is not valid HTTP; or its headers are too long, too many, repeated or missing.",
    Code.INVALID_JSON: "The body is not JSON, is nested too deeply, repeats a member name, or "
    "contains a lone surrogate.",
    Code.INVALID_CID: "The CID is missing, repeated or malformed.",
    Code.INVALID_ADDRESS: "The address is malformed, or its mixed case does not match EIP-55.",
    Code.INVALID_POST_ID: "The post ID is not a decimal number below 2^256.",
    Code.INVALID_TAGS: "A hashtag is empty, too long, or contains a character other than letters "
    "with their combining marks, digits, `_` and `-`; there are too many hashtags; or they are not "
    "UTF-8.",
    Code.INVALID_PAGE_TOKEN: "The page token was changed, was not issued by this service, or has "
    "expired. The token of a list of drafts also becomes invalid when its session ends.",
    Code.INVALID_TYPED_DATA: "The typed data does not exactly match this endpoint, chain and "
    "signing domain.",
    Code.INVALID_LOGIN_MESSAGE: "The message or proof does not follow EIP-4361, or the message is "
    "for another address, domain or chain, or for reading a single post.",
    Code.INVALID_IMAGE: "The file starts like a PNG, JPEG or WebP, but cannot be decoded, is cut "
    "short, or has too many pixels, scans or chunks.",
    Code.INVALID_PROFILE: "The name, bio or a link of the profile is too long, contains a control "
    "or invisible character, or is not allowed; or the picture does not match `avatar`.",
    Code.SIGNATURE_INVALID: "The signature is malformed, or the given address did not make it and "
    "has no contract that accepts it; or a proof is for another post, service or chain, or has a "
    "nonce that was not issued for it.",
    Code.SIGNATURE_STALE: "The timestamp of the write differs from the service's clock by more "
    "than 60 seconds; or the login message or proof is too old, from the future, expired or not "
    "yet valid. `now` is the time of the service's clock.",
    Code.BODY_MISMATCH: "The signed values differ from those of the request: the service, the "
    "address, the CID, the post, the content, the thumbnail or the hashtags.",
    Code.FORM_NOT_ACCEPTED: "This form of signed writes is not accepted by this service, or not "
    "from a writing session; see `signing_forms` in `/.well-known/imprint.json`.",
    Code.WRITING_SESSION_INVALID: "The writing session is unknown, was revoked or belongs to "
    "another wallet; or its key did not make the signature.",
    Code.WRITING_SESSION_EXPIRED: "The writing session has expired; open another one.",
    Code.SESSION_MISSING: "The Authorization header is missing.",
    Code.SESSION_INVALID: "The session was not issued by this service, or the word `Bearer` before "
    "it is missing.",
    Code.SESSION_EXPIRED: "The session has expired; log in again.",
    Code.SESSION_ENDED: "The session was ended by a logout; log in again.",
    Code.WEBHOOK_SIGNATURE_INVALID: "The delivery was not signed by its provider, or its timestamp "
    "is too far from the service's clock.",
    Code.PAYMENT_REQUIRED: "The caller may not read this post, but can buy it. The header "
    "`PAYMENT-REQUIRED` says how, and how a holder proves their address.",
    Code.NOT_OWNER: "The file belongs to another author. With `IMPRINT_COMPATIBILITY=inkdao` the "
    "status is 404.",
    Code.NOT_AUTHOR: "The chain names another author of this post than the signer.",
    Code.SUBJECT_MISMATCH: "The session belongs to another address than the one in the request.",
    Code.NOT_ENTITLED: "The reader holds no token of this post and is not its author. With "
    "`IMPRINT_COMPATIBILITY=inkdao` the status is 404.",
    Code.NOT_FREE: "The price of this post is not zero.",
    Code.NO_OPENING: "This post has no opening that everybody may read.",
    Code.AUTHOR_REFUSED: "The operator refuses writes by this author, except deletes.",
    Code.REMOVED: "The operator removed this under the rules of the service. `statement` is the "
    "reason, and `since` is when it was removed.",
    Code.WITHHELD: "The operator withholds this for legal reasons. `statement` is the reason, and "
    "`since` is when this began.",
    Code.WRITING_SESSION_SCOPE: "The writing session does not allow this action; the wallet must "
    "sign it.",
    Code.NOT_FOUND: "There is no such file, post or path, or it is not visible to this caller.",
    Code.UNKNOWN_REVISION: "The post has no revision with this number.",
    Code.METHOD_NOT_ALLOWED: "The path exists, but does not accept this method; `Allow` lists "
    "those it accepts.",
    Code.REQUEST_TIMEOUT: "The body took too long to arrive.",
    Code.NONCE_USED: "This signer has already used this nonce. `action` is the request that used "
    "it, and `file` is the record that it produced, or `null`. If `action` differs from the "
    "current request, `file` belongs to another request.",
    Code.NOT_PENDING: "The file is published, or another request has changed it in the meantime.",
    Code.ALREADY_ONCHAIN: "The file is published on the chain and cannot be deleted.",
    Code.NOT_FINAL: "The block of this post is not final yet: a reorg could still replace it.",
    Code.TOO_MANY_FEEDS: "The reader has the maximum number of private feeds; remove one first.",
    Code.TOO_MANY_REVISIONS: "The post has the maximum number of revisions.",
    Code.TOO_MANY_WRITING_SESSIONS: "The wallet has the maximum number of writing sessions; revoke "
    "one first.",
    Code.NOT_CACHED: "The request accepts only cached documents (`only-if-cached`), and this "
    "document is not cached.",
    Code.TOO_LARGE: "The content, the picture or the rest of the body is too large.",
    Code.QUOTA_EXCEEDED: "The signer has reached the maximum number or the maximum total size of "
    "drafts. Delete or publish some. Replaced and deleted drafts count until they are destroyed, "
    "after 24 hours by default.",
    Code.UNSUPPORTED_MEDIA_TYPE: "The body or the picture has a media type that is not accepted, "
    "or the body is compressed.",
    Code.RANGE_NOT_SATISFIABLE: "The range starts after the end of the document; `Content-Range` "
    "gives its size.",
    Code.RATE_LIMITED: "There were too many requests; try again after `Retry-After` seconds.",
    Code.NOT_IMPLEMENTED: "The body has a `Transfer-Encoding` other than `chunked`.",
    Code.CHAIN_UNAVAILABLE: "The chain cannot be reached, so neither access nor the signature of a "
    "contract wallet can be verified.",
    Code.STORAGE_UNAVAILABLE: "The content store cannot be reached or has too little disk space, "
    "or the document in it is missing or damaged.",
    Code.DATABASE_UNAVAILABLE: "The database cannot be reached.",
    Code.INDEX_UNAVAILABLE: "The index of posts is still being built, so posts that exist may be "
    "missing.",
    Code.OVERLOADED: "This client, or all clients together, have too many concurrent requests, "
    "bytes or connections; try again after `Retry-After` seconds.",
}
"""The meaning of each error code."""

FAILURE_MEANING = (
    "An unexpected error occurred. The body contains only this code; the log has the cause, under "
    "the ID in `X-Request-Id`."
)
"""The meaning of the code for an unhandled exception."""
