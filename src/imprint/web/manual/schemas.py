"""Schemas of what is sent, as narrow as this service's own settings make them."""

from collections.abc import Mapping
from typing import Any

from imprint.auth.login_message import MAX_MESSAGE_BYTES
from imprint.auth.typed_data import MAX_NONCE_LENGTH, WRITE_TYPES
from imprint.domain.files import Action
from imprint.web.manual import patterns

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
            patterns.ADDRESS,
        ),
        "Signature": text(
            "65 bytes (r, s, v) in hex, or the 64 bytes of EIP-2098; with a low s.",
            patterns.SIGNATURE,
        ),
        "Cid": text(
            "A content identifier in its canonical spelling: CIDv1, base32, raw or dag-pb, "
            "SHA-256. Other multibases and CIDv0 are accepted and brought to this one.",
            patterns.CID,
        ),
        "PostId": text("A decimal number below 2^256.", patterns.POST_ID),
        "Hashtags": text(
            f"1 to {most} hashtags of up to {longest} letters, digits, `_` and `-`, separated by "
            "commas. A leading `#` and spaces around are dropped, case is ignored, and letters "
            "of other scripts are accepted too.",
            patterns.hashtags_pattern(most, longest, none_allowed=False),
        ),
        "HashtagsOrNone": text(
            f"Up to {most} hashtags as in `GET /filesByTags`; an empty text means none.",
            patterns.hashtags_pattern(most, longest, none_allowed=True),
        ),
        "PageToken": text("An opaque page token.", patterns.PAGE_TOKEN),
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
            patterns.WITHOUT_NUL,
        ),
        "Nonce": text(
            "Unique for each write of this signer; usually the address, `_` and the timestamp.",
            patterns.WITHOUT_NUL,
            minLength=1,
            maxLength=MAX_NONCE_LENGTH,
        ),
        "Timestamp": text("Unix time in seconds.", patterns.TIMESTAMP),
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
        {"type": "string", "pattern": patterns.chain_id_pattern(chain_id)},
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
        patterns.login_message_pattern(domains, chain_id),
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
