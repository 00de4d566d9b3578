"""The structure of every form: any deviation is refused early and at low cost."""

import sys
from collections.abc import Callable
from copy import deepcopy
from itertools import permutations
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.auth.forms import PAIRS, SECONDS, SIGNER, Refused, Sign, typed_data, verify
from tests.signed_forms import ACTIONS, FORMS, declare

from imprint.domain.errors import Code, Refusal

NOT_TEXTS: list[Any] = [None, 1, 1.5, True, [], ["x"], {}, "\ud800", "a\udfffb"]
NOT_SECONDS: list[Any] = [
    *(None, True, [], {}, -1, 0.5, float(SECONDS), 10**12, 10**400),
    *("", " 1", "1 ", "1\n", "+1", "-1", "1e9", "1.0", "1_7", "0x10", "٣١", "９" * 10, "9" * 13),
    *("9" * 5000, "\ud800"),
]
NOT_HASHES: list[Any] = [
    *(None, 1, True, [], {}, "", "0x", "0x" + "1" * 63, "0x" + "1" * 65, "1" * 64, "0X" + "1" * 64),
    *("0x" + "g" * 64, "0x" + "1" * 64 + "\n", "0x" + "1" * 63 + "\ud800", "0x" + "１" * 64),
]
NOT_ADDRESSES: list[Any] = [
    *(None, 1, True, [], {}, "", "0x", "0x" + "1" * 39, "0x" + "1" * 41, "1" * 40, "\ud800" * 42),
    *(SIGNER.address.swapcase(), SIGNER.address[:-1] + "\n", "vitalik.eth"),
]
NOT_NONCES: list[Any] = [*NOT_TEXTS, "", "x" * 201, "a\0b"]
MALFORMED = {
    "string": NOT_TEXTS,
    "uint256": NOT_SECONDS,
    "bytes32": NOT_HASHES,
    "address": NOT_ADDRESSES,
}


@pytest.mark.parametrize(("form", "action"), PAIRS)
def test_a_value_of_the_wrong_type_is_refused(form: str, action: str, refused: Refused) -> None:
    for member in declare(form, action)[1]:
        name = member["name"]
        values = NOT_NONCES if name == "nonce" else MALFORMED[member["type"]]
        for value in values:
            said = typed_data(form, action, **{name: value})
            code = refused(lambda s=said: verify(s, action))
            assert code is Code.INVALID_TYPED_DATA, (name, value)


def calls_of(run: Callable[[], object]) -> int:
    """Return the number of Python and C calls made while `run` runs."""
    calls = 0

    def count(frame: object, event: str, argument: object) -> None:
        nonlocal calls
        calls += event in ("call", "c_call")

    sys.setprofile(count)
    try:
        run()
    finally:
        sys.setprofile(None)
    return calls


@pytest.mark.parametrize(("form", "action"), PAIRS)
def test_the_number_of_calls_does_not_grow_with_the_length_of_a_text(
    form: str, action: str, refused: Refused
) -> None:
    for member in declare(form, action)[1]:
        if member["type"] == "string":
            said = typed_data(form, action, **{member["name"]: "é" * 30_000})
            calls = calls_of(lambda s=said: refused(lambda: verify(s, action)))
            assert calls < 1000, member["name"]


@pytest.mark.parametrize(("form", "action"), PAIRS)
def test_a_message_with_missing_or_extra_members_is_refused(
    form: str, action: str, refused: Refused
) -> None:
    whole = typed_data(form, action)
    shorter = [
        whole
        | {"message": {name: whole["message"][name] for name in whole["message"] if name != out}}
        for out in whole["message"]
    ]
    others = {each["name"] for pair in PAIRS for each in declare(*pair)[1]} | {"extra", "__proto__"}
    longer = [typed_data(form, action, **{name: "x"}) for name in others - whole["message"].keys()]
    for said in [*shorter, *longer, whole | {"message": []}, whole | {"message": None}]:
        assert refused(lambda s=said: verify(s, action)) is Code.INVALID_TYPED_DATA, said["message"]


