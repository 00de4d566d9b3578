"""Errors that the service expects.

    Exception
    ├── Problem                becomes an HTTP response with a code and a detail
    │   ├── Refusal            the request is wrong, too late, or not allowed
    │   │   ├── NonceUsed      carries the action that spent the nonce, and the file it produced
    │   │   ├── SignatureStale carries the time of this service
    │   │   ├── RateLimited    carries the seconds to wait
    │   │   ├── Withheld       carries the operator's statement, and since when
    │   │   ├── Unpaid         carries the file that the caller may not read, and its price
    │   │   ├── PaymentRequired carries the offer to sell a post
    │   │   └── OutOfRange     carries the size of the document
    │   └── Unavailable        chain, storage or database did not respond; try again
    │       ├── Damaged        a record, a document or the database is not as it was stored
    │       └── StoreMisconfigured  the content store refuses requests until settings are corrected
    └── CannotStart            settings or dependencies do not allow the service to start
        ├── NotReachable       a dependency does not respond; the service may start later
        ├── NoCatalogYet       there are no records, and the command does not create any
        └── NeedsUpgrade       the schema is outdated, and the command does not upgrade it

Codes are part of the interface and never change their meaning. Details are for people.
"""

from datetime import datetime
from enum import StrEnum

from imprint import RELEASE
from imprint.domain.drafts.files import File


class Code(StrEnum):
    """The stable, machine-readable name of a problem."""

    INVALID_REQUEST = "invalid_request"
    INVALID_JSON = "invalid_json"
    INVALID_CID = "invalid_cid"
    INVALID_ADDRESS = "invalid_address"
    INVALID_POST_ID = "invalid_post_id"
    INVALID_TAGS = "invalid_tags"
    INVALID_PAGE_TOKEN = "invalid_page_token"
    INVALID_TYPED_DATA = "invalid_typed_data"
    INVALID_LOGIN_MESSAGE = "invalid_login_message"
    INVALID_IMAGE = "invalid_image"
    INVALID_PROFILE = "invalid_profile"
    SIGNATURE_INVALID = "signature_invalid"
    SIGNATURE_STALE = "signature_stale"
    BODY_MISMATCH = "body_mismatch"
    FORM_NOT_ACCEPTED = "form_not_accepted"
    WRITING_SESSION_INVALID = "writing_session_invalid"
    WRITING_SESSION_EXPIRED = "writing_session_expired"
    WRITING_SESSION_SCOPE = "writing_session_scope"
    SESSION_MISSING = "session_missing"
    SESSION_INVALID = "session_invalid"
    SESSION_EXPIRED = "session_expired"
    SESSION_ENDED = "session_ended"
    WEBHOOK_SIGNATURE_INVALID = "webhook_signature_invalid"
    PAYMENT_REQUIRED = "payment_required"
    NOT_OWNER = "not_owner"
    NOT_AUTHOR = "not_author"
    SUBJECT_MISMATCH = "subject_mismatch"
    NOT_ENTITLED = "not_entitled"
    NOT_FREE = "not_free"
    AUTHOR_REFUSED = "author_refused"
    NOT_FOUND = "not_found"
    NO_OPENING = "no_opening"
    UNKNOWN_REVISION = "unknown_revision"
    METHOD_NOT_ALLOWED = "method_not_allowed"
    REQUEST_TIMEOUT = "request_timeout"
    NONCE_USED = "nonce_used"
    NOT_PENDING = "not_pending"
    ALREADY_ONCHAIN = "already_onchain"
    TOO_MANY_WRITING_SESSIONS = "too_many_writing_sessions"
    TOO_MANY_FEEDS = "too_many_feeds"
    TOO_MANY_REVISIONS = "too_many_revisions"
    NOT_FINAL = "not_final"
    REMOVED = "removed"
    NOT_CACHED = "not_cached"
    TOO_LARGE = "too_large"
    QUOTA_EXCEEDED = "quota_exceeded"
    UNSUPPORTED_MEDIA_TYPE = "unsupported_media_type"
    RANGE_NOT_SATISFIABLE = "range_not_satisfiable"
    RATE_LIMITED = "rate_limited"
    WITHHELD = "withheld"
    NOT_IMPLEMENTED = "not_implemented"
    CHAIN_UNAVAILABLE = "chain_unavailable"
    STORAGE_UNAVAILABLE = "storage_unavailable"
    DATABASE_UNAVAILABLE = "database_unavailable"
    INDEX_UNAVAILABLE = "index_unavailable"
    OVERLOADED = "overloaded"


class Problem(Exception):
    """An expected error response."""

    def __init__(self, code: Code, detail: str) -> None:
        super().__init__(detail)
        self.code = code
        self.detail = detail


class Refusal(Problem):
    """The request is wrong, too late, or not allowed, and retrying it does not help."""


class NonceUsed(Refusal):
    """The nonce was used before. `action` spent it, and `file` is the result if it still exists.

    A client that sent another action must not mistake the file for its own.
    """

    def __init__(self, action: str, file: File | None) -> None:
        super().__init__(Code.NONCE_USED, "This nonce has already been used by this signer.")
        self.action = action
        self.file = file


