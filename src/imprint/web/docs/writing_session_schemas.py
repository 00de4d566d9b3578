"""JSON Schemas and examples of writing sessions.

The signatures of the examples verify: that of the opening is the owner's, and the key of the
session is the number 1 on P-256.
"""

from datetime import timedelta
from hashlib import sha256
from typing import Any

from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.hazmat.primitives.serialization import Encoding, PublicFormat

from imprint.auth.typed_data import SigningDomain
from imprint.auth.writing_sessions import OPENING_TYPE
from imprint.domain.formats.addresses import checksum_address, keccak256
from imprint.domain.sessions import WRITING_ACTIONS
from imprint.web.docs.examples import FACTS, MOMENT, OWNER, sign_digest
from imprint.web.docs.patterns import (
    LOWER_ADDRESS_PATTERN,
    P256_POINT_PATTERN,
    WRITING_SESSION_ID_PATTERN,
)
from imprint.web.docs.schema import Schema, array, choice, closed_structure, ref, string, structure

SESSION_ID = "019bc0f2-3f40-7c1d-8a55-6e2b90d4f7a1"
"""The id of a writing session."""

EXPIRES = MOMENT + timedelta(hours=12)
"""When it expires."""

_KEY = ec.derive_private_key(1, ec.SECP256R1())
_POINT = _KEY.public_key().public_bytes(Encoding.X962, PublicFormat.UncompressedPoint)


def describe_writing_sessions() -> dict[str, Schema]:
    """The components of writing sessions."""
    return {
        "WritingSessionId": string("The `id` of a writing session.", WRITING_SESSION_ID_PATTERN),
        "WritingSessionPublicKey": string(
            "A public key of P-256: an uncompressed point, `0x04` and 64 bytes in hex.",
            P256_POINT_PATTERN,
        ),
        "WritingSessionBody": structure(
            "Signed typed data that opens a writing session.",
            {
                "salt": ref("WritingSessionTypedData"),
                "address": ref("Address"),
                "signature": ref("Signature"),
            },
        ),
        **_typed_data(),
        "WritingSession": _session(),
        "WritingSessionAnswer": structure(
            "A new writing session.", {"session": ref("WritingSession")}
        ),
        "WritingSessionList": structure(
            "Writing sessions.",
            {"sessions": array("The live ones, the oldest first.", ref("WritingSession"))},
        ),
    }


def _typed_data() -> dict[str, Schema]:
    listed = ", ".join(f"`{name}`, which is `{kind}`" for name, kind in OPENING_TYPE.members)
    # Generators of Python models write invalid types for two types with limits.
    seconds = {"type": ["integer", "string"]}
    # Without `uniqueItems`: some generators would make a set of it, which is not sent as a list.
    actions = array("What the key may sign, each once.", choice("An action.", *WRITING_ACTIONS))
    message = {
        "service": string("`service` of `GET /.well-known/imprint.json`."),
        "wallet": ref("Address"),
        "publicKey": ref("WritingSessionPublicKey"),
        "actions": actions | {"minItems": 1, "maxItems": len(WRITING_ACTIONS)},
        "notBefore": {**seconds, "description": "Unix time in seconds, not in the future."},
        "expires": {
            **seconds,
            "description": "Unix time in seconds, after `notBefore` and at most 24 hours after "
            "now.",
        },
        "nonce": ref("Nonce"),
    }
    types = {
        OPENING_TYPE.name: array(f"In this order: {listed}.", ref("TypedDataMember")),
        "EIP712Domain": array(
            "`name` and `version`, which are `string`, and `chainId`, which is `uint256`.",
            ref("TypedDataMember"),
        ),
    }
    envelope = {
        "domain": ref("SigningDomain"),
        "types": ref("WritingSessionTypes"),
        "primaryType": choice("The type that is signed.", OPENING_TYPE.name),
        "message": ref("WritingSessionMessage"),
    }
    described = "The signed typed data (EIP-712), with exactly these members."
    return {
        "WritingSessionTypedData": closed_structure(described, envelope, "primaryType"),
        "WritingSessionTypes": closed_structure(
            "The types of the typed data.", types, "EIP712Domain"
        ),
        "WritingSessionMessage": closed_structure("The message that is signed.", message),
    }


def _session() -> Schema:
    moment = {"type": "string", "format": "date-time"}
    return structure(
        "A writing session. Its key is not shown.",
        {
            "id": string("The id of the session.", WRITING_SESSION_ID_PATTERN),
            "wallet": string("The wallet that its key signs for.", LOWER_ADDRESS_PATTERN),
            "actions": array("What its key may sign.", choice("An action.", *WRITING_ACTIONS)),
            "notBefore": {**moment, "description": "When it begins."},
            "expires": {**moment, "description": "When it ends, unless it is revoked before."},
            "createdAt": {**moment, "description": "When it was opened."},
        },
    )


def _opening() -> dict[str, Any]:
    signing = FACTS["signing"]
    values: dict[str, Any] = {
        "service": FACTS["service"],
        "wallet": OWNER,
        "publicKey": _POINT,
        "actions": WRITING_ACTIONS,
        "notBefore": int(MOMENT.timestamp()),
        "expires": int(EXPIRES.timestamp()),
        "nonce": sha256(b"nonce").hexdigest()[:32],
    }
    domain = SigningDomain(signing["name"], signing["version"], signing["chainId"])
    message = values | {"publicKey": "0x" + _POINT.hex(), "actions": list(WRITING_ACTIONS)}
    return {
        "salt": {
            "domain": signing,
            "types": {OPENING_TYPE.name: OPENING_TYPE.declared},
            "primaryType": OPENING_TYPE.name,
            "message": message,
        },
        "address": checksum_address(OWNER),
        "signature": sign_digest(keccak256(domain.signed_bytes(OPENING_TYPE.hash_struct(values)))),
    }


_SESSION = {
    "id": SESSION_ID,
    "wallet": OWNER,
    "actions": list(WRITING_ACTIONS),
    "notBefore": f"{MOMENT:%Y-%m-%dT%H:%M:%SZ}",
    "expires": f"{EXPIRES:%Y-%m-%dT%H:%M:%SZ}",
    "createdAt": f"{MOMENT:%Y-%m-%dT%H:%M:%SZ}",
}

WRITING_SESSION_EXAMPLES: dict[str, Any] = {
    "WritingSessionBody": _opening(),
    "WritingSessionAnswer": {"session": _SESSION},
    "WritingSessionList": {"sessions": [_SESSION]},
}
"""Examples by the names of their components."""
