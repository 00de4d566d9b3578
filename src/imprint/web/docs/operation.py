"""The types that describe an API operation, and the error codes that operations share."""

from dataclasses import dataclass
from enum import StrEnum
from typing import Any, Literal

import msgspec

from imprint.domain.errors import Code


class Topic(StrEnum):
    """The tags that group operations, in the order in which the docs show them."""

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
    Topic.POSTS: "What the chain says of posts, authors, readers and sales, from an index.",
    Topic.DELIVERIES: "Webhooks through which two providers deliver the marketplace's events.",
    Topic.FEEDS: "Atom and JSON Feed: the newest 50 posts of all, of a hashtag or of an author, "
    "and private feeds with the texts of what a reader holds or wrote.",
    Topic.SERVICE: "Information about the service: parameters, description and health.",
}
"""The description of every tag."""


@dataclass(frozen=True, slots=True)
class Parameter:
    """One parameter; `schema` names a component."""

    name: str
    schema: str
    description: str
    example: str | None = None
    location: Literal["query", "path", "header"] = "query"
    required: bool = True


@dataclass(frozen=True, slots=True)
class Body:
    """A request body: its struct, or the name of its component."""

    component: type[msgspec.Struct] | str
    description: str
    example: Any
    """A value of the struct; for a signed write, values by the form of its signature."""
    media_type: str = "application/json"
    parts: tuple[tuple[str, str], ...] = ()
    """For a form: the media types of the parts that have one."""
    required: bool = True


@dataclass(frozen=True, slots=True)
class Response:
    """The success response: its struct, the name of its component, or no body."""

    description: str
    component: type[msgspec.Struct] | str | None
    example: Any = None
    media_types: tuple[str, ...] = ("application/json",)
    tagged: bool = False
    """Whether it carries an `ETag`, so that `If-None-Match` can give 304."""
    others: tuple[tuple[str, str], ...] = ()
    """Other media types that a client can request, with their components."""
    ranged: bool = False
    """Whether a client can request a byte range, which gives 206."""
    elsewhere: str = ""
    """When it is a redirect to another service, which gives 302."""
    status: int = 200


@dataclass(frozen=True, slots=True)
class Operation:
    """One method of one path; `codes` lists every error code it can return."""

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
    """Another path of the same endpoint."""
    alias_name: str | None = None
    """The name of the operation at that path."""


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
"""Codes for a missing or invalid session, and for one that cannot be checked."""

OWN_CODES = (*SESSION_CODES, *MIDDLEWARE_CODES)
"""Codes for a reader's own records: private feeds, writing sessions."""

SIGNATURE_CODES = (
    Code.INVALID_ADDRESS,
    Code.SIGNATURE_STALE,
    Code.SIGNATURE_INVALID,
    Code.CHAIN_UNAVAILABLE,
)
"""Codes for a login or write that a wallet signed; a contract wallet is verified on the chain."""

JSON_CODES = (Code.INVALID_JSON, *SIGNATURE_CODES, *BODY_CODES, *MIDDLEWARE_CODES)
"""Codes for a signed JSON body."""

DOCUMENT_CODES = (
    Code.NOT_FOUND,
    Code.STORAGE_UNAVAILABLE,
    Code.DATABASE_UNAVAILABLE,
    *MIDDLEWARE_CODES,
)
"""Codes for reading a stored document."""

IF_NONE_MATCH = Parameter(
    "If-None-Match",
    "EntityTags",
    "Entity tags of the copies that the client has; if one is current, the response is 304.",
    location="header",
    required=False,
)
"""The header of every operation whose response carries an `ETag`."""
