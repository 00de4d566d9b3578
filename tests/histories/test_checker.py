"""The checker accepts what the model allows, and rejects everything else."""

from pathlib import Path
from typing import Any

import pytest
from tests.histories.checker import find_violations
from tests.histories.history import Operation, Outcome, read_history, write_history
from tests.histories.shrinking import shrink

AUTHOR = "0xa"
NOT_LINEARIZABLE = "a draft is not linearizable"


def operation(
    kind: str, start: float, end: float, outcome: Outcome = "ok", code: str = "", **given: Any
) -> Operation:
    result = {name.removeprefix("got_"): each for name, each in given.items() if "got_" in name}
    arguments = {name: each for name, each in given.items() if "got_" not in name}
    result |= {"code": code} if code else {}
    return Operation(0, kind, {"author": AUTHOR, **arguments}, start, end, outcome, result)


def create(value: str, start: float, end: float, *outcome: Any, **given: Any) -> Operation:
    arguments = {"register": "r", "nonce": f"n-{value}", "value": value, **given}
    return operation("create", start, end, *outcome, **arguments)


def update(old: str, new: str, start: float, end: float, *outcome: Any, **given: Any) -> Operation:
    arguments = {"register": "r", "nonce": f"n-{new}", "expected": old, "value": new, **given}
    return operation("update", start, end, *outcome, **arguments)


def delete(old: str, start: float, end: float, *outcome: Any) -> Operation:
    arguments = {"register": "r", "nonce": f"n-{old}-gone", "expected": old}
    return operation("delete", start, end, *outcome, **arguments)


def read(value: str, start: float, end: float, got: str | None = None) -> Operation:
    given = {"register": "r", "expected": value}
    if got is None:
        return operation("read", start, end, "fail", "not_found", **given)
    return operation("read", start, end, got_value=got, **given)


def list_drafts(start: float, end: float, complete: bool = True, **values: str) -> Operation:
    return operation("list", start, end, got_values=values, got_complete=complete)


def rules(*operations: Operation) -> list[str]:
    return [violation.rule for violation in find_violations(operations)]


# Drafts

ACCEPTED = {
    "one after another": [
        create("a", 0, 1),
        read("a", 2, 3, "a"),
        update("a", "b", 4, 5),
        read("a", 6, 7),
        read("b", 6, 7, "b"),
        delete("b", 8, 9),
        read("b", 10, 11),
        list_drafts(12, 13),
    ],
    "a read beside an update sees the old or the new version": [
        create("a", 0, 1),
        update("a", "b", 2, 9),
        read("a", 3, 4, "a"),
        read("b", 5, 6, "b"),
    ],
    "one of two updates of the same version succeeds": [
        create("a", 0, 1),
        update("a", "b", 2, 9),
        update("a", "c", 2, 9, "fail", "not_pending"),
        read("b", 10, 11, "b"),
    ],
    "an update with an unknown outcome takes effect late": [
        create("a", 0, 1),
        update("a", "b", 2, 3, "unknown"),
        read("a", 4, 5, "a"),
        read("b", 6, 7, "b"),
    ],
    "an update with an unknown outcome never takes effect": [
        create("a", 0, 1),
        update("a", "b", 2, 3, "unknown"),
        update("a", "c", 4, 5),
        read("c", 6, 7, "c"),
    ],
    "a repeated write that took effect is refused as used": [
        create("a", 0, 1, "unknown"),
        create("a", 2, 3, "fail", "nonce_used"),
        read("a", 4, 5, "a"),
    ],
    "a repeated write takes effect once": [
        create("a", 0, 1),
        update("a", "b", 2, 3, "unknown"),
        update("a", "b", 4, 5),
        update("a", "b", 6, 7, "fail", "nonce_used"),
        read("b", 8, 9, "b"),
    ],
    "a list shows a version that nobody knows": [
        create("a", 0, 1),
        update("a", "b", 2, 3, "unknown"),
        list_drafts(4, 5, r="?"),
    ],
    "a list from before the creation": [list_drafts(0, 1), create("a", 2, 3)],
    "an incomplete list says nothing about what it lacks": [
        create("a", 0, 1, "unknown"),
        create("a", 2, 3, "fail", "nonce_used"),
        list_drafts(4, 5, complete=False),
    ],
    "a refused write without effect": [
        create("a", 0, 1),
        update("a", "b", 2, 3, "fail", "signature_stale"),
        read("a", 4, 5, "a"),
    ],
}


