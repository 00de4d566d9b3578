"""Signed revisions: what is refused, in which order, and what the signature covers."""

from collections.abc import Callable
from datetime import datetime, timedelta
from typing import Any

import pytest
from eth_account.signers.local import LocalAccount
from tests.auth.forms import CID, NOW, OURS, SECONDS, SERVICE, SIGNER
from tests.auth.proofs import proved
from tests.revisions import content_hash, revision_envelope

from imprint.auth.signatures import Unproved
from imprint.auth.signed_revisions import RevisionVerifier, read_stated
from imprint.auth.typed_data import TypedDataClaim
from imprint.domain.drafts.files import PostAction
from imprint.domain.errors import Code, Refusal
from imprint.domain.formats.addresses import Address, parse_address
from imprint.domain.posts.revisions import MAX_NOTE, SignedRevision

Sign = Callable[[LocalAccount, Any], str]
Refused = Callable[[Callable[[], object]], Code | None]

VERIFIER = RevisionVerifier(OURS, SERVICE)
OWNER = parse_address(SIGNER.address)


def typed_data(**message: Any) -> dict[str, Any]:
    given = {"service": SERVICE, "postId": "7", "cid": CID, "nonce": "n", **message}
    return revision_envelope(SECONDS, **given)


def verify(
    said: object,
    signature: str,
    *,
    address: str = SIGNER.address,
    post_id: int = 7,
    now: datetime = NOW,
) -> SignedRevision | Unproved[SignedRevision]:
    return VERIFIER.verify(TypedDataClaim(said, address, signature), post_id, now)


def test_a_signed_revision_has_the_signed_values(sign_envelope: Sign) -> None:
    said = typed_data(contentHash=content_hash("Words."), note="A typo.")
    signature = sign_envelope(SIGNER, said)
    revision = proved(verify(said, signature))
    write = revision.write
    assert (write.signer, write.action, write.nonce, write.at) == (
        OWNER, PostAction.REVISE, "n", NOW,
    )  # fmt: skip
    assert write.body_hash == bytes.fromhex(content_hash("Words.")[2:])
    assert (revision.post_id, revision.document, revision.note) == (7, CID, "A typo.")
    assert (revision.envelope, revision.signature) == (said, signature)


@pytest.mark.parametrize(
    ("message", "code"),
    [
        ({"postId": "8"}, Code.BODY_MISMATCH),
        ({"postId": "07"}, Code.BODY_MISMATCH),
        ({"service": "https://other.example"}, Code.BODY_MISMATCH),
        ({"cid": "not a cid"}, Code.INVALID_TYPED_DATA),
        ({"note": "two\nlines"}, Code.INVALID_TYPED_DATA),
        ({"note": "x" * (MAX_NOTE + 1)}, Code.INVALID_TYPED_DATA),
        ({"note": 5}, Code.INVALID_TYPED_DATA),
        ({"nonce": ""}, Code.INVALID_TYPED_DATA),
        ({"contentHash": "0x12"}, Code.INVALID_TYPED_DATA),
        ({"timestamp": SECONDS - 86_400}, Code.SIGNATURE_STALE),
        ({"timestamp": -1}, Code.INVALID_TYPED_DATA),
    ],
)
def test_a_revision_with_an_invalid_or_foreign_member_is_refused(
    refused: Refused, message: dict[str, Any], code: Code
) -> None:
    assert refused(lambda: verify(typed_data(**message), "0x")) is code


@pytest.mark.parametrize("name", ["service", "postId", "cid", "contentHash", "note", "nonce"])
def test_a_revision_without_one_of_its_members_is_refused(refused: Refused, name: str) -> None:
    said = typed_data()
    del said["message"][name]
    assert refused(lambda: verify(said, "0x")) is Code.INVALID_TYPED_DATA


def test_a_revision_signed_for_another_chain_is_refused(refused: Refused) -> None:
    said = typed_data()
    said["domain"] = {**said["domain"], "chainId": 1}
    assert refused(lambda: verify(said, "0x")) is Code.INVALID_TYPED_DATA


