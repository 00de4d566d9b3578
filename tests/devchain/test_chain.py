"""The chain: blocks, fees, nonces, and refusals."""

from typing import Any

import pytest
from eth_account import Account

from imprint.devchain.deployment import DeploymentImpossible, deploy_adapter, deploy_marketplace
from imprint.devchain.evm import Message
from imprint.devchain.transactions import INITIAL_BALANCE, TransactionRefused

ETHER = 10**18
COUNTER = "5f5460010180 5f55 5f5260205ff3"  # adds one to slot 0 and returns it
TRANSIENT_COUNTER = "5f5c60010180 5f5d 5f5260205ff3"  # the same in transient storage
STRANGER = "0x" + "ab" * 20
STRANGER_BYTES = bytes.fromhex("ab" * 20)


def sign(bench: Any, **changes: Any) -> bytes:
    fields = {
        "to": STRANGER_BYTES,
        "value": 1,
        "gas": 21_000,
        "gasPrice": 10**9,
        "nonce": 0,
        "chainId": 31337,
    }
    fields |= changes
    return bench.chain.wallet.sign_transaction(bench.people[0], fields)


def refuse(bench: Any, raw: bytes) -> str:
    with pytest.raises(TransactionRefused) as caught:
        bench.chain.submit(raw)
    return str(caught.value)


def test_the_accounts_are_derived_from_the_public_mnemonic(bench: Any) -> None:
    assert bench.people[0] == "0xf39fd6e51aad88f6f4ce6ab8827279cfffb92266"
    assert bench.people[9] == "0xa0ee7a142d267c1f36714e4a8f75612f20a79720"
    assert all(bench.chain.account(one).balance == INITIAL_BALANCE for one in bench.people)


def test_each_transaction_creates_a_block_on_top_of_the_last(bench: Any) -> None:
    first = bench.chain.submit(sign(bench))
    second = bench.chain.submit(sign(bench, nonce=1))
    assert (first.number, second.number) == (1, 2)
    assert second.parent_hash == first.hash
    assert bench.chain.head is second


def test_a_transfer_moves_value_and_charges_the_fee(bench: Any) -> None:
    bench.send(to=STRANGER, value=3 * ETHER, gas_price=2 * 10**9)
    assert bench.chain.account(STRANGER).balance == 3 * ETHER
    left = INITIAL_BALANCE - 3 * ETHER - 21_000 * 2 * 10**9
    assert bench.chain.account(bench.people[0]).balance == left


def test_no_wei_is_created_or_lost(bench: Any) -> None:
    nobody = "0x" + "00" * 20
    bench.send(to=STRANGER, value=ETHER)
    bench.send(to=nobody, value=ETHER)
    bench.deploy(COUNTER)
    everyone = (*bench.people, STRANGER, nobody)
    total = sum(bench.chain.account(one).balance for one in everyone)
    assert total == 10 * INITIAL_BALANCE


def test_storage_persists_between_blocks(bench: Any) -> None:
    counter = bench.deploy(COUNTER)
    for _ in range(3):
        bench.send(to=counter)
    assert bench.chain.slot(counter, 0) == 3


def test_transient_storage_ends_with_its_transaction(bench: Any) -> None:
    counter = bench.deploy(TRANSIENT_COUNTER)
    bench.send(to=counter)
    assert bench.chain.run(message_to(bench, counter)).output[-1] == 1


def message_to(bench: Any, address: str) -> Any:
    from_person = bench.people[0]
    return Message(from_person, address)


def test_every_transaction_starts_with_cold_storage(bench: Any) -> None:
    counter = bench.deploy(COUNTER)
    first, second, third = (bench.send(to=counter).gas_used for _ in range(3))
    assert (first, second, third) == (43_126, 26_026, 26_026)


def test_a_call_does_not_warm_storage_for_the_next_transaction(bench: Any) -> None:
    counter = bench.deploy(COUNTER)
    bench.chain.run(message_to(bench, counter))
    assert bench.send(to=counter).gas_used == 43_126


