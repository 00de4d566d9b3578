"""Components for signed typed data (EIP-712), generated from the types that are verified."""

from imprint.auth.signed_profiles import PROFILE_TYPE
from imprint.auth.signed_revisions import REVISION_TYPE
from imprint.auth.typed_data import (
    MAX_NONCE_LENGTH,
    WRITE_TYPES,
    SigningForm,
    StructType,
    WriteType,
)
from imprint.auth.writing_sessions import OPENING_TYPE
from imprint.domain.drafts.files import Action
from imprint.domain.posts.revisions import MAX_NOTE
from imprint.domain.profiles import MAX_BIO, MAX_LINK, MAX_LINKS, MAX_NAME
from imprint.domain.sessions import WRITING_ACTIONS
from imprint.interface.values import (
    ANY_CID_PATTERN,
    HASH_PATTERN,
    P256_POINT_PATTERN,
    TIMESTAMP_PATTERN,
    WITHOUT_NUL_PATTERN,
)
from imprint.web.docs.operation import Schema, array, choice, closed_structure, ref, string

DESCRIBED_FORMS = (SigningForm.IMPRINT_2, SigningForm.IMPRINT_1, SigningForm.INKDAO_1)
"""The signing forms, in order of recommendation."""

# Generators of Python models produce invalid code for two types with limits.
_NUMBER_OR_TEXT = ["integer", "string"]

_TEXTS: dict[str, Schema] = {
    "AnyCid": string(
        "A content identifier (raw or dag-pb, SHA-256) in any common multibase, or a CIDv0. "
        "Responses have CIDv1 in base32.",
        ANY_CID_PATTERN,
    ),
    "Nonce": string(
        "Unique for each write of this signer, in whatever form: take 16 random bytes or more. "
        "The address with the second of the clock is not unique: of two writes in one second, "
        "the second would be refused.",
        WITHOUT_NUL_PATTERN,
        minLength=1,
        maxLength=MAX_NONCE_LENGTH,
    ),
    "Timestamp": string("Unix time in seconds.", TIMESTAMP_PATTERN),
    "SigningDomain": closed_structure(
        "The signing domain (EIP-712): `signing` of `GET /.well-known/imprint.json`.",
        {
            "name": string("The name of the signing domain."),
            "version": string("The version of the signing domain."),
            "chainId": {
                "type": _NUMBER_OR_TEXT,
                "description": "A number, or a string in decimal or hex.",
            },
        },
    ),
    "TypedDataMember": closed_structure(
        "A member of a type of the typed data.",
        {"name": string("The name of the member."), "type": string("Its Solidity type.")},
    ),
    "WritingSessionPublicKey": string(
        "A public key of P-256: an uncompressed point, `0x04` and 64 bytes in hex.",
        P256_POINT_PATTERN,
    ),
}

_SERVICE = string("`service` of `GET /.well-known/imprint.json`.")

_WRITE_MEMBERS: dict[str, Schema] = {
    "address": ref("Address"),
    "cid": ref("AnyCid"),
    "contentHash": string("Keccak-256 of the UTF-8 bytes of `content`.", HASH_PATTERN),
    "hashtags": string("The form field `hashtags` as it is sent; empty if it is not."),
    "nonce": ref("Nonce"),
    "service": _SERVICE,
    "thumbnailHash": string("Keccak-256 of the bytes of `file` as they are sent.", HASH_PATTERN),
    "timestamp": {
        "type": _NUMBER_OR_TEXT,
        "description": "Unix time in seconds: a number, or its digits, at most 12.",
    },
    "title": string("Any text."),
}

_OPENING_MEMBERS: dict[str, Schema] = {
    "service": _SERVICE,
    "wallet": ref("Address"),
    "publicKey": ref("WritingSessionPublicKey"),
    # Without `uniqueItems`: some generators would make it a set, which is not sent as a list.
    "actions": array(
        "What the key may sign, each once.",
        choice("An action.", *WRITING_ACTIONS),
        minItems=1,
        maxItems=len(WRITING_ACTIONS),
    ),
    "notBefore": {
        "type": _NUMBER_OR_TEXT,
        "description": "Unix time in seconds, at most 5 seconds after now; writes before it "
        "are refused.",
    },
    "expires": {
        "type": _NUMBER_OR_TEXT,
        "description": "Unix time in seconds, after `notBefore` and at most 24 hours after now.",
    },
    "nonce": ref("Nonce"),
}


