"""JSON Schemas of the requests and responses, and the patterns of their strings.

Every string that matches a pattern is well-formed; the service also accepts some strings that do
not match. What a pattern cannot express, such as the checksum of an address, is in the description.
"""

import re
from collections.abc import Mapping, Sequence
from typing import Any

import msgspec

from imprint.auth.login_message import MAX_MESSAGE_BYTES
from imprint.auth.typed_data import MAX_NONCE_LENGTH, WRITE_TYPES
from imprint.domain.files import Action
from imprint.domain.posts import EventStatus
from imprint.web import responses

ADDRESS_PATTERN = "^0x([0-9a-f]{40}|[0-9A-F]{40})$"
"""An address in lower or upper case."""

LOWER_ADDRESS_PATTERN = "^0x[0-9a-f]{40}$"
"""An address as the service returns it."""

SIGNATURE_PATTERN = "^0x([0-9a-fA-F]{128}|[0-9a-fA-F]{130})$"
"""64 or 65 bytes in hex."""

CID_PATTERN = "^baf(kr|yb)ei[a-h][a-z2-7]{50}[aeimquy4]$"
"""36 bytes in 58 base32 digits: the first 32 bits are fixed, and the last 2 are padding."""

POST_ID_PATTERN = "^(0|[1-9][0-9]{0,76})$"
"""A number of up to 77 digits, which is always below 2^256."""

TIMESTAMP_PATTERN = "^[0-9]{1,12}$"
"""Unix time in seconds."""

WITHOUT_NUL_PATTERN = "^[^\\u0000]*$"
"""Any text without NUL."""

PAGE_TOKEN_PATTERN = "^[A-Za-z0-9_-]{38,2048}$"
"""Base64url of a nonce, a ciphertext and an authentication tag."""

TAG_CHARACTERS = "A-Za-z0-9_\\-À-ÖØ-öø-ÿа-яα-ωא-תぁ-ゖァ-ヺ一-龥가-힣"
"""Letters of common scripts that normalization does not change; the service accepts others too."""

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
    """Login messages for these domains; the host of the URI is the domain."""
    messages = [_login_message_pattern(_literal(domain), chain_id) for domain in domains]
    return f"^({'|'.join(messages)})$"


def chain_id_pattern(chain_id: int) -> str:
    """A chain id in hex, in either case, with or without leading zeros."""
    digits = f"{chain_id:x}"
    either = "".join(f"[{d}{d.upper()}]" if d.isalpha() else d for d in digits)
    return f"^0x0{{0,{64 - len(digits)}}}{either}$"


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


def _literal(text: str) -> str:
    # re.escape escapes more than syntax characters, which is an error in JavaScript's `u` mode.
    return re.sub(r"[.*+?^${}()|\[\]\\/]", r"\\\g<0>", text)


Schema = dict[str, Any]

WRITE_MEMBERS = [{"name": name, "type": "string"} for name in ("action", "nonce", "timestamp")]
"""The members of every signed EIP-712 type."""

DOMAIN_MEMBERS = [
    {"name": "name", "type": "string"},
    {"name": "version", "type": "string"},
    {"name": "chainId", "type": "uint256"},
]
"""The members of `EIP712Domain`, for clients that send it."""


def ref(name: str) -> Schema:
    """A reference to a component."""
    return {"$ref": f"#/components/schemas/{name}"}


def _string(description: str, pattern: str | None = None, **more: Any) -> Schema:
    """A string, with a pattern if one is given."""
    matching = {} if pattern is None else {"pattern": pattern}
    return {"type": "string", "description": description, **matching, **more}


def _object(properties: Schema, *optional: str, **more: Any) -> Schema:
    """An object with these members, all required but the optional ones."""
    required = [name for name in properties if name not in optional]
    return {"type": "object", "required": required, "properties": properties, **more}


def _closed_object(properties: Schema, *optional: str) -> Schema:
    """An object with these members and no others."""
    return _object(properties, *optional, additionalProperties=False)


