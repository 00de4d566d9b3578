"""Signed profiles: what is refused, and how the picture is bound to the signature."""

from collections.abc import Callable
from datetime import datetime, timedelta
from typing import Any

import pytest
from eth_account.signers.local import LocalAccount
from tests.auth.forms import NOW, OURS, SECONDS, SERVICE, SIGNER
from tests.auth.proofs import proved
from tests.profiles import hash_of_picture, profile_envelope

from imprint.auth.signatures import Unproved
from imprint.auth.signed_profiles import ProfileVerifier
from imprint.auth.typed_data import TypedDataClaim
from imprint.domain.drafts.files import AccountAction
from imprint.domain.errors import Code
from imprint.domain.formats.addresses import keccak256, parse_address
from imprint.domain.profiles import AvatarChange, ProfileUpdate

Sign = Callable[[LocalAccount, Any], str]
Refused = Callable[[Callable[[], object]], Code | None]

VERIFIER = ProfileVerifier(OURS, SERVICE)
PICTURE = b"a picture"


def typed_data(**message: Any) -> dict[str, Any]:
    return profile_envelope(SECONDS, **{"service": SERVICE, "nonce": "n", **message})


def verify(
    said: object,
    signature: str = "0x",
    *,
    address: str = SIGNER.address,
    has_picture: bool = False,
    now: datetime = NOW,
) -> ProfileUpdate | Unproved[ProfileUpdate]:
    claim = TypedDataClaim(said, address, signature)
    return VERIFIER.verify(claim, now, has_picture=has_picture)


def test_a_signed_profile_has_the_signed_values(sign_envelope: Sign) -> None:
    said = typed_data(name="Ada Ink", bio="Writes.", links="https://ada.example")
    update = proved(verify(said, sign_envelope(SIGNER, said)))
    write = update.write
    assert (write.signer, write.action) == (parse_address(SIGNER.address), AccountAction.PROFILE)
    assert (write.nonce, write.at, write.body_hash) == ("n", NOW, None)
    assert (update.texts.name, update.texts.bio) == ("Ada Ink", "Writes.")
    assert list(update.texts.links) == ["https://ada.example"]


@pytest.mark.parametrize(
    ("avatar", "change"), [("keep", AvatarChange.KEEP), ("none", AvatarChange.NONE)]
)
def test_a_profile_keeps_or_removes_the_picture(
    sign_envelope: Sign, refused: Refused, avatar: str, change: AvatarChange
) -> None:
    said = typed_data(avatar=avatar)
    signature = sign_envelope(SIGNER, said)
    update = proved(verify(said, signature))
    assert (update.avatar, update.write.body_hash) == (change, None)
    with_picture = refused(lambda: verify(said, signature, has_picture=True))
    assert with_picture is Code.INVALID_PROFILE


def test_a_new_picture_is_bound_by_its_hash(sign_envelope: Sign, refused: Refused) -> None:
    said = typed_data(avatar=hash_of_picture(PICTURE))
    signature = sign_envelope(SIGNER, said)
    update = proved(verify(said, signature, has_picture=True))
    assert (update.avatar, update.write.body_hash) == (AvatarChange.REPLACE, keccak256(PICTURE))
    assert refused(lambda: verify(said, signature)) is Code.INVALID_PROFILE


@pytest.mark.parametrize("avatar", ["", "new", "0x12", "0x" + "zz" * 32, "0x" + "12" * 33])
def test_a_picture_that_is_not_a_hash_is_refused(refused: Refused, avatar: str) -> None:
    said = typed_data(avatar=avatar)
    assert refused(lambda: verify(said, has_picture=True)) is Code.INVALID_PROFILE


@pytest.mark.parametrize(
    ("message", "code"),
    [
        ({"service": "https://other.example"}, Code.BODY_MISMATCH),
        ({"name": 5}, Code.INVALID_TYPED_DATA),
        ({"name": "x" * 1000}, Code.INVALID_PROFILE),
        ({"nonce": ""}, Code.INVALID_TYPED_DATA),
        ({"timestamp": -1}, Code.INVALID_TYPED_DATA),
        ({"timestamp": SECONDS - 86_400}, Code.SIGNATURE_STALE),
    ],
)
def test_a_profile_with_an_invalid_or_foreign_member_is_refused(
    refused: Refused, message: dict[str, Any], code: Code
) -> None:
    assert refused(lambda: verify(typed_data(**message))) is code


@pytest.mark.parametrize("name", ["service", "name", "bio", "links", "avatar", "nonce"])
def test_a_profile_without_one_of_its_members_is_refused(refused: Refused, name: str) -> None:
    said = typed_data()
    del said["message"][name]
    assert refused(lambda: verify(said)) is Code.INVALID_TYPED_DATA


def test_a_profile_signed_for_another_chain_is_refused(refused: Refused) -> None:
    said = typed_data()
    said["domain"] = {**said["domain"], "chainId": 1}
    assert refused(lambda: verify(said)) is Code.INVALID_TYPED_DATA


def test_a_profile_by_another_signer_is_refused(
    sign_envelope: Sign, stranger: LocalAccount, refused: Refused
) -> None:
    said = typed_data()
    signature = sign_envelope(stranger, said)
    assert refused(lambda: verify(said, signature)) is Code.SIGNATURE_INVALID


@pytest.mark.parametrize(
    "changed",
    [
        {"name": "Eve"},
        {"bio": "Other."},
        {"links": "https://eve.example"},
        {"avatar": "none"},
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


def test_a_profile_is_stale_after_the_same_time_as_every_write(
    sign_envelope: Sign, refused: Refused
) -> None:
    said = typed_data()
    signature = sign_envelope(SIGNER, said)
    late = NOW + timedelta(days=1)
    assert refused(lambda: verify(said, signature, now=late)) is Code.SIGNATURE_STALE


def test_a_malformed_address_is_refused_before_the_time_is_checked(refused: Refused) -> None:
    said = typed_data(timestamp=0)
    assert refused(lambda: verify(said, address="nobody")) is Code.INVALID_ADDRESS
