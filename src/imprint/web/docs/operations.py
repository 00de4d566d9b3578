"""Every operation of the HTTP API: summary, parameters, body, response and error codes."""

from imprint.domain.errors import Code
from imprint.web.docs.examples import (
    CID,
    DELIVERY_NONCE,
    DELIVERY_SIGNATURE,
    DELIVERY_TIMESTAMP,
    OWNER,
    PAGE_TOKEN,
    POST_ID,
    TAGS,
    THUMBNAIL_CID,
)
from imprint.web.docs.feed_operations import FEED_OPERATIONS
from imprint.web.docs.operation import (
    BODY_CODES,
    DOCUMENT_CODES,
    IF_NONE_MATCH,
    MIDDLEWARE_CODES,
    SESSION_CODES,
    SIGNATURE_CODES,
    Body,
    Operation,
    Parameter,
    Response,
    Topic,
)
from imprint.web.docs.post_operations import POST_OPERATIONS
from imprint.web.docs.service_operations import (
    HEALTH,
    MARKETPLACE,
    OPENAPI_DOCUMENT,
    READINESS,
    SERVICE_FACTS,
)
from imprint.web.docs.totals_operations import GLOBAL_METRICS, HEAT_MAP, USER_METRICS
from imprint.web.docs.writing_session_operations import WRITING_SESSION_OPERATIONS

_JSON_CODES = (
    Code.INVALID_JSON,
    *SIGNATURE_CODES,
    *BODY_CODES,
    *MIDDLEWARE_CODES,
)
_WRITE_CODES = (
    *_JSON_CODES,
    Code.INVALID_TYPED_DATA,
    Code.BODY_MISMATCH,
    Code.FORM_NOT_ACCEPTED,
    Code.WRITING_SESSION_INVALID,
    Code.WRITING_SESSION_EXPIRED,
    Code.WRITING_SESSION_SCOPE,
    Code.NONCE_USED,
    Code.DATABASE_UNAVAILABLE,
)
_DRAFT_CODES = (
    *_WRITE_CODES,
    Code.INVALID_CID,
    Code.NOT_OWNER,
    Code.NOT_FOUND,
    Code.NOT_PENDING,
)
_STORE_CODES = (Code.QUOTA_EXCEEDED, Code.STORAGE_UNAVAILABLE)
_POST_CODES = (Code.INVALID_POST_ID, Code.CHAIN_UNAVAILABLE, *DOCUMENT_CODES)
_LIST_CODES = (Code.DATABASE_UNAVAILABLE, *MIDDLEWARE_CODES)
_DELIVERY_CODES = (
    Code.WEBHOOK_SIGNATURE_INVALID,
    Code.NOT_FOUND,
    Code.REQUEST_TIMEOUT,
    Code.TOO_LARGE,
    Code.UNSUPPORTED_MEDIA_TYPE,
    Code.DATABASE_UNAVAILABLE,
    *MIDDLEWARE_CODES,
)

_DRAFT_CID = Parameter("cid", "AnyCid", "The draft's current cid; every update changes it.", CID)
_POST_ID = Parameter(
    "postId", "PostId", "The post's id, which is its token id in the marketplace.", POST_ID
)

LOG_IN = Operation(
    "login",
    "post",
    "/auth/login",
    Topic.SESSIONS,
    "Log in",
    "Sign a login message (EIP-4361) with `personal_sign` and send its exact text as `salt`.\n\n"
    "The message names one of the `login.domains` of `GET /.well-known/imprint.json`, the chain, "
    "and the address that signs. "
    "`Issued At` is at most 60 seconds old, and the address has never used the nonce before. "
    "The `URI` line is optional. A contract wallet logs in with a signature that its contract "
    "accepts (ERC-1271), also before it is deployed (ERC-6492).",
    Response("A session. Keep it secret: it is the only credential for reads.", "LoginAnswer"),
    (*_JSON_CODES, Code.INVALID_LOGIN_MESSAGE, Code.NONCE_USED, Code.DATABASE_UNAVAILABLE),
    body=Body("LoginBody", "The signed message."),
)

