"""The API description, narrowed to requests accepted by a service with certain facts.

The description is the same for all services, and its patterns accept every string that any
service accepts. To generate random requests that must be accepted, this adds restrictions
from the service's facts and the description's prose: the chain, the domains, checksums, the
order of members. To each response, it adds the codes that the response lists.
"""

import copy
import re
from collections.abc import Mapping, Sequence
from typing import Any

from imprint.auth.signed_profiles import PROFILE_TYPE
from imprint.auth.signed_revisions import REVISION_TYPE
from imprint.auth.typed_data import WRITE_TYPES, StructType, WriteType
from imprint.auth.writing_sessions import OPENING_TYPE
from imprint.domain.drafts.tags import MAX_TAG_LENGTH, MAX_TAGS
from imprint.interface.values import CID_PATTERN
from imprint.web.docs.accounts import OPENING
from imprint.web.docs.typed_data import component_of

UNMIXED_ADDRESS_PATTERN = "^0x([0-9a-f]{40}|[0-9A-F]{40})$"
"""An address in a single case, which needs no checksum."""

SIGNATURE_PATTERN = "^0x([0-9a-fA-F]{128}|[0-9a-fA-F]{130})$"
"""A signature by a key: contract signatures are too long to generate."""

SHORT_POST_ID_PATTERN = "^(0|[1-9][0-9]{0,76})$"
"""A number of up to 77 digits, which is always below 2^256."""

TAG_CHARACTERS = "A-Za-z0-9_\\-À-ÖØ-öø-ÿа-яα-ωא-תぁ-ゖァ-ヺ一-龥가-힣"
"""Letters of common scripts that normalization does not change."""

TAG = f"#?[{TAG_CHARACTERS}]{{1,{MAX_TAG_LENGTH}}}"
"""A hashtag that needs no normalization except for case."""

TIMESTAMP = "#/components/schemas/Timestamp"
"""A timestamp as a string of digits: as an integer, JSON Schema would also allow `1.0`."""

PROOF_HEADERS = ("SIGN-IN-WITH-X", "PAYMENT-SIGNATURE")

DOMAIN_MEMBERS = [
    {"name": "name", "type": "string"},
    {"name": "version", "type": "string"},
    {"name": "chainId", "type": "uint256"},
]

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


def narrow(document: Mapping[str, Any], facts: Mapping[str, Any]) -> dict[str, Any]:
    """The API description, narrowed to a service with these facts."""
    narrowed: dict[str, Any] = copy.deepcopy(dict(document))
    components = narrowed["components"]["schemas"]
    patterns = {
        "Address": UNMIXED_ADDRESS_PATTERN,
        "Signature": SIGNATURE_PATTERN,
        "AnyCid": CID_PATTERN,
        "PostId": SHORT_POST_ID_PATTERN,
        "Hashtag": f"^{TAG}$",
        "Hashtags": hashtags_pattern(none_allowed=False),
        "HashtagsOrNone": hashtags_pattern(none_allowed=True),
        "LoginMessage": login_message_pattern(
            facts["login"]["domains"], facts["signing"]["chainId"]
        ),
    }
    for name, pattern in patterns.items():
        components[name]["pattern"] = pattern
    # Generating a message of exactly the maximum length would take a minute and fail.
    del components["LoginMessage"]["maxLength"]
    signing = facts["signing"]
    components["SigningDomain"]["properties"] = {
        "name": {"const": signing["name"]},
        "version": {"const": signing["version"]},
        "chainId": _chain_id(signing["chainId"]),
    }
    for each in (kind for types in WRITE_TYPES.values() for kind in types.values()):
        _narrow_typed_data(components, each)
    _narrow_writing_sessions(components, facts)
    _narrow_profiles(components)
    _narrow_typed_data(
        components, REVISION_TYPE, {"note": {"type": "string", "pattern": "^[A-Za-z .]{0,280}$"}}
    )
    components["PublishForm"]["additionalProperties"] = False
    _narrow_payments(narrowed)
    _narrow_problems(narrowed)
    return narrowed


def _narrow_typed_data(
    components: dict[str, Any], kind: StructType, message: Mapping[str, Any] | None = None
) -> None:
    """Restrict typed data to its declared types, simple timestamps and these members."""
    name = component_of(kind) if isinstance(kind, WriteType) else kind.name
    components[f"{name}Types"]["properties"] |= {
        kind.name: {"const": kind.declared},
        "EIP712Domain": {"const": DOMAIN_MEMBERS},
    }
    members = components[f"{name}Message"]["properties"]
    if members.get("timestamp", {}).get("type") == ["integer", "string"]:
        members["timestamp"] = {"anyOf": [{"const": 1_700_000_000}, {"$ref": TIMESTAMP}]}
    members |= message or {}


