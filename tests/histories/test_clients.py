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
    account = Account(Wallet(KeyAccount.from_key(bytes(31) + b"\1"), MovableClock()))
    file = {"cid": "bafy1", "group_id": "group"}
    if is_known:
        account.learn("draft", "text", file)
    read = account.read_list({"files": [file], "next_page_token": token})
    assert read == {"values": {"draft": "text"} if is_known else {}, "complete": complete}
