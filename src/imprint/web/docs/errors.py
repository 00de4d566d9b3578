"""The meaning of every error code, for the OpenAPI document and docs/errors.md."""

from imprint.domain.errors import Code

MEANINGS: dict[Code, str] = {
    Code.INVALID_REQUEST: "A field is missing, repeated, of the wrong type, not UTF-8, or contains "
    "a NUL; a large body has too many members; or the request is not valid HTTP, or its headers "
    "are too long, too many, repeated or missing.",
    Code.INVALID_JSON: "The body is not JSON, is nested too deeply, repeats a member name, or "
    "contains a lone surrogate.",
    Code.INVALID_CID: "The parameter is not a cid, is missing, or is repeated.",
    Code.INVALID_ADDRESS: "Not an address, or its mixed case does not match EIP-55.",
    Code.INVALID_POST_ID: "Not a decimal number below 2^256.",
    Code.INVALID_TAGS: "A hashtag is empty, too long, or contains a character other than letters "
    "with their combining marks, digits, `_` and `-`; there are too many hashtags; or they are not "
    "UTF-8.",
    Code.INVALID_PAGE_TOKEN: "The page token was changed, was not issued here, or has expired; or "
    "it is one of a list of drafts, and its session was ended.",
    Code.INVALID_TYPED_DATA: "The typed data is not exactly that of this endpoint, chain and "
    "signing domain.",
    Code.INVALID_LOGIN_MESSAGE: "The message does not follow EIP-4361, or is for another address, "
    "domain or chain.",
    Code.INVALID_IMAGE: "The file starts like a PNG, JPEG or WebP, but cannot be decoded, is cut "
    "short, or has too many pixels, scans or chunks.",
    Code.SIGNATURE_INVALID: "The signature is malformed, or was not made by the given address, and "
    "no contract at that address accepts it.",
    Code.SIGNATURE_STALE: "The timestamp of a write is more than 60 seconds before or after now; "
    "or a login message is too old, from the future, expired or not yet valid; `now` is the time "
    "of the service.",
    Code.BODY_MISMATCH: "The signature is for another service, address, cid, content, thumbnail or"
    " list of hashtags than those of the request.",
    Code.FORM_NOT_ACCEPTED: "This service, or a writing session, does not accept this form of"
    " signed writes; see `signing_forms` in `/.well-known/imprint.json`.",
    Code.WRITING_SESSION_INVALID: "The writing session is unknown, revoked or of another wallet, or"
    " its key did not sign this.",
    Code.WRITING_SESSION_EXPIRED: "The writing session has expired; open another one.",
    Code.SESSION_MISSING: "The Authorization header is missing.",
    Code.SESSION_INVALID: "The session was not issued here, or the word `Bearer` is missing before "
    "it.",
    Code.SESSION_EXPIRED: "The session has expired: log in again.",
    Code.SESSION_ENDED: "The session was ended by a logout; log in again.",
    Code.WEBHOOK_SIGNATURE_INVALID: "The delivery was not signed by its provider, or its "
    "timestamp is too far from now.",
    Code.NOT_OWNER: "The file belongs to somebody else. With `IMPRINT_COMPATIBILITY=inkdao` the "
    "status is 404.",
    Code.SUBJECT_MISMATCH: "The session belongs to another address than the one in the request.",
    Code.NOT_ENTITLED: "The reader holds no token of this post and is not its author. With "
    "`IMPRINT_COMPATIBILITY=inkdao` the status is 404.",
    Code.NOT_FREE: "The price of this post is not zero.",
    Code.WRITING_SESSION_SCOPE: "The writing session does not allow this action; the wallet must"
    " sign it.",
    Code.NOT_FOUND: "There is no such file, post or path, or it is not visible to this caller.",
    Code.METHOD_NOT_ALLOWED: "The path exists, but does not accept this method; `Allow` lists "
    "those it accepts.",
    Code.REQUEST_TIMEOUT: "The body took too long to arrive.",
    Code.NONCE_USED: "This signer has already used this nonce: `action` is what spent it, and "
    "`file` is the record which that produced, or `null`. If `action` is not that of the request, "
    "the file is not its own.",
    Code.NOT_PENDING: "The file is published, or another request has changed it in the meantime.",
    Code.ALREADY_ONCHAIN: "The file is published on the chain and cannot be deleted.",
    Code.TOO_MANY_FEEDS: "The reader has as many private feeds as they may: remove one first.",
    Code.TOO_MANY_WRITING_SESSIONS: "This wallet has as many writing sessions as it may: revoke"
    " one.",
    Code.NOT_CACHED: "The request accepts only what is cached (`only-if-cached`), and this "
    "document is not.",
    Code.TOO_LARGE: "The body, the content, the picture, or the body without them is too large.",
    Code.QUOTA_EXCEEDED: "The drafts of this signer take up all the space they may, or are as many "
    "as they may be. Delete some, or publish them; the bytes of replaced and deleted drafts count "
    "until they are destroyed, after 24 hours by default.",
    Code.UNSUPPORTED_MEDIA_TYPE: "The body or the picture has a media type that is not accepted, "
    "or the body is compressed.",
    Code.RANGE_NOT_SATISFIABLE: "The range starts after the end of the document; `Content-Range` "
    "gives its size.",
    Code.RATE_LIMITED: "Too many requests: try again after `Retry-After` seconds.",
    Code.NOT_IMPLEMENTED: "The body has a `Transfer-Encoding` other than `chunked`.",
    Code.CHAIN_UNAVAILABLE: "The chain cannot be reached, so access, or the signature of a "
    "contract wallet, can be neither granted nor denied.",
    Code.STORAGE_UNAVAILABLE: "The content store cannot be reached or has too little disk space, "
    "or the document in it is missing or damaged.",
    Code.DATABASE_UNAVAILABLE: "The database cannot be reached.",
    Code.INDEX_UNAVAILABLE: "The index of posts is being built; what is not found may still be "
    "on the chain.",
    Code.OVERLOADED: "The service is handling too many requests, bytes or connections at once, of "
    "this client or of all: try again after `Retry-After` seconds.",
}
"""A sentence for each code."""

FAILURE_MEANING = (
    "An unexpected error. The body contains only this code; find the cause in the log by the id "
    "in `X-Request-Id`."
)
"""What the code of an unhandled exception means."""
