"""Types shared by requests and responses, with their descriptions.

A type with a title becomes an OpenAPI component of that name. Patterns, formats and enums
describe values but do not validate them (docs/decisions/api-structs.md).

Patterns use the syntax that ECMAScript, Python and Rust share. A request pattern accepts
every string that the service accepts, because generated clients check it before sending.
Rules that a pattern cannot express, such as an address checksum or a letter's category, are
in the description. A response pattern matches exactly what the service returns.
"""

from datetime import datetime
from typing import Annotated, Any

from msgspec import Meta

from imprint.auth.signatures import MAX_SIGNATURE_BYTES

# Patterns

ADDRESS_PATTERN = "^0x[0-9a-fA-F]{40}$"
"""An address in lower, upper or mixed case (EIP-55)."""

LOWER_ADDRESS_PATTERN = "^0x[0-9a-f]{40}$"
"""An address in the form that the service returns."""

SIGNATURE_PATTERN = "^0x([0-9a-fA-F]{2})*$"
"""Bytes in hex. The contract defines the signature format of a contract wallet."""

HASH_PATTERN = "^0x[0-9a-fA-F]{64}$"
"""32 bytes in hex."""

TRANSACTION_PATTERN = "^0x[0-9a-f]{64}$"
"""A transaction or block hash as the service returns it."""

CID_PATTERN = "^baf(kr|yb)ei[a-h][a-z2-7]{50}[aeimquy4]$"
"""36 bytes in 58 base32 digits: the first 32 bits are fixed, and the last 2 are padding."""

ANY_CID_PATTERN = "^[0-9A-Za-z+/_=\\-]{46,73}$"
"""A CID in any multibase: CIDv0 is the shortest form, base16 the longest."""

P256_POINT_PATTERN = "^0x04[0-9a-fA-F]{128}$"
"""An uncompressed P-256 point in hex."""

WRITING_SESSION_ID_PATTERN = "^[0-9a-f-]{36}$"
"""The ID of a writing session."""

PLACE_PATTERN = "^(0|[1-9][0-9]{0,17})$"
"""A number of up to 18 digits: a position on the chain."""

POST_ID_PATTERN = "^(0|[1-9][0-9]{0,77})$"
"""A number of up to 78 digits, the length of 2^256."""

TOTAL_PATTERN = "^(0|[1-9][0-9]*)$"
"""A number of any length."""

TIMESTAMP_PATTERN = "^[0-9]{1,12}$"
"""A Unix time in seconds."""

WITHOUT_NUL_PATTERN = "^[^\\u0000]*$"
"""Any text without NUL characters."""

PAGE_TOKEN_PATTERN = "^[A-Za-z0-9_-]{38,2048}$"
"""Base64url of a nonce, a ciphertext and an authentication tag."""

POST_PAGE_TOKEN_PATTERN = "^[A-Za-z0-9_-]{38,4096}$"
"""Page token of a list of posts, longer because such a list has more parameters."""

FEED_TOKEN_PATTERN = "^[A-Za-z0-9_-]{43}$"
"""32 bytes in base64url."""

DELIVERY_SIGNATURE_PATTERN = "^[0-9a-fA-F]{64}$"
"""32 bytes in hex."""

DELIVERY_NONCE_PATTERN = "^[!-~]{1,128}$"
"""Text of printable ASCII characters."""

_OTHER_SPACES = "\\u0085\\u00a0\\u1680\\u2000-\\u200a\\u2028\\u2029\\u202f\\u205f\\u3000"
_SPACE = f"[\\t-\\r\\u001c-\\u0020{_OTHER_SPACES}]*"
"""Whitespace that is stripped from both ends of a hashtag."""

_SPELLING = f"[^\\u0000-,./:-@\\[-^`{{-\\u007f{_OTHER_SPACES}]{{1,256}}"
"""A hashtag before normalization.

Of the ASCII characters, only letters, digits, `_` and `-` are allowed. The service checks
all other characters, since Unicode property escapes are not supported everywhere.
"""

_HASHTAG = f"{_SPACE}#?{_SPELLING}{_SPACE}"

HASHTAG_PATTERN = f"^{_HASHTAG}$"
"""One hashtag."""

