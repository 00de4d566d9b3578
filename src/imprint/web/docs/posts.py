"""Index operations: posts, authors, libraries, sales, statistics and totals."""

from datetime import timedelta

import msgspec

from imprint.domain.drafts.tags import MAX_TAG_LENGTH, MAX_TAGS
from imprint.domain.errors import Code
from imprint.domain.formats.addresses import keccak256
from imprint.domain.posts.indexed_posts import PostOrder, RecordedPost
from imprint.domain.posts.search import MAX_SEARCH
from imprint.interface.drafts import PostContent
from imprint.interface.posts import (
    Author,
    CreatorMetrics,
    Day,
    GlobalMetricsResponse,
    HeatMap,
    HeatMapResponse,
    Held,
    HeldPost,
    HolderMetrics,
    LibraryResponse,
    ListedRevision,
    MarketMetrics,
    MeasureRecord,
    MeasuresResponse,
    Opening,
    OwnPost,
    OwnPostsResponse,
    Post,
    PostProof,
    PostsResponse,
    PricePoint,
    ReportBody,
    ReportId,
    ReportResponse,
    RevisionsResponse,
    Sale,
    SalesResponse,
    SalesTotal,
    Stats,
    UserMetrics,
    UserMetricsResponse,
)
from imprint.interface.values import POST_ID_PATTERN, POST_PAGE_TOKEN_PATTERN, Wei
from imprint.services.posts.posts import MAX_PAGE_SIZE, MAX_TABLE_SIZE
from imprint.services.site import ShownPost
from imprint.web.api.post_records import post_record, profile_record, proof_response
from imprint.web.docs.examples import (
    CONTENT,
    FACTS,
    FREE_POST,
    INDEXED_POST,
    LINKS,
    MARKETPLACE,
    NEWEST_CONTENT,
    OWNER,
    PAGE_TOKEN,
    POST_ID,
    PROFILE,
    PUBLISHED,
    REVISED,
    REVISION_CID,
    REVISION_NOTE,
    SERVICE,
    TX_HASH,
)
from imprint.web.docs.operation import (
    BODY_CODES,
    DOCUMENT_CODES,
    IF_NONE_MATCH,
    MIDDLEWARE_CODES,
    PAYMENT_SIGNATURE,
    PROOF_CODES,
    SESSION_CODES,
    SIGN_IN_WITH_X,
    WITHHELD_CODES,
    Body,
    Operation,
    Parameter,
    Response,
    Schema,
    Topic,
    array,
    choice,
    string,
)
from imprint.web.site.machines import MachinePages


def _size(largest: int) -> Schema:
    limits = {"minimum": 1, "maximum": largest}
    return {"type": "integer", "format": "int64", "description": "The size of a page.", **limits}


PAYMENT_HEADER_PATTERN = "^[A-Za-z0-9+/]*={0,2}$"
"""Pattern of the x402 headers, which are in standard base64."""

POST_COMPONENTS: dict[str, Schema] = {
    "TagList": array(
        "Hashtags.",
        string(f"A hashtag of up to {MAX_TAG_LENGTH} characters."),
        maxItems=MAX_TAGS,
    ),
    "AnyHosted": choice("Whether the document is here or not.", "any"),
    "Flag": {"type": "boolean", "description": "`true` or `false`."},
    "Amount": string("An amount in wei, a decimal number below 2^256.", POST_ID_PATTERN),
    "PostOrder": choice("The order; `sales` and `price` have the highest first.", *PostOrder),
    "SearchText": string("What is searched for.", maxLength=MAX_SEARCH),
    "PageSize": _size(MAX_PAGE_SIZE),
    "TableSize": _size(MAX_TABLE_SIZE),
    "PostPageToken": string("The `next_page_token` of a page, unchanged.", POST_PAGE_TOKEN_PATTERN),
    "SalesTable": string("Comma-separated values (RFC 4180), with a line of names."),
    "Markdown": string("Markdown."),
    "PaymentHeader": string("JSON in standard base64 with padding.", PAYMENT_HEADER_PATTERN),
    "RevisionNumber": {
        "type": "integer",
        "format": "int64",
        "description": "The number of a revision; 0 is the document on the chain.",
        "minimum": 0,
    },
}
"""Components for parameters, and for responses that are not JSON."""