class SignatureStale(Refusal):
    """The validity period of a signed message does not include `now`, this service's time."""

    def __init__(self, detail: str, now: datetime) -> None:
        super().__init__(Code.SIGNATURE_STALE, detail)
        self.now = now


class RateLimited(Refusal):
    """There were too many requests. The next request is accepted after `retry_after` seconds."""

    def __init__(self, retry_after: int) -> None:
        super().__init__(Code.RATE_LIMITED, "Too many requests. Please try again later.")
        self.retry_after = retry_after


class Withheld(Refusal):
    """The operator withholds the requested post or document. Carries the statement and its time."""

    def __init__(self, code: Code, statement: str, since: datetime) -> None:
        why = "for legal reasons" if code is Code.WITHHELD else "under the rules of this service"
        super().__init__(code, f"The operator of this service has withheld this {why}.")
        self.statement = statement
        self.since = since


class Unpaid(Refusal):
    """The caller may not read this post. `price` is the price of its token on the chain.

    `is_listed` is false if a measure hides the post from lists.
    """

    def __init__(self, code: Code, detail: str, file: File, price: int, *, is_listed: bool) -> None:
        super().__init__(code, detail)
        self.file = file
        self.price = price
        self.is_listed = is_listed


class PaymentRequired(Refusal):
    """The caller may read this post after buying its token for `price`.

    `offer` is the value of the `PAYMENT-REQUIRED` header. With `retry_after`, the purchase is not
    in a block yet.
    """

    def __init__(self, offer: str, price: int, retry_after: int | None = None) -> None:
        detail = "Reading this post requires its token. Buy it, or sign in as its holder."
        if retry_after is not None:
            detail = "The purchase of this post is not in a block yet. Please try again."
        super().__init__(Code.PAYMENT_REQUIRED, detail)
        self.offer = offer
        self.price = price
        self.retry_after = retry_after


class OutOfRange(Refusal):
    """The requested range is outside the document of `size` bytes."""

    def __init__(self, size: int) -> None:
        super().__init__(Code.RANGE_NOT_SATISFIABLE, f"The document has only {size} bytes.")
        self.size = size


class Unavailable(Problem):
    """A dependency did not respond, so the request is neither accepted nor refused."""

    @classmethod
    def chain(cls) -> "Unavailable":
        return cls(Code.CHAIN_UNAVAILABLE, "The chain cannot be reached right now.")

    @classmethod
    def storage(cls) -> "Unavailable":
        return cls(Code.STORAGE_UNAVAILABLE, "The content store cannot be reached right now.")

    @classmethod
    def disk(cls) -> "Unavailable":
        return cls(Code.STORAGE_UNAVAILABLE, "There is too little disk space right now.")

    @classmethod
    def database(cls) -> "Unavailable":
        return cls(Code.DATABASE_UNAVAILABLE, "The database cannot be reached right now.")

    @classmethod
    def index(cls) -> "Unavailable":
        return cls(Code.INDEX_UNAVAILABLE, "The index of posts is being built; try again later.")


class Damaged(Unavailable):
    """Stored data differs from the data that was written. `what` names the damaged data."""

    def __init__(self, code: Code, what: str) -> None:
        super().__init__(code, "The data stored for this request is damaged.")
        self.what = what

    @classmethod
    def record(cls, what: str) -> "Damaged":
        return cls(Code.DATABASE_UNAVAILABLE, what)

    @classmethod
    def document(cls, what: str) -> "Damaged":
        return cls(Code.STORAGE_UNAVAILABLE, what)


class StoreMisconfigured(Unavailable):
    """The content store refuses requests until a setting is corrected.

    `sentence` is for the operator. Clients see an unavailable store, and the service does not
    start.
    """

    def __init__(self, sentence: str) -> None:
        unavailable = Unavailable.storage()
        super().__init__(unavailable.code, unavailable.detail)
        self.sentence = sentence


class CannotStart(Exception):
    """The service must not start. The text tells the operator why and what to do."""

    def __init__(self, reason: str, remedy: str = "") -> None:
        super().__init__(f"{reason} {remedy}".strip())
        self.reason = reason
        self.remedy = remedy

    @classmethod
    def missing_extra(cls, what: str, extra: str) -> "CannotStart":
        version = RELEASE.removesuffix(".dev")
        return cls(
            f"{what} needs a library that is not installed. In the folder with the wheel of the"
            f" release: pip install './imprint_press-{version}-py3-none-any.whl[{extra}]'."
        )


class NoCatalogYet(CannotStart):
    """There are no records. The text says where they were expected."""

    def __init__(self, place: str) -> None:
        super().__init__(
            f"There is no catalog at {place} yet.",
            "`imprint serve` creates it when it starts. If there should be one, check "
            "IMPRINT_DATA_DIR and IMPRINT_DATABASE_URL.",
        )


class NeedsUpgrade(CannotStart):
    """Records or documents have an outdated schema, which only an upgrade may change."""

    def __init__(self, reason: str) -> None:
        super().__init__(
            reason, "Run `imprint upgrade`; `imprint upgrade --check` shows what it would do."
        )


class NotReachable(CannotStart):
    """The service cannot start yet. `problem` names the dependency that does not respond."""

    def __init__(self, reason: str, problem: Unavailable, remedy: str = "") -> None:
        super().__init__(reason, remedy)
        self.problem = problem
