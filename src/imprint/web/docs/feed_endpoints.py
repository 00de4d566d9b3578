"""Feed operations: public feeds, and the private feeds of a reader."""

from imprint.domain.drafts.tags import MAX_TAG_LENGTH
from imprint.domain.errors import Code
from imprint.domain.posts.feeds import Feed, FeedEntry
from imprint.interface.posts import (
    EmptyBody,
    FeedAccess,
    FeedsResponse,
    JsonFeed,
    PrivateFeed,
)
from imprint.interface.values import FEED_TOKEN_PATTERN, HASHTAG_PATTERN, PLACE_PATTERN
from imprint.web.api import atom, json_feed
from imprint.web.docs.examples import (
    CONTENT,
    FREE_POST,
    LINKS,
    MOMENT,
    OWNER,
    PUBLISHED,
    SERVICE,
    TAGS,
)
from imprint.web.docs.operation import (
    IF_NONE_MATCH,
    MIDDLEWARE_CODES,
    OWN_CODES,
    WITHHELD_CODES,
    Body,
    Operation,
    Parameter,
    Response,
    Schema,
    Topic,
    string,
)

FEED_ID = "3f0b4d1e-7a77-4c58-9d0a-5b1f2f6c8e90"
"""The ID of the example private feed."""

FEED_TOKEN = "MTIzNDU2Nzg5MDEyMzQ1Njc4OTAxMjM0NTY3ODkwMTI"
"""A text that looks like a feed token but belongs to no feed."""

TAG = TAGS.partition(",")[0]
"""An example hashtag."""

_FEED = Feed("posts", "newest posts", "/feeds/posts", "/", (FeedEntry(FREE_POST, PUBLISHED),))
_TEXTS = {FREE_POST.post_id: f"<p>{CONTENT}</p>"}

_ADDRESS = f"{SERVICE}/feeds/private/{FEED_TOKEN}"
_ACCESS = FeedAccess(FEED_ID, f"{_ADDRESS}.atom", f"{_ADDRESS}.json")

FEED_COMPONENTS: dict[str, Schema] = {
    "Hashtag": string(
        f"One hashtag of up to {MAX_TAG_LENGTH} letters, digits, `_` and `-`.", HASHTAG_PATTERN
    ),
    "HttpDate": string("A date as HTTP writes it (RFC 9110)."),
    "FeedToken": string("32 bytes in base64url.", FEED_TOKEN_PATTERN),
    "FeedId": string("The `id` of a private feed.", "^[A-Za-z0-9-]{1,64}$"),
    "ChainPosition": string("A position on the chain, as a number.", PLACE_PATTERN),
    "AtomFeed": string("An Atom document (RFC 4287)."),
}
"""Components for parameters, and for responses that are not JSON."""

_FEED_CODES = (
    Code.CHAIN_UNAVAILABLE,
    Code.INDEX_UNAVAILABLE,
    Code.STORAGE_UNAVAILABLE,
    Code.DATABASE_UNAVAILABLE,
    *MIDDLEWARE_CODES,
)

_BODY_CODES = (Code.INVALID_JSON, Code.REQUEST_TIMEOUT, Code.TOO_LARGE)

_NAMES = {"atom": "Atom", "json": "JSON Feed"}

_SINCE = Parameter(
    "If-Modified-Since",
    "HttpDate",
    "The `Last-Modified` of the copy that the client has; `If-None-Match` takes precedence.",
    location="header",
    required=False,
)

_TAG = Parameter("tag", "Hashtag", "One hashtag, in any spelling.", TAG, "path")

_AUTHOR = Parameter("address", "Address", "The address of an author.", OWNER, "path")

_TOKEN = Parameter("token", "FeedToken", "The token of the feed, a secret.", FEED_TOKEN, "path")

_BEFORE = Parameter(
    "before",
    "ChainPosition",
    "Where the page begins, from the address of the next page that the page before it names.",
    required=False,
)

_ID = Parameter("id", "FeedId", "The id of a private feed.", FEED_ID, "path")

_EMPTY = Body(EmptyBody, "Nothing, or an empty object.", EmptyBody(), required=False)


def _response(ending: str, *, tagged: bool = False) -> Response:
    described = f"The feed, as {_NAMES[ending]}."
    if ending == "atom":
        example = atom.write_atom(_FEED, _TEXTS, LINKS).decode()
        return Response(described, "AtomFeed", example, (atom.MEDIA_TYPE,), tagged=tagged)
    feed = json_feed.make_json_feed(_FEED, _TEXTS, LINKS)
    return Response(described, JsonFeed, feed, (json_feed.MEDIA_TYPE,), tagged=tagged)