LOG_OUT = Operation(
    "logout",
    "post",
    "/auth/logout",
    Topic.SESSIONS,
    "Log out",
    "Ends this session, or with `all` every session that the address has. Every replica of the "
    "service refuses them at once (`session_ended`), and page tokens that they got for lists of "
    "drafts. Private feeds and writing sessions are not ended. A login after this gets a session "
    "that is valid.",
    Response("The session is ended. There is no body.", None, status=204),
    (Code.INVALID_JSON, Code.REQUEST_TIMEOUT, Code.TOO_LARGE, *SESSION_CODES, *MIDDLEWARE_CODES),
    body=Body("LogoutBody", "Nothing, or which sessions to end.", required=False),
    needs_session=True,
)

CREATE_DRAFT = Operation(
    "createDraft",
    "post",
    "/create/group",
    Topic.DRAFTS,
    "Create a draft",
    "Stores the content as a new draft in a new group. Sign typed data of the type `CreateDraft`, "
    "which binds the signature to this service and to the content; other forms of `salt` are bound "
    "to less.\n\n"
    "The stored document contains the content, the file's name and a random salt. Therefore "
    "equal contents have different cids, and nobody can guess a cid.",
    Response("The new draft.", "CreatedAnswer"),
    (*_WRITE_CODES, *_STORE_CODES),
    body=Body("CreateBody", "The signed write and the content."),
)

UPDATE_DRAFT = Operation(
    "updateDraft",
    "post",
    "/update/file",
    Topic.DRAFTS,
    "Update a draft",
    "Replaces the content of a draft. Sign typed data of the type `UpdateDraft`, which binds the "
    "signature to this service, to the draft and to the new content; other forms of `salt` are "
    "bound to less.\n\n"
    "The new version has a new id, name and cid, and the same `group_id`; hashtags and thumbnail "
    "stay. The old version is inaccessible at once. If two requests update the same cid, one "
    "succeeds.",
    Response("The new version of the draft.", "UpdatedAnswer"),
    (*_DRAFT_CODES, *_STORE_CODES),
    parameters=(_DRAFT_CID,),
    body=Body("UpdateBody", "The signed write and the new content."),
)

PUBLISH_DRAFT = Operation(
    "publishDraft",
    "post",
    "/publish/file",
    Topic.DRAFTS,
    "Prepare a draft for publication",
    "Stores a public thumbnail and the hashtags. Sign typed data of the type `PublishDraft`, which "
    "binds the signature to this service, to the draft, to the bytes of `file` and to `hashtags`; "
    "other forms of `salt` are bound to less. Send its JSON as the form field `salt`. The part of "
    "a text field may have a media type and a file name, as browsers send a `Blob`.\n\n"
    "The picture must be a PNG, JPEG or WebP; its bytes decide, not its name. The service "
    "re-encodes it without metadata, a WebP as PNG or JPEG; the pictures of one signer one after "
    "the other. A picture that is `invalid_image` counts as 10 writes in the rate limit of its "
    "signer. Publishing again replaces thumbnail and hashtags.\n\n"
    "The file stays `pending`. To publish it, call `createPost` of the marketplace contract with "
    "the draft's cid and this `thumbnailCid`; it becomes `onchain` when the event arrives.",
    Response("The thumbnail's cid: fetch it from `GET /ipfs/{thumbnailCid}`.", "PublishedAnswer"),
    (*_DRAFT_CODES, Code.INVALID_TAGS, Code.INVALID_IMAGE, *_STORE_CODES),
    parameters=(_DRAFT_CID,),
    body=Body(
        "PublishForm",
        "The signed write, the picture and the hashtags.",
        "multipart/form-data",
        (("file", "image/png, image/jpeg, image/webp"), ("salt", "application/json")),
    ),
)

