"""What each code means, in a sentence for the person who meets it."""

from imprint.domain.refusals import Code

MEANINGS: dict[Code, str] = {
    Code.INVALID_REQUEST: "A field is missing, given twice, of the wrong type, or has a NUL in it.",
    Code.INVALID_JSON: "The body is not JSON, names a member twice, or has half a surrogate pair.",
    Code.INVALID_CID: "The parameter is no cid, or is not given exactly once.",
    Code.INVALID_ADDRESS: "Not an address, or its mixed case does not satisfy EIP-55.",
    Code.INVALID_POST_ID: "Not a decimal number below 2^256.",
    Code.INVALID_TAGS: "A hashtag is empty, too long or has a character that is not allowed, "
    "or there are too many.",
    Code.INVALID_PAGE_TOKEN: "The page token was changed, was not issued here, or has expired.",
    Code.INVALID_TYPED_DATA: "The typed data is not exactly the one for this endpoint.",
    Code.INVALID_LOGIN_MESSAGE: "The message is malformed, or meant for another address, domain "
    "or chain.",
    Code.INVALID_IMAGE: "The file begins like a picture, but cannot be decoded completely.",
    Code.SIGNATURE_INVALID: "The signature is malformed, or not of the given address.",
    Code.SIGNATURE_STALE: "What was signed is too old, lies in the future, or has expired.",
    Code.SESSION_MISSING: "There is no Authorization header.",
    Code.SESSION_INVALID: "The session was not issued here.",
    Code.SESSION_EXPIRED: "The session is older than two hours: log in again.",
    Code.WEBHOOK_SIGNATURE_INVALID: "The delivery is not signed by its provider, or is out of "
    "its time.",
    Code.NOT_OWNER: "The file belongs to somebody else.",
    Code.SUBJECT_MISMATCH: "The session belongs to another address than the one asked for.",
    Code.NOT_ENTITLED: "The reader holds no token of this post and is not its author.",
    Code.NOT_FREE: "The price of this post is not zero.",
    Code.NOT_FOUND: "There is nothing here that may be seen.",
    Code.METHOD_NOT_ALLOWED: "The path exists, but takes another method.",
    Code.REQUEST_TIMEOUT: "The body took too long to arrive.",
    Code.NONCE_USED: "This signer has used this nonce; `file` is what it produced.",
    Code.NOT_PENDING: "The file is published, or another request has changed it meanwhile.",
    Code.ALREADY_ONCHAIN: "The file is published on the chain and cannot be deleted.",
    Code.NOT_CACHED: "The caller wants only what is here already, and this is not.",
    Code.TOO_LARGE: "The body, the content or the picture is larger than allowed.",
    Code.UNSUPPORTED_MEDIA_TYPE: "The body or the picture is of another type than expected.",
    Code.RANGE_NOT_SATISFIABLE: "The range begins behind the end of the document; `Content-Range` "
    "tells its size.",
    Code.RATE_LIMITED: "Too many requests: try again after `Retry-After` seconds.",
    Code.CHAIN_UNAVAILABLE: "The chain cannot be asked, so the answer is neither yes nor no.",
    Code.STORAGE_UNAVAILABLE: "The content store cannot be reached.",
    Code.DATABASE_UNAVAILABLE: "The database cannot be reached.",
    Code.OVERLOADED: "Too many requests are being answered at the same time.",
}
"""Every code there is."""