_PROFILE_MEMBERS: dict[str, Schema] = {
    "service": _SERVICE,
    "name": string(
        f"1 to {MAX_NAME} characters after NFC. No control or invisible characters but the joiners "
        "U+200C and U+200D, and nothing that reads as an address (`0x…`) or an ENS name (`….eth`)."
    ),
    "bio": string(
        f"At most {MAX_BIO} characters after NFC, and line feeds; the same characters are allowed."
    ),
    "links": string(
        f"At most {MAX_LINKS} addresses that begin with `https:` or `mailto:`, of at most "
        f"{MAX_LINK} characters each, separated by line feeds."
    ),
    "avatar": string(
        "`keep` or `none`; or `0x` and the Keccak-256 hash of the bytes of `file` as they are sent."
    ),
    "nonce": ref("Nonce"),
    "timestamp": _WRITE_MEMBERS["timestamp"],
}


_REVISION_MEMBERS: dict[str, Schema] = {
    "service": _SERVICE,
    "postId": ref("PostId"),
    "cid": ref("AnyCid"),
    "contentHash": _WRITE_MEMBERS["contentHash"],
    "note": string(
        f"What the correction changes, for everybody: one line of at most {MAX_NOTE} characters, "
        "without control characters; it may be empty."
    ),
    "nonce": ref("Nonce"),
    "timestamp": _WRITE_MEMBERS["timestamp"],
}


def describe_typed_data() -> dict[str, Schema]:
    """Return the components of all signed data."""
    listed = ", ".join(f"`{name}`, which is `{kind}`" for name, kind in OPENING_TYPE.members)
    described = dict(_TEXTS)
    for form in DESCRIBED_FORMS:
        for action, kind in WRITE_TYPES[form].items():
            described |= _envelope(
                component_of(kind),
                kind,
                f"The signed typed data (EIP-712) in the form `{form}`, with exactly these "
                "members.",
                f"The members of `{kind.declaration}`, in this order.",
                {member: _write_member(kind, member, action) for member, _ in kind.members},
            )
    described |= _envelope(
        OPENING_TYPE.name,
        OPENING_TYPE,
        "The signed typed data (EIP-712), with exactly these members.",
        f"In this order: {listed}.",
        _OPENING_MEMBERS,
    )
    for struct, members in ((PROFILE_TYPE, _PROFILE_MEMBERS), (REVISION_TYPE, _REVISION_MEMBERS)):
        described |= _envelope(
            struct.name,
            struct,
            "The signed typed data (EIP-712), with exactly these members.",
            f"The members of `{struct.declaration}`, in this order.",
            members,
        )
    return described


def component_of(kind: WriteType) -> str:
    """Return the prefix of a type's components, since two forms have types of the same name."""
    return f"Inkdao{kind.name}" if kind.form is SigningForm.INKDAO_1 else kind.name


def describe_salt(action: Action) -> Schema:
    """Return the schema of the `salt` of a write with this action."""
    kinds = [WRITE_TYPES[form][action] for form in DESCRIBED_FORMS]
    bound, first, earlier = (f"`{kind.declaration}`" for kind in kinds)
    return {
        "description": "The signed typed data (EIP-712). The form `imprint-2` has the type "
        f"{bound} and is bound to all of the request; its members are listed here. The form "
        f"`imprint-1` has {first} and is bound to the action only. `inkdao-1`, which the front "
        f"end of an earlier service signs, has {earlier}. `signing_forms` of "
        "`GET /.well-known/imprint.json` lists the forms that a service accepts.",
        "anyOf": [ref(f"{component_of(kind)}TypedData") for kind in kinds],
    }


def _envelope(
    name: str, kind: StructType, described: str, listed: str, message: dict[str, Schema]
) -> dict[str, Schema]:
    types = {
        kind.name: array(listed, ref("TypedDataMember")),
        "EIP712Domain": array(
            "`name` and `version`, which are `string`, and `chainId`, which is `uint256`.",
            ref("TypedDataMember"),
        ),
    }
    envelope = {
        "domain": ref("SigningDomain"),
        "types": ref(f"{name}Types"),
        "primaryType": choice("The type that is signed.", kind.name),
        "message": ref(f"{name}Message"),
    }
    return {
        f"{name}TypedData": closed_structure(described, envelope, "primaryType"),
        f"{name}Types": closed_structure("The types of the typed data.", types, "EIP712Domain"),
        f"{name}Message": closed_structure("The message that is signed.", message),
    }


def _write_member(kind: WriteType, name: str, action: Action) -> Schema:
    if name == "timestamp" and kind.form is SigningForm.IMPRINT_1:
        return ref("Timestamp")
    if name == "action":
        return choice("The action of this endpoint.", action.value)
    return _WRITE_MEMBERS[name]
