"""The types that requests and responses share, with what the description says of them.

A type with a title is a component of that name. Patterns, formats and enums are for the
description: the service refuses a value with a code of its own, and a client takes what a later
version of the service sends.
"""

from datetime import datetime
from typing import Annotated, Any

from msgspec import Meta

from imprint.auth.signatures import MAX_SIGNATURE_BYTES
from imprint.interface.patterns import (
    ADDRESS_PATTERN,
    CID_PATTERN,
    LOWER_ADDRESS_PATTERN,
    PAGE_TOKEN_PATTERN,
    POST_ID_PATTERN,
    POST_PAGE_TOKEN_PATTERN,
    SIGNATURE_PATTERN,
    TOTAL_PATTERN,
    TRANSACTION_PATTERN,
    WRITING_SESSION_ID_PATTERN,
)


def doc(
    sentence: str, pattern: str | None = None, *, title: str | None = None, **more: Any
) -> Meta:
    """What the description says of a type or of a member."""
    extra = more if pattern is None else {"pattern": pattern, **more}
    return Meta(title=title, description=sentence, extra_json_schema=extra or None)


class Wei(int):
    """An amount of the chain's coin in its smallest unit; a text of digits in JSON."""

    __slots__ = ()


Amount = Annotated[Wei, doc("An amount in wei.", POST_ID_PATTERN)]

Total = Annotated[Wei, doc("A sum of amounts in wei.", TOTAL_PATTERN)]
"""A sum may be larger than any amount on the chain."""

Count = Annotated[int, Meta(extra_json_schema={"format": "int64", "minimum": 0})]

Positive = Annotated[int, Meta(extra_json_schema={"format": "int64", "minimum": 1})]

Moment = Annotated[datetime, Meta(extra_json_schema={"format": "date-time"})]

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
