"""The envelope of a signed write: any deviation is refused early and at low cost."""

import json
from collections.abc import Callable
from copy import deepcopy
from datetime import UTC, datetime
from itertools import product
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.auth.proofs import proved

from imprint.auth.typed_data import SigningDomain, TypedDataClaim, WriteVerifier
from imprint.domain.drafts.files import Action, Write
from imprint.domain.errors import Code, Refusal

VERIFIER = WriteVerifier(SigningDomain("Imprint", "1", 31337), "https://imprint.example")
NOW = datetime(2030, 1, 31, 12, 0, 0, tzinfo=UTC)
MEMBERS = [{"name": name, "type": "string"} for name in ("action", "nonce", "timestamp")]
DOMAIN_MEMBERS = [
    {"name": "name", "type": "string"},
    {"name": "version", "type": "string"},
    {"name": "chainId", "type": "uint256"},
]
GOOD = {
    "domain": {"name": "Imprint", "version": "1", "chainId": 31337},
    "types": {"CreateFile": MEMBERS},
    "primaryType": "CreateFile",
    "message": {"action": "create", "nonce": "n", "timestamp": str(int(NOW.timestamp()))},
}
ADDRESS = "0xf39Fd6e51aad88F6F4ce6aB8827279cffFb92266"
Refused = Callable[[Callable[[], object]], Code | None]


def envelope() -> dict[str, Any]:
    return deepcopy(GOOD)


def verify(said: object, signature: str = "", address: str = "") -> Write:
    return proved(VERIFIER.verify(TypedDataClaim(said, address, signature), Action.CREATE, NOW))


def test_an_unchanged_envelope_passes_the_structure_check(refused: Refused) -> None:
    assert refused(lambda: verify(envelope())) is Code.INVALID_ADDRESS


def changed(*path: str, to: object) -> dict[str, Any]:
    said = envelope()
    place = said
    for step in path[:-1]:
        place = place[step]
    place[path[-1]] = to
    return said


def without(*path: str) -> dict[str, Any]:
    said = envelope()
    place = said
    for step in path[:-1]:
        place = place[step]
    del place[path[-1]]
    return said


