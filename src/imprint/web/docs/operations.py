"""The operations that a wallet signs for: login and the four writes."""

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
from imprint.web.docs.operation import (
    BODY_CODES,
    EVERYWHERE,
    IF_NONE_MATCH,
    SESSION_CODES,
    SIGNATURE_CODES,
    STORED_CODES,
    Answer,
    Body,
    Operation,
    Parameter,
    Topic,
)

_DRAFT_CID = Parameter(
    "cid", "Cid", "The draft's cid as it is now; it changes with every update.", CID
)

_JSON_CODES = (Code.INVALID_REQUEST, Code.INVALID_JSON, *SIGNATURE_CODES, *BODY_CODES, *EVERYWHERE)

_WRITE_CODES = (*_JSON_CODES, Code.INVALID_TYPED_DATA, Code.NONCE_USED, Code.DATABASE_UNAVAILABLE)

_DRAFT_CODES = (
    *_WRITE_CODES,
    Code.INVALID_CID,
    Code.NOT_OWNER,
    Code.NOT_FOUND,
    Code.NOT_PENDING,
)

LOG_IN = Operation(
    "logIn",
    "post",
    "/auth/login",
    Topic.SESSIONS,
    "Log in",
    "Sign a login message (EIP-4361) with `personal_sign` and send its exact text as `salt`.\n\n"
    "The message names one of the allowed domains, the chain, and the address that signs; its "
    "`Issued At` is at most 60 seconds old, and its nonce has never been used by this address. "
    "The `URI` line may be left out. Contract wallets cannot log in: the signature must be that "
    "of a key.",
    Answer("A session. Keep it secret: it is all that a protected read asks for.", "LoginAnswer"),
    (*_JSON_CODES, Code.INVALID_LOGIN_MESSAGE, Code.NONCE_USED, Code.DATABASE_UNAVAILABLE),
    body=Body("LoginBody", "The signed message."),
)

CREATE = Operation(
    "createDraft",
    "post",
    "/create/group",
    Topic.DRAFTS,
    "Create a draft",
    "Stores the content as a new draft in a group of its own. Sign typed data of the type "
    "`CreateFile` with the action `create`.\n\n"
    "What is stored is a small document of the content, the file's name and a random salt: so "
    "equal contents have different cids, and no cid can be guessed.",
    Answer("The new draft.", "CreatedAnswer"),
    (*_WRITE_CODES, Code.STORAGE_UNAVAILABLE),
    body=Body("CreateBody", "The signed write, and the content."),
)

UPDATE = Operation(
    "updateDraft",
    "post",
    "/update/file",
    Topic.DRAFTS,
    "Update a draft",
    "Puts new content in the place of a draft. Sign typed data of the type `UpdateFile` with the "
    "action `update`.\n\n"
    "The answer has a new id, name and cid, and the same `group_id`; hashtags and thumbnail stay. "
    "The old version is inaccessible at once. Of two updates of the same cid one wins.",
    Answer("The draft's new version.", "UpdatedAnswer"),
    (*_DRAFT_CODES, Code.STORAGE_UNAVAILABLE),
    parameters=(_DRAFT_CID,),
    body=Body("UpdateBody", "The signed write, and the new content."),
)

PUBLISH = Operation(
    "publishDraft",
    "post",
    "/publish/file",
    Topic.DRAFTS,
    "Prepare a draft for publication",
    "Stores a public thumbnail and the hashtags. Sign typed data of the type `PublishFile` with "
    "the action `publish`, and send its JSON as the form field `salt`.\n\n"
    "The picture is a PNG or JPEG by its bytes, whatever its name; it is encoded anew without "
    "metadata. Publishing again replaces thumbnail and hashtags.\n\n"
    "The file stays `pending`: publish it by calling `createPost` of the marketplace contract "
    "with the draft's cid and this `thumbnailCid`. It becomes `onchain` when the event arrives.",
    Answer("Where the thumbnail is: `GET /ipfs/{thumbnailCid}`.", "PublishedAnswer"),
    (*_DRAFT_CODES, Code.INVALID_TAGS, Code.INVALID_IMAGE, Code.STORAGE_UNAVAILABLE),
    parameters=(_DRAFT_CID,),
    body=Body(
        "PublishForm",
        "The signed write, the picture and the hashtags.",
        "multipart/form-data",
        (("file", "image/png, image/jpeg"), ("salt", "application/json")),
    ),
)