@pytest.mark.parametrize("name", ACCEPTED)
def test_a_history_that_fits_the_model_is_accepted(name: str):
    assert rules(*ACCEPTED[name]) == []


REJECTED = {
    "a lost write": [create("a", 0, 1), read("a", 2, 3)],
    "a lost update": [create("a", 0, 1), update("a", "b", 2, 3), read("a", 4, 5, "a")],
    "a draft missing from a list": [create("a", 0, 1), list_drafts(2, 3)],
    "an old version in a list": [
        create("a", 0, 1),
        update("a", "b", 2, 3),
        list_drafts(4, 5, r="a"),
    ],
    "two successful updates of the same version": [
        create("a", 0, 1),
        update("a", "b", 2, 9),
        update("a", "c", 2, 9),
    ],
    "a read that goes back in time": [
        create("a", 0, 1),
        update("a", "b", 2, 9),
        read("b", 3, 4, "b"),
        read("a", 5, 6, "a"),
    ],
    "a deleted draft that returns": [
        create("a", 0, 1),
        delete("a", 2, 3),
        list_drafts(4, 5, r="a"),
    ],
    "an unknown update that takes effect after another one": [
        create("a", 0, 1),
        update("a", "b", 2, 3, "unknown"),
        update("a", "c", 4, 5),
        read("b", 6, 7, "b"),
    ],
    "an unknown write that takes effect before it began": [
        create("a", 0, 1),
        read("b", 2, 3, "b"),
        update("a", "b", 4, 5, "unknown"),
    ],
    "an update refused although its version was current": [
        create("a", 0, 1),
        update("a", "b", 2, 3, "fail", "not_pending"),
    ],
    "a write refused as used that never took effect": [
        create("a", 0, 1, "unknown"),
        create("a", 2, 3, "fail", "nonce_used"),
        read("a", 4, 5),
    ],
    "another text under the same CID": [create("a", 0, 1), read("a", 2, 3, "b")],
    "an unknown write that takes effect twice": [
        create("a", 0, 1),
        update("a", "b", 2, 3, "unknown"),
        update("a", "b", 4, 5, "unknown"),
        update("b", "a", 6, 7, nonce="back"),
        read("b", 8, 9, "b"),
    ],
}


@pytest.mark.parametrize("name", REJECTED)
def test_a_history_of_drafts_that_contradicts_the_model_is_rejected(name: str):
    assert NOT_LINEARIZABLE in rules(*REJECTED[name])


def test_drafts_are_checked_one_by_one():
    other = create("a", 0, 1, register="s", nonce="other")
    assert rules(create("a", 0, 1), other, list_drafts(2, 3, r="a")) == [NOT_LINEARIZABLE]
    assert rules(create("a", 0, 1), other, list_drafts(2, 3, r="a", s="a")) == []


def test_a_list_that_shows_a_draft_twice_is_rejected():
    listed = operation("list", 2, 3, got_values={"r": "a"}, got_repeated=["r"], got_complete=True)
    assert rules(create("a", 0, 1), listed) == ["a list shows a draft twice"]


# Nonces


def test_a_history_with_a_nonce_used_by_two_writes_is_rejected():
    twice = [create("a", 0, 1), create("b", 0, 1, register="s", nonce="n-a")]
    assert rules(*twice) == ["a nonce was used twice"]


def test_a_history_with_a_login_accepted_twice_is_rejected():
    logins = [
        operation("open session", at, at + 1, nonce="n", got_session=str(at)) for at in (0, 2)
    ]
    assert rules(*logins) == ["a nonce was used twice"]


def test_a_history_with_a_nonce_refused_before_its_first_use_is_rejected():
    refused = operation("open session", 0, 1, "fail", "nonce_used", nonce="n")
    assert rules(refused) == ["a nonce was spent on nothing"]
    unknown = operation("open session", 0, 1, "unknown", nonce="n")
    assert rules(unknown, refused) == []


# Sessions

LOGIN = operation("open session", 0, 1, nonce="n", got_session="s")
LOGOUT = operation("end session", 10, 11, session="s", ended="s")
LOGOUT_OF_ALL = operation("end sessions", 10, 11, session="s")


def use(start: float, end: float, *outcome: Any) -> Operation:
    return operation("look", start, end, *outcome, session="s")


@pytest.mark.parametrize("logout", [LOGOUT, LOGOUT_OF_ALL])
def test_a_session_is_never_accepted_after_its_logout(logout: Operation):
    assert rules(LOGIN, logout, use(12, 13)) == ["an ended session was accepted"]
    assert rules(LOGIN, logout, use(12, 13, "fail", "session_ended")) == []


