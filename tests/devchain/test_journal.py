"""The journal: a chain is the same after it is reopened."""

import json
from collections.abc import Callable, Iterator
from contextlib import ExitStack, closing
from pathlib import Path
from typing import Any

import pytest

from imprint.devchain.calls import Request, sign_request
from imprint.devchain.chain import Chain
from imprint.devchain.deployment import deploy_marketplace
from imprint.devchain.journal import Journal, JournalDamaged, JournalInUse

STRANGER = "0x" + "ab" * 20


START = 1_700_000_000

OpenChain = Callable[..., Chain]


def pay(chain: Chain) -> None:
    request = Request(sender=chain.wallet.addresses[3], to=STRANGER, value=5)
    chain.submit(sign_request(chain, request))


def hashes(chain: Chain) -> list[Any]:
    blocks = [chain.block(number) for number in range(chain.head.number + 1)]
    return [block and block.hash for block in blocks]


@pytest.fixture
def open_chain(path: Path) -> Iterator[OpenChain]:
    with ExitStack() as opened:

        def open_again(now: int = START) -> Chain:
            return opened.enter_context(closing(Chain.open(path, lambda: now)))

        yield open_again


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "chain" / "journal.jsonl"


def test_a_reopened_chain_has_the_same_blocks_and_state(path: Path, open_chain: OpenChain) -> None:
    chain = open_chain()
    marketplace = deploy_marketplace(chain).lower()
    pay(chain)
    chain.mine()
    before = hashes(chain), chain.account(STRANGER), chain.account(marketplace)
    chain.close()
    again = open_chain(1_800_000_000)
    assert (hashes(again), again.account(STRANGER), again.account(marketplace)) == before


def test_a_reopened_chain_can_be_continued(path: Path, open_chain: OpenChain) -> None:
    chain = open_chain()
    pay(chain)
    chain.close()
    again = open_chain(1_800_000_000)
    pay(again)
    again.close()
    third = open_chain()
    assert third.account(STRANGER).balance == 10
    assert third.head.timestamp == 1_800_000_000


def test_a_truncated_last_line_is_dropped_permanently(path: Path, open_chain: OpenChain) -> None:
    chain = open_chain()
    pay(chain)
    kept = hashes(chain)
    whole = path.read_bytes()
    pay(chain)
    chain.close()
    torn = path.read_bytes()[:-20]
    assert torn.startswith(whole)
    path.write_bytes(torn)
    again = open_chain()
    assert hashes(again) == kept
    assert path.read_bytes() == whole
    pay(again)
    again.close()
    third = open_chain()
    assert third.account(STRANGER).balance == 10


def test_a_journal_truncated_in_its_first_line_starts_over(
    path: Path, open_chain: OpenChain
) -> None:
    path.parent.mkdir()
    path.write_bytes(b'{"timestamp": 17')
    assert open_chain().head.number == 0


def test_a_journal_damaged_in_the_middle_is_refused(path: Path, open_chain: OpenChain) -> None:
    chain = open_chain()
    pay(chain)
    chain.close()
    path.write_bytes(b"?" + path.read_bytes())
    with pytest.raises(JournalDamaged, match="line 1"):
        open_chain()


def test_a_changed_entry_is_detected(path: Path, open_chain: OpenChain) -> None:
    chain = open_chain()
    pay(chain)
    pay(chain)
    chain.close()
    lines = [json.loads(line) for line in path.read_text().splitlines()]
    lines[1]["timestamp"] += 1
    path.write_text("".join(json.dumps(line) + "\n" for line in lines))
    with pytest.raises(JournalDamaged, match="does not reproduce the blocks"):
        open_chain()


def test_a_missing_entry_is_detected(path: Path, open_chain: OpenChain) -> None:
    chain = open_chain()
    pay(chain)
    pay(chain)
    chain.close()
    lines = path.read_text().splitlines(keepends=True)
    path.write_text(lines[0] + lines[2])
    with pytest.raises(JournalDamaged):
        open_chain()


def test_a_revert_to_a_snapshot_survives_reopening(path: Path, open_chain: OpenChain) -> None:
    chain = open_chain()
    pay(chain)
    name = chain.snapshot()
    pay(chain)
    chain.restore(name)
    chain.mine()
    before = hashes(chain)
    chain.close()
    again = open_chain()
    assert hashes(again) == before
    assert again.account(STRANGER).balance == 5


def test_a_journal_can_be_opened_only_once_at_a_time(path: Path, open_chain: OpenChain) -> None:
    chain = open_chain()
    with pytest.raises(JournalInUse):
        open_chain()
    chain.close()
    assert open_chain().head.number == 0


def test_a_chain_without_a_path_writes_nothing(tmp_path: Path) -> None:
    pay(Chain.open(None, lambda: 1_700_000_000))
    assert list(tmp_path.iterdir()) == []


def test_only_the_owner_can_read_a_journal(tmp_path: Path) -> None:
    Journal.open(tmp_path / "data" / "chain.jsonl").close()
    assert (tmp_path / "data").stat().st_mode & 0o777 == 0o700
    assert (tmp_path / "data" / "chain.jsonl").stat().st_mode & 0o777 == 0o600