DELETE = Operation(
    "deleteDraft",
    "post",
    "/delete/file",
    Topic.DRAFTS,
    "Delete a draft",
    "Makes a draft inaccessible at once. Sign typed data of the type `DeleteFile` with the action "
    "`delete`.\n\n"
    "The chain is asked first: a draft that its owner has published, even a moment ago, is not "
    "deleted.",
    Answer("What is left to say of the draft.", "DeletedAnswer"),
    (*_DRAFT_CODES, Code.ALREADY_ONCHAIN, Code.CHAIN_UNAVAILABLE),
    parameters=(_DRAFT_CID,),
    body=Body("DeleteBody", "The signed write."),
)

SIGNED_OPERATIONS = (LOG_IN, CREATE, UPDATE, PUBLISH, DELETE)
"""Everything that costs a signature."""


FETCH_DOCUMENT = Operation(
    "fetchDocument",
    "get",
    "/ipfs/{cid}",
    Topic.CONTENT,
    "Fetch a public document",
    "The thumbnail of a file. It never changes, so it may be cached for ever, and `HEAD` tells of "
    "it without sending it. The cid of a draft or a post is not found here, in no format.\n\n"
    "This is a trustless gateway of IPFS: with `format=raw` the answer is the root block, with "
    "`format=car` all blocks, depth first, in a CAR of version 1. `Accept` with the media type "
    "asks for the same, and its parameter `dups=n` for each block only once; `format` wins. "
    "With `Cache-Control: only-if-cached` what is not here is 412 rather than 404.",
    Answer(
        "The document.",
        "Picture",
        ("image/png", "image/jpeg"),
        tagged=True,
        others=(
            ("application/vnd.ipld.raw", "Block"),
            ("application/vnd.ipld.car", "Blocks"),
            ("application/octet-stream", "Bytes"),
        ),
        ranged=True,
    ),
    (
        Code.INVALID_REQUEST,
        Code.INVALID_CID,
        Code.NOT_CACHED,
        Code.RANGE_NOT_SATISFIABLE,
        *STORED_CODES,
    ),
    parameters=(
        Parameter("cid", "Cid", "The `thumbnailCid` of a publication.", THUMBNAIL_CID, "path"),
        Parameter("format", "Format", "Another representation than the picture.", required=False),
        Parameter("dag-scope", "Scope", "How much a CAR contains.", required=False),
        IF_NONE_MATCH,
        Parameter(
            "Range",
            "Range",
            "The part that is wanted, of the picture or of the root block. Only one range is cut "
            "out; whoever asks for several gets the whole, as with every other unit.",
            place="header",
            required=False,
        ),
        Parameter(
            "If-Range",
            "EntityTags",
            "The entity tag that the part must belong to; otherwise the whole is sent.",
            place="header",
            required=False,
        ),
        Parameter(
            "Cache-Control",
            "CacheDirective",
            "`only-if-cached` asks for what is here already.",
            place="header",
            required=False,
        ),
    ),
)


_POST_ID_PARAMETER = Parameter(
    "postId", "PostId", "The post's id, which is its token id in the marketplace.", POST_ID
)

_LIST_CODES = (Code.DATABASE_UNAVAILABLE, *EVERYWHERE)
_POST_CODES = (Code.INVALID_POST_ID, Code.CHAIN_UNAVAILABLE, *STORED_CODES)

READ_DRAFT = Operation(
    "readDraft",
    "get",
    "/fileByCid",
    Topic.CONTENT,
    "Read a draft",
    "The content of one of the reader's own drafts. A file that is `onchain` is not found here: "
    "read it as a post.",
    Answer("The content and its record.", "DraftAnswer", tagged=True),
    (Code.INVALID_CID, Code.NOT_OWNER, *SESSION_CODES, *STORED_CODES),
    parameters=(Parameter("cid", "Cid", "The draft's cid.", CID), IF_NONE_MATCH),
    needs_session=True,
)

