"""Operations: what a caller sends to an endpoint, and everything it can be answered."""

from dataclasses import dataclass
from enum import StrEnum
from typing import Literal

from imprint.domain.errors import Code


class Topic(StrEnum):
    """What operations are grouped by, in the order in which a reader meets them."""

    SESSIONS = "Sessions"
    DRAFTS = "Drafts"
    CONTENT = "Content"
    LISTS = "Lists"
    DELIVERIES = "Deliveries"
    SERVICE = "Service"


TOPICS = {
    Topic.SESSIONS: "A reader signs a login message and gets a session, good for two hours.",
    Topic.DRAFTS: "What an author's wallet signs for. No session is needed: the signature is one.",
    Topic.CONTENT: "The texts and their thumbnails, for those who may read them.",
    Topic.LISTS: "Records without their content, newest first, page by page.",
    Topic.DELIVERIES: "Where the two providers bring the marketplace's events.",
    Topic.SERVICE: "What the service says about itself.",
}
"""Every topic, with the sentence that introduces it."""


@dataclass(frozen=True, slots=True)
class Parameter:
    """One parameter; `schema` names a component."""

    name: str
    schema: str
    description: str
    example: str | None = None
    place: Literal["query", "path", "header"] = "query"
    required: bool = True


@dataclass(frozen=True, slots=True)
class Body:
    """A request's body; `component` names its schema and its example."""

    component: str
    description: str
    media_type: str = "application/json"
    parts: tuple[tuple[str, str], ...] = ()
    """For a form: the media types of the parts that have one."""


@dataclass(frozen=True, slots=True)
class Answer:
    """The answer 200; `component` names its schema and its example."""

    description: str
    component: str
    media_types: tuple[str, ...] = ("application/json",)
    tagged: bool = False
    """Whether it carries an entity tag, and is 304 for a caller who holds it already."""
    others: tuple[tuple[str, str], ...] = ()
    """Other media types that may be asked for, with their components."""
    ranged: bool = False
    """Whether a part of it may be asked for, which is 206."""


@dataclass(frozen=True, slots=True)
class Operation:
    """One method of one path; `codes` are all the refusals it knows."""

    name: str
    method: Literal["get", "post"]
    path: str
    topic: Topic
    summary: str
    description: str
    answer: Answer
    codes: tuple[Code, ...]
    parameters: tuple[Parameter, ...] = ()
    body: Body | None = None
    needs_session: bool = False
    alias: str | None = None
    """Another path under which the same endpoint is found."""


EVERYWHERE = (Code.RATE_LIMITED, Code.OVERLOADED)
"""What the edge may answer before an endpoint is asked."""

BODY_CODES = (Code.REQUEST_TIMEOUT, Code.TOO_LARGE, Code.UNSUPPORTED_MEDIA_TYPE)
"""What may be wrong with any body that has a fixed media type."""

SESSION_CODES = (Code.SESSION_MISSING, Code.SESSION_INVALID, Code.SESSION_EXPIRED)
"""What may be wrong with a session."""

SIGNATURE_CODES = (Code.INVALID_ADDRESS, Code.SIGNATURE_STALE, Code.SIGNATURE_INVALID)
"""What may be wrong with anything that a wallet signs."""

STORED_CODES = (
    Code.NOT_FOUND,
    Code.STORAGE_UNAVAILABLE,
    Code.DATABASE_UNAVAILABLE,
    *EVERYWHERE,
)
"""What may keep a stored document from being read."""

IF_NONE_MATCH = Parameter(
    "If-None-Match",
    "EntityTags",
    "Entity tags of copies that the caller holds; if one is current, the answer is 304.",
    place="header",
    required=False,
)
"""The header of every operation whose answer carries an entity tag."""
