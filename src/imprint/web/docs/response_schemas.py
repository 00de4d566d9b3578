"""JSON Schemas of the responses; none depends on the settings of a service."""

from collections.abc import Mapping
from typing import Any

import msgspec

from imprint.domain.drafts.files import State
from imprint.domain.errors import Code
from imprint.domain.posts.posts import EventStatus
from imprint.web.docs.patterns import (
    CID_PATTERN,
    LOWER_ADDRESS_PATTERN,
    PAGE_TOKEN_PATTERN,
    POST_ID_PATTERN,
)
from imprint.web.docs.post_schemas import POST_MEMBERS, POST_STRUCTS, describe_post_responses
from imprint.web.docs.schema import (
    Schema,
    array,
    choice,
    integer,
    nullable,
    ref,
    string,
    structure,
)
from imprint.web.docs.totals_operations import describe_totals
from imprint.web.http import responses
from imprint.web.http.problems import FAILURE

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
    "FileRecord": responses.Record,
    "ReadRecord": responses.ReadRecord,
    "DeletedFile": responses.DeletedFile,
    **POST_STRUCTS,
}
"""Component names, which clients generate types from, and the structs of the response bodies."""

_LOWER_ADDRESS = string("An Ethereum address in lower case.", LOWER_ADDRESS_PATTERN)
_UUID = string("A UUID.", format="uuid")
_FILES = array("The records, newest first.", ref("ReadRecord"))
_CID = string("A content identifier: CIDv1 in base32, raw or dag-pb, SHA-256.", CID_PATTERN)
_POST_ID = string("The post's id, a decimal number below 2^256.", POST_ID_PATTERN)
_NEXT_PAGE = nullable(string("The token of the next page, if there is one.", PAGE_TOKEN_PATTERN))


def _moment(description: str) -> Schema:
    return string(description, format="date-time")


_RECORD: dict[str, Schema] = {
    "id": _UUID,
    "name": string("The owner's address and a rising number.", "^0x[0-9a-f]{40}_[0-9]+$"),
    "cid": ref("Cid"),
    "size": integer("Bytes of the stored document."),
    "created_at": _moment("When this version was stored."),
    "group_id": _UUID,
    "keyvalues": ref("KeyValues"),
}

_MEMBERS: dict[str, dict[str, Schema]] = {
    "LoginAnswer": {
        "token": string("The session, a JWT for the Authorization header."),
        "address": _LOWER_ADDRESS,
        "expiresIn": string(
            "How long the session is valid: `2h`, or less in hours, minutes or seconds.",
            "^[1-9][0-9]*[hms]$",
        ),
        "expiresAt": _moment("When the session ends."),
    },
    "KeyValues": {
        "owner": _LOWER_ADDRESS,
        "status": ref("FileStatus"),
        "publishedAt": _moment("When the post was published; a draft has none."),
    },
    "FileRecord": _RECORD,
    "ReadRecord": {
        **_RECORD,
        "hashtags": array("Normalized hashtags.", {"type": "string"}),
        "thumbnail_cid": nullable(_CID),
        "post_id": nullable(_POST_ID),
        "published_at": nullable(_moment("When the post was published.")),
        "tx_hash": nullable(string("The transaction that published the file.", "^0x[0-9a-f]{64}$")),
    },
    "PublishedAnswer": {"thumbnailCid": ref("Cid")},
    "DeletedFile": {"id": _UUID, "status": choice("What became of it.", State.DELETED.value)},
    "ContentAnswer": {"content": string("The text.")},
    "FilesAnswer": {"files": _FILES, "next_page_token": _NEXT_PAGE},
    "TaggedFilesAnswer": {
        "files": _FILES,
        "count": integer("How many records this page has."),
        "tags": array("The normalized hashtags of the filter.", {"type": "string"}),
        "next_page_token": _NEXT_PAGE,
    },
    "EventAnswer": {
        "postId": nullable(_POST_ID),
        "postCid": nullable(string("The cid as the event spells it.")),
        "status": ref("EventStatus"),
    },
    "DeliveryAnswer": {
        "success": {"type": "boolean", "description": "Always `true`."},
        "applied": integer("Events that were applied."),
        "ignored": integer("Logs that were ignored."),
        "duplicate": {"type": "boolean", "description": "Whether it was delivered before."},
        "events": array("Events and dead letters in the order of the logs.", ref("EventAnswer")),
    },
}
"""Schemas of members, which say more than the types of the structs."""


def describe_responses() -> dict[str, Schema]:
    """The components of responses."""
    return {
        "Cid": _CID,
        "FileStatus": choice("A draft, or a post.", State.PENDING.value, State.ONCHAIN.value),
        "EventStatus": choice("What became of an event.", *(each.value for each in EventStatus)),
        "ReadinessStatus": choice("The state in one word.", "ready", "degraded", "not ready"),
        **_struct_schemas(),
        **describe_post_responses(),
        **_about(),
        "Facts": _facts(),
        "Marketplace": _marketplace(),
        **describe_totals(),
        "ProblemCode": choice(
            "What is wrong, for programs. A code never changes its meaning, and a later version "
            "may add codes.",
            *(code.value for code in Code),
            FAILURE,
        ),
        "Problem": _problem(),
    }


def _struct_schemas() -> dict[str, Schema]:
    _, generated = msgspec.json.schema_components(tuple(_STRUCTS.values()), ref_template="{name}")
    names = {struct.__name__: name for name, struct in _STRUCTS.items()}
    components = {names[name]: _rename_refs(schema, names) for name, schema in generated.items()}
    for name, members in (_MEMBERS | POST_MEMBERS).items():
        components[name]["properties"] |= members
    for schema in components.values():
        del schema["title"]
    components["KeyValues"]["additionalProperties"] = string("A hashtag, under its own name.")
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