DELETE_DRAFT = Operation(
    "deleteDraft",
    "post",
    "/delete/file",
    Topic.DRAFTS,
    "Delete a draft",
    "Makes a draft inaccessible at once. Sign typed data of the type `DeleteDraft`, which binds "
    "the signature to this service and to the draft; other forms of `salt` are bound to less.\n\n"
    "The service asks the chain first: a draft that its owner has just published is not deleted.",
    Response("The id of the deleted draft.", "DeletedAnswer"),
    (*_DRAFT_CODES, Code.ALREADY_ONCHAIN),
    parameters=(_DRAFT_CID,),
    body=Body("DeleteBody", "The signed write."),
)

READ_DRAFT = Operation(
    "readDraft",
    "get",
    "/fileByCid",
    Topic.CONTENT,
    "Read a draft",
    "Returns the content of one of the reader's own drafts. A file that is `onchain` is not found "
    "here: read it as a post.",
    Response("The content and its record.", "ContentAnswer", tagged=True, example="DraftAnswer"),
    (Code.INVALID_CID, Code.NOT_OWNER, *SESSION_CODES, *DOCUMENT_CODES),
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
    Response("The content and its record.", "ContentAnswer", tagged=True, example="PostAnswer"),
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
    Response("The content and its record.", "ContentAnswer", tagged=True, example="PostAnswer"),
    (Code.NOT_FREE, *_POST_CODES),
    parameters=(_POST_ID, IF_NONE_MATCH),
)