_PRICE = Wei(10**18)
_LATER = PUBLISHED + timedelta(hours=1)
_READER = "0x" + keccak256(b"reader")[12:].hex()

_POST = post_record(INDEXED_POST, SERVICE)
_HELD_POST = HeldPost(**msgspec.structs.asdict(_POST), held=Held(Wei(1), _LATER, _PRICE))
_PRICED_POST = msgspec.structs.replace(
    _POST, price_history=(PricePoint(_POST.price, _POST.created_at),)
)
_MEASURE = MeasureRecord(POST_ID, "unlisted", "policy", "Not for everybody's list.", PUBLISHED)
_OWN_POST = OwnPost(**msgspec.structs.asdict(_POST), measure=_MEASURE)
_SALE = Sale(POST_ID, _READER, _PRICE, _LATER, _POST.block, TX_HASH, _POST.title)
_DAY = Day(f"{PUBLISHED:%Y-%m-%d}", 1, 1, _PRICE)

_INDEX_CODES = (Code.INDEX_UNAVAILABLE, Code.DATABASE_UNAVAILABLE, *MIDDLEWARE_CODES)

_REPORT = "01998a52-6d1c-7b3e-9c20-55f1d3a7c9e4"

_ID = Parameter(
    "id", "PostId", "The post's id, which is its token id in the marketplace.", POST_ID, "path"
)

_LIMIT = Parameter("limit", "PageSize", "How many a page has; 20 by default.", required=False)

_NEXT = Parameter(
    "next_page_token",
    "PostPageToken",
    "The `next_page_token` of the previous page, unchanged. It contains the list and its limit; "
    "other parameters may be left out, or must be the same.",
    PAGE_TOKEN,
    required=False,
)

_SEARCH = Parameter(
    "q",
    "SearchText",
    "Words that must all be there, in title, description, hashtags or the text of a free post, or "
    'their beginnings, and `"phrases"`. Each post has a `snippet` then.',
    required=False,
)

_USER = Parameter("userAddress", "Address", "An address; it needs no session.", OWNER)

LIST_INDEXED_POSTS = Operation(
    "listIndexedPosts",
    "get",
    "/posts",
    Topic.POSTS,
    "List posts",
    "Returns posts as the chain describes them: those that this service shows, or with "
    "`hosted=any` also those whose document is not here. All parameters may be combined. A page "
    "may have fewer posts than its limit and a next page all the same: only `next_page_token` says "
    "whether there are more.",
    Response("A page of posts.", PostsResponse, PostsResponse((_POST,), PAGE_TOKEN), tagged=True),
    (Code.INVALID_TAGS, Code.INVALID_ADDRESS, Code.INVALID_PAGE_TOKEN, *_INDEX_CODES),
    parameters=(
        Parameter(
            "tag", "TagList", "A hashtag; several parameters mean all of them.", required=False
        ),
        Parameter("author", "Address", "Posts of this author.", OWNER, required=False),
        Parameter("free", "Flag", "Only free posts, or only others.", required=False),
        Parameter("minPrice", "Amount", "The lowest price.", required=False),
        Parameter("maxPrice", "Amount", "The highest price.", required=False),
        _SEARCH,
        Parameter(
            "sort",
            "PostOrder",
            "The order; `newest` by default, with `q` the best match first.",
            required=False,
        ),
        Parameter(
            "hosted",
            "AnyHosted",
            "`any` lists every post that the operator does not hide, whatever the service shows; "
            "one that shows only authors it allows refuses it.",
            required=False,
        ),
        _LIMIT,
        _NEXT,
        IF_NONE_MATCH,
    ),
)

SHOW_POST = Operation(
    "showPost",
    "get",
    "/posts/{id}",
    Topic.POSTS,
    "Show a post",
    "Returns a post as the chain describes it, with its latest prices and without its content. A "
    "browser that asks for `text/html` is sent to the page of the post.",
    Response("The post.", Post, _PRICED_POST, tagged=True),
    (Code.INVALID_POST_ID, Code.NOT_FOUND, *WITHHELD_CODES, *_INDEX_CODES),
    parameters=(_ID, IF_NONE_MATCH),
    redirects=True,
)

