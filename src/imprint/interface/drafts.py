"""Signed writes, the files they produce, and lists and contents of files."""

from typing import Annotated, Any

from msgspec import Struct, field

from imprint.domain.drafts.documents import (
    MAX_IMAGE_BYTES,
    MAX_IMAGE_PIXELS,
    MAX_IMAGE_SIDE,
    MAX_JPEG_PIXELS,
)
from imprint.domain.drafts.files import State
from imprint.domain.drafts.tags import MAX_TAGS
from imprint.interface.values import (
    HASHTAGS_OR_NONE_PATTERN,
    WITHOUT_NUL_PATTERN,
    Address,
    Cid,
    Count,
    LowerAddress,
    Moment,
    PageToken,
    PostId,
    Signature,
    TransactionHash,
    Uuid,
    WritingSessionId,
    doc,
)

FileStatus = Annotated[
    str,
    doc(
        "A draft, or a post.",
        title="FileStatus",
        enum=[State.PENDING.value, State.ONCHAIN.value],
    ),
]

Text = Annotated[
    str,
    doc(
        "The text, without NUL. It may be empty. It has at most `limits.content_bytes` bytes "
        "of UTF-8 (4194304 by default).",
        WITHOUT_NUL_PATTERN,
        title="Content",
    ),
]

Hashtags = Annotated[tuple[str, ...], doc("Normalized hashtags.")]

HashtagsOrNone = Annotated[
    str,
    doc(
        f"Up to {MAX_TAGS} hashtags as in `GET /filesByTags`; an empty string means none.",
        HASHTAGS_OR_NONE_PATTERN,
        title="HashtagsOrNone",
    ),
]


class SignedBody(Struct, frozen=True, omit_defaults=True):
    """A signed write."""

    salt: Annotated[Any, doc("The signed typed data (EIP-712).")]
    address: Address
    signature: Signature
    session: WritingSessionId | None = None


class ContentBody(SignedBody, frozen=True, kw_only=True):
    """A signed write and the content of a draft."""

    content: Text


class CreateBody(ContentBody, frozen=True, kw_only=True):
    """A signed write and the content of the new draft."""


class UpdateBody(ContentBody, frozen=True, kw_only=True):
    """A signed write and the new content of a draft."""


class ReviseBody(ContentBody, frozen=True, kw_only=True):
    """A signed revision and the corrected text of a post; no writing session may sign it."""


class DeleteBody(SignedBody, frozen=True):
    """A signed write."""


class PublishForm(SignedBody, frozen=True, kw_only=True):
    """An image, a signed write and hashtags.

    Every part except `file` is text, and may be sent with a file name, as browsers do for a
    `Blob`. `salt` is JSON.
    """

    file: Annotated[
        str,
        doc(
            "A PNG, JPEG or WebP, sent as a file: at most `limits.thumbnail_bytes` bytes "
            f"({MAX_IMAGE_BYTES}, or less as the operator decides), {MAX_IMAGE_PIXELS} pixels "
            f"(a JPEG {MAX_JPEG_PIXELS}), and {MAX_IMAGE_SIDE} pixels on a side.",
            format="binary",
        ),
    ]
    hashtags: HashtagsOrNone | None = None


class KeyValues(Struct, frozen=True, rename="camel", omit_defaults=True):
    """The metadata of a file. Each hashtag is an additional member whose value is its name."""

    owner: LowerAddress
    status: FileStatus
    published_at: Annotated[
        Moment | None, doc("When the post was published; a draft has none.")
    ] = None


class Draft(Struct, frozen=True):
    """A file as returned by writes. Every update changes its CID."""

    id: Uuid
    name: Annotated[str, doc("The owner's address and a rising number.", "^0x[0-9a-f]{40}_[0-9]+$")]
    cid: Cid
    size: Annotated[Count, doc("Bytes of the stored document.")]
    created_at: Annotated[Moment, doc("When this version was stored.")]
    group_id: Uuid
    keyvalues: KeyValues


class File(Draft, frozen=True):
    """A file as returned by lists and reads, with its publication."""

    hashtags: Hashtags
    thumbnail_cid: Cid | None
    post_id: PostId | None
    published_at: Annotated[Moment | None, doc("When the post was published.")]
    tx_hash: Annotated[TransactionHash | None, doc("The transaction that published the file.")]


class CreatedResponse(Struct, frozen=True):
    """The new draft."""

    draft: Draft = field(name="updatedUpload")


class UpdatedResponse(Struct, frozen=True):
    """The new version of the draft."""

    upload: Draft


class Published(Struct, frozen=True, rename="camel"):
    """The thumbnail of a draft that is ready for `createPost`."""

    thumbnail_cid: Cid


class DeletedDraft(Struct, frozen=True):
    """A deleted draft."""

    id: Uuid
    status: Annotated[str, doc("What became of it.", enum=[State.DELETED.value])]


class DeletedResponse(Struct, frozen=True):
    """The draft that was deleted."""

    draft: DeletedDraft = field(name="deletedFile")


class Content(Struct, frozen=True):
    """A text and the file that contains it."""

    content: Annotated[str, doc("The text.")]
    file: File


class RevisionProof(Struct, frozen=True):
    """The data of a revision that its author signed, including a hash of the text."""

    address: LowerAddress
    salt: Annotated[dict[str, Any], doc("The typed data of the type `RevisePost` (EIP-712).")]
    signature: Signature


class PostContent(Content, frozen=True, omit_defaults=True):
    """A version of a post's text, and the record of the document on the chain."""

    revision: Annotated[
        Count, doc("The number of the revision; 0 is the document on the chain.")
    ] = field()
    proof: Annotated[RevisionProof | None, doc("Only of a revision that the request names.")] = None


Files = Annotated[tuple[File, ...], doc("The records, newest first.")]


class FilesResponse(Struct, frozen=True):
    """One page of a list of files."""

    files: Files
    next_page_token: PageToken | None


class TaggedFilesResponse(Struct, frozen=True):
    """One page of a list of files with these hashtags."""

    files: Files
    count: Annotated[Count, doc("How many records this page has.")]
    tags: Annotated[tuple[str, ...], doc("The normalized hashtags of the filter.")]
    next_page_token: PageToken | None