def _about() -> dict[str, Schema]:
    # Words in the text, not enums: each of them would become a type of its own.
    checks = {
        "database": string("`ok`, `read_only`, `unavailable` or `unknown`."),
        "storage": string("`ok`, `read_only`, `unavailable` or `unknown`."),
        "chain": string("`ok`, `unavailable`, `disagrees` or `unknown`."),
        "disk": string("`ok`, `low` or `unknown`."),
        "follower": string("`ok`, `stopped` or `unknown`."),
        "indexer": string("`ok`, `stopped` or `unknown`."),
        "collector": string("`ok`, `stopped` or `unknown`."),
        "records": string("`ok`, `damaged` or `unknown`."),
    }
    return {
        "Description": {
            "type": "object",
            "description": "An OpenAPI 3.1 document.",
            "additionalProperties": True,
        },
        "Picture": string("A PNG or JPEG.", format="binary"),
        "RootBlock": string("The root block.", format="binary"),
        "Car": string("A CAR of version 1.", format="binary"),
        "Bytes": string("A document that is not a picture.", format="binary"),
        "Health": structure("The state of the process.", {"status": choice("It runs.", "alive")}),
        "Readiness": structure(
            "The state of the service and of its dependencies.",
            {
                "status": ref("ReadinessStatus"),
                "checks": structure("One word for each dependency and task.", checks),
                "details": array("A sentence for everything that is not well.", {"type": "string"}),
            },
        ),
    }


def _marketplace() -> Schema:
    members = {
        "chainId": integer("The id of the chain.", 1),
        "address": string("The contract, in lower case.", "^0x[0-9a-f]{40}$"),
        "startBlock": integer("The block that it was deployed in; nothing of it is earlier."),
        "abi": array(
            "Its interface, as compilers write it and client libraries take it.",
            {"type": "object", "additionalProperties": True},
        ),
    }
    return structure("The marketplace contract, for libraries that call it.", members)


def _facts() -> Schema:
    chain_id = integer("The id of the chain.", 1)
    sizes = ("filesByTags", "filesMetaData", "filesByNextPageToken", "pendingFilesByOwner")
    limits = {
        "content_bytes": integer("Bytes of UTF-8 of a content.", 1),
        "quota_bytes": integer("Bytes of all drafts of a signer; 0 is no limit."),
        "quota_drafts": integer("Drafts of a signer; 0 is no limit."),
        "thumbnail_bytes": integer("Bytes of a thumbnail.", 1),
        "thumbnail_pixels": integer("Pixels of a thumbnail.", 1),
        "thumbnail_side": integer("Pixels of a side of a thumbnail.", 1),
        "hashtags": integer("Hashtags of a file.", 1),
        "hashtag_length": integer("Characters of a hashtag.", 1),
        "nonce_length": integer("Characters of a nonce.", 1),
        "login_message_bytes": integer("Bytes of a login message.", 1),
    }
    members = {
        "name": string("The name of the software."),
        "version": string("The version of the interface."),
        "service": string("The public URL of the service, without a slash at its end."),
        "signing": structure(
            "The domain of typed data (EIP-712): spread it into the `domain` of `salt`.",
            {
                "name": string("The name of the domain."),
                "version": string("The version of the domain."),
                "chainId": chain_id,
            },
        ),
        "signing_forms": array(
            "The forms of signed writes that are accepted; later versions add some.",
            {"type": "string"},
        ),
        "features": array(
            "What the service offers beyond drafts and their publication.", {"type": "string"}
        ),
        "now": integer("The time of the service in Unix seconds, at most 5 seconds old."),
        "login": structure(
            "What login messages (EIP-4361) are checked against.",
            {
                "domains": array(
                    "The domains that messages may name; `:*` is any port.", {"type": "string"}
                ),
                "freshness_seconds": integer("How old a message may be.", 1),
            },
        ),
        "chain": structure(
            "Where posts are published.",
            {
                "id": chain_id,
                "marketplace": string("The contract, in the mixed case of EIP-55."),
                "rpc_url": string("A node; only services for development name theirs."),
            },
            "rpc_url",
        ),
        "limits": structure("What the service accepts.", limits),
        "page_sizes": structure(
            "How many records a page has.",
            {name: integer(f"Of `GET /{name}`.", 1) for name in sizes},
        ),
    }
    return structure("What differs between services, and what a client must know.", members)


def _problem() -> Schema:
    members = {
        "type": string("A URI that identifies the code.", "^urn:imprint:problem:[a-z_]+$"),
        "title": string("The reason phrase of the status."),
        "status": {"type": "integer", "description": "The status of the response."},
        "detail": string("What is wrong, for people."),
        "code": ref("ProblemCode"),
        "error": string("The same sentence as `detail`."),
        "action": string("With `nonce_used`: the action that spent the nonce."),
        "file": nullable(ref("FileRecord")),
        "now": integer("With `signature_stale`: the time of the service in Unix seconds."),
    }
    return structure(
        "The body of every error response (RFC 9457). Only a problem with the code `nonce_used` "
        "has an `action` (`create`, `update`, `publish`, `delete`, `writing_session` or `login`) "
        "and a `file`: what spent the nonce, and the record that it produced, or `null`. If the "
        "action is not that of the request, the file is not its own.",
        members,
        "action",
        "file",
        "now",
    )