READ_POST_CONTENT = Operation(
    "readPostContent",
    "get",
    "/posts/{id}/content",
    Topic.POSTS,
    "Read the content of a post",
    "With a session, as `GET /fileByPostId` for the address of the session. Without one, as "
    "`GET /freeFileByPostId`. A session that is not valid is refused, whatever the price. A post "
    "that the caller may not read, but can buy, is 402; instead of a session, a proof in "
    "`SIGN-IN-WITH-X` identifies the reader for one request.\n\n"
    "It is the newest version: that of the newest revision, or of the document on the chain, which "
    "is revision 0. `file` is always the record of the document on the chain. A revision that the "
    "request names has a `proof`: what its author signed.",
    Response("The content and its record.", PostContent, NEWEST_CONTENT, tagged=True),
    (
        Code.INVALID_POST_ID,
        Code.PAYMENT_REQUIRED,
        Code.NOT_ENTITLED,
        Code.NOT_FREE,
        Code.UNKNOWN_REVISION,
        *PROOF_CODES,
        *WITHHELD_CODES,
        *SESSION_CODES,
        *DOCUMENT_CODES,
    ),
    parameters=(
        _ID,
        Parameter(
            "revision",
            "RevisionNumber",
            "The number of a version; the newest by default.",
            required=False,
        ),
        SIGN_IN_WITH_X,
        PAYMENT_SIGNATURE,
        IF_NONE_MATCH,
    ),
    takes_session=True,
)

READ_OPENING = Operation(
    "readOpening",
    "get",
    "/posts/{id}/opening",
    Topic.POSTS,
    "Read the opening of a post",
    "Returns what everybody may read of a post, whatever it costs: the Markdown above the line "
    "`<!--more-->`. Whether there is one does not depend on the price.",
    Response("The opening.", Opening, Opening(CONTENT, 5), tagged=True),
    (
        Code.INVALID_POST_ID,
        Code.NO_OPENING,
        Code.INDEX_UNAVAILABLE,
        *WITHHELD_CODES,
        *DOCUMENT_CODES,
    ),
    parameters=(_ID, IF_NONE_MATCH),
)

LIST_REVISIONS = Operation(
    "listRevisions",
    "get",
    "/posts/{id}/revisions",
    Topic.POSTS,
    "List the revisions of a post",
    "Returns the corrected versions of a post without their texts, the newest first.",
    Response(
        "The revisions.",
        RevisionsResponse,
        RevisionsResponse((ListedRevision(1, REVISION_CID, REVISION_NOTE, REVISED, 421),)),
        tagged=True,
    ),
    (Code.INVALID_POST_ID, Code.NOT_FOUND, *WITHHELD_CODES, *_INDEX_CODES),
    parameters=(_ID, IF_NONE_MATCH),
)

GET_POST_PROOF = Operation(
    "getPostProof",
    "get",
    "/posts/{id}/proof.json",
    Topic.POSTS,
    "Get the proof of a post",
    "Returns where a final block of the chain records who published which document, as a file "
    "that anybody can check with any node of the chain: `imprint verify --proof FILE --rpc URL`. "
    "It never changes. Before the block is final, the post has none.",
    Response(
        "The proof.",
        PostProof,
        proof_response(RecordedPost(INDEXED_POST, FACTS.chain.id, MARKETPLACE, 0, True)),
        tagged=True,
    ),
    (Code.INVALID_POST_ID, Code.NOT_FOUND, Code.NOT_FINAL, *WITHHELD_CODES, *_INDEX_CODES),
    parameters=(_ID, IF_NONE_MATCH),
)

GET_POST_MARKDOWN = Operation(
    "getPostMarkdown",
    "get",
    "/posts/{id}.md",
    Topic.POSTS,
    "Get a post as Markdown",
    "Returns title, author, date, hashtags and description. A post that is stored here has its "
    "text, if it is free or the caller may read it: by a session, or by a proof in "
    "`SIGN-IN-WITH-X`. For anybody else, the document has the opening, and says what the post "
    "costs and how to buy it; the status is 402 if it is for sale here.",
    Response(
        "The post.",
        "Markdown",
        MachinePages(LINKS).post(ShownPost(FREE_POST, None, 0), CONTENT),
        ("text/markdown",),
        tagged=True,
        paid=True,
    ),
    (
        Code.INVALID_POST_ID,
        Code.INDEX_UNAVAILABLE,
        *PROOF_CODES,
        *WITHHELD_CODES,
        *SESSION_CODES,
        *DOCUMENT_CODES,
    ),
    parameters=(_ID, SIGN_IN_WITH_X, PAYMENT_SIGNATURE, IF_NONE_MATCH),
    takes_session=True,
)