def describe_requests(facts: Mapping[str, Any]) -> dict[str, Schema]:
    """The components of requests."""
    return {
        **_texts(facts),
        **{_envelope_name(action): _envelope(facts["signing"], action) for action in Action},
        "LoginMessage": _login_message(facts),
        "LoginBody": _object(
            {
                "salt": ref("LoginMessage"),
                "address": ref("Address"),
                "signature": ref("Signature"),
            }
        ),
        "CreateBody": _object(_signed(Action.CREATE) | {"content": ref("Content")}),
        "UpdateBody": _object(_signed(Action.UPDATE) | {"content": ref("Content")}),
        "DeleteBody": _object(_signed(Action.DELETE)),
        "PublishForm": _publish_form(facts["limits"]),
        "ProviderADelivery": _delivery_a(),
        "ProviderBDelivery": {
            "description": "Arrays and objects, nested in any way, that contain logs.",
            "type": ["object", "array"],
        },
    }


def _texts(facts: Mapping[str, Any]) -> dict[str, Schema]:
    limits = facts["limits"]
    most, longest = limits["hashtags"], limits["hashtag_length"]
    return {
        "Address": _string(
            "An Ethereum address, all lower or all upper case. The mixed case of EIP-55 is "
            "accepted too, if its checksum is right.",
            ADDRESS_PATTERN,
        ),
        "Signature": _string(
            "65 bytes (r, s, v) in hex, or the 64 bytes of EIP-2098; with a low s.",
            SIGNATURE_PATTERN,
        ),
        "Cid": _string(
            "A content identifier in its canonical spelling: CIDv1, base32, raw or dag-pb, "
            "SHA-256. Other multibases and CIDv0 are accepted and converted.",
            CID_PATTERN,
        ),
        "PostId": _string("A decimal number below 2^256.", POST_ID_PATTERN),
        "Hashtags": _string(
            f"1 to {most} hashtags of up to {longest} letters, digits, `_` and `-`, separated by "
            "commas. A leading `#` and surrounding spaces are removed, case is ignored, and "
            "letters of other scripts are accepted too, with their combining marks.",
            hashtags_pattern(most, longest, none_allowed=False),
        ),
        "HashtagsOrNone": _string(
            f"Up to {most} hashtags as in `GET /filesByTags`; an empty string means none.",
            hashtags_pattern(most, longest, none_allowed=True),
        ),
        "PageToken": _string("An opaque page token.", PAGE_TOKEN_PATTERN),
        "Format": {
            "enum": ["raw", "car"],
            "description": "The root block, or a CAR.",
        },
        "Scope": {
            "enum": ["block", "entity", "all"],
            "description": "The root block or all blocks; `entity` is the same as `all`.",
        },
        "Range": _string("A byte range (RFC 9110); anything else is ignored."),
        "CacheDirective": _string("A cache directive (RFC 9111)."),
        "EntityTags": _string("One or more entity tags (RFC 9110)."),
        "Content": _string(
            f"The text, without NUL. It may be empty. At most {limits['content_bytes']} bytes of "
            "UTF-8.",
            WITHOUT_NUL_PATTERN,
        ),
        "Nonce": _string(
            "Unique for each write of this signer; usually the address, `_` and the timestamp.",
            WITHOUT_NUL_PATTERN,
            minLength=1,
            maxLength=MAX_NONCE_LENGTH,
        ),
        "Timestamp": _string("Unix time in seconds.", TIMESTAMP_PATTERN),
        "DeliverySignature": _string("32 bytes in lower-case hex.", "^[0-9a-f]{64}$"),
        "DeliveryNonce": _string("A unique string.", "^[!-~]{1,128}$"),
    }


def _envelope_name(action: Action) -> str:
    return f"{WRITE_TYPES[action].name}TypedData"


def _envelope(signing: Mapping[str, Any], action: Action) -> Schema:
    kind = WRITE_TYPES[action].name
    chain_id: int = signing["chainId"]
    spellings = [
        {"const": chain_id},
        {"const": str(chain_id)},
        {"type": "string", "pattern": chain_id_pattern(chain_id)},
    ]
    chain = {"anyOf": spellings, "description": "A number, or a string in decimal or hex."}
    domain = {"name": {"const": signing["name"]}, "version": {"const": signing["version"]}}
    message = {
        "action": {"const": action.value},
        "nonce": ref("Nonce"),
        "timestamp": ref("Timestamp"),
    }
    types = {kind: {"const": WRITE_MEMBERS}, "EIP712Domain": {"const": DOMAIN_MEMBERS}}
    members = {
        "domain": _closed_object(domain | {"chainId": chain}),
        "types": _closed_object(types, "EIP712Domain"),
        "primaryType": {"const": kind},
        "message": _closed_object(message),
    }
    described = "The signed typed data (EIP-712), with exactly these members."
    return _closed_object(members, "primaryType") | {"description": described}