def test_a_revision_by_another_signer_is_refused(
    sign_envelope: Sign, stranger: LocalAccount, refused: Refused
) -> None:
    said = typed_data()
    signature = sign_envelope(stranger, said)
    assert refused(lambda: verify(said, signature)) is Code.SIGNATURE_INVALID


@pytest.mark.parametrize(
    "changed",
    [
        {"note": "Another note."},
        {"contentHash": content_hash("Other words.")},
        {"nonce": "m"},
        {"timestamp": SECONDS + 1},
    ],
    ids=lambda changed: next(iter(changed)),
)
def test_the_signature_covers_every_member(
    sign_envelope: Sign, refused: Refused, changed: dict[str, Any]
) -> None:
    signature = sign_envelope(SIGNER, typed_data())
    assert refused(lambda: verify(typed_data(**changed), signature)) is Code.SIGNATURE_INVALID


def test_a_revision_is_stale_after_the_same_time_as_every_write(
    sign_envelope: Sign, refused: Refused
) -> None:
    said = typed_data()
    signature = sign_envelope(SIGNER, said)
    late = NOW + timedelta(days=1)
    assert refused(lambda: verify(said, signature, now=late)) is Code.SIGNATURE_STALE


def test_a_malformed_address_is_refused_before_the_time_is_checked(refused: Refused) -> None:
    said = typed_data(timestamp=0)
    assert refused(lambda: verify(said, "0x", address="nobody")) is Code.INVALID_ADDRESS


def test_a_stored_revision_can_be_verified_without_a_chain(sign_envelope: Sign) -> None:
    said = typed_data(contentHash=content_hash("Words."), note="A typo.")
    stated = read_stated(said, OWNER, sign_envelope(SIGNER, said))
    assert stated.is_signed
    assert (stated.document, stated.note) == (CID, "A typo.")
    assert stated.content_hash == bytes.fromhex(content_hash("Words.")[2:])


@pytest.mark.parametrize("chain_id", [1, "1", "0x1"])
def test_a_stored_revision_is_verified_against_the_domain_it_declares(
    sign_envelope: Sign, chain_id: Any
) -> None:
    said = typed_data()
    said["domain"] = {"name": "Elsewhere", "version": "2", "chainId": 1}
    signature = sign_envelope(SIGNER, said)
    said["domain"]["chainId"] = chain_id
    assert read_stated(said, OWNER, signature).is_signed


def test_a_stored_revision_signed_by_another_key_is_not_signed_by_its_owner(
    sign_envelope: Sign, stranger: LocalAccount
) -> None:
    said = typed_data()
    assert not read_stated(said, OWNER, sign_envelope(stranger, said)).is_signed


@pytest.mark.parametrize("signature", ["", "0x", "0x12", "0x" + "00" * 65, "0x" + "ff" * 200])
def test_only_a_contract_can_verify_a_stored_signature_of_another_shape(signature: str) -> None:
    assert not read_stated(typed_data(), OWNER, signature).is_signed


@pytest.mark.parametrize(
    "domain",
    [
        {"version": "1", "chainId": 1},
        {"name": "Imprint", "chainId": 1},
        {"name": "Imprint", "version": "1"},
        {"name": 5, "version": "1", "chainId": 1},
        {"name": "Imprint", "version": "1", "chainId": "one"},
        {"name": "Imprint", "version": "1", "chainId": None},
        {"name": "Imprint", "version": "1", "chainId": -1},
        {"name": "Imprint", "version": "1", "chainId": 2**256},
        {"name": "Imprint", "version": "1", "chainId": 1, "salt": "0x"},
        ["Imprint", "1", 1],
        None,
    ],
)
def test_a_stored_revision_with_a_malformed_domain_is_refused(domain: Any) -> None:
    said = {**typed_data(), "domain": domain}
    with pytest.raises(Refusal) as refusal:
        read_stated(said, Address(OWNER), "0x")
    assert refusal.value.code is Code.INVALID_TYPED_DATA
