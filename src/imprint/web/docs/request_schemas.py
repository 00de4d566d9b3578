"""JSON Schemas of the requests; none depends on the settings of a service."""

from imprint.auth.login_message import MAX_MESSAGE_BYTES
from imprint.auth.signatures import MAX_SIGNATURE_BYTES
from imprint.auth.typed_data import MAX_NONCE_LENGTH, WRITE_TYPES, SigningForm, WriteType
from imprint.domain.drafts.documents import MAX_IMAGE_BYTES, MAX_IMAGE_PIXELS, MAX_IMAGE_SIDE
from imprint.domain.drafts.files import Action
from imprint.domain.drafts.tags import MAX_TAG_LENGTH, MAX_TAGS
from imprint.web.docs.patterns import (
    ADDRESS_PATTERN,
    ANY_CID_PATTERN,
    DELIVERY_NONCE_PATTERN,
    DELIVERY_SIGNATURE_PATTERN,
    HASH_PATTERN,
    HASHTAGS_OR_NONE_PATTERN,
    HASHTAGS_PATTERN,
    LOGIN_MESSAGE_PATTERN,
    PAGE_TOKEN_PATTERN,
    POST_ID_PATTERN,
    SIGNATURE_PATTERN,
    TIMESTAMP_PATTERN,
    WITHOUT_NUL_PATTERN,
)
from imprint.web.docs.post_schemas import describe_post_requests
from imprint.web.docs.schema import (
    Schema,
    array,
    choice,
    closed_structure,
    ref,
    string,
    structure,
)


def describe_requests() -> dict[str, Schema]:
    """The components of requests."""
    return {
        **_texts(),
        **_signed_texts(),
        **describe_post_requests(),
        "SigningDomain": _signing_domain(),
        "TypedDataMember": closed_structure(
            "A member of a type of the typed data.",
            {"name": string("The name of the member."), "type": string("Its Solidity type.")},
        ),
        **{
            name: schema
            for form in DESCRIBED_FORMS
            for action, kind in WRITE_TYPES[form].items()
            for name, schema in _envelope(kind, action).items()
        },
        "LoginBody": structure(
            "A signed login message.",
            {
                "salt": ref("LoginMessage"),
                "address": ref("Address"),
                "signature": ref("Signature"),
            },
        ),
        "LogoutBody": closed_structure(
            "Which sessions to end.",
            {
                "all": {
                    "type": "boolean",
                    "description": "Whether all sessions of the address are ended, not only this.",
                }
            },
            "all",
        ),
        "CreateBody": _content_body("A signed write and the content of the new draft.", "create"),
        "UpdateBody": _content_body("A signed write and the new content of a draft.", "update"),
        "DeleteBody": structure("A signed write.", _signed(Action.DELETE), "session"),
        "PublishForm": _publish_form(),
        "ProviderADelivery": _delivery_a(),
        "ProviderBDelivery": _delivery_b(),
    }


def _texts() -> dict[str, Schema]:
    return {
        "Address": string(
            "An Ethereum address: all lower case, all upper case, or in the mixed case of EIP-55 "
            "with the right checksum.",
            ADDRESS_PATTERN,
        ),
        "AnyCid": string(
            "A content identifier (raw or dag-pb, SHA-256) in any common multibase, or a CIDv0. "
            "Responses have CIDv1 in base32.",
            ANY_CID_PATTERN,
        ),
        "PostId": string("A decimal number below 2^256.", POST_ID_PATTERN),
        "Hashtags": string(
            f"1 to {MAX_TAGS} hashtags of up to {MAX_TAG_LENGTH} letters of any script with their "
            "combining marks, digits, `_` and `-`, separated by commas. A leading `#`, surrounding "
            "spaces and duplicates are removed, and case is ignored.",
            HASHTAGS_PATTERN,
        ),
        "HashtagsOrNone": string(
            f"Up to {MAX_TAGS} hashtags as in `GET /filesByTags`; an empty string means none.",
            HASHTAGS_OR_NONE_PATTERN,
        ),
        "PageToken": string("An opaque page token.", PAGE_TOKEN_PATTERN),
        "Format": choice("The root block, or a CAR.", "raw", "car"),
        "Scope": choice(
            "The root block or all blocks; `entity` is the same as `all`.", "block", "entity", "all"
        ),
        "ByteRange": string("A byte range (RFC 9110); anything else is ignored."),
        "CacheDirective": string("A cache directive (RFC 9111)."),
        "EntityTags": string("One or more entity tags (RFC 9110)."),
        "Content": string(
            "The text, without NUL. It may be empty. It has at most `limits.content_bytes` bytes "
            "of UTF-8 (4194304 by default).",
            WITHOUT_NUL_PATTERN,
        ),
        "LoginMessage": string(
            "The exact text of a login message (EIP-4361) for one of `login.domains` and the chain "
            f"`signing.chainId`, at most {MAX_MESSAGE_BYTES} bytes. Lines are separated by LF, "
            "with none at the end. Its address is the one in `address`.",
            LOGIN_MESSAGE_PATTERN,
            maxLength=MAX_MESSAGE_BYTES,
        ),
        "DeliverySignature": string("32 bytes in hex.", DELIVERY_SIGNATURE_PATTERN),
        "DeliveryNonce": string("A unique string.", DELIVERY_NONCE_PATTERN),
    }


