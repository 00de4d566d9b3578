"""Every expected "no", and every dependency that cannot be asked.

    Problem
    ├── Refusal            the request is wrong, too late, or not allowed
    │   ├── NonceUsed      … and here is the file that this nonce produced
    │   ├── RateLimited    … for now; try again after so many seconds
    │   └── OutOfRange     … of a document that has only so many bytes
    └── Unavailable        chain, storage or database did not answer; try again

A code is part of the interface and never changes its meaning; the detail is for people.
"""

from enum import StrEnum

from imprint.domain.files import File


class Code(StrEnum):
    """The stable, machine-readable name of a refusal."""

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
    SIGNATURE_INVALID = "signature_invalid"
    SIGNATURE_STALE = "signature_stale"
    SESSION_MISSING = "session_missing"
    SESSION_INVALID = "session_invalid"
    SESSION_EXPIRED = "session_expired"
    WEBHOOK_SIGNATURE_INVALID = "webhook_signature_invalid"
    NOT_OWNER = "not_owner"
    SUBJECT_MISMATCH = "subject_mismatch"
    NOT_ENTITLED = "not_entitled"
    NOT_FREE = "not_free"
    NOT_FOUND = "not_found"
    METHOD_NOT_ALLOWED = "method_not_allowed"
    REQUEST_TIMEOUT = "request_timeout"
    NONCE_USED = "nonce_used"
    NOT_PENDING = "not_pending"
    ALREADY_ONCHAIN = "already_onchain"
    NOT_CACHED = "not_cached"
    TOO_LARGE = "too_large"
    UNSUPPORTED_MEDIA_TYPE = "unsupported_media_type"
    RANGE_NOT_SATISFIABLE = "range_not_satisfiable"
    RATE_LIMITED = "rate_limited"
    CHAIN_UNAVAILABLE = "chain_unavailable"
    STORAGE_UNAVAILABLE = "storage_unavailable"
    DATABASE_UNAVAILABLE = "database_unavailable"
    OVERLOADED = "overloaded"


class Problem(Exception):
    """An answer other than success that the service foresees."""

    def __init__(self, code: Code, detail: str) -> None:
        super().__init__(detail)
        self.code = code
        self.detail = detail


class Refusal(Problem):
    """The request is wrong, too late, or not allowed; sending it again changes nothing."""


class NonceUsed(Refusal):
    """A signed write that already took effect; `file` is what it produced, if it still lives."""

    def __init__(self, file: File | None) -> None:
        super().__init__(Code.NONCE_USED, "This nonce has already been used by this signer.")
        self.file = file


class RateLimited(Refusal):
    """Too many requests; `retry_after` says in how many seconds one will be taken."""

    def __init__(self, retry_after: int) -> None:
        super().__init__(Code.RATE_LIMITED, "Too many requests. Please try again later.")
        self.retry_after = retry_after


class OutOfRange(Refusal):
    """A range of bytes that the document does not have; `size` says how many it has."""

    def __init__(self, size: int) -> None:
        super().__init__(Code.RANGE_NOT_SATISFIABLE, f"The document has only {size} bytes.")
        self.size = size


class Unavailable(Problem):
    """A dependency could not be asked, so the answer is neither yes nor no."""

    @classmethod
    def chain(cls) -> "Unavailable":
        return cls(Code.CHAIN_UNAVAILABLE, "The chain cannot be asked right now.")

    @classmethod
    def storage(cls) -> "Unavailable":
        return cls(Code.STORAGE_UNAVAILABLE, "The content store cannot be reached right now.")

    @classmethod
    def database(cls) -> "Unavailable":
        return cls(Code.DATABASE_UNAVAILABLE, "The database cannot be reached right now.")


class CannotStart(Exception):
    """The service must not start; the text tells the operator why."""
