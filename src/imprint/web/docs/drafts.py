"""Draft operations: the signed writes of drafts and posts."""

from typing import Any, NamedTuple

from imprint.auth.signed_revisions import REVISION_TYPE
from imprint.auth.typed_data import WRITE_TYPES, SigningForm, StructType
from imprint.domain.drafts.files import Action
from imprint.domain.errors import Code
from imprint.domain.formats.addresses import checksum_address, keccak256
from imprint.domain.posts.revisions import MAX_REVISIONS
from imprint.interface.drafts import (
    CreateBody,
    CreatedResponse,
    DeleteBody,
    DeletedDraft,
    DeletedResponse,
    Published,
    PublishForm,
    ReviseBody,
    UpdateBody,
    UpdatedResponse,
)
from imprint.interface.posts import RevisionRecord, RevisionResponse
from imprint.web.docs.examples import (
    CID,
    CONTENT,
    DOMAIN,
    FACTS,
    FILE_ID,
    OWNER,
    POST_ID,
    REVISED,
    REVISED_CONTENT,
    REVISION_CID,
    REVISION_NOTE,
    TAGS,
    THUMBNAIL,
    THUMBNAIL_CID,
    TIMESTAMP,
    WRITTEN,
    sign_digest,
)
from imprint.web.docs.operation import (
    JSON_CODES,
    WITHHELD_CODES,
    Body,
    Operation,
    Parameter,
    Response,
    Topic,
)

_WRITE_CODES = (
    *JSON_CODES,
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

_STORE_CODES = (Code.AUTHOR_REFUSED, Code.QUOTA_EXCEEDED, Code.STORAGE_UNAVAILABLE)

_DRAFT_CID = Parameter("cid", "AnyCid", "The draft's current cid; every update changes it.", CID)

_SHOWN_FORMS = (SigningForm.IMPRINT_2, SigningForm.IMPRINT_1)


class _Signed(NamedTuple):
    """The members of every signed body."""

    salt: dict[str, Any]
    address: str
    signature: str


def _sign(form: SigningForm, action: Action) -> _Signed:
    timestamp = TIMESTAMP if form is SigningForm.IMPRINT_1 else int(TIMESTAMP)
    given = {"action": action.value, "timestamp": timestamp}
    return _sign_values(WRITE_TYPES[form][action], given)


def _sign_values(kind: StructType, given: dict[str, Any]) -> _Signed:
    values = {
        "cid": CID,
        "contentHash": keccak256(CONTENT.encode()),
        "hashtags": TAGS,
        # The bytes look random, but are the same every time.
        "nonce": keccak256(kind.name.encode())[:16].hex(),
        "service": FACTS.service,
        "thumbnailHash": keccak256(THUMBNAIL),
        **given,
    }
    digest = keccak256(DOMAIN.signed_bytes(kind.hash_struct(values)))
    salt = {
        "domain": FACTS.signing,
        "types": {kind.name: kind.declared},
        "primaryType": kind.name,
        "message": {name: _show(values[name]) for name, _ in kind.members},
    }
    return _Signed(salt, checksum_address(OWNER), sign_digest(digest))


def _show(value: str | int | bytes) -> str | int:
    return f"0x{value.hex()}" if isinstance(value, bytes) else value


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
    Response("The new draft.", CreatedResponse, CreatedResponse(WRITTEN)),
    (*_WRITE_CODES, *_STORE_CODES),
    body=Body(
        CreateBody,
        "The signed write and the content.",
        {each: CreateBody(*_sign(each, Action.CREATE), content=CONTENT) for each in _SHOWN_FORMS},
    ),
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
    Response("The new version of the draft.", UpdatedResponse, UpdatedResponse(WRITTEN)),
    (*_DRAFT_CODES, *_STORE_CODES),
    parameters=(_DRAFT_CID,),
    body=Body(
        UpdateBody,
        "The signed write and the new content.",
        {each: UpdateBody(*_sign(each, Action.UPDATE), content=CONTENT) for each in _SHOWN_FORMS},
    ),
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
    Response(
        "The thumbnail's cid: fetch it from `GET /ipfs/{thumbnailCid}`.",
        Published,
        Published(THUMBNAIL_CID),
    ),
    (*_DRAFT_CODES, Code.INVALID_TAGS, Code.INVALID_IMAGE, *_STORE_CODES),
    parameters=(_DRAFT_CID,),
    body=Body(
        PublishForm,
        "The signed write, the picture and the hashtags.",
        {
            each: PublishForm(*_sign(each, Action.PUBLISH), file="thumbnail.png", hashtags=TAGS)
            for each in _SHOWN_FORMS
        },
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
    Response(
        "The id of the deleted draft.",
        DeletedResponse,
        DeletedResponse(DeletedDraft(FILE_ID, "deleted")),
    ),
    (*_DRAFT_CODES, Code.ALREADY_ONCHAIN),
    parameters=(_DRAFT_CID,),
    body=Body(
        DeleteBody,
        "The signed write.",
        {each: DeleteBody(*_sign(each, Action.DELETE)) for each in _SHOWN_FORMS},
    ),
)

REVISE_POST = Operation(
    "revisePost",
    "post",
    "/revise/post",
    Topic.DRAFTS,
    "Correct a post",
    "Adds a corrected version to a post, whose document on the chain stays as it is. Sign typed "
    "data of the type `RevisePost`, which binds the signature to this service, to the post, to the "
    "cid of its document on the chain, to the new content and to the note. Pages, feeds and search "
    "show the newest version from then on; `?revision=0` of the content is what was first "
    "published.\n\n"
    f"Only the author whom the chain names may correct a post, at most {MAX_REVISIONS} times. The "
    "bytes of every version count in the quota of the author. The key of a writing session cannot "
    "sign it.",
    Response(
        "The revision.",
        RevisionResponse,
        RevisionResponse(RevisionRecord(1, REVISION_CID, REVISION_NOTE, REVISED)),
    ),
    (
        *JSON_CODES,
        Code.INVALID_POST_ID,
        Code.INVALID_TYPED_DATA,
        Code.BODY_MISMATCH,
        Code.WRITING_SESSION_SCOPE,
        Code.NOT_AUTHOR,
        Code.NOT_FOUND,
        Code.NONCE_USED,
        Code.TOO_MANY_REVISIONS,
        Code.CHAIN_UNAVAILABLE,
        Code.DATABASE_UNAVAILABLE,
        *WITHHELD_CODES,
        *_STORE_CODES,
    ),
    parameters=(Parameter("postId", "PostId", "The post's id.", POST_ID),),
    body=Body(
        ReviseBody,
        "The signed revision and the corrected content.",
        ReviseBody(
            *_sign_values(
                REVISION_TYPE,
                {
                    "postId": POST_ID,
                    "contentHash": keccak256(REVISED_CONTENT.encode()),
                    "note": REVISION_NOTE,
                    "timestamp": int(TIMESTAMP),
                },
            ),
            content=REVISED_CONTENT,
        ),
    ),
)

DRAFT_OPERATIONS = (CREATE_DRAFT, UPDATE_DRAFT, PUBLISH_DRAFT, DELETE_DRAFT, REVISE_POST)
"""The signed writes, in docs order."""

SIGNED_ACTIONS = {
    "CreateBody": Action.CREATE,
    "UpdateBody": Action.UPDATE,
    "PublishForm": Action.PUBLISH,
    "DeleteBody": Action.DELETE,
}
"""The actions in the typed data of each signed body."""