SHOW_AUTHOR = Operation(
    "showAuthor",
    "get",
    "/authors/{address}",
    Topic.POSTS,
    "Show an author",
    "Returns what an address has published and sold, and its profile. An address with neither a "
    "post nor a profile is not found. "
    "A browser that asks for `text/html` is sent to the page of the author, if there are pages.",
    Response(
        "The author.",
        Author,
        Author(
            OWNER,
            1,
            SalesTotal(1, _PRICE),
            1,
            PUBLISHED,
            PUBLISHED,
            profile_record(PROFILE),
        ),
        tagged=True,
    ),
    (Code.INVALID_ADDRESS, Code.NOT_FOUND, *WITHHELD_CODES, *_INDEX_CODES),
    parameters=(
        Parameter("address", "Address", "The author's address.", OWNER, "path"),
        IF_NONE_MATCH,
    ),
    redirects=True,
)

LIST_LIBRARY = Operation(
    "listLibrary",
    "get",
    "/me/library",
    Topic.POSTS,
    "List the posts you hold",
    "Returns the posts whose tokens the address of the session holds, the latest arrival first. "
    "For a token that was not bought, the time is that of its arrival, and `paid` is null. "
    "A search with `q` also looks into the documents you hold, some of them at a time, so a page "
    "may be empty and have a next one.",
    Response(
        "A page of posts.", LibraryResponse, LibraryResponse((_HELD_POST,), None), tagged=True
    ),
    (
        Code.INVALID_PAGE_TOKEN,
        Code.CHAIN_UNAVAILABLE,
        Code.STORAGE_UNAVAILABLE,
        *SESSION_CODES,
        *_INDEX_CODES,
    ),
    parameters=(_SEARCH, _LIMIT, _NEXT, IF_NONE_MATCH),
    needs_session=True,
)

LIST_OWN_POSTS = Operation(
    "listOwnPosts",
    "get",
    "/me/posts",
    Topic.POSTS,
    "List your posts",
    "Returns all posts of the address of the session, the newest first, also those that are in no "
    "list or withheld, with the measure and the operator's statement. Title, description and "
    "thumbnail of a withheld post are empty.",
    Response(
        "A page of posts.", OwnPostsResponse, OwnPostsResponse((_OWN_POST,), None), tagged=True
    ),
    (Code.INVALID_PAGE_TOKEN, *SESSION_CODES, *_INDEX_CODES),
    parameters=(_LIMIT, _NEXT, IF_NONE_MATCH),
    needs_session=True,
)

LIST_SALES = Operation(
    "listSales",
    "get",
    "/me/sales",
    Topic.POSTS,
    "List your sales",
    "Returns the purchases of posts of the address of the session, the newest first. With "
    "`Accept: text/csv` it is a table with a line of names and up to 1000 sales, with the amount "
    "in wei (`price`) and in coins (`amount`, `coin`), and the header `Link` has the address of "
    "the next one.",
    Response(
        "A page of sales.",
        SalesResponse,
        SalesResponse((_SALE,), None),
        tagged=True,
        others=(("text/csv", "SalesTable"),),
    ),
    (Code.INVALID_PAGE_TOKEN, *SESSION_CODES, *_INDEX_CODES),
    parameters=(
        Parameter(
            "limit",
            "TableSize",
            "How many sales a page has: 20 by default and at most 50; in a table 1000.",
            required=False,
        ),
        _NEXT,
        IF_NONE_MATCH,
    ),
    needs_session=True,
)

SHOW_STATS = Operation(
    "showStats",
    "get",
    "/stats",
    Topic.POSTS,
    "Show the statistics of the marketplace",
    "Returns totals, and each of the last 90 days in UTC, today included, the oldest first.",
    Response("The statistics.", Stats, Stats(1, 1, 1, 1, _PRICE, (_DAY,)), tagged=True),
    _INDEX_CODES,
    parameters=(IF_NONE_MATCH,),
)

