"""What a client concludes from a response."""

import pytest
from eth_account import Account as KeyAccount
from tests.histories.clients import Account
from tests.world import MovableClock, Wallet


@pytest.mark.parametrize(
    ("token", "is_known", "complete"),
    [(None, True, True), (None, False, False), ("next", True, False)],
    ids=["all drafts", "a draft that nobody has seen", "the first page of several"],
)
def test_a_list_is_complete_if_it_has_all_drafts_and_they_are_known(
    token: str | None, is_known: bool, complete: bool
):
    account = open_account()
    file = {"cid": "bafy1", "group_id": "group"}
    if is_known:
        account.learn("draft", "text", file)
    read = account.read_list({"files": [file], "next_page_token": token})
    assert read["values"] == ({"draft": "text"} if is_known else {})
    assert read["complete"] == complete


@pytest.mark.parametrize("is_known", [True, False])
def test_a_list_with_two_versions_of_a_draft_repeats_it(is_known: bool):
    account = open_account()
    versions = [{"cid": cid, "group_id": "group"} for cid in ("bafy1", "bafy2")]
    if is_known:
        account.learn("draft", "old", versions[0])
    read = account.read_list({"files": versions, "next_page_token": None})
    assert read["repeated"] == ["draft" if is_known else "group"]


def open_account() -> Account:
    return Account(Wallet(KeyAccount.from_key(bytes(31) + b"\1"), MovableClock()))
