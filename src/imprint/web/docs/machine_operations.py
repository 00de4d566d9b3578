"""The operations that machines use: posts as Markdown, and what crawlers ask for."""

from imprint.domain.errors import Code
from imprint.web.docs.examples import POST_ID
from imprint.web.docs.operation import (
    DOCUMENT_CODES,
    IF_NONE_MATCH,
    MIDDLEWARE_CODES,
    Operation,
    Parameter,
    Response,
    Topic,
)

_INDEX_CODES = (Code.DATABASE_UNAVAILABLE, *MIDDLEWARE_CODES)
_POST_ID = Parameter(
    "id", "PostId", "The post's id, which is its token id in the marketplace.", POST_ID, "path"
)

MACHINE_OPERATIONS = (
    Operation(
        "getPostMarkdown",
        "get",
        "/posts/{id}.md",
        Topic.MACHINES,
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
        parameters=(_POST_ID, IF_NONE_MATCH),
    ),
    Operation(
        "getLlmsText",
        "get",
        "/llms.txt",
        Topic.MACHINES,
        "Get what language models should know",
        "Returns what the service is, where lists, feeds and documentation are, and the newest "
        "posts, as Markdown.",
        Response("The text.", "Markdown", ("text/markdown",), tagged=True),
        _INDEX_CODES,
        parameters=(IF_NONE_MATCH,),
    ),
    Operation(
        "getRobotsText",
        "get",
        "/robots.txt",
        Topic.MACHINES,
        "Get the rules for crawlers",
        "Returns which paths crawlers should leave out, and where the sitemap is (RFC 9309).",
        Response("The rules.", "RobotsText", ("text/plain",), tagged=True),
        MIDDLEWARE_CODES,
        parameters=(IF_NONE_MATCH,),
    ),
    Operation(
        "getSitemap",
        "get",
        "/sitemap.xml",
        Topic.MACHINES,
        "Get the sitemap",
        "Returns the addresses of the pages of the sitemap.",
        Response("The list of pages.", "SitemapIndex", ("application/xml",), tagged=True),
        _INDEX_CODES,
        parameters=(IF_NONE_MATCH,),
    ),
    Operation(
        "getSitemapPage",
        "get",
        "/sitemaps/{start}.xml",
        Topic.MACHINES,
        "Get a page of the sitemap",
        "Returns the pages of up to 10 000 posts, in the order of the chain.",
        Response("The page.", "SitemapPage", ("application/xml",), tagged=True),
        (Code.NOT_FOUND, *_INDEX_CODES),
        parameters=(
            Parameter("start", "ChainPlace", "A start that the sitemap names.", "0", "path"),
            IF_NONE_MATCH,
        ),
    ),
)
"""Every operation for machines, in the order in which the docs show them."""
