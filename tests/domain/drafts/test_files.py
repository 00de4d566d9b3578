"""Files: their ids, names and states."""

import time
from uuid import UUID

import pytest

from imprint.domain.drafts.files import State, file_name, new_id
from imprint.domain.formats.addresses import Address


def test_an_id_is_a_version_7_uuid_that_starts_with_the_time() -> None:
    before = time.time_ns() // 1_000_000
    text = new_id()
    after = time.time_ns() // 1_000_000
    parsed = UUID(text)
    assert (str(parsed), parsed.version, parsed.variant) == (text, 7, "specified in RFC 4122")
    assert before <= parsed.int >> 80 <= after


def test_ids_are_unique() -> None:
    assert len({new_id() for _ in range(10_000)}) == 10_000


def test_a_file_is_named_after_its_owner_and_number() -> None:
    owner = Address("0x" + "a1" * 20)
    assert file_name(owner, 17) == f"{owner}_17"


@pytest.mark.parametrize(
    ("state", "live"),
    [
        (State.PENDING, True),
        (State.ONCHAIN, True),
        (State.SUPERSEDED, False),
        (State.DELETED, False),
    ],
)
def test_only_pending_and_onchain_files_are_live(state: State, live: bool) -> None:
    assert state.live is live