GLOBAL_METRICS = Operation(
    "getGlobalMetrics",
    "get",
    "/globalMetrics",
    Topic.LISTS,
    "Get the totals of the marketplace",
    "Returns how many addresses published, bought or hold a post, how many posts there are, the "
    "sum of their first prices, and what was paid for all purchases. They come from the index of "
    "posts, and are unavailable while it is being built.",
    Response(
        "The totals.",
        GlobalMetricsResponse,
        GlobalMetricsResponse(200, MarketMetrics(2, 1, _PRICE, _PRICE)),
        tagged=True,
    ),
    _INDEX_CODES,
    parameters=(IF_NONE_MATCH,),
)

USER_METRICS = Operation(
    "getUserMetrics",
    "get",
    "/userMetrics",
    Topic.LISTS,
    "Get the totals of an address",
    "Returns what an address published, earned, bought and spent. `totalSubscribers` are the "
    "addresses that hold one of its posts now. An address without activity has zeros.",
    Response(
        "The totals.",
        UserMetricsResponse,
        UserMetricsResponse(
            200, UserMetrics(CreatorMetrics(1, _PRICE, 1, _PRICE), HolderMetrics(0, Wei(0)))
        ),
        tagged=True,
    ),
    (Code.INVALID_ADDRESS, *_INDEX_CODES),
    parameters=(_USER, IF_NONE_MATCH),
)

HEAT_MAP = Operation(
    "getHeatMap",
    "get",
    "/heatmap",
    Topic.LISTS,
    "Get the days on which an address published and bought",
    "Returns the day of each post and of each purchase of the last 366 days, the oldest first, "
    "at most 10 000 of each kind, the newest. A day with several has several entries. An address "
    "without activity has none.",
    Response(
        "The days.",
        HeatMapResponse,
        HeatMapResponse(200, HeatMap(("15/1/2026",), ())),
        tagged=True,
    ),
    (Code.INVALID_ADDRESS, *_INDEX_CODES),
    parameters=(_USER, IF_NONE_MATCH),
)

LIST_MEASURES = Operation(
    "listMeasures",
    "get",
    "/me/measures",
    Topic.POSTS,
    "List the measures on your posts",
    "Returns what the operator decided about the address of the session, and about its newest "
    "1000 posts, with the statement of each decision.",
    Response(
        "The measures.",
        MeasuresResponse,
        MeasuresResponse(
            (MeasureRecord(POST_ID, "withheld", "legal", "A court has decided so.", PUBLISHED),)
        ),
    ),
    (*SESSION_CODES, *_INDEX_CODES),
    needs_session=True,
)

REPORT_POST = Operation(
    "reportPost",
    "post",
    "/reports",
    Topic.POSTS,
    "Report a post",
    "Tells the operator what is wrong with a post. The text is plain text, and only the operator "
    "reads it. A report alone changes nothing about the post. The number of reports from an IP "
    "address is limited.",
    Response(
        "The report was taken.", ReportResponse, ReportResponse(ReportId(_REPORT)), status=202
    ),
    (
        Code.INVALID_JSON,
        Code.INVALID_POST_ID,
        Code.NOT_FOUND,
        Code.DATABASE_UNAVAILABLE,
        Code.INDEX_UNAVAILABLE,
        *BODY_CODES,
        *MIDDLEWARE_CODES,
    ),
    body=Body(
        ReportBody,
        "The report.",
        ReportBody(POST_ID, "copyright", "I took this picture.", "me@example.com"),
    ),
    redirects=True,
)

POST_OPERATIONS = (
    LIST_INDEXED_POSTS,
    SHOW_POST,
    READ_POST_CONTENT,
    READ_OPENING,
    LIST_REVISIONS,
    GET_POST_PROOF,
    GET_POST_MARKDOWN,
    SHOW_AUTHOR,
    LIST_LIBRARY,
    LIST_OWN_POSTS,
    LIST_SALES,
    SHOW_STATS,
    GLOBAL_METRICS,
    USER_METRICS,
    HEAT_MAP,
    LIST_MEASURES,
    REPORT_POST,
)
"""The index operations, in docs order."""
