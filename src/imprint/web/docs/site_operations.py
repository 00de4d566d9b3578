"""The operations of the pages for people, and of the parts that their scripts load."""

from dataclasses import replace

from imprint.domain.errors import Code
from imprint.web.docs.examples import OWNER, POST_ID
from imprint.web.docs.feed_examples import TAG
from imprint.web.docs.operation import (
    BODY_CODES,
    DOCUMENT_CODES,
    IF_NONE_MATCH,
    MIDDLEWARE_CODES,
    SESSION_CODES,
    Body,
    Operation,
    Parameter,
    Response,
    Topic,
)
from imprint.web.docs.schema import Schema, string, structure
from imprint.web.site.assets import MEDIA_TYPES

_HTML = ("text/html",)
_ASSET_TYPES = tuple(dict.fromkeys(MEDIA_TYPES.values()))
_PAGE = Response("The page.", "Page", _HTML, tagged=True)
_SITE_CODES = (Code.NOT_FOUND, *MIDDLEWARE_CODES)
_LIST_CODES = (
    Code.INVALID_PAGE_TOKEN,
    Code.INDEX_UNAVAILABLE,
    Code.DATABASE_UNAVAILABLE,
    *_SITE_CODES,
)
_POST_ID = Parameter(
    "id", "PostId", "The post's id, which is its token id in the marketplace.", POST_ID, "path"
)
_NEXT = Parameter(
    "next_page_token", "PostPageToken", "The token in the link to the next page.", required=False
)
_ONLY = " With `IMPRINT_SITE=off` there is no such page, which is 404."

ASSET_NAME_PATTERN = r"^[A-Za-z0-9_.-]{1,128}$"

SITE_EXAMPLES = {
    "PreviewBody": {"content": "# Ink\n\nOn writing by *hand*."},
    "TextPart": '<p>On writing by <em>hand</em>.</p>\n<p>See <a href="https://imprint.example/"'
    ' rel="nofollow noopener ugc">Imprint</a>.</p>\n',
    "SiteLicense": '<?xml version="1.0" encoding="utf-8"?>\n'
    '<rsl xmlns="https://rslstandard.org/rsl">…</rsl>\n',
}
"""Examples of the bodies of these operations."""


def describe_site(*, has_site: bool = True) -> dict[str, Schema]:
    """The components of the pages for people; without a site, those of what is left."""
    left = {
        "SiteFile": string("The bytes of a file."),
        "AssetName": string(
            "The name of a file, with a hash of its content in it.", ASSET_NAME_PATTERN
        ),
    }
    if not has_site:
        return left
    return {
        "TextPart": string("The text of a post as HTML: sanitised, without scripts or styles."),
        "PreviewBody": structure(
            "What is being written.", {"content": string("Markdown, or blocks as JSON.")}
        ),
        "SiteLicense": string("A licence document (RSL 1.0)."),
        **left,
        "WebManifest": structure("A web application manifest.", {"name": string("The name.")}),
    }


def _page(
    name: str,
    path: str,
    summary: str,
    description: str,
    codes: tuple[Code, ...],
    *parameters: Parameter,
) -> Operation:
    return Operation(
        name,
        "get",
        path,
        Topic.PAGES,
        summary,
        description + _ONLY,
        _PAGE,
        codes,
        parameters=(*parameters, IF_NONE_MATCH),
    )


_LISTS = (
    _page(
        "getFrontPage",
        "/",
        "Get the front page",
        "Returns the newest posts; the first page has totals, hashtags and what is bought most.",
        _LIST_CODES,
        _NEXT,
    ),
    _page(
        "getTagPage",
        "/t/{tag}",
        "Get the page of a hashtag",
        "Returns the newest posts with a hashtag.",
        (Code.INVALID_TAGS, *_LIST_CODES),
        Parameter("tag", "Hashtag", "The hashtag.", TAG, "path"),
        _NEXT,
    ),
    _page(
        "getAuthorPage",
        "/a/{address}",
        "Get the page of an author",
        "Returns what an author did, and their posts.",
        (Code.INVALID_ADDRESS, *_LIST_CODES),
        Parameter("address", "Address", "The address of the author.", OWNER, "path"),
        _NEXT,
    ),
    _page(
        "getSearchPage",
        "/search",
        "Get the results of a search",
        "Returns posts that have all words of a query, with marks around them.",
        _LIST_CODES,
        Parameter("q", "SearchText", "Words, and phrases in quotes.", required=False),
        _NEXT,
    ),
)

_POST_PAGE = Operation(
    "getPostPage",
    "get",
    "/p/{id}",
    Topic.PAGES,
    "Get the page of a post",
    "Returns a post; a free one that is stored here with its text, any other with its price. With "
    "`IMPRINT_SITE=off` it redirects to the Markdown of the post.",
    _PAGE,
    (Code.INVALID_POST_ID, Code.CHAIN_UNAVAILABLE, Code.INDEX_UNAVAILABLE, *DOCUMENT_CODES),
    parameters=(_POST_ID, IF_NONE_MATCH),
    redirects=True,
)

