"""The meaning of every error code, for the OpenAPI document and docs/errors.md."""

from imprint.domain.errors import Code

MEANINGS: dict[Code, str] = {
    Code.INVALID_REQUEST: "A field is missing, given twice, of the wrong type, or has a NUL in it; "
    "or the request is no HTTP, or its headers are too long.",
    Code.INVALID_JSON: "The body is not JSON, is nested too deeply, names a member twice, or has "
    "half a surrogate pair.",
    Code.INVALID_CID: "The parameter is no cid in any spelling, or is not given exactly once.",
    Code.INVALID_ADDRESS: "Not an address, or its mixed case does not satisfy EIP-55.",
    Code.INVALID_POST_ID: "Not a decimal number below 2^256.",
    Code.INVALID_TAGS: "A hashtag is empty, too long or has another character than letters, "
    "digits, `_` and `-`, or there are too many.",
    Code.INVALID_PAGE_TOKEN: "The page token was changed, was not issued here, or has expired.",
    Code.INVALID_TYPED_DATA: "The typed data is not exactly the one for this endpoint, chain and "
    "signing domain.",
    Code.INVALID_LOGIN_MESSAGE: "The message does not follow EIP-4361, or is meant for another "
    "address, domain or chain.",
    Code.INVALID_IMAGE: "The file begins like a picture, but cannot be decoded completely, or has "
    "too many pixels.",
    Code.SIGNATURE_INVALID: "The signature is malformed, or not of the given address.",
    Code.SIGNATURE_STALE: "The time of a write is more than 60 seconds away; or a login message is "
    "too old, from the future, expired or not yet valid.",
    Code.SESSION_MISSING: "There is no Authorization header.",
    Code.SESSION_INVALID: "The session was not issued here.",
    Code.SESSION_EXPIRED: "The session is older than two hours: log in again.",
    Code.WEBHOOK_SIGNATURE_INVALID: "The delivery is not signed by its provider, or is out of "
    "its time.",
    Code.NOT_OWNER: "The file belongs to somebody else.",
    Code.SUBJECT_MISMATCH: "The session belongs to another address than the one asked for.",
    Code.NOT_ENTITLED: "The reader holds no token of this post and is not its author.",
    Code.NOT_FREE: "The price of this post is not zero.",
    Code.NOT_FOUND: "There is no such file, post or path, or none that may be seen.",
    Code.METHOD_NOT_ALLOWED: "The path exists, but takes another method; `Allow` lists them.",
    Code.REQUEST_TIMEOUT: "The body took too long to arrive.",
    Code.NONCE_USED: "This signer has used this nonce; `file` is what it produced, or `null`.",
    Code.NOT_PENDING: "The file is published, or another request has changed it meanwhile.",
    Code.ALREADY_ONCHAIN: "The file is published on the chain and cannot be deleted.",
    Code.NOT_CACHED: "The caller wants only what is here already (`only-if-cached`), and this is "
    "not.",
    Code.TOO_LARGE: "The body, the content or the picture is larger than allowed.",
    Code.UNSUPPORTED_MEDIA_TYPE: "The body or the picture is of another type than expected.",
    Code.RANGE_NOT_SATISFIABLE: "The range begins behind the end of the document; `Content-Range` "
    "tells its size.",
    Code.RATE_LIMITED: "Too many requests: try again after `Retry-After` seconds.",
    Code.CHAIN_UNAVAILABLE: "The chain cannot be asked, so the answer is neither yes nor no.",
    Code.STORAGE_UNAVAILABLE: "The content store cannot be reached, or the bytes that it has are "
    "missing or damaged.",
    Code.DATABASE_UNAVAILABLE: "The database cannot be reached.",
    Code.OVERLOADED: "Too many requests are being answered at the same time: try again after "
    "`Retry-After` seconds.",
}
"""The meaning of each code of a refusal."""

FAILURE_MEANING = (
    "A failure that nobody foresaw. The body says nothing but this code; the id in `X-Request-Id` "
    "finds the cause in the log."
)
"""The meaning of the code for a defect of the service."""