def test_a_request_concurrent_with_the_logout_may_be_accepted_or_refused():
    assert rules(LOGIN, LOGOUT, use(9, 12)) == []
    assert rules(LOGIN, LOGOUT, use(9, 12, "fail", "session_ended")) == []


def test_a_session_is_not_refused_before_its_logout():
    refused = use(5, 6, "fail", "session_ended")
    assert rules(LOGIN, refused, LOGOUT) == ["a live session was refused as ended"]


def test_a_logout_with_an_unknown_outcome_may_end_the_session_at_any_time():
    unknown = operation("end session", 10, 11, "unknown", session="s", ended="s")
    assert rules(LOGIN, unknown, use(12, 13), use(14, 15, "fail", "session_ended")) == []


def test_a_login_after_the_logout_of_all_sessions_stays_valid():
    later = operation("open session", 12, 13, nonce="m", got_session="t")
    refused = operation("look", 14, 15, "fail", "session_ended", session="t")
    assert rules(LOGIN, LOGOUT_OF_ALL, later, refused) == ["a live session was refused as ended"]


def test_a_login_concurrent_with_a_logout_of_all_sessions_may_stay_valid_or_not():
    beside = operation("open session", 9, 12, nonce="m", got_session="t")
    for outcome in (["ok"], ["fail", "session_ended"]):
        used = operation("look", 14, 15, *outcome, session="t")
        assert rules(LOGIN, LOGOUT_OF_ALL, beside, used) == []


def test_no_write_succeeds_in_a_revoked_writing_session():
    opening = operation("open writing_session", 0, 1, nonce="n", got_writing_session="w")
    end = operation("end writing_session", 2, 3, session="s", ended="w")
    write = create("a", 4, 5, writing_session="w")
    assert rules(opening, end, write) == ["an ended writing_session was accepted"]
    refused = create("a", 4, 5, "fail", "writing_session_invalid", writing_session="w")
    assert rules(opening, end, refused) == []
    assert rules(opening, refused) == ["a live writing_session was refused as ended"]


# Posts

BUY = operation("buy", 10, 11, post="Words")


def read_post(start: float, end: float, *outcome: Any, **given: Any) -> Operation:
    return operation("read post", start, end, *outcome, post="Words", **given)


def test_a_post_is_served_after_its_purchase_and_not_before():
    refused = ("fail", "not_entitled")
    assert rules(BUY, read_post(0, 1, *refused), read_post(12, 13, got_value="Words")) == []
    assert rules(BUY, read_post(0, 1, got_value="Words")) == [
        "a post was served before its purchase"
    ]
    assert rules(BUY, read_post(12, 13, *refused)) == ["a post was refused after its purchase"]
    assert rules(BUY, read_post(12, 13, got_value="Other")) == [
        "a post was served with another text"
    ]


# Rejected histories


def test_a_rejected_history_is_shrunk_to_the_operations_that_break_the_rule():
    noise = [
        *(create(str(n), n, n + 1, register=f"other {n}") for n in range(20)),
        *(read("a", 20 + n, 21 + n, "a") for n in range(0, 40, 2)),
    ]
    whole = [
        *noise,
        create("a", 0, 1),
        update("a", "b", 60, 61),
        read("a", 62, 63, "a"),
        update("b", "c", 64, 65),
        read("c", 66, 67, "c"),
    ]
    (violation,) = find_violations(whole)
    small = shrink(violation)
    assert [each.kind for each in small] == ["create", "update", "read"]
    assert [violation.rule for violation in find_violations(small)] == [NOT_LINEARIZABLE]


def test_shrinking_keeps_the_write_of_every_value_that_was_read():
    whole = [
        create("a", 0, 1),
        update("a", "b", 2, 3),
        update("b", "c", 4, 5),
        read("b", 6, 7, "b"),
    ]
    (violation,) = find_violations(whole)
    assert shrink(violation) == whole


def test_a_write_still_running_at_the_cut_has_an_unknown_outcome():
    first, late = create("a", 0, 1), update("a", "b", 2, 9)
    (violation,) = find_violations([first, late, read("a", 3, 4, "b")])
    assert [each.outcome for each in shrink(violation)] == ["ok", "ok", "unknown"]


def test_a_history_is_read_as_it_was_written(tmp_path: Path):
    whole = [operation for part in ACCEPTED.values() for operation in part]
    write_history(whole, tmp_path / "kept" / "history.jsonl")
    assert read_history(tmp_path / "kept" / "history.jsonl") == whole