READ_POST = Operation(
    "readPost",
    "get",
    "/fileByPostId",
    Topic.CONTENT,
    "Read a post",
    "The content of a post, for its author, for everybody who holds its ERC-6909 token, and for "
    "everybody with a session if its price is zero. The marketplace is asked at each request; "
    "if it cannot be asked the answer is 503, never a guess.",
    Answer("The content and its record.", "PostAnswer", tagged=True),
    (
        Code.INVALID_ADDRESS,
        Code.SUBJECT_MISMATCH,
        Code.NOT_ENTITLED,
        *SESSION_CODES,
        *_POST_CODES,
    ),
    parameters=(
        Parameter("user", "Address", "The reader: the address of the session.", OWNER),
        _POST_ID_PARAMETER,
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
    "The content of a post whose price on the chain is zero now, for everybody.",
    Answer("The content and its record.", "PostAnswer", tagged=True),
    (Code.NOT_FREE, *_POST_CODES),
    parameters=(_POST_ID_PARAMETER, IF_NONE_MATCH),
)

LIST_BY_TAGS = Operation(
    "listByTags",
    "get",
    "/filesByTags",
    Topic.LISTS,
    "List posts by hashtags",
    "Posts that carry all of the given hashtags, newest first, up to 9.",
    Answer("A page of records.", "TaggedFilesAnswer"),
    (Code.INVALID_TAGS, *_LIST_CODES),
    parameters=(Parameter("tags", "Hashtags", "Hashtags, separated by commas.", TAGS),),
)

LIST_DRAFTS = Operation(
    "listDrafts",
    "get",
    "/pendingFilesByOwner",
    Topic.LISTS,
    "List one's own drafts",
    "The reader's drafts, newest first, up to 12. The token of its next page is good for 15 "
    "minutes, and never longer than the session.",
    Answer("A page of records.", "DraftsAnswer"),
    (Code.INVALID_ADDRESS, Code.SUBJECT_MISMATCH, *SESSION_CODES, *_LIST_CODES),
    parameters=(Parameter("owner", "Address", "The address of the session.", OWNER),),
    needs_session=True,
)

LIST_ON = Operation(
    "listOn",
    "get",
    "/filesByNextPageToken",
    Topic.LISTS,
    "Go on with a list",
    "The next page of any list, up to 9 files. The token says which list it was and where it "
    "stopped, and is itself the permission to go on: no session is needed. Every file is seen "
    "exactly once, whatever is written meanwhile.",
    Answer("A page of records.", "FilesAnswer"),
    (Code.INVALID_PAGE_TOKEN, *_LIST_CODES),
    parameters=(
        Parameter(
            "next_page_token",
            "PageToken",
            "The `next_page_token` of the page before; never one that was made up.",
            PAGE_TOKEN,
        ),
    ),
)

LIST_METADATA = Operation(
    "listMetadata",
    "get",
    "/filesMetaData",
    Topic.LISTS,
    "List the newest posts, or one file",
    "Without `cid`, the newest posts, up to 9. With `cid`, the record of that file, draft or "
    "post, as a list of one.",
    Answer("A page of records.", "FilesAnswer"),
    (Code.INVALID_CID, Code.NOT_FOUND, *_LIST_CODES),
    parameters=(Parameter("cid", "Cid", "The cid of one file.", CID, required=False),),
)

READ_OPERATIONS = (
    READ_DRAFT,
    READ_POST,
    READ_FREE_POST,
    FETCH_DOCUMENT,
    LIST_BY_TAGS,
    LIST_DRAFTS,
    LIST_ON,
    LIST_METADATA,
)
"""Everything that is only asked for."""


_DELIVERY_CODES = (
    Code.WEBHOOK_SIGNATURE_INVALID,
    Code.NOT_FOUND,
    Code.REQUEST_TIMEOUT,
    Code.TOO_LARGE,
    Code.UNSUPPORTED_MEDIA_TYPE,
    Code.DATABASE_UNAVAILABLE,
    Code.OVERLOADED,
)

_CONSEQUENCE = (
    "\n\nEvery `PostCreated` log of the marketplace in the delivery moves its file from `pending` "
    "to `onchain`, if its author is the file's owner. What is signed is never refused for what it "
    "says: other logs and heartbeats are ignored with 200, and a delivery or an event that comes "
    "again has no effect. Without a secret in the settings the path is 404."
)


def _signature_header(name: str, signed: str) -> Parameter:
    text = f"HMAC-SHA256 of {signed} with the provider's secret, in lower-case hex."
    return Parameter(name, "DeliverySignature", text, DELIVERY_SIGNATURE, "header")


RECEIVE_A = Operation(
    "receiveFromProviderA",
    "post",
    "/webhook/provider-a/publish",
    Topic.DELIVERIES,
    "Receive from provider a",
    "For Alchemy Notify, with a custom (GraphQL) webhook whose logs are at "
    "`event.data.block.logs[]`." + _CONSEQUENCE,
    Answer("What became of the delivery.", "DeliveryAnswer"),
    _DELIVERY_CODES,
    parameters=(_signature_header("X-Alchemy-Signature", "the raw body"),),
    body=Body("ProviderADelivery", "A delivery as the provider sends it."),
    alias="/webhook/alchemy/publish",
)

RECEIVE_B = Operation(
    "receiveFromProviderB",
    "post",
    "/webhook/provider-b/publish",
    Topic.DELIVERIES,
    "Receive from provider b",
    "For QuickNode Streams. Logs (`address`, `topics`, `data`) are found in any nesting of "
    "arrays and objects; the body may be compressed with gzip." + _CONSEQUENCE,
    Answer("What became of the delivery.", "DeliveryAnswer"),
    _DELIVERY_CODES,
    parameters=(
        Parameter(
            "X-QN-Nonce",
            "DeliveryNonce",
            "Unique for each delivery; one seen before makes it a duplicate.",
            DELIVERY_NONCE,
            "header",
        ),
        Parameter(
            "X-QN-Timestamp",
            "Timestamp",
            "Unix time in seconds, at most 300 seconds away from now.",
            DELIVERY_TIMESTAMP,
            "header",
        ),
        _signature_header("X-QN-Signature", "nonce, timestamp and the body (after gzip is undone)"),
    ),
    body=Body("ProviderBDelivery", "A delivery as the provider sends it."),
    alias="/webhook/quicknode/publish",
)

TELL_FACTS = Operation(
    "tellFacts",
    "get",
    "/.well-known/imprint.json",
    Topic.SERVICE,
    "What a client needs to know",
    "The domain to sign for, the domains that may log in, the chain, the limits and the sizes "
    "of pages.",
    Answer("The facts.", "Facts"),
    EVERYWHERE,
)

TELL_CONTACT = Operation(
    "tellContact",
    "get",
    "/.well-known/security.txt",
    Topic.SERVICE,
    "Where to report a weakness",
    "The operator's contact, as RFC 9116 has it. Without one in the settings the path is 404.",
    Answer("The contact.", "Contact", ("text/plain",)),
    (Code.NOT_FOUND, *EVERYWHERE),
)

DESCRIBE = Operation(
    "describe",
    "get",
    "/openapi.json",
    Topic.SERVICE,
    "This interface, for machines",
    "The OpenAPI 3.1 description that this page is made from.",
    Answer("The description.", "Description"),
    EVERYWHERE,
)

SHOW_MANUAL = Operation(
    "showManual",
    "get",
    "/docs",
    Topic.SERVICE,
    "This interface, for people",
    "One page, without scripts and without anything from elsewhere.",
    Answer("The page.", "Page", ("text/html",)),
    EVERYWHERE,
)

TELL_HEALTH = Operation(
    "tellHealth",
    "get",
    "/healthz",
    Topic.SERVICE,
    "Whether the process lives",
    "The process alone, without its dependencies.",
    Answer("It lives.", "Health"),
    (),
)

TELL_READINESS = Operation(
    "tellReadiness",
    "get",
    "/readyz",
    Topic.SERVICE,
    "Whether the dependencies answer",
    "`ready`, or `degraded` while only the chain is away: most reads still work then. Without "
    "the database or the content store it is `unavailable`, with status 503.",
    Answer("Requests can be served.", "Readiness"),
    (Code.OVERLOADED,),
)

SERVICE_OPERATIONS = (
    RECEIVE_A,
    RECEIVE_B,
    TELL_FACTS,
    TELL_CONTACT,
    DESCRIBE,
    SHOW_MANUAL,
    TELL_HEALTH,
    TELL_READINESS,
)
"""Everything that machines ask of machines."""