def other_types(form: str, action: str) -> list[Any]:
    """Return types that differ slightly from those of this form and action."""
    kind, members = declare(form, action)
    shorter = [[each for each in members if each is not out] for out in members]
    reordered = [list(order) for order in permutations(members) if list(order) != members]
    retyped = [
        [*members[:place], members[place] | {"type": other}, *members[place + 1 :]]
        for place in range(len(members))
        for other in ("string", "uint256", "uint", "bytes", "bytes32", "address", "string[]", kind)
        if other != members[place]["type"]
    ]
    renamed = [[*members[:-1], {"name": "Timestamp", "type": members[-1]["type"]}]]
    longer = [[*members, each] for each in (*members, {"name": "extra", "type": "string"})]
    marked = [[*members[:-1], members[-1] | {"indexed": True}]]
    lists = [*shorter, *reordered[:200], *retyped, *renamed, *longer, *marked, [], None, {}, kind]
    named = [{kind: each} for each in lists]
    return [
        *named,
        *({kind: members, extra: members} for extra in ("Extra", "EIP712Domain", "")),
        *({name: members} for name in (kind.lower(), f"{kind} ", "Extra", "")),
        *({declare(f, action)[0]: declare(g, action)[1]} for f, g in permutations(FORMS, 2)),
        *({declare(form, a)[0]: declare(form, a)[1]} for a in ACTIONS if a != action),
    ]


@pytest.mark.parametrize(("form", "action"), PAIRS)
def test_types_that_differ_from_the_declared_ones_are_refused(
    form: str, action: str, refused: Refused
) -> None:
    said = typed_data(form, action)
    known = [dict([declare(each, action)]) for each in FORMS]
    for types in other_types(form, action):
        if types not in known:
            code = refused(lambda t=types: verify(said | {"types": t}, action))
            assert code is Code.INVALID_TYPED_DATA, types


@pytest.mark.parametrize(("form", "action"), PAIRS)
def test_the_types_of_one_form_with_the_message_of_another_are_refused(
    form: str, action: str, refused: Refused
) -> None:
    for other in set(FORMS) - {form}:
        said = typed_data(form, action) | {"types": dict([declare(other, action)])}
        said.pop("primaryType", None)
        assert refused(lambda s=said: verify(s, action)) is Code.INVALID_TYPED_DATA


@pytest.mark.parametrize(("form", "action"), PAIRS)
def test_a_wrong_primary_type_is_refused(form: str, action: str, refused: Refused) -> None:
    kind, _ = declare(form, action)
    names = {declare(*pair)[0] for pair in PAIRS} - {kind}
    for name in (*names, "", kind.lower(), "EIP712Domain", None, 1, [kind]):
        said = typed_data(form, action) | {"primaryType": name}
        assert refused(lambda s=said: verify(s, action)) is Code.INVALID_TYPED_DATA, name


@pytest.mark.parametrize(("form", "action"), PAIRS)
def test_typed_data_for_one_action_is_refused_for_another(
    form: str, action: str, sign_envelope: Sign, refused: Refused
) -> None:
    said = typed_data(form, action)
    signature = sign_envelope(SIGNER, said)
    for asked in set(ACTIONS) - {action}:
        assert refused(lambda a=asked: verify(said, a, signature)) is Code.INVALID_TYPED_DATA


# Random envelopes

json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(st.characters()),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3),
    max_leaves=12,
)


@st.composite
def near_envelopes(draw: st.DrawFn) -> tuple[str, dict[str, Any]]:
    """Generate typed data with some members, types or values replaced by arbitrary ones."""
    form, action = draw(st.sampled_from(PAIRS))
    said = deepcopy(typed_data(form, action))
    for part in draw(st.sets(st.sampled_from(sorted(said)), max_size=1)):
        said[part] = draw(json_values)
    message = said["message"]
    if isinstance(message, dict) and message:
        for member in draw(st.sets(st.sampled_from(sorted(message)), max_size=2)):
            message[member] = draw(json_values | st.text(st.characters()))
    types = said["types"]
    kind, _ = declare(form, action)
    if isinstance(types, dict) and kind in types and draw(st.booleans()):
        types[kind] = draw(st.lists(st.sampled_from(types[kind]) | json_values, max_size=6))
    return action, said


@given(
    near_envelopes() | st.tuples(st.sampled_from(ACTIONS), json_values),
    st.just(SIGNER.address) | st.text(st.characters()),
    st.text(st.characters()) | st.from_regex(r"\A0x[0-9a-f]{130}\Z"),
)
def test_arbitrary_typed_data_raises_nothing_but_a_refusal(
    said: tuple[str, object], address: str, signature: str
) -> None:
    action, claimed = said
    with pytest.raises(Refusal):
        verify(claimed, action, signature, address)