def _signed_texts() -> dict[str, Schema]:
    return {
        "Signature": string(
            "Bytes in hex. Of an account with a key: 65 bytes (r, s, v), or the 64 of EIP-2098, "
            "with a low s. Of a contract wallet: whatever its contract accepts (ERC-1271), or what "
            f"ERC-6492 makes of it; at most {MAX_SIGNATURE_BYTES} bytes.",
            SIGNATURE_PATTERN,
            maxLength=2 + 2 * MAX_SIGNATURE_BYTES,
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
    }


def _signing_domain() -> Schema:
    return closed_structure(
        "The signing domain (EIP-712): `signing` of `GET /.well-known/imprint.json`.",
        {
            "name": string("The name of the signing domain."),
            "version": string("The version of the signing domain."),
            "chainId": {
                "type": ["integer", "string"],
                "description": "A number, or a string in decimal or hex.",
            },
        },
    )


def component_of(kind: WriteType) -> str:
    """How the names of the components of a type begin; two forms have types of the same name."""
    return f"Inkdao{kind.name}" if kind.form is SigningForm.INKDAO_1 else kind.name


def _envelope(kind: WriteType, action: Action) -> dict[str, Schema]:
    """The components of the typed data of an action in one form."""
    name = component_of(kind)
    types = {
        kind.name: array(
            f"The members of `{kind.declaration}`, in this order.", ref("TypedDataMember")
        ),
        "EIP712Domain": array(
            "`name` and `version`, which are `string`, and `chainId`, which is `uint256`.",
            ref("TypedDataMember"),
        ),
    }
    message = {member: _message_member(kind, member, action) for member, _ in kind.members}
    envelope = {
        "domain": ref("SigningDomain"),
        "types": ref(f"{name}Types"),
        "primaryType": choice("The type that is signed.", kind.name),
        "message": ref(f"{name}Message"),
    }
    described = (
        f"The signed typed data (EIP-712) in the form `{kind.form}`, with exactly these members."
    )
    return {
        f"{name}TypedData": closed_structure(described, envelope, "primaryType"),
        f"{name}Types": closed_structure("The types of the typed data.", types, "EIP712Domain"),
        f"{name}Message": closed_structure("The message that is signed.", message),
    }


def _message_member(kind: WriteType, name: str, action: Action) -> Schema:
    if name == "timestamp" and kind.form is SigningForm.IMPRINT_1:
        return ref("Timestamp")
    if name == "action":
        return choice("The action of this endpoint.", action.value)
    return _MESSAGE_MEMBERS[name]


_MESSAGE_MEMBERS: dict[str, Schema] = {
    "address": ref("Address"),
    "cid": ref("AnyCid"),
    "contentHash": string("Keccak-256 of the UTF-8 bytes of `content`.", HASH_PATTERN),
    "hashtags": string("The form field `hashtags` as it is sent; empty if it is not."),
    "nonce": ref("Nonce"),
    "service": string("`service` of `GET /.well-known/imprint.json`."),
    "thumbnailHash": string("Keccak-256 of the bytes of `file` as they are sent.", HASH_PATTERN),
    # Generators of Python models write invalid types for two types with limits.
    "timestamp": {
        "type": ["integer", "string"],
        "description": "Unix time in seconds: a number, or its digits, at most 12.",
    },
    "title": string("Any text."),
}

DESCRIBED_FORMS = (SigningForm.IMPRINT_2, SigningForm.IMPRINT_1, SigningForm.INKDAO_1)
"""The forms in the order in which they are recommended."""


def _typed_data(action: Action) -> Schema:
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


def _signed(action: Action) -> dict[str, Schema]:
    return {
        "salt": _typed_data(action),
        "address": ref("Address"),
        "signature": ref("Signature"),
        "session": ref("WritingSessionId"),
    }


def _content_body(description: str, action: str) -> Schema:
    members = _signed(Action(action)) | {"content": ref("Content")}
    return structure(description, members, "session")


def _publish_form() -> Schema:
    file = string(
        "A PNG, JPEG or WebP, sent as a file: at most `limits.thumbnail_bytes` bytes "
        f"({MAX_IMAGE_BYTES}, or less as the operator decides), {MAX_IMAGE_PIXELS} pixels, and "
        f"{MAX_IMAGE_SIDE} pixels on a side.",
        format="binary",
    )
    fields = {"file": file, **_signed(Action.PUBLISH), "hashtags": ref("HashtagsOrNone")}
    return structure(
        "A picture, a signed write and hashtags. Every part but `file` is text, and may be sent "
        "with a file name as browsers send a `Blob`; `salt` is JSON.",
        fields,
        "hashtags",
        "session",
    )


def _delivery_a() -> Schema:
    text, number = {"type": "string"}, {"type": "integer"}
    log = {
        "data": text,
        "topics": {"type": "array", "items": text},
        "index": number,
        "account": _open_object({"address": text}),
        "transaction": _open_object({"hash": text, "status": number}),
    }
    logs = {"type": "array", "items": _open_object(log)}
    block = {"hash": text, "number": number, "timestamp": number, "logs": logs}
    envelope = _within("event", _within("data", _within("block", _open_object(block))))
    return {"description": "The webhook's query result, in the provider's envelope.", **envelope}


def _delivery_b() -> Schema:
    # Its shape is that of the operator's filter. An object is what clients that try it out send;
    # a generated type for "any array or object" would help nobody.
    return {
        "description": "Arrays and objects, nested in any way, that contain logs.",
        "anyOf": [_open_object({}), {"type": "array", "items": {}}],
    }


def _open_object(properties: Schema) -> Schema:
    members = {"properties": properties} if properties else {}
    # Providers send more members than the service reads.
    return {"type": "object", **members, "additionalProperties": True}


def _within(name: str, schema: Schema) -> Schema:
    return _open_object({name: schema})