MALFORMED: dict[str, object] = {
    "nothing": None,
    "a list": [],
    "a text": json.dumps(envelope()),
    "empty": {},
    **{f"without {part}": without(part) for part in ("domain", "types", "message")},
    **{
        f"domain without {part}": without("domain", part) for part in ("name", "version", "chainId")
    },
    **{
        f"message without {part}": without("message", part)
        for part in ("action", "nonce", "timestamp")
    },
    **{
        f"{part} is {value!r}": changed(part, to=value)
        for part, value in product(
            ("domain", "types", "message", "primaryType"), (None, [], {}, 1, "x", True)
        )
    },
    "extra key": changed("extra", to=1),
    "extra domain field": changed("domain", "verifyingContract", to="0x" + "1" * 40),
    "domain salt": changed("domain", "salt", to="0x" + "1" * 64),
    "extra message member": changed("message", "cid", to="x"),
    "version as number": changed("domain", "version", to=1),
    "name as list": changed("domain", "name", to=["Imprint"]),
    **{
        f"chain id {value!r:.20}": changed("domain", "chainId", to=value)
        for value in (
            31338,
            31337.0,
            "31337.0",
            "031337",
            "+31337",
            " 31337",
            "31_337",
            "٣١٣٣٧",
            "0X7a69",
            "7a69",
            "0x",
            "",
            "9" * 5000,
            "0x" + "0" * 5000,
            None,
            [31337],
            -31337,
            10**400,
        )
    },
    "other primary type": changed("primaryType", to="DeleteFile"),
    "other type name": changed("types", to={"createFile": MEMBERS}),
    "extra type": changed("types", "Extra", to=MEMBERS),
    "extra type besides the domain type": changed(
        "types",
        to={"CreateFile": MEMBERS, "EIP712Domain": DOMAIN_MEMBERS, "Extra": MEMBERS},
    ),
    "no type": changed("types", to={}),
    "domain type alone": changed("types", to={"EIP712Domain": DOMAIN_MEMBERS}),
    "domain type in another order": changed("types", "EIP712Domain", to=DOMAIN_MEMBERS[::-1]),
    "domain type shortened": changed("types", "EIP712Domain", to=DOMAIN_MEMBERS[:2]),
    "members in another order": changed("types", "CreateFile", to=MEMBERS[::-1]),
    "member missing": changed("types", "CreateFile", to=MEMBERS[:2]),
    "member repeated": changed("types", "CreateFile", to=[*MEMBERS, MEMBERS[0]]),
    "member of another type": changed(
        "types", "CreateFile", to=[*MEMBERS[:2], {"name": "timestamp", "type": "uint256"}]
    ),
    "member with extra key": changed(
        "types", "CreateFile", to=[*MEMBERS[:2], {**MEMBERS[2], "indexed": True}]
    ),
    "type of itself": changed(
        "types", "CreateFile", to=[*MEMBERS, {"name": "again", "type": "CreateFile"}]
    ),
    **{
        f"action {value!r}": changed("message", "action", to=value)
        for value in ("delete", "Create", "create ", "", None, 1, ["create"])
    },
    **{
        f"nonce {value!r:.20}": changed("message", "nonce", to=value)
        for value in ("", "x" * 201, "a\0b", "a\ud800b", "\udfff", None, 1, ["n"], True)
    },
    **{
        f"timestamp {value!r:.20}": changed("message", "timestamp", to=value)
        for value in (
            "",
            "1_7",
            "١٧٠٠٠٠٠٠٠٠",
            "\uff11\uff17",
            "+1",
            "-1",
            "1e9",
            "1.0",
            "nan",
            "NaN",
            "inf",
            "0x10",
            " 1",
            "1 ",
            "1\n",
            "²",
            "9" * 13,
            "9" * 5000,
            "\ud800",
            None,
            int(NOW.timestamp()),
            NOW.timestamp(),
            True,
            [str(int(NOW.timestamp()))],
        )
    },
}


@pytest.mark.parametrize("said", MALFORMED.values(), ids=MALFORMED)
def test_a_malformed_envelope_is_refused(said: object, refused: Refused) -> None:
    code = refused(lambda: verify(said))
    assert code is Code.INVALID_TYPED_DATA


def test_refusing_ten_thousand_declared_types_costs_no_more_than_refusing_two(
    refused: Refused, count_calls: Callable[[Callable[[], object]], int]
) -> None:
    def declaring(count: int) -> dict[str, Any]:
        said = envelope()
        members = [{"name": "next", "type": f"T{n}"} for n in range(3)]
        said["types"] |= {f"T{n}": members for n in range(count)}
        return said

    few, many = declaring(2), declaring(10_000)
    assert refused(lambda: verify(many)) is Code.INVALID_TYPED_DATA
    cost = count_calls(lambda: refused(lambda: verify(many)))
    assert cost == count_calls(lambda: refused(lambda: verify(few)))


json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3),
    max_leaves=12,
)
near_envelopes = st.fixed_dictionaries(
    {
        "domain": st.just(envelope()["domain"]) | json_values,
        "types": st.just(envelope()["types"]) | json_values,
        "message": st.fixed_dictionaries(
            {
                "action": st.just("create") | json_values,
                "nonce": st.text(st.characters()) | json_values,
                "timestamp": st.just(str(int(NOW.timestamp()))) | st.text() | json_values,
            }
        ),
    }
)


@given(
    json_values | near_envelopes,
    st.just(ADDRESS) | st.text(),
    st.text() | st.from_regex(r"\A0x[0-9a-f]{130}\Z"),
)
def test_an_arbitrary_envelope_raises_nothing_but_a_refusal(
    said: object, address: str, signature: str
) -> None:
    with pytest.raises(Refusal):
        verify(said, signature, address)
