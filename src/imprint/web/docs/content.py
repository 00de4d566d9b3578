"""File operations: contents, public documents and lists."""

from imprint.domain.drafts.tags import MAX_TAG_LENGTH, MAX_TAGS
from imprint.domain.errors import Code
from imprint.interface.drafts import Content, FilesResponse, TaggedFilesResponse
from imprint.interface.values import HASHTAGS_PATTERN, PAGE_TOKEN_PATTERN, POST_ID_PATTERN
from imprint.services.content.thumbnails import SIDES
from imprint.web.docs.examples import (
    CID,
    CONTENT,
    DRAFT,
    OWNER,
    PAGE_TOKEN,
    POST,
    POST_CONTENT,
    POST_ID,
    TAGS,
    THUMBNAIL_CID,
)
from imprint.web.docs.operation import (
    DOCUMENT_CODES,
    IF_NONE_MATCH,
    MIDDLEWARE_CODES,
    SESSION_CODES,
    WITHHELD_CODES,
    Operation,
    Parameter,
    Response,
    Schema,
    Topic,
    choice,
    string,
)

CONTENT_COMPONENTS: dict[str, Schema] = {
    "PostId": string("A decimal number below 2^256.", POST_ID_PATTERN),
    "Hashtags": string(
        f"1 to {MAX_TAGS} hashtags of up to {MAX_TAG_LENGTH} letters of any script with their "
        "combining marks, digits, `_` and `-`, separated by commas. A leading `#`, surrounding "
        "spaces and duplicates are removed, and case is ignored.",
        HASHTAGS_PATTERN,
    ),
    "Pixels": string("Pixels of a side.", "^[1-9][0-9]{0,4}$"),
    "PageToken": string("An opaque page token.", PAGE_TOKEN_PATTERN),
    "Format": choice("The root block, or a CAR.", "raw", "car"),
    "Scope": choice(
        "The root block or all blocks; `entity` is the same as `all`.", "block", "entity", "all"
    ),
    "ByteRange": string("A byte range (RFC 9110); anything else is ignored."),
    "CacheDirective": string("A cache directive (RFC 9111)."),
    "EntityTags": string("One or more entity tags (RFC 9110)."),
    "Picture": string("A PNG or JPEG.", format="binary"),
    "RootBlock": string("The root block.", format="binary"),
    "Car": string("A CAR of version 1.", format="binary"),
    "Bytes": string("Bytes of any other kind.", format="binary"),
    "Document": {
        "type": "object",
        "description": "The document of a free post.",
        "required": ["content"],
        "properties": {
            "content": string("The text of the post."),
            "name": string("The name of the file, which has its owner's address."),
            "salt": string("Random digits, which make the cid unique."),
        },
    },
}
"""Components for parameters, and for responses that are not JSON."""

_POST_CODES = (
    Code.INVALID_POST_ID,
    Code.CHAIN_UNAVAILABLE,
    *WITHHELD_CODES,
    *DOCUMENT_CODES,
)

_LIST_CODES = (Code.DATABASE_UNAVAILABLE, *MIDDLEWARE_CODES)

_POST_ID = Parameter(
    "postId", "PostId", "The post's id, which is its token id in the marketplace.", POST_ID
)

READ_DRAFT = Operation(
    "readDraft",
    "get",
    "/fileByCid",
    Topic.CONTENT,
    "Read a draft",
    "Returns the content of one of the reader's own drafts. A file that is `onchain` is not found "
    "here: read it as a post.",
    Response("The content and its record.", Content, Content(CONTENT, DRAFT), tagged=True),
    (Code.INVALID_CID, Code.NOT_OWNER, *WITHHELD_CODES, *SESSION_CODES, *DOCUMENT_CODES),
    parameters=(Parameter("cid", "AnyCid", "The draft's cid.", CID), IF_NONE_MATCH),
    needs_session=True,
)

READ_POST = Operation(
    "readPost",
    "get",
    "/fileByPostId",
    Topic.CONTENT,
    "Read a post",
    "Returns the content of a post to its author, to every holder of its ERC-6909 token, and to "
    "everybody with a session if its price is zero.\n\n"
    "The marketplace contract decides. The service caches a granted access for a few seconds (5 "
    "by default), and drops it when it sees a log that changes access to the post. It never "
    "caches a denied access, so a buyer can read at once. If the chain cannot be reached, the "
    "response is 503.",
    Response("The content and its record.", Content, POST_CONTENT, tagged=True),
    (
        Code.INVALID_ADDRESS,
        Code.SUBJECT_MISMATCH,
        Code.NOT_ENTITLED,
        *SESSION_CODES,
        *_POST_CODES,
    ),
    parameters=(
        Parameter("user", "Address", "The reader: the address of the session.", OWNER),
        _POST_ID,
        IF_NONE_MATCH,
    ),
    needs_session=True,
)

READ_FREE_POST = Operation(
    "readFreePost",
    "get",
    "/freeFileByPostId",
    Topic.CONTENT,
    "Read a free post",
    "Returns the content of a post whose price on the chain is zero, without a session. The "
    "service caches a price of zero for a few seconds, like every granted access.",
    Response("The content and its record.", Content, POST_CONTENT, tagged=True),
    (Code.NOT_FREE, *_POST_CODES),
    parameters=(_POST_ID, IF_NONE_MATCH),
)

