"""The operations that a wallet signs for: login and the four writes."""

from imprint.domain.refusals import Code
from imprint.web.manual.operations import (
    BODY_CODES,
    EVERYWHERE,
    SIGNATURE_CODES,
    Answer,
    Body,
    Operation,
    Parameter,
    Topic,
)
from imprint.web.manual.samples import CID

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
