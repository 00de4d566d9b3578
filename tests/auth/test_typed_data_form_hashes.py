"""The hashes of every form, compared with known vectors and another implementation."""

import json
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
from eth_account.messages import encode_typed_data
from eth_utils.crypto import keccak
from hypothesis import given
from hypothesis import strategies as st
from tests.auth.forms import CID, NOW, PAIRS, SECONDS, SERVICE, SIGNER
from tests.auth.proofs import proved
from tests.signed_forms import DECLARATIONS, Request, declare, envelope

from imprint.auth.typed_data import (
    WRITE_TYPES,
    SigningDomain,
    SigningForm,
    TypedDataClaim,
    WriteVerifier,
)
from imprint.domain.drafts.files import Action
from imprint.domain.formats.cids import Cid

VECTORS = json.loads((Path(__file__).parents[1] / "vectors" / "signing_forms.json").read_text())
"""Vectors hashed by viem and ethers and signed by ethers."""


def test_the_types_match_those_listed_by_the_protocol() -> None:
    declared = {
        form.value: {action.value: kind.declaration for action, kind in types.items()}
        for form, types in WRITE_TYPES.items()
    }
    assert declared == DECLARATIONS


@pytest.mark.parametrize("vector", VECTORS["writes"], ids=lambda v: f"{v['form']} {v['action']}")
def test_the_hashes_match_the_known_vectors(vector: dict[str, Any]) -> None:
    form, action = vector["form"], vector["action"]
    kind = WRITE_TYPES[SigningForm(form)][Action(action)]
    assert kind.declaration == vector["type"]
    assert kind.type_hash.hex() == vector["typeHash"]
    domain = SigningDomain(*VECTORS["domain"].values())
    assert domain.separator.hex() == VECTORS["domainSeparator"]
    said = {
        "domain": VECTORS["domain"],
        "types": dict([declare(form, action)]),
        "message": vector["message"],
    }
    verifier = WriteVerifier(domain, VECTORS["service"])
    cid = None if action == "create" else Cid(VECTORS["cid"])
    address, signature = VECTORS["address"], vector["signature"]
    claim = TypedDataClaim(said, address, signature, hashtags=VECTORS["hashtags"])
    at = datetime.fromtimestamp(VECTORS["timestamp"], UTC)
    _, signed = verifier.read(claim, Action(action), at, cid, SigningForm)
    assert signed[34:].hex() == vector["structHash"]
    assert keccak(signed).hex() == vector["digest"]
    assert proved(verifier.verify(claim, Action(action), at, cid)).nonce == VECTORS["nonce"]


texts = st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\0"), max_size=40)


@given(
    st.sampled_from(PAIRS),
    st.builds(SigningDomain, texts, texts, st.integers(1, 2**256 - 1)),
    st.tuples(texts.filter(bool), texts),
    st.integers(-60, 60),
    st.binary(min_size=32, max_size=32),
)
def test_the_digest_matches_another_implementation(
    pair: tuple[str, str],
    domain: SigningDomain,
    written: tuple[str, str],
    late: int,
    hashed: bytes,
) -> None:
    form, action = pair
    nonce, text = written
    request = Request(action, CID, "", b"", text, SERVICE, text)
    said = envelope(form, request, SIGNER.address, nonce, SECONDS + late)
    said["domain"] = {"name": domain.name, "version": domain.version, "chainId": domain.chain_id}
    for member in said["message"].keys() & {"contentHash", "thumbnailHash"}:
        said["message"][member] = "0x" + hashed.hex()
    claim = TypedDataClaim(said, SIGNER.address, "", hashtags=text)
    _, signed = WriteVerifier(domain, SERVICE).read(claim, Action(action), NOW, CID, SigningForm)
    signable = encode_typed_data(said["domain"], said["types"], said["message"])
    expected = bytes(SIGNER.sign_message(signable).message_hash)
    assert keccak(signed) == expected