FETCH_DOCUMENT = Operation(
    "fetchDocument",
    "get",
    "/ipfs/{cid}",
    Topic.CONTENT,
    "Fetch a public document",
    "Returns the thumbnail of a file, which may be cached for ever, or the document of a post that "
    "is free now, unless it is stored encrypted. The cid of a draft, a revision or a paid post is "
    "not found here, in any format.\n\n"
    "This is a trustless IPFS gateway. `format=raw` returns the root block; `format=car` returns "
    "all blocks, depth first, as a CAR of version 1. The media types in `Accept` select the same "
    "formats, and its parameter `dups=n` sends each block only once; `format` takes precedence. "
    "With `Cache-Control: only-if-cached`, a document that is not here is 412 instead of 404.",
    Response(
        "The document.",
        "Picture",
        media_types=("image/png", "image/jpeg"),
        tagged=True,
        others=(
            ("application/vnd.ipld.raw", "RootBlock"),
            ("application/vnd.ipld.car", "Car"),
            ("application/octet-stream", "Bytes"),
            ("application/json", "Document"),
        ),
        ranged=True,
        elsewhere="A post names this thumbnail, and it is not here: another gateway, which the "
        "operator chose, may have it.",
    ),
    (
        Code.INVALID_CID,
        Code.NOT_CACHED,
        Code.RANGE_NOT_SATISFIABLE,
        Code.CHAIN_UNAVAILABLE,
        *WITHHELD_CODES,
        *DOCUMENT_CODES,
    ),
    parameters=(
        Parameter(
            "cid",
            "AnyCid",
            "The `thumbnailCid` of a publication, or the `cid` of a free post.",
            THUMBNAIL_CID,
            "path",
        ),
        Parameter("format", "Format", "A representation other than the bytes.", required=False),
        Parameter(
            "img-width",
            "Pixels",
            "The width that the picture must fit into, rounded up to one of "
            f"{', '.join(map(str, SIDES))} pixels. It is never made larger.",
            required=False,
        ),
        Parameter("img-height", "Pixels", "The same for its height.", required=False),
        Parameter("dag-scope", "Scope", "Which blocks a CAR contains.", required=False),
        IF_NONE_MATCH,
        Parameter(
            "Range",
            "ByteRange",
            "A byte range of the document or of the root block. Several ranges, or another unit, "
            "give the whole document.",
            location="header",
            required=False,
        ),
        Parameter(
            "If-Range",
            "EntityTags",
            "Apply the range only if the document has this entity tag; otherwise send all of it.",
            location="header",
            required=False,
        ),
        Parameter(
            "Cache-Control",
            "CacheDirective",
            "`only-if-cached` requests only what the service already has.",
            location="header",
            required=False,
        ),
    ),
)

LIST_BY_TAGS = Operation(
    "listPostsByTags",
    "get",
    "/filesByTags",
    Topic.LISTS,
    "List posts by hashtags",
    "Returns up to 9 posts that have all of the given hashtags, newest first.",
    Response(
        "A page of records.",
        TaggedFilesResponse,
        TaggedFilesResponse((POST,), 1, tuple(TAGS.split(",")), PAGE_TOKEN),
    ),
    (Code.INVALID_TAGS, *_LIST_CODES),
    parameters=(Parameter("tags", "Hashtags", "Hashtags, separated by commas.", TAGS),),
)

LIST_DRAFTS = Operation(
    "listDrafts",
    "get",
    "/pendingFilesByOwner",
    Topic.LISTS,
    "List your drafts",
    "Returns up to 12 drafts of the reader, newest first. The token of the next page is valid for "
    "15 minutes, and never longer than the session.",
    Response("A page of records.", FilesResponse, FilesResponse((DRAFT,), None)),
    (Code.INVALID_ADDRESS, Code.SUBJECT_MISMATCH, *SESSION_CODES, *_LIST_CODES),
    parameters=(Parameter("owner", "Address", "The address of the session.", OWNER),),
    needs_session=True,
)

NEXT_PAGE = Operation(
    "listNextPage",
    "get",
    "/filesByNextPageToken",
    Topic.LISTS,
    "Get the next page of a list",
    "Returns the next page of any list, up to 9 files. The token contains the list and the "
    "position, and authorizes the request: no session is needed. Paging returns every file "
    "exactly once, even if others write meanwhile. A token of a list of drafts is refused when the "
    "session that got it was ended.",
    Response("A page of records.", FilesResponse, FilesResponse((POST,), None)),
    (Code.INVALID_PAGE_TOKEN, *_LIST_CODES),
    parameters=(
        Parameter(
            "next_page_token",
            "PageToken",
            "The `next_page_token` of the previous page, unchanged.",
            PAGE_TOKEN,
        ),
    ),
)

LIST_METADATA = Operation(
    "listPosts",
    "get",
    "/filesMetaData",
    Topic.LISTS,
    "List the newest posts, or get one record",
    "Without `cid`, returns up to 9 of the newest posts. With `cid`, returns the record of that "
    "draft or post, as a list of one.",
    Response("A page of records.", FilesResponse, FilesResponse((POST,), None)),
    (Code.INVALID_CID, Code.NOT_FOUND, *WITHHELD_CODES, *_LIST_CODES),
    parameters=(Parameter("cid", "AnyCid", "The cid of one file.", CID, required=False),),
)

CONTENT_OPERATIONS = (
    READ_DRAFT,
    READ_POST,
    READ_FREE_POST,
    FETCH_DOCUMENT,
    LIST_BY_TAGS,
    LIST_DRAFTS,
    NEXT_PAGE,
    LIST_METADATA,
)
"""The file operations, in docs order."""