FETCH_DOCUMENT = Operation(
    "fetchDocument",
    "get",
    "/ipfs/{cid}",
    Topic.CONTENT,
    "Fetch a public document",
    "Returns the thumbnail of a file. It never changes, so it may be cached for ever. The cid of "
    "a draft or a post is not found here, in any format.\n\n"
    "This is a trustless IPFS gateway. `format=raw` returns the root block; `format=car` returns "
    "all blocks, depth first, as a CAR of version 1. The media types in `Accept` select the same "
    "formats, and its parameter `dups=n` sends each block only once; `format` takes precedence. "
    "With `Cache-Control: only-if-cached`, a document that is not here is 412 instead of 404.",
    Response(
        "The document.",
        "Picture",
        ("image/png", "image/jpeg"),
        tagged=True,
        others=(
            ("application/vnd.ipld.raw", "RootBlock"),
            ("application/vnd.ipld.car", "Car"),
            ("application/octet-stream", "Bytes"),
        ),
        ranged=True,
    ),
    (
        Code.INVALID_CID,
        Code.NOT_CACHED,
        Code.RANGE_NOT_SATISFIABLE,
        *DOCUMENT_CODES,
    ),
    parameters=(
        Parameter("cid", "AnyCid", "The `thumbnailCid` of a publication.", THUMBNAIL_CID, "path"),
        Parameter("format", "Format", "A representation other than the picture.", required=False),
        Parameter("dag-scope", "Scope", "Which blocks a CAR contains.", required=False),
        IF_NONE_MATCH,
        Parameter(
            "Range",
            "ByteRange",
            "A byte range of the picture or of the root block. Several ranges, or another unit, "
            "give the whole document.",
            place="header",
            required=False,
        ),
        Parameter(
            "If-Range",
            "EntityTags",
            "Apply the range only if the document has this entity tag; otherwise send all of it.",
            place="header",
            required=False,
        ),
        Parameter(
            "Cache-Control",
            "CacheDirective",
            "`only-if-cached` requests only what the service already has.",
            place="header",
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
    Response("A page of records.", "TaggedFilesAnswer"),
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
    Response("A page of records.", "FilesAnswer", example="DraftsAnswer"),
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
    Response("A page of records.", "FilesAnswer"),
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
    Response("A page of records.", "FilesAnswer"),
    (Code.INVALID_CID, Code.NOT_FOUND, *_LIST_CODES),
    parameters=(Parameter("cid", "AnyCid", "The cid of one file.", CID, required=False),),
)

_EFFECT = (
    "\n\nEvery `PostCreated` log of the marketplace in the delivery moves its file from `pending` "
    "to `onchain`, if its author is the file's owner. A signed delivery is never refused for its "
    "content: other logs and heartbeats are ignored with 200, what cannot be decoded is stored as "
    "a dead letter, and a repeated delivery or event has no effect. Logs that change who may read "
    "a post end cached access at once. `events` has the events and dead letters in the order of "
    "the logs. Logs of a network that is named and not known to be ours are ignored. If "
    "the provider has no secret in the settings, the path is 404."
)


def _signature_header(name: str, signed: str, *, required: bool = True) -> Parameter:
    text = f"HMAC-SHA256 of {signed} with the provider's secret, in hex."
    return Parameter(name, "DeliverySignature", text, DELIVERY_SIGNATURE, "header", required)


RECEIVE_FROM_PROVIDER_A = Operation(
    "receiveFromProviderA",
    "post",
    "/webhook/provider-a/publish",
    Topic.DELIVERIES,
    "Receive a delivery from provider a",
    "For Alchemy Notify, with a custom (GraphQL) webhook whose logs are at "
    "`event.data.block.logs[]`." + _EFFECT,
    Response("The result of the delivery.", "DeliveryAnswer"),
    _DELIVERY_CODES,
    parameters=(_signature_header("X-Alchemy-Signature", "the raw body"),),
    body=Body("ProviderADelivery", "A delivery as the provider sends it."),
    alias="/webhook/alchemy/publish",
    alias_name="receiveFromAlchemy",
)

RECEIVE_FROM_PROVIDER_B = Operation(
    "receiveFromProviderB",
    "post",
    "/webhook/provider-b/publish",
    Topic.DELIVERIES,
    "Receive a delivery from provider b",
    "For QuickNode Streams. Logs (`address`, `topics`, `data`) are found in any nesting of "
    "arrays and objects; the body may be compressed with gzip, in one or several members."
    + _EFFECT
    + "\n\nA request without any of the three headers is a connection test of the provider's "
    "dashboard: it gets 200, and nothing is read or applied. With only some of them it is "
    "refused.",
    Response("The result of the delivery.", "DeliveryAnswer"),
    _DELIVERY_CODES,
    parameters=(
        Parameter(
            "X-QN-Nonce",
            "DeliveryNonce",
            "Unique for each delivery; a nonce seen before makes it a duplicate.",
            DELIVERY_NONCE,
            "header",
            required=False,
        ),
        Parameter(
            "X-QN-Timestamp",
            "Timestamp",
            "Unix time in seconds, at most 300 seconds before or after now.",
            DELIVERY_TIMESTAMP,
            "header",
            required=False,
        ),
        _signature_header(
            "X-QN-Signature", "nonce, timestamp and the uncompressed body", required=False
        ),
    ),
    body=Body("ProviderBDelivery", "A delivery as the provider sends it."),
    alias="/webhook/quicknode/publish",
    alias_name="receiveFromQuicknode",
)

OPERATIONS = (
    LOG_IN,
    LOG_OUT,
    CREATE_DRAFT,
    UPDATE_DRAFT,
    PUBLISH_DRAFT,
    DELETE_DRAFT,
    *WRITING_SESSION_OPERATIONS,
    READ_DRAFT,
    READ_POST,
    READ_FREE_POST,
    FETCH_DOCUMENT,
    LIST_BY_TAGS,
    LIST_DRAFTS,
    NEXT_PAGE,
    LIST_METADATA,
    *POST_OPERATIONS,
    GLOBAL_METRICS,
    USER_METRICS,
    HEAT_MAP,
    RECEIVE_FROM_PROVIDER_A,
    RECEIVE_FROM_PROVIDER_B,
    *FEED_OPERATIONS,
    SERVICE_FACTS,
    MARKETPLACE,
    OPENAPI_DOCUMENT,
    HEALTH,
    READINESS,
)
"""Every operation, in the order in which the docs show them."""
