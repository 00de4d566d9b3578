"""The operations of the index: posts, authors, libraries, sales and statistics."""

from imprint.domain.errors import Code
from imprint.web.docs.examples import OWNER, PAGE_TOKEN, POST_ID
from imprint.web.docs.operation import (
    DOCUMENT_CODES,
    IF_NONE_MATCH,
    MIDDLEWARE_CODES,
    SESSION_CODES,
    Operation,
    Parameter,
    Response,
    Topic,
)

_INDEX_CODES = (Code.INDEX_UNAVAILABLE, Code.DATABASE_UNAVAILABLE, *MIDDLEWARE_CODES)

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

LIST_INDEXED_POSTS = Operation(
    "listIndexedPosts",
    "get",
    "/posts",
    Topic.POSTS,
    "List posts",
    "Returns posts as the chain describes them, also those whose document is not here. All "
    "parameters may be combined. A page may have fewer posts than its limit and a next page all "
    "the same: only `next_page_token` says whether there are more.",
    Response("A page of posts.", "PostsAnswer", tagged=True),
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
    "Returns a post as the chain describes it, without its content. A browser that asks for "
    "`text/html` is sent to the page of the post.",
    Response("The post.", "Post", tagged=True),
    (Code.INVALID_POST_ID, Code.NOT_FOUND, *_INDEX_CODES),
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
    "`GET /freeFileByPostId`. A session that is not valid is refused, whatever the price.",
    Response("The content and its record.", "ContentAnswer", tagged=True, example="PostAnswer"),
    (
        Code.INVALID_POST_ID,
        Code.NOT_ENTITLED,
        Code.NOT_FREE,
        Code.CHAIN_UNAVAILABLE,
        *SESSION_CODES,
        *DOCUMENT_CODES,
    ),
    parameters=(_ID, IF_NONE_MATCH),
    takes_session=True,
)

GET_POST_MARKDOWN = Operation(
    "getPostMarkdown",
    "get",
    "/posts/{id}.md",
    Topic.POSTS,
    "Get a post as Markdown",
    "Returns title, author, date, hashtags and description. A free post that is stored here "
    "has its text; of any other the page says what it costs and how to get it.",
    Response("The post.", "Markdown", ("text/markdown",), tagged=True),
    (
        Code.INVALID_POST_ID,
        Code.CHAIN_UNAVAILABLE,
        Code.INDEX_UNAVAILABLE,
        *DOCUMENT_CODES,
    ),
    parameters=(_ID, IF_NONE_MATCH),
)

SHOW_AUTHOR = Operation(
    "showAuthor",
    "get",
    "/authors/{address}",
    Topic.POSTS,
    "Show an author",
    "Returns what an address has published and sold. An address without posts is not found. "
    "A browser that asks for `text/html` is sent to the page of the author, if there are pages.",
    Response("The author.", "AuthorAnswer", tagged=True),
    (Code.INVALID_ADDRESS, Code.NOT_FOUND, *_INDEX_CODES),
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
    "Tokens that were not bought have the moment of their arrival, and `paid` is null. "
    "A search with `q` also looks into the documents you hold, some of them at a time, so a page "
    "may be empty and have a next one.",
    Response("A page of posts.", "LibraryAnswer", tagged=True),
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

LIST_SALES = Operation(
    "listSales",
    "get",
    "/me/sales",
    Topic.POSTS,
    "List your sales",
    "Returns the purchases of posts of the address of the session, the newest first. With "
    "`Accept: text/csv` it is a table with a line of names and up to 1000 sales, and the header "
    "`Link` has the address of the next one.",
    Response("A page of sales.", "SalesAnswer", tagged=True, others=(("text/csv", "SalesTable"),)),
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
    Response("The statistics.", "StatsAnswer", tagged=True),
    _INDEX_CODES,
    parameters=(IF_NONE_MATCH,),
)

POST_OPERATIONS = (
    LIST_INDEXED_POSTS,
    SHOW_POST,
    READ_POST_CONTENT,
    GET_POST_MARKDOWN,
    SHOW_AUTHOR,
    LIST_LIBRARY,
    LIST_SALES,
    SHOW_STATS,
)
"""The operations of the index, in the order in which the docs show them."""