def _public(ending: str) -> tuple[Operation, ...]:
    name, suffix = _NAMES[ending], ending.capitalize()
    response = _response(ending, tagged=True)
    return (
        Operation(
            f"getFeed{suffix}",
            "get",
            f"/feeds/posts.{ending}",
            Topic.FEEDS,
            f"Get the newest posts ({name})",
            "Returns the newest 50 posts with title, description, price, author and hashtags. A "
            "post that is free now and stored here has its text: the HTML of its page with "
            "absolute addresses, up to 128 KiB of it, and up to 1 MiB in the feed. A paid post has "
            "its opening, if there is one. The service checks the price on the chain. The response "
            "is 503 if the chain cannot be reached, and while the index of posts is being built. "
            "The ids of posts never change.\n\n"
            "If the service has a WebSub hub, the feed and its `Link` header name it.",
            response,
            _FEED_CODES,
            parameters=(IF_NONE_MATCH, _SINCE),
        ),
        Operation(
            f"getTagFeed{suffix}",
            "get",
            f"/feeds/tags/{{tag}}.{ending}",
            Topic.FEEDS,
            f"Get the newest posts with a hashtag ({name})",
            "Returns the newest 50 posts with a hashtag, in the form of the feed of all posts. "
            "The feed of an unused hashtag is empty.",
            response,
            (Code.INVALID_TAGS, *_FEED_CODES),
            parameters=(_TAG, IF_NONE_MATCH, _SINCE),
        ),
        Operation(
            f"getAuthorFeed{suffix}",
            "get",
            f"/feeds/authors/{{address}}.{ending}",
            Topic.FEEDS,
            f"Get the newest posts of an author ({name})",
            "Returns the newest 50 posts of an author, in the form of the feed of all posts. An "
            "address that has published nothing is 404.",
            response,
            (Code.INVALID_ADDRESS, Code.NOT_FOUND, *WITHHELD_CODES, *_FEED_CODES),
            parameters=(_AUTHOR, IF_NONE_MATCH, _SINCE),
        ),
    )


def _private(ending: str) -> Operation:
    return Operation(
        f"getPrivateFeed{ending.capitalize()}",
        "get",
        f"/feeds/private/{{token}}.{ending}",
        Topic.FEEDS,
        f"Get a private feed ({_NAMES[ending]})",
        "Returns the posts that the owner of the feed holds or wrote, the newest first, on pages "
        "of up to 50, each with the address of the next. A post has its text if the chain entitles "
        "the owner at this moment and it is stored here, up to 128 KiB of HTML. "
        "The token in the path authorizes the request; no cache may keep the response.",
        _response(ending),
        (Code.NOT_FOUND, *_FEED_CODES),
        parameters=(_TOKEN, _BEFORE),
    )


ADD_FEED = Operation(
    "addPrivateFeed",
    "post",
    "/me/feeds",
    Topic.FEEDS,
    "Make a private feed",
    "Makes a feed of what the reader holds or wrote, at most 10. Its addresses contain a token "
    "that is not shown again. Anyone who knows an address can read the feed until it is rotated or "
    "removed.",
    Response("The addresses of the feed.", FeedAccess, _ACCESS, status=201),
    (Code.TOO_MANY_FEEDS, *_BODY_CODES, *OWN_CODES),
    body=_EMPTY,
    needs_session=True,
)

LIST_FEEDS = Operation(
    "listPrivateFeeds",
    "get",
    "/me/feeds",
    Topic.FEEDS,
    "List your private feeds",
    "Returns the reader's private feeds, the oldest first, without their addresses. `fetchedAt` "
    "is exact to a minute.",
    Response("The feeds.", FeedsResponse, FeedsResponse((PrivateFeed(FEED_ID, MOMENT, None),))),
    OWN_CODES,
    needs_session=True,
)

ROTATE_FEED = Operation(
    "rotatePrivateFeed",
    "post",
    "/me/feeds/{id}",
    Topic.FEEDS,
    "Rotate the addresses of a private feed",
    "Replaces the token of a feed. Its old addresses are 404 at once.",
    Response("The new addresses of the feed.", FeedAccess, _ACCESS),
    (Code.NOT_FOUND, *_BODY_CODES, *OWN_CODES),
    parameters=(_ID,),
    body=_EMPTY,
    needs_session=True,
)

REMOVE_FEED = Operation(
    "removePrivateFeed",
    "delete",
    "/me/feeds/{id}",
    Topic.FEEDS,
    "Remove a private feed",
    "Removes a feed. Its addresses are 404 at once.",
    Response("The feed is removed. There is no body.", None, status=204),
    (Code.NOT_FOUND, *OWN_CODES),
    parameters=(_ID,),
    needs_session=True,
)

FEED_OPERATIONS = (
    *_public("atom"),
    *_public("json"),
    ADD_FEED,
    LIST_FEEDS,
    ROTATE_FEED,
    REMOVE_FEED,
    _private("atom"),
    _private("json"),
)
"""All feed operations, in docs order."""