HASHTAGS_PATTERN = f"^({_SPACE},)*{_HASHTAG}(,({_SPACE}|{_HASHTAG}))*$"
"""Comma-separated hashtags. Duplicates are dropped, so their number is not limited here."""

HASHTAGS_OR_NONE_PATTERN = f"^({_SPACE}|{_HASHTAG})(,({_SPACE}|{_HASHTAG}))*$"
"""Comma-separated hashtags, possibly none."""

_INSTANT = (
    "[0-9]{4}-[0-9]{2}-[0-9]{2}[Tt][0-9]{2}:[0-9]{2}:[0-9]{2}(\\.[0-9]+)?"
    "([Zz]|[+\\-][0-9]{2}:[0-9]{2})"
)

LOGIN_MESSAGE_PATTERN = (
    "^[!-~]+ wants you to sign in with your Ethereum account:\\n"
    "0x[0-9a-fA-F]{40}\\n\\n([ -~]*\\n)?\\n(URI: [!-~]+\\n)?"
    "Version: 1\\nChain ID: [0-9]{1,78}\\nNonce: [A-Za-z0-9]{8,}\\n"
    f"Issued At: {_INSTANT}(\\nExpiration Time: {_INSTANT})?(\\nNot Before: {_INSTANT})?"
    "(\\nRequest ID: [!-~]*)?(\\nResources:(\\n- [!-~]+)*)?$"
)
"""The lines of a login message (EIP-4361), in order."""

# Types


def doc(
    sentence: str, pattern: str | None = None, *, title: str | None = None, **more: Any
) -> Meta:
    """Describe a type or a member."""
    extra = more if pattern is None else {"pattern": pattern, **more}
    return Meta(title=title, description=sentence, extra_json_schema=extra or None)


class Wei(int):
    """An amount of the chain's coin in its smallest unit, encoded in JSON as a string of digits."""

    __slots__ = ()


Amount = Annotated[Wei, doc("An amount in wei.", POST_ID_PATTERN)]

Total = Annotated[Wei, doc("A sum of amounts in wei.", TOTAL_PATTERN)]
"""A sum, which may be larger than any amount on the chain."""

Count = Annotated[int, Meta(extra_json_schema={"format": "int64", "minimum": 0})]
"""A non-negative number."""

Positive = Annotated[int, Meta(extra_json_schema={"format": "int64", "minimum": 1})]
"""A number above zero."""

Moment = Annotated[datetime, Meta(extra_json_schema={"format": "date-time"})]
"""A time with its time zone."""

Address = Annotated[
    str,
    doc(
        "An Ethereum address: all lower case, all upper case, or in the mixed case of EIP-55 with "
        "the right checksum.",
        ADDRESS_PATTERN,
        title="Address",
    ),
]

LowerAddress = Annotated[str, doc("An Ethereum address in lower case.", LOWER_ADDRESS_PATTERN)]

Cid = Annotated[
    str,
    doc("A content identifier: CIDv1 in base32, raw or dag-pb, SHA-256.", CID_PATTERN, title="Cid"),
]

PostId = Annotated[str, doc("The post's id, a decimal number below 2^256.", POST_ID_PATTERN)]

TransactionHash = Annotated[str, doc("The hash of the transaction.", TRANSACTION_PATTERN)]

Uuid = Annotated[str, doc("A UUID.", format="uuid")]

PageToken = Annotated[str, doc("The token of the next page, if there is one.", PAGE_TOKEN_PATTERN)]

PostPageToken = Annotated[
    str, doc("The token of the next page, if there is one.", POST_PAGE_TOKEN_PATTERN)
]

Signature = Annotated[
    str,
    doc(
        "Bytes in hex. Of an account with a key: 65 bytes (r, s, v), or the 64 of EIP-2098, "
        "with a low s. Of a contract wallet: whatever its contract accepts (ERC-1271), or what "
        f"ERC-6492 makes of it; at most {MAX_SIGNATURE_BYTES} bytes.",
        SIGNATURE_PATTERN,
        title="Signature",
        maxLength=2 + 2 * MAX_SIGNATURE_BYTES,
    ),
]

WritingSessionId = Annotated[
    str,
    doc("The `id` of a writing session.", WRITING_SESSION_ID_PATTERN, title="WritingSessionId"),
]