def _narrow_writing_sessions(components: dict[str, Any], facts: Mapping[str, Any]) -> None:
    example = OPENING.salt["message"]
    # A random public key is rarely a point on the curve, and the expiry must be an integer after
    # the start.
    expires = facts.get("now", example["expires"]) + 12 * 3600
    components["WritingSessionPublicKey"] = {"const": example["publicKey"]}
    _narrow_typed_data(
        components,
        OPENING_TYPE,
        {
            "actions": {
                "enum": [["create"], ["update"], ["create", "update"], ["update", "create"]]
            },
            "notBefore": {"enum": [0, 1, "0", "000001"]},
            "expires": {"enum": [2, expires, str(expires)]},
        },
    )


def _narrow_profiles(components: dict[str, Any]) -> None:
    """Restrict profiles to those without a picture, whose hash would have to match the file."""
    _narrow_typed_data(
        components,
        PROFILE_TYPE,
        {
            "name": {"type": "string", "pattern": "^[B-DF-Zb-df-z]{1,64}$"},
            "bio": {"type": "string", "pattern": "^[A-Za-z \\n]{0,500}$"},
            "links": {"enum": ["", "https://a.example", "https://a.example\nmailto:a@b.example"]},
            "avatar": {"enum": ["keep", "none"]},
        },
    )
    form = components["ProfileForm"]
    form["additionalProperties"] = False
    del form["properties"]["file"]


def _narrow_payments(document: dict[str, Any]) -> None:
    """Leave out proofs: only a wallet that answers a fresh challenge can make one."""
    for methods in document["paths"].values():
        for operation in methods.values():
            given = operation.get("parameters", [])
            kept = [each for each in given if each["name"] not in PROOF_HEADERS]
            if len(kept) < len(given):
                operation["parameters"] = kept


def _narrow_problems(document: dict[str, Any]) -> None:
    """Restrict each response to its own status and the codes that it lists."""
    for methods in document["paths"].values():
        for operation in methods.values():
            for status, response in operation["responses"].items():
                problem = response.get("content", {}).get("application/problem+json")
                if problem is not None:
                    members = {
                        "status": {"const": int(status)},
                        "code": {"enum": response["x-codes"]},
                    }
                    problem["schema"] = {"allOf": [problem["schema"], {"properties": members}]}


def hashtags_pattern(none_allowed: bool) -> str:
    """A comma-separated list of hashtags that need no normalization except for case."""
    some = f"{TAG}(,{TAG}){{0,{MAX_TAGS - 1}}}"
    return f"^({some})?$" if none_allowed else f"^{some}$"


def login_message_pattern(domains: Sequence[str], chain_id: int) -> str:
    """A pattern of login messages for these domains, with the domain as the host of the URI."""
    # A service for development accepts every port; this is one of them.
    ports = [domain.replace(":*", ":5173") for domain in domains]
    messages = [_login_message_pattern(_literal(domain), chain_id) for domain in ports]
    return f"^({'|'.join(messages)})$"


def _login_message_pattern(domain: str, chain_id: int) -> str:
    return (
        f"(https?://)?{domain} wants you to sign in with your Ethereum account:\\n"
        f"0x([0-9a-f]{{40}}|[0-9A-F]{{40}})\\n\\n({_STATEMENT}\\n)?\\n"
        f"(URI: https?://{domain}{_REST_OF_URI}\\n)?"
        f"Version: 1\\nChain ID: {chain_id}\\nNonce: [A-Za-z0-9]{{8,256}}\\nIssued At: {_INSTANT}"
        f"(\\nExpiration Time: {_INSTANT})?(\\nNot Before: {_INSTANT})?"
        f"(\\nRequest ID: {_SEGMENT.replace('@/', '@')})?"
        f"(\\nResources:(\\n- [a-z][a-z0-9+.\\-]*://[A-Za-z0-9.\\-]+{_REST_OF_URI})*)?"
    )


def _chain_id(chain_id: int) -> dict[str, Any]:
    digits = f"{chain_id:x}"
    either = "".join(f"[{d}{d.upper()}]" if d.isalpha() else d for d in digits)
    in_hex = f"^0x0{{0,{64 - len(digits)}}}{either}$"
    spellings = [
        {"const": chain_id},
        {"const": str(chain_id)},
        {"type": "string", "pattern": in_hex},
    ]
    return {"anyOf": spellings}


def _literal(text: str) -> str:
    # re.escape also escapes characters that are not syntax, which is an error in JavaScript's `u`
    # mode.
    return re.sub(r"[.*+?^${}()|\[\]\\/]", r"\\\g<0>", text)