def _signed(action: Action) -> dict[str, Schema]:
    return {
        "salt": ref(_envelope_name(action)),
        "address": ref("Address"),
        "signature": ref("Signature"),
    }


def _login_message(facts: Mapping[str, Any]) -> Schema:
    domains, chain_id = facts["login"]["domains"], facts["signing"]["chainId"]
    return _string(
        "The exact text of a login message (EIP-4361) for one of this service's domains, at most "
        f"{MAX_MESSAGE_BYTES} bytes. Lines are separated by LF, with none at the end. Its address "
        "is the one in `address`.",
        login_message_pattern(domains, chain_id),
    )


def _publish_form(limits: Mapping[str, Any]) -> Schema:
    file = _string(
        f"A PNG or JPEG of at most {limits['thumbnail_bytes']} bytes, "
        f"{limits['thumbnail_pixels']} pixels, and {limits['thumbnail_side']} pixels on a side, "
        "sent as a file.",
        format="binary",
    )
    fields = {"file": file, **_signed(Action.PUBLISH), "hashtags": ref("HashtagsOrNone")}
    return _closed_object(fields, "hashtags")


def _delivery_a() -> Schema:
    log = {
        "data": {"type": "string"},
        "topics": {"type": "array", "items": {"type": "string"}},
        "index": {"type": "integer"},
        "account": _open_object({"address": {"type": "string"}}),
        "transaction": _open_object({"hash": {"type": "string"}, "status": {"type": "integer"}}),
    }
    block = {
        "hash": {"type": "string"},
        "number": {"type": "integer"},
        "timestamp": {"type": "integer"},
        "logs": {"type": "array", "items": _open_object(log)},
    }
    envelope = _within("event", _within("data", _within("block", _open_object(block))))
    return {
        "description": "The webhook's query result, in the provider's envelope.",
        **envelope,
    }


def _open_object(properties: Schema) -> Schema:
    return {"type": "object", "properties": properties}


def _within(name: str, schema: Schema) -> Schema:
    return _open_object({name: schema})


_STRUCTS: dict[str, type[msgspec.Struct]] = {
    "LoginAnswer": responses.LoginResponse,
    "CreatedAnswer": responses.CreatedResponse,
    "UpdatedAnswer": responses.UpdatedResponse,
    "PublishedAnswer": responses.PublishedResponse,
    "DeletedAnswer": responses.DeletedResponse,
    "ContentAnswer": responses.ContentResponse,
    "FilesAnswer": responses.FilesResponse,
    "TaggedFilesAnswer": responses.TaggedFilesResponse,
    "EventAnswer": responses.EventResponse,
    "DeliveryAnswer": responses.DeliveryResponse,
    "KeyValues": responses.KeyValues,
    "Record": responses.Record,
    "ReadRecord": responses.ReadRecord,
    "DeletedFile": responses.DeletedFile,
}
"""Component names, which clients generate types from, and the structs of the response bodies."""

_ALIASES = {
    "DraftAnswer": "ContentAnswer",
    "PostAnswer": "ContentAnswer",
    "DraftsAnswer": "FilesAnswer",
}
"""Components with the schema of another one, but an example of their own."""


_LOWER_ADDRESS = _string("An Ethereum address in lower case.", LOWER_ADDRESS_PATTERN)
_UUID = _string("A UUID.", format="uuid")
_TX_HASH = _string("The transaction that published the file.", "^0x[0-9a-f]{64}$")


def _or_null(schema: Schema) -> Schema:
    return {"anyOf": [schema, {"type": "null"}]}


_RECORD: dict[str, Schema] = {
    "id": _UUID,
    "name": _string("The owner's address and a rising number.", "^0x[0-9a-f]{40}_[0-9]+$"),
    "cid": ref("Cid"),
    "size": {
        "type": "integer",
        "minimum": 0,
        "description": "Bytes of the stored document.",
    },
    "group_id": _UUID,
}