def test_an_access_list_slot_is_charged_once_and_is_cheaper_to_read(bench: Any) -> None:
    counter = bench.deploy(COUNTER)
    bench.send(to=counter)
    listed = bench.send(to=counter, access_list=((counter, (0,)),))
    assert listed.gas_used == 26_026 + 2_400 + 1_900 - 2_000
    assert bench.chain.slot(counter, 0) == 2
    assert bench.send(to=counter).gas_used == 26_026
    assert bench.chain.slot(counter, 0) == 3


def test_a_contract_that_self_destructs_in_its_constructor_leaves_nothing(bench: Any) -> None:
    receipt = bench.send(data=bytes.fromhex("33ff"), value=5, gas=100_000)
    assert receipt.success
    assert bench.chain.account(receipt.created).code == b""
    assert bench.chain.account(receipt.created).nonce == 0


def test_a_reverted_transaction_is_mined_and_charged(bench: Any) -> None:
    reverting = bench.deploy("5f5ffd")
    before = bench.chain.account(bench.people[0])
    receipt = bench.send(to=reverting, value=7, gas=50_000)
    after = bench.chain.account(bench.people[0])
    assert not receipt.success
    assert after.nonce == before.nonce + 1
    assert before.balance - after.balance == receipt.gas_used * receipt.gas_price


def test_a_failed_contract_creation_spends_its_nonce_and_creates_no_contract(bench: Any) -> None:
    receipt = bench.send(data=b"\xfe", gas=100_000)
    assert (receipt.success, receipt.created, receipt.gas_used) == (False, None, 100_000)
    assert bench.chain.account(bench.people[0]).nonce == 1


@pytest.mark.parametrize("kind", [0, 1, 2])
def test_each_transaction_type_is_accepted(bench: Any, kind: int) -> None:
    fees = {"maxFeePerGas": 3 * 10**9, "maxPriorityFeePerGas": 10**9}
    fields: dict[str, Any] = {"to": STRANGER_BYTES, "value": 1, "gas": 30_000, "nonce": 0}
    fields["chainId"] = 31337
    fields |= fees if kind == 2 else {"gasPrice": 10**9}
    if kind > 0:
        fields |= {"type": kind, "accessList": [{"address": STRANGER, "storageKeys": []}]}
    raw = bench.chain.wallet.sign_transaction(bench.people[0], fields)
    receipt = bench.chain.submit(raw).receipt
    assert receipt.transaction.kind == kind
    assert receipt.transaction.sender == bench.people[0]
    assert (receipt.success, receipt.gas_price) == (True, 10**9)


def test_a_used_nonce_is_refused(bench: Any) -> None:
    bench.chain.submit(sign(bench))
    assert refuse(bench, sign(bench)) == "nonce too low: next nonce 1, tx nonce 0"


def test_a_nonce_that_is_too_high_is_refused(bench: Any) -> None:
    assert refuse(bench, sign(bench, nonce=4)) == "nonce too high: next nonce 0, tx nonce 4"


def test_a_transaction_for_another_chain_is_refused(bench: Any) -> None:
    assert refuse(bench, sign(bench, chainId=1)) == "invalid chain id for signer: have 1 want 31337"


def test_a_transaction_without_a_chain_id_is_refused(bench: Any) -> None:
    key = Account.create().key
    fields = {"to": STRANGER_BYTES, "value": 0, "gas": 21_000, "gasPrice": 0, "nonce": 0}
    raw = bytes(Account.sign_transaction(fields, key).raw_transaction)
    assert refuse(bench, raw).startswith("only replay-protected")


def test_an_empty_account_cannot_pay(bench: Any) -> None:
    fields = {"to": STRANGER_BYTES, "value": 1, "gas": 21_000, "gasPrice": 2, "nonce": 0}
    stranger = Account.create()
    raw = bytes(stranger.sign_transaction(fields | {"chainId": 31337}).raw_transaction)
    assert refuse(bench, raw) == (
        "insufficient funds for gas * price + value: balance 0, tx cost 42001, overshot 42001"
    )


