"""The chain: mines each signed transaction into its own block and notifies listeners."""

import logging
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Self

from imprint.devchain.blocks import Block, Receipt, build_block, fill_bloom
from imprint.devchain.evm import (
    BLOCK_GAS_LIMIT,
    COINBASE,
    Account,
    BlockContext,
    Changes,
    Evm,
    Message,
    MessageRefused,
    Outcome,
)
from imprint.devchain.journal import Entry, Journal, JournalDamaged
from imprint.devchain.transactions import (
    INITIAL_BALANCE,
    Transaction,
    TransactionRefused,
    Wallet,
    decode_transaction,
)

CHAIN_ID = 31337
"""The default chain ID of development chains."""

Clock = Callable[[], int]
"""Returns the Unix time in whole seconds."""

_log = logging.getLogger(__name__)


class Chain:
    """A chain that mines each transaction into its own block as soon as it arrives.

    There is no base fee and no pool: a transaction that cannot be mined immediately is refused. The
    BLOCKHASH instruction does not return the hashes of this chain's blocks.
    """

    def __init__(self, journal: Journal, clock: Clock, chain_id: int = CHAIN_ID) -> None:
        self.id = chain_id
        self.wallet = Wallet()
        self._journal = journal
        self._clock = clock
        self._ahead = 0
        self._listeners: list[Callable[[Block], None]] = []
        self._snapshots: list[int] = []
        if not journal.entries:
            self._start(clock())
            journal.append(Entry(self.head.timestamp, None, self.head.hash))
        else:
            self._replay()

    @classmethod
    def open(cls, path: Path | None, clock: Clock, chain_id: int = CHAIN_ID) -> Self:
        """Open the chain stored in a journal, or create a new one.

        Raises `JournalInUse`, and `JournalDamaged`, also if the journal has another chain ID.
        """
        journal = Journal.open(path)
        try:
            return cls(journal, clock, chain_id)
        except JournalDamaged:
            journal.close()
            raise

    def close(self) -> None:
        """Close the journal of the chain."""
        self._journal.close()

    @property
    def head(self) -> Block:
        """The newest block."""
        return self._blocks[-1]

    def block(self, number: int) -> Block | None:
        """Return a block by its number."""
        return self._blocks[number] if 0 <= number < len(self._blocks) else None

    def block_by_hash(self, block_hash: bytes) -> Block | None:
        """Return a block by its hash."""
        return self._by_hash.get(block_hash)

    def block_of(self, transaction_hash: bytes) -> Block | None:
        """Return the block that contains a transaction."""
        return self._by_transaction.get(transaction_hash)

    def account(self, address: str) -> Account:
        """Return an account as of the newest block."""
        return self._evm.account(address)

    def slot(self, address: str, index: int) -> int:
        """Return the value of a storage slot as of the newest block."""
        return self._evm.slot(address, index)

    def run(self, message: Message) -> Outcome:
        """Run a message on the newest block without changing any state.

        Raises `MessageRefused` if the message cannot start.
        """
        head = self.head
        context = BlockContext(head.number, head.timestamp, head.randomness)
        return self._evm.run(message, context)

    def submit(self, raw: bytes) -> Block:
        """Mine a signed transaction. Raises `TransactionRefused`."""
        return self._mine(raw)

    def mine(self) -> Block:
        """Mine an empty block."""
        return self._mine(None)

    def advance_clock(self, seconds: int) -> int:
        """Shift future block timestamps ahead and return the total shift in seconds."""
        self._ahead += seconds
        return self._ahead

    def snapshot(self) -> int:
        """Take a snapshot at the current height and return the snapshot's number."""
        self._snapshots.append(self.head.number)
        return len(self._snapshots)

    def restore(self, snapshot: int) -> bool:
        """Revert to a snapshot and drop all later blocks. Returns False for an unknown snapshot.

        Each snapshot can be used only once.
        """
        if not 1 <= snapshot <= len(self._snapshots):
            return False
        height = self._snapshots[snapshot - 1]
        del self._snapshots[snapshot - 1 :]
        if height < self.head.number:
            self._journal.rewind(height)
            self._replay()
        return True

    def on_block(self, listener: Callable[[Block], None]) -> Callable[[], None]:
        """Call `listener` with each new block. The returned function unsubscribes the listener."""
        self._listeners.append(listener)
        return lambda: self._listeners.remove(listener)

    def _start(self, timestamp: int) -> None:
        funded = {address: Account(0, INITIAL_BALANCE) for address in self.wallet.addresses}
        self._evm = Evm(self.id, funded)
        self._blocks = [build_block(None, timestamp, None, Changes(funded))]
        self._by_hash = {self.head.hash: self.head}
        self._by_transaction: dict[bytes, Block] = {}

    def _replay(self) -> None:
        first, *later = self._journal.entries
        self._start(first.timestamp)
        hashes = [self.head.hash]
        for entry in later:
            try:
                block, changes = self._build(entry.raw, entry.timestamp)
            except TransactionRefused as error:
                raise JournalDamaged(
                    f"the journal contains a transaction that is refused ({error})"
                ) from error
            self._accept(block, changes)
            hashes.append(block.hash)
        if hashes != [entry.hash for entry in self._journal.entries]:
            raise JournalDamaged("the journal does not reproduce the blocks that it names")

    def _mine(self, raw: bytes | None) -> Block:
        timestamp = max(self.head.timestamp + 1, self._clock() + self._ahead)
        block, changes = self._build(raw, timestamp)
        self._journal.append(Entry(timestamp, raw, block.hash))
        self._accept(block, changes)
        for listener in tuple(self._listeners):
            try:
                listener(block)
            except Exception:  # noqa: BLE001 — a failing listener does not undo a block
                _log.exception("a listener failed on block %d", block.number)
        return block

    def _accept(self, block: Block, changes: Changes) -> None:
        self._evm.apply(changes)
        self._blocks.append(block)
        self._by_hash[block.hash] = block
        if block.receipt is not None:
            self._by_transaction[block.receipt.transaction.hash] = block

    def _build(self, raw: bytes | None, timestamp: int) -> tuple[Block, Changes]:
        # Running code cannot see its own transaction in the block, so an empty block is enough.
        draft = build_block(self.head, timestamp, None, Changes())
        if raw is None:
            return draft, Changes()
        transaction = decode_transaction(raw)
        price = self._admit(transaction)
        message = Message(
            sender=transaction.sender,
            to=transaction.to,
            data=transaction.data,
            value=transaction.value,
            gas=transaction.gas,
            gas_price=price,
            access_list=transaction.access_list,
        )
        context = BlockContext(draft.number, timestamp, draft.randomness)
        try:
            outcome = self._evm.run(message, context)
        except MessageRefused as error:
            raise TransactionRefused(str(error)) from error
        changes = self._charge(transaction, price * outcome.gas_used, outcome.changes)
        receipt = Receipt(
            transaction=transaction,
            success=outcome.success,
            gas_used=outcome.gas_used,
            gas_price=price,
            created=outcome.created,
            logs=outcome.logs,
            bloom=fill_bloom(outcome.logs),
        )
        return build_block(self.head, timestamp, receipt, changes), changes

    def _admit(self, transaction: Transaction) -> int:
        """Check a transaction against the chain state and return its gas price."""
        if transaction.chain_id != self.id:
            raise TransactionRefused(
                f"invalid chain id for signer: have {transaction.chain_id} want {self.id}"
            )
        account = self.account(transaction.sender)
        if transaction.nonce != account.nonce:
            word = "low" if transaction.nonce < account.nonce else "high"
            raise TransactionRefused(
                f"nonce too {word}: next nonce {account.nonce}, tx nonce {transaction.nonce}"
            )
        if transaction.gas > BLOCK_GAS_LIMIT:
            raise TransactionRefused("exceeds block gas limit")
        if transaction.max_priority_fee > transaction.max_fee:
            raise TransactionRefused("max priority fee per gas higher than max fee per gas")
        cost = transaction.gas * transaction.max_fee + transaction.value
        if cost > account.balance:
            raise TransactionRefused(
                "insufficient funds for gas * price + value: "
                f"balance {account.balance}, tx cost {cost}, overshot {cost - account.balance}"
            )
        return transaction.max_priority_fee

    def _charge(self, transaction: Transaction, fee: int, changes: Changes) -> Changes:
        """Add the fee and the sender's new nonce to the changes of a run.

        The sender runs no code, so it cannot have spent the fee during the run.
        """
        accounts = dict(changes.accounts)
        sender = accounts.get(transaction.sender, self.account(transaction.sender))
        accounts[transaction.sender] = replace(
            sender, nonce=transaction.nonce + 1, balance=sender.balance - fee
        )
        coinbase = accounts.get(COINBASE, self.account(COINBASE))
        accounts[COINBASE] = replace(coinbase, balance=coinbase.balance + fee)
        return Changes(accounts, changes.slots)