_POST_TEXT = Operation(
    "getPostText",
    "get",
    "/p/{id}/text",
    Topic.PAGES,
    "Get the text of a post as HTML",
    "Returns the text of a post that the address of the session may read, as its page shows it. "
    "Refuses as `GET /posts/{id}/content` does." + _ONLY,
    Response("The text.", "TextPart", _HTML),
    (
        Code.INVALID_POST_ID,
        Code.NOT_ENTITLED,
        Code.CHAIN_UNAVAILABLE,
        Code.INDEX_UNAVAILABLE,
        *SESSION_CODES,
        *DOCUMENT_CODES,
    ),
    parameters=(_POST_ID,),
    needs_session=True,
)

_POST_DOCUMENT = Operation(
    "getPostDocument",
    "get",
    "/p/{id}/document",
    Topic.PAGES,
    "Get the document of a post",
    "Returns the stored bytes of a post, which its cid on the chain names, so that whoever may "
    "read it can check them. Refuses as `GET /posts/{id}/content` does; a document that is stored "
    "encrypted is `not_found`." + _ONLY,
    Response("The document.", "SiteFile", ("application/octet-stream",)),
    (
        Code.INVALID_POST_ID,
        Code.NOT_ENTITLED,
        Code.NOT_FREE,
        Code.CHAIN_UNAVAILABLE,
        *SESSION_CODES,
        *DOCUMENT_CODES,
    ),
    parameters=(_POST_ID,),
    takes_session=True,
)

_STUDIO = (
    _page(
        "getLibraryPage",
        "/library",
        "Get the page of a library",
        "Returns a page that its script fills with what the reader holds.",
        _SITE_CODES,
    ),
    Operation(
        "getStudioPage",
        "get",
        "/studio",
        Topic.PAGES,
        "Get the Studio",
        "Returns the page where authors write, which its script fills." + _ONLY,
        Response("The page.", "Page", _HTML),
        _SITE_CODES,
    ),
    Operation(
        "previewText",
        "post",
        "/studio/preview",
        Topic.PAGES,
        "Preview a text",
        "Returns a text as its page would show it, and keeps nothing. An address may ask "
        "for as many as it may send writes." + _ONLY,
        Response("The text.", "TextPart", _HTML),
        (Code.INVALID_JSON, *SESSION_CODES, *BODY_CODES, *_SITE_CODES),
        body=Body("PreviewBody", "The text."),
        needs_session=True,
    ),
)


def _file(name: str, path: str, summary: str, text: str, *, component: str, kind: str) -> Operation:
    return Operation(
        name,
        "get",
        path,
        Topic.PAGES,
        summary,
        text + _ONLY,
        Response("The file.", component, (kind,), tagged=True),
        _SITE_CODES,
        parameters=(IF_NONE_MATCH,),
    )


_FILES = (
    _file(
        "getLicense",
        "/license.xml",
        "Get the licence for machines",
        "Returns what machines may do with the free posts (RSL 1.0), as the operator decided.",
        component="SiteLicense",
        kind="application/rsl+xml",
    ),
    _file(
        "getIcon",
        "/icon.svg",
        "Get the icon",
        "Returns the icon.",
        component="SiteFile",
        kind="image/svg+xml",
    ),
    _file(
        "getWebManifest",
        "/site.webmanifest",
        "Get the web manifest",
        "Returns the name and the icon of the site, for browsers that install it.",
        component="WebManifest",
        kind="application/manifest+json",
    ),
)

_ASSET = Operation(
    "getAsset",
    "get",
    "/assets/{name}",
    Topic.PAGES,
    "Get a script, style sheet or font",
    "Returns a file that pages load. Its name changes with its content, so it may be kept for "
    "ever.",
    Response("The file.", "SiteFile", _ASSET_TYPES),
    _SITE_CODES,
    parameters=(
        Parameter("name", "AssetName", "A name that a page has.", "site-4EWOWDWI.css", "path"),
    ),
)

SITE_OPERATIONS = (*_LISTS, _POST_PAGE, _POST_TEXT, _POST_DOCUMENT, *_STUDIO, *_FILES, _ASSET)
"""Every operation of the pages, in the order in which the docs show them."""

SITELESS_OPERATIONS = (
    replace(
        _POST_PAGE,
        summary="Get the way to a post",
        description="Redirects to the Markdown of the post: this service has no pages for people.",
        response=Response("The Markdown is at `Location`.", None, status=303),
        codes=(Code.INVALID_POST_ID, *MIDDLEWARE_CODES),
        parameters=(_POST_ID,),
        redirects=False,
    ),
    _ASSET,
)
"""What a service without a site has in the place of its pages."""

SITELESS_TOPIC = "This service has no pages for people: what is here in their place."
