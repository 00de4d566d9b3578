"""Examples of every body and answer, made for this service: its domain, its chain, its login."""

from collections.abc import Mapping
from typing import Any

import msgspec

from imprint.auth.signatures import personal_digest
from imprint.auth.typed_data import WRITE_TYPES, SigningDomain
from imprint.domain.files import Action
from imprint.web.bodies import (
    ContentAnswer,
    CreatedAnswer,
    DeletedAnswer,
    DeletedFile,
    DeliveryAnswer,
    EventAnswer,
    FilesAnswer,
    KeyValues,
    LoginAnswer,
    PublishedAnswer,
    ReadRecord,
    Record,
    TaggedFilesAnswer,
    UpdatedAnswer,
)
from imprint.web.manual import samples

_DRAFT = Record(
    samples.FILE_ID,
    samples.NAME,
    samples.CID,
    samples.SIZE,
    samples.MOMENT,
    samples.GROUP_ID,
    KeyValues(samples.OWNER, "pending"),
)


UNREADY = {
    "status": "unavailable",
    "checks": {"database": "ok", "storage": "unavailable", "chain": "ok"},
}
"""What readiness looks like while the content store does not answer."""


def build_examples(facts: Mapping[str, Any]) -> dict[str, Any]:
    """An example for every component that a body or an answer names."""
    signing = facts["signing"]
    domain = SigningDomain(signing["name"], signing["version"], signing["chainId"])
    content = {"content": samples.CONTENT}
    publication = _signed(domain, Action.PUBLISH) | {"hashtags": samples.TAGS}
    return {
        "LoginBody": _login(facts),
        "CreateBody": _signed(domain, Action.CREATE) | content,
        "UpdateBody": _signed(domain, Action.UPDATE) | content,
        "DeleteBody": _signed(domain, Action.DELETE),
        "PublishForm": {"file": "thumbnail.png", **publication},
        "ProviderADelivery": _delivery_a(facts["chain"]["marketplace"]),
        "ProviderBDelivery": _delivery_b(facts["chain"]["marketplace"]),
        "Facts": dict(facts),
        "Health": {"status": "alive"},
        "Readiness": {
            "status": "ready",
            "checks": {"database": "ok", "storage": "ok", "chain": "ok"},
        },
        **msgspec.to_builtins(_answers()),
    }


def typed_data(domain: SigningDomain, action: Action) -> dict[str, Any]:
    """The envelope of the author's write."""
    kind = WRITE_TYPES[action].name
    return {
        "domain": {"name": domain.name, "version": domain.version, "chainId": domain.chain_id},
        "types": {kind: [{"name": n, "type": "string"} for n in ("action", "nonce", "timestamp")]},
        "primaryType": kind,
        "message": {
            "action": action.value,
            "nonce": samples.NONCE,
            "timestamp": samples.TIMESTAMP,
        },
    }


def _signed(domain: SigningDomain, action: Action) -> dict[str, Any]:
    digest = domain.digest(action, samples.NONCE, samples.TIMESTAMP)
    return {
        "salt": typed_data(domain, action),
        "address": samples.OWNER,
        "signature": samples.sign(digest),
    }


def _login(facts: Mapping[str, Any]) -> dict[str, Any]:
    domain = facts["login"]["domains"][0]
    message = "\n".join(
        [
            f"{domain} wants you to sign in with your Ethereum account:",
            samples.OWNER,
            "",
            "Read what you hold.",
            "",
            f"URI: https://{domain}",
            "Version: 1",
            f"Chain ID: {facts['signing']['chainId']}",
            "Nonce: 7Gq2mVb4Xz",
            f"Issued At: {samples.MOMENT:%Y-%m-%dT%H:%M:%SZ}",
        ]
    )
    signature = samples.sign(personal_digest(message.encode()))
    return {"salt": message, "address": samples.OWNER, "signature": signature}


def _answers() -> dict[str, msgspec.Struct]:
    draft = _read_record("pending")
    post = _read_record("onchain")
    event = EventAnswer(samples.POST_ID, samples.CID, "onchain")
    tags = tuple(samples.TAGS.split(","))
    expires = samples.MOMENT.replace(hour=samples.MOMENT.hour + 2)
    return {
        "LoginAnswer": LoginAnswer(samples.session(), samples.OWNER, "2h", expires),
        "CreatedAnswer": CreatedAnswer(_DRAFT),
        "UpdatedAnswer": UpdatedAnswer(_DRAFT),
        "PublishedAnswer": PublishedAnswer(samples.THUMBNAIL_CID),
        "DeletedAnswer": DeletedAnswer(DeletedFile(samples.FILE_ID, "deleted")),
        "DraftAnswer": ContentAnswer(samples.CONTENT, draft),
        "PostAnswer": ContentAnswer(samples.CONTENT, post),
        "FilesAnswer": FilesAnswer([post], None),
        "DraftsAnswer": FilesAnswer([draft], None),
        "TaggedFilesAnswer": TaggedFilesAnswer([post], 1, tags, samples.PAGE_TOKEN),
        "DeliveryAnswer": DeliveryAnswer(True, 1, 0, False, [event]),
    }


def _read_record(status: str) -> ReadRecord:
    published = status == "onchain"
    return ReadRecord(
        samples.FILE_ID,
        samples.NAME,
        samples.CID,
        samples.SIZE,
        samples.MOMENT,
        samples.GROUP_ID,
        KeyValues(samples.OWNER, status),
        tuple(samples.TAGS.split(",")),
        samples.THUMBNAIL_CID,
        samples.POST_ID if published else None,
        samples.MOMENT.replace(minute=45) if published else None,
        samples.TX_HASH if published else None,
    )


def _delivery_a(marketplace: str) -> dict[str, Any]:
    log = {
        "data": samples.LOG_DATA,
        "topics": samples.LOG_TOPICS,
        "index": 0,
        "account": {"address": marketplace.lower()},
        "transaction": {"hash": samples.TX_HASH, "status": 1},
    }
    block = {"hash": samples.BLOCK_HASH, "number": 7, "timestamp": int(samples.TIMESTAMP)}
    return {
        "webhookId": "wh_octjglnywaupz6th",
        "id": "whevt_ogrc5v64myey69ux",
        "createdAt": f"{samples.MOMENT:%Y-%m-%dT%H:%M:%SZ}",
        "type": "GRAPHQL",
        "event": {"data": {"block": {**block, "logs": [log]}}, "sequenceNumber": "10000000000"},
    }


def _delivery_b(marketplace: str) -> dict[str, Any]:
    log = {
        "address": marketplace.lower(),
        "topics": samples.LOG_TOPICS,
        "data": samples.LOG_DATA,
        "blockNumber": "0x7",
        "blockHash": samples.BLOCK_HASH,
        "transactionHash": samples.TX_HASH,
        "logIndex": "0x0",
        "removed": False,
    }
    return {"data": [[log]], "metadata": {"dataset": "logs", "batch_start_range": 7}}
