"""Patterns of the wire's texts, in the dialect that JSON Schema and every language share.

They are narrower than the service in one way: what matches is well-formed for certain. Spellings
that a pattern cannot judge, such as the checksum in an address, are told in words beside it.
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
"""An address in one case."""

LOWER_ADDRESS_PATTERN = "^0x[0-9a-f]{40}$"
"""An address as the service writes it."""

SIGNATURE_PATTERN = "^0x([0-9a-fA-F]{128}|[0-9a-fA-F]{130})$"
"""64 or 65 bytes."""

CID_PATTERN = "^baf(kr|yb)ei[a-h][a-z2-7]{50}[aeimquy4]$"
"""36 bytes in 58 digits: 30 bits and then 2 more are always the same, and the last 2 are spare."""

POST_ID_PATTERN = "^(0|[1-9][0-9]{0,76})$"
"""Every number of up to 77 digits is below 2^256."""

TIMESTAMP_PATTERN = "^[0-9]{1,12}$"
"""Unix time in seconds."""

WITHOUT_NUL_PATTERN = "^[^\\u0000]*$"
"""Any text without NUL."""

PAGE_TOKEN_PATTERN = "^[A-Za-z0-9_-]{38,2048}$"
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
    # Only what a pattern would take for syntax: more escapes than that are errors in JavaScript.
    return re.sub(r"[.*+?^${}()|\[\]\\/]", r"\\\g<0>", text)


Schema = dict[str, Any]

WRITE_MEMBERS = [{"name": name, "type": "string"} for name in ("action", "nonce", "timestamp")]
"""The members of every signed type."""

DOMAIN_MEMBERS = [
    {"name": "name", "type": "string"},
    {"name": "version", "type": "string"},
    {"name": "chainId", "type": "uint256"},
]
"""The members of the domain, for clients that spell it out."""


def ref(name: str) -> Schema:
    """A reference to a component."""
    return {"$ref": f"#/components/schemas/{name}"}


def text(description: str, pattern: str | None = None, **more: Any) -> Schema:
    """A text."""
    matching = {} if pattern is None else {"pattern": pattern}
    return {"type": "string", "description": description, **matching, **more}


def record(properties: Schema, *optional: str, **more: Any) -> Schema:
    """An object with these members, all required but the optional ones."""
    required = [name for name in properties if name not in optional]
    return {"type": "object", "required": required, "properties": properties, **more}


def closed(properties: Schema, *optional: str) -> Schema:
    """An object with these members and no others."""
    return record(properties, *optional, additionalProperties=False)


def describe_requests(facts: Mapping[str, Any]) -> dict[str, Schema]:
    """Every component that a request is made of."""
    return {
        **_texts(facts),
        **{_envelope_name(action): _envelope(facts["signing"], action) for action in Action},
        "LoginMessage": _login_message(facts),
        "LoginBody": record(
            {
                "salt": ref("LoginMessage"),
                "address": ref("Address"),
                "signature": ref("Signature"),
            }
        ),
        "CreateBody": record(_signed(Action.CREATE) | {"content": ref("Content")}),
        "UpdateBody": record(_signed(Action.UPDATE) | {"content": ref("Content")}),
        "DeleteBody": record(_signed(Action.DELETE)),
        "PublishForm": _publish_form(facts["limits"]),
        "ProviderADelivery": _delivery_a(),
        "ProviderBDelivery": {
            "description": "Any nesting of arrays and objects with logs in it.",
            "type": ["object", "array"],
        },
    }


def _texts(facts: Mapping[str, Any]) -> dict[str, Schema]:
    limits = facts["limits"]
    most, longest = limits["hashtags"], limits["hashtag_length"]
    return {
        "Address": text(
            "An Ethereum address, all lower or all upper case. The mixed case of EIP-55 is "
            "accepted too, if its checksum is right.",
            ADDRESS_PATTERN,
        ),
        "Signature": text(
            "65 bytes (r, s, v) in hex, or the 64 bytes of EIP-2098; with a low s.",
            SIGNATURE_PATTERN,
        ),
        "Cid": text(
            "A content identifier in its canonical spelling: CIDv1, base32, raw or dag-pb, "
            "SHA-256. Other multibases and CIDv0 are accepted and brought to this one.",
            CID_PATTERN,
        ),
        "PostId": text("A decimal number below 2^256.", POST_ID_PATTERN),
        "Hashtags": text(
            f"1 to {most} hashtags of up to {longest} letters, digits, `_` and `-`, separated by "
            "commas. A leading `#` and spaces around are dropped, case is ignored, and letters "
            "of other scripts are accepted too.",
            hashtags_pattern(most, longest, none_allowed=False),
        ),
        "HashtagsOrNone": text(
            f"Up to {most} hashtags as in `GET /filesByTags`; an empty text means none.",
            hashtags_pattern(most, longest, none_allowed=True),
        ),
        "PageToken": text("An opaque page token.", PAGE_TOKEN_PATTERN),
        "Format": {"enum": ["raw", "car"], "description": "The root block, or a CAR."},
        "Scope": {
            "enum": ["block", "entity", "all"],
            "description": "The root block alone, or everything; here `entity` is everything, too.",
        },
        "Range": text("A range of bytes, as RFC 9110 writes it; anything else is ignored."),
        "CacheDirective": text("A directive of RFC 9111."),
        "EntityTags": text("One or more entity tags, as RFC 9110 writes them."),
        "Content": text(
            f"The text, without NUL; it may be empty. At most {limits['content_bytes']} bytes of "
            "UTF-8.",
            WITHOUT_NUL_PATTERN,
        ),
        "Nonce": text(
            "Unique for each write of this signer; usually the address, `_` and the timestamp.",
            WITHOUT_NUL_PATTERN,
            minLength=1,
            maxLength=MAX_NONCE_LENGTH,
        ),
        "Timestamp": text("Unix time in seconds.", TIMESTAMP_PATTERN),
        "DeliverySignature": text("32 bytes in lower-case hex.", "^[0-9a-f]{64}$"),
        "DeliveryNonce": text("A unique text.", "^[!-~]{1,128}$"),
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
    chain = {"anyOf": spellings, "description": "As a number, in decimal or in hex."}
    domain = {"name": {"const": signing["name"]}, "version": {"const": signing["version"]}}
    message = {
        "action": {"const": action.value},
        "nonce": ref("Nonce"),
        "timestamp": ref("Timestamp"),
    }
    types = {kind: {"const": WRITE_MEMBERS}, "EIP712Domain": {"const": DOMAIN_MEMBERS}}
    members = {
        "domain": closed(domain | {"chainId": chain}),
        "types": closed(types, "EIP712Domain"),
        "primaryType": {"const": kind},
        "message": closed(message),
    }
    described = "The typed data (EIP-712) that was signed, exactly this and nothing more."
    return closed(members, "primaryType") | {"description": described}


def _signed(action: Action) -> dict[str, Schema]:
    return {
        "salt": ref(_envelope_name(action)),
        "address": ref("Address"),
        "signature": ref("Signature"),
    }


def _login_message(facts: Mapping[str, Any]) -> Schema:
    domains, chain_id = facts["login"]["domains"], facts["signing"]["chainId"]
    return text(
        "The exact text of a login message (EIP-4361) for one of this service's domains, at most "
        f"{MAX_MESSAGE_BYTES} bytes: lines end with LF, and the last one with nothing. Its address "
        "is the one beside it.",
        login_message_pattern(domains, chain_id),
    )


def _publish_form(limits: Mapping[str, Any]) -> Schema:
    file = text(
        f"A PNG or JPEG of at most {limits['thumbnail_bytes']} bytes and "
        f"{limits['thumbnail_pixels']} pixels, sent as a file.",
        format="binary",
    )
    fields = {"file": file, **_signed(Action.PUBLISH), "hashtags": ref("HashtagsOrNone")}
    return closed(fields, "hashtags")


def _delivery_a() -> Schema:
    log = {
        "data": {"type": "string"},
        "topics": {"type": "array", "items": {"type": "string"}},
        "index": {"type": "integer"},
        "account": _open({"address": {"type": "string"}}),
        "transaction": _open({"hash": {"type": "string"}, "status": {"type": "integer"}}),
    }
    block = {
        "hash": {"type": "string"},
        "number": {"type": "integer"},
        "timestamp": {"type": "integer"},
        "logs": {"type": "array", "items": _open(log)},
    }
    envelope = _within("event", _within("data", _within("block", _open(block))))
    return {"description": "The answer to the webhook's query, in its envelope.", **envelope}


def _open(properties: Schema) -> Schema:
    return {"type": "object", "properties": properties}


def _within(name: str, schema: Schema) -> Schema:
    return _open({name: schema})


_SHAPES = {
    "LoginAnswer": responses.LoginAnswer,
    "CreatedAnswer": responses.CreatedAnswer,
    "UpdatedAnswer": responses.UpdatedAnswer,
    "PublishedAnswer": responses.PublishedAnswer,
    "DeletedAnswer": responses.DeletedAnswer,
    "ContentAnswer": responses.ContentAnswer,
    "FilesAnswer": responses.FilesAnswer,
    "TaggedFilesAnswer": responses.TaggedFilesAnswer,
    "DeliveryAnswer": responses.DeliveryAnswer,
}

_SAME_SHAPE = {
    "DraftAnswer": "ContentAnswer",
    "PostAnswer": "ContentAnswer",
    "DraftsAnswer": "FilesAnswer",
}
"""Answers of one shape that are told apart by their examples."""

_LOWER_ADDRESS = text("An Ethereum address in lower case.", LOWER_ADDRESS_PATTERN)
_UUID = text("A UUID.", format="uuid")
_TX_HASH = text("The transaction that published the file.", "^0x[0-9a-f]{64}$")


def _or_null(schema: Schema) -> Schema:
    return {"anyOf": [schema, {"type": "null"}]}


_RECORD: dict[str, Schema] = {
    "id": _UUID,
    "name": text("The owner, and a number that rises.", "^0x[0-9a-f]{40}_[0-9]+$"),
    "cid": ref("Cid"),
    "size": {"type": "integer", "minimum": 0, "description": "Bytes of the stored document."},
    "group_id": _UUID,
}

_NARROWED: dict[str, dict[str, Schema]] = {
    "LoginAnswer": {
        "token": text("The session, a JWT, for the Authorization header."),
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
"""What the types of the bodies leave open, by their names and the names of their members."""

_REACHABLE = {"enum": ["ok", "unavailable"]}


def describe_answers(facts: Mapping[str, Any]) -> dict[str, Schema]:
    """Every component that an answer is made of."""
    _, components = msgspec.json.schema_components(
        tuple(_SHAPES.values()), ref_template="#/components/schemas/{name}"
    )
    for name, members in _NARROWED.items():
        for member, schema in members.items():
            components[name]["properties"][member] = schema
    for schema in components.values():
        schema.pop("title", None)
    aliases = {name: ref(shape) for name, shape in _SAME_SHAPE.items()}
    return {**components, **aliases, **_about(facts), "Problem": _problem()}


def _about(facts: Mapping[str, Any]) -> dict[str, Schema]:
    checks = {"database": _REACHABLE, "storage": _REACHABLE, "chain": _REACHABLE}
    return {
        "Facts": _shape_of(facts),
        "Description": {"type": "object", "description": "An OpenAPI 3.1 document."},
        "Contact": text("Contact and Expires, a line each.", "^Contact: .+\\nExpires: .+\\n$"),
        "Page": text("HTML."),
        "Picture": text("A PNG or JPEG.", format="binary"),
        "Block": text("The root block.", format="binary"),
        "Blocks": text("All blocks, in a CAR of version 1.", format="binary"),
        "Bytes": text("Bytes of no other kind.", format="binary"),
        "Health": record({"status": {"const": "alive"}}),
        "Readiness": record(
            {"status": {"enum": ["ready", "degraded", "unavailable"]}, "checks": record(checks)}
        ),
    }


def _shape_of(value: Any) -> Schema:
    """The schema of a value that never changes while the service runs: its names and types."""
    if isinstance(value, Mapping):
        return record({name: _shape_of(member) for name, member in value.items()})
    if isinstance(value, str):
        return {"type": "string"}
    if isinstance(value, int):
        return {"type": "integer"}
    return {"type": "array", "items": {"type": "string"}}


def _problem() -> Schema:
    members = {
        "type": text("The problem's name as a URI.", "^urn:imprint:problem:[a-z_]+$"),
        "title": text("The status in words."),
        "status": {"type": "integer"},
        "detail": text("What is wrong, for people."),
        "code": text("What is wrong, for programs; it never changes its meaning."),
        "error": text("The same sentence as `detail`."),
    }
    described = "The one body of every refusal (RFC 9457)."
    return record(members) | {"description": described}
