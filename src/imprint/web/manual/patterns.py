"""Patterns of the wire's texts, in the dialect that JSON Schema and every language share.

They are narrower than the service in one way: what matches is well-formed for certain. Spellings
that a pattern cannot judge, such as the checksum in an address, are told in words beside it.
"""

import re
from collections.abc import Sequence

ADDRESS = "^0x([0-9a-f]{40}|[0-9A-F]{40})$"
"""An address in one case."""

LOWER_ADDRESS = "^0x[0-9a-f]{40}$"
"""An address as the service writes it."""

SIGNATURE = "^0x([0-9a-fA-F]{128}|[0-9a-fA-F]{130})$"
"""64 or 65 bytes."""

CID = "^baf(kr|yb)ei[a-h][a-z2-7]{50}[aeimquy4]$"
"""36 bytes in 58 digits: 30 bits and then 2 more are always the same, and the last 2 are spare."""

POST_ID = "^(0|[1-9][0-9]{0,76})$"
"""Every number of up to 77 digits is below 2^256."""

TIMESTAMP = "^[0-9]{1,12}$"
"""Unix time in seconds."""

WITHOUT_NUL = "^[^\\u0000]*$"
"""Any text without NUL."""

PAGE_TOKEN = "^[A-Za-z0-9_-]{38,2048}$"
"""Base64url of a nonce, a tag, and what is sealed between them."""

TAG_CHARACTERS = "A-Za-z0-9_\\-À-ÖØ-öø-ÿа-яα-ωא-תぁ-ゖァ-ヺ一-龥가-힣"
"""Letters that normalization leaves alone, of scripts in common use; others are taken too."""

_STATEMENT = "[A-Za-z0-9\\-._~:/?#\\[\\]@!$&'()*+,;= ]*"
_SEGMENT = "([A-Za-z0-9\\-._~!$&'()*+,;=:@/]|%[0-9A-Fa-f]{2})*"
_QUERY = "([A-Za-z0-9\\-._~!$&'()*+,;=:@/?]|%[0-9A-Fa-f]{2})*"
_REST_OF_URI = f"(/{_SEGMENT})?(\\?{_QUERY})?(#{_QUERY})?"
_DAY = (
    "(20[0-9]{2}-((0[13578]|1[02])-(0[1-9]|[12][0-9]|3[01])|(0[469]|11)-(0[1-9]|[12][0-9]|30)"
    "|02-(0[1-9]|1[0-9]|2[0-8]))|20([02468][048]|[13579][26])-02-29)"
)
_TIME = "([01][0-9]|2[0-3]):[0-5][0-9]:[0-5][0-9](\\.[0-9]{1,9})?"
_ZONE = "(Z|[+\\-]([01][0-9]|2[0-3]):[0-5][0-9])"
_INSTANT = f"{_DAY}T{_TIME}{_ZONE}"


def hashtags_pattern(most: int, longest: int, none_allowed: bool) -> str:
    """A comma-separated list of hashtags."""
    tag = f"#?[{TAG_CHARACTERS}]{{1,{longest}}}"
    some = f"{tag}(,{tag}){{0,{most - 1}}}"
    return f"^({some})?$" if none_allowed else f"^{some}$"


def login_message_pattern(domains: Sequence[str], chain_id: int) -> str:
    """The login messages for each domain: its URI must be there, and nowhere else."""
    messages = [_login_message(_literal(domain), chain_id) for domain in domains]
    return f"^({'|'.join(messages)})$"


def chain_id_pattern(chain_id: int) -> str:
    """A chain id in hex, in either case, with or without leading zeros."""
    digits = f"{chain_id:x}"
    either = "".join(f"[{d}{d.upper()}]" if d.isalpha() else d for d in digits)
    return f"^0x0{{0,{64 - len(digits)}}}{either}$"


def _login_message(domain: str, chain_id: int) -> str:
    return (
        f"(https?://)?{domain} wants you to sign in with your Ethereum account:\\n"
        f"0x([0-9a-f]{{40}}|[0-9A-F]{{40}})\\n\\n({_STATEMENT}\\n)?\\n"
        f"(URI: https?://{domain}{_REST_OF_URI}\\n)?"
        f"Version: 1\\nChain ID: {chain_id}\\nNonce: [A-Za-z0-9]{{8,256}}\\nIssued At: {_INSTANT}"
        f"(\\nExpiration Time: {_INSTANT})?(\\nNot Before: {_INSTANT})?"
        f"(\\nRequest ID: {_SEGMENT.replace('@/', '@')})?"
        f"(\\nResources:(\\n- [a-z][a-z0-9+.\\-]*://[A-Za-z0-9.\\-]+{_REST_OF_URI})*)?"
    )


def _literal(text: str) -> str:
    # Only what a pattern would take for syntax: more escapes than that are errors in JavaScript.
    return re.sub(r"[.*+?^${}()|\[\]\\/]", r"\\\g<0>", text)