_NARROWED: dict[str, dict[str, Schema]] = {
    "LoginAnswer": {
        "token": _string("The session, a JWT for the Authorization header."),
        "address": _LOWER_ADDRESS,
        "expiresIn": {"const": "2h"},
    },
    "KeyValues": {"owner": _LOWER_ADDRESS, "status": {"enum": ["pending", "onchain"]}},
    "Record": _RECORD,
    "ReadRecord": {
        **_RECORD,
        "thumbnail_cid": _or_null(ref("Cid")),
        "post_id": _or_null(ref("PostId")),
        "tx_hash": _or_null(_TX_HASH),
    },
    "PublishedAnswer": {"thumbnailCid": ref("Cid")},
    "DeletedFile": {"id": _UUID, "status": {"const": "deleted"}},
    "FilesAnswer": {"next_page_token": _or_null(ref("PageToken"))},
    "TaggedFilesAnswer": {"next_page_token": _or_null(ref("PageToken"))},
    "EventAnswer": {
        "postId": _or_null(ref("PostId")),
        "status": {"enum": [status.value for status in EventStatus]},
    },
    "DeliveryAnswer": {"success": {"const": True}},
}
"""Schemas of members that are stricter than the types of the structs."""

_REACHABLE = {"enum": ["ok", "unavailable", "unknown"]}


def describe_responses(facts: Mapping[str, Any]) -> dict[str, Schema]:
    """The components of responses."""
    return {
        **_struct_schemas(),
        **{name: ref(other) for name, other in _ALIASES.items()},
        **_about(facts),
        "Problem": _problem(),
    }


def _struct_schemas() -> dict[str, Schema]:
    _, generated = msgspec.json.schema_components(tuple(_STRUCTS.values()), ref_template="{name}")
    names = {struct.__name__: name for name, struct in _STRUCTS.items()}
    components = {names[name]: _rename_refs(schema, names) for name, schema in generated.items()}
    for name, members in _NARROWED.items():
        components[name]["properties"] |= members
    for schema in components.values():
        del schema["title"]
    return components


def _rename_refs(schema: Any, names: Mapping[str, str]) -> Any:
    """The schema with references to components instead of structs."""
    if isinstance(schema, list):
        return [_rename_refs(item, names) for item in schema]
    if not isinstance(schema, dict):
        return schema
    if "$ref" in schema:
        return ref(names[schema["$ref"]])
    return {key: _rename_refs(value, names) for key, value in schema.items()}


def _about(facts: Mapping[str, Any]) -> dict[str, Schema]:
    checks = {
        "database": {"enum": [*_REACHABLE["enum"], "read_only"]},
        "storage": {"enum": [*_REACHABLE["enum"], "read_only"]},
        "chain": {"enum": [*_REACHABLE["enum"], "disagrees"]},
        "disk": {"enum": ["ok", "low", "unknown"]},
        "follower": {"enum": ["ok", "stopped", "unknown"]},
        "collector": {"enum": ["ok", "stopped", "unknown"]},
        "records": {"enum": ["ok", "damaged", "unknown"]},
    }
    return {
        "Facts": _shape_of(facts),
        "Description": {"type": "object", "description": "An OpenAPI 3.1 document."},
        "Contact": _string("The lines `Contact` and `Expires`.", "^Contact: .+\\nExpires: .+\\n$"),
        "Page": _string("HTML."),
        "Picture": _string("A PNG or JPEG.", format="binary"),
        "Block": _string("The root block.", format="binary"),
        "Blocks": _string("A CAR of version 1.", format="binary"),
        "Bytes": _string("A document that is not a picture.", format="binary"),
        "Health": _object({"status": {"const": "alive"}}),
        "Readiness": _object(
            {
                "status": {"enum": ["ready", "degraded", "not ready"]},
                "checks": _object(checks),
                "details": {"type": "array", "items": _string("What is not well, for people.")},
            }
        ),
    }


def _shape_of(value: Any) -> Schema:
    """The schema of a constant value, from the types of its members."""
    if isinstance(value, Mapping):
        return _object({name: _shape_of(member) for name, member in value.items()})
    if isinstance(value, str):
        return {"type": "string"}
    if isinstance(value, int):
        return {"type": "integer"}
    return {"type": "array", "items": {"type": "string"}}


def _problem() -> Schema:
    members = {
        "type": _string("A URI that identifies the code.", "^urn:imprint:problem:[a-z_]+$"),
        "title": _string("The reason phrase of the status."),
        "status": {"type": "integer"},
        "detail": _string("What is wrong, for people."),
        "code": _string("What is wrong, for programs; a code never changes its meaning."),
        "error": _string("The same sentence as `detail`."),
    }
    described = "The body of every error response (RFC 9457)."
    return _object(members) | {"description": described}