def test_an_account_can_spend_its_whole_balance(bench: Any) -> None:
    poor = Account.create()
    bench.send(to=poor.address.lower(), value=42_001)
    fields = {"to": STRANGER_BYTES, "value": 1, "gas": 21_000, "gasPrice": 2, "nonce": 0}
    bench.chain.submit(bytes(poor.sign_transaction(fields | {"chainId": 31337}).raw_transaction))
    assert bench.chain.account(poor.address.lower()).balance == 0


def test_a_gas_limit_below_the_minimum_is_refused(bench: Any) -> None:
    assert refuse(bench, sign(bench, gas=20_999)) == "intrinsic gas too low"


def test_a_gas_limit_above_the_block_limit_is_refused(bench: Any) -> None:
    assert refuse(bench, sign(bench, gas=30_000_001)) == "exceeds block gas limit"


@pytest.mark.parametrize(
    "raw", ["", "00", "03c0", "7f", "c0", "02c0", "f800", "c78080808080808080"]
)
def test_bytes_that_are_not_a_transaction_are_refused(bench: Any, raw: str) -> None:
    assert refuse(bench, bytes.fromhex(raw))


def test_a_truncated_transaction_is_refused(bench: Any) -> None:
    raw = sign(bench)
    for end in range(len(raw)):
        assert refuse(bench, raw[:end])


def test_a_refused_transaction_changes_nothing(bench: Any) -> None:
    head = bench.chain.head
    refuse(bench, sign(bench, nonce=4))
    assert bench.chain.head is head


def test_block_times_follow_the_clock_and_always_increase(bench: Any) -> None:
    start = bench.watch.now
    times = [bench.chain.mine().timestamp, bench.chain.mine().timestamp]
    bench.watch.now = start + 60
    times.append(bench.chain.mine().timestamp)
    bench.chain.advance_clock(1_000)
    times.append(bench.chain.mine().timestamp)
    assert times == [start + 1, start + 2, start + 60, start + 1_060]


def test_a_listener_is_called_for_each_block_until_it_is_stopped(bench: Any) -> None:
    heard: list[int] = []
    stop = bench.chain.on_block(lambda block: heard.append(block.number))
    bench.chain.mine()
    bench.send(to=STRANGER)
    stop()
    bench.chain.mine()
    assert heard == [1, 2]


def test_a_failing_listener_does_not_stop_the_chain(bench: Any) -> None:
    heard: list[int] = []

    def fail(_: Any) -> None:
        raise RuntimeError("not today")

    bench.chain.on_block(fail)
    bench.chain.on_block(lambda block: heard.append(block.number))
    bench.chain.mine()
    assert heard == [1]


def test_the_marketplace_has_a_fixed_address_and_is_deployed_once(bench: Any) -> None:
    address = deploy_marketplace(bench.chain)
    assert address == "0x5FbDB2315678afecb367f032d93F642f64180aa3"
    assert bench.chain.account(address.lower()).code
    assert deploy_marketplace(bench.chain) == address
    assert bench.chain.head.number == 1


def test_the_adapter_is_deployed_once_regardless_of_earlier_transactions(bench: Any) -> None:
    deploy_marketplace(bench.chain)
    bench.send(to=STRANGER)
    address = deploy_adapter(bench.chain)
    assert bench.chain.account(address.lower()).code
    assert deploy_adapter(bench.chain) == address
    assert bench.chain.head.number == 3


def test_the_marketplace_can_be_deployed_only_by_an_unused_first_account(bench: Any) -> None:
    bench.send(to=STRANGER)
    with pytest.raises(DeploymentImpossible):
        deploy_marketplace(bench.chain)


def test_reverting_to_a_snapshot_undoes_blocks_and_state(bench: Any) -> None:
    counter = bench.deploy(COUNTER)
    name = bench.chain.snapshot()
    before = bench.chain.head
    gone = bench.send(to=counter)
    assert bench.chain.restore(name)
    assert bench.chain.head.hash == before.hash
    assert bench.chain.slot(counter, 0) == 0
    assert bench.chain.block_of(gone.transaction.hash) is None
    assert not bench.chain.restore(name)
