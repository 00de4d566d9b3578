"""The development chain, made faster: it takes unsigned transactions, and is rewound at once."""

from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache, lru_cache
from hashlib import sha256
from typing import Self
from unittest.mock import patch

from imprint.devchain import blocks, evm
from imprint.devchain import chain as development
from imprint.devchain.blocks import EMPTY_ROOT, Block, Receipt
from imprint.devchain.chain import Chain
from imprint.devchain.evm import Account, Changes, Evm, keccak256
from imprint.devchain.journal import Journal
from imprint.devchain.transactions import DYNAMIC_FEE, Transaction

State = tuple[dict[str, Account], dict[tuple[str, int], int]]
"""All accounts and storage slots."""

GAS = 6_000_000


class SimulatedChain(Chain):
    """A chain that keeps the state of every block."""

    _states: dict[bytes, State]

    @classmethod
    def copy(cls, chain: Chain, clock: development.Clock) -> Self:
        """Copy a chain. The copy can be rewound only to the copied head or to a later block."""
        copied = cls.__new__(cls)
        copied.id, copied.wallet = chain.id, chain.wallet
        copied._journal = Journal(None, list(chain._journal.entries))
        copied._clock, copied._ahead = clock, 0
        copied._listeners, copied._snapshots = [], []
        copied._blocks = list(chain._blocks)
        copied._by_hash = dict(chain._by_hash)
        copied._by_transaction = dict(chain._by_transaction)
        state = chain._evm._accounts, chain._evm._slots
        copied._states = {chain.head.hash: state}
        copied._evm = _load(chain.id, state)
        return copied

    def send(self, sender: str, to: str, data: bytes, value: int) -> Block:
        """Mine a transaction of any sender. Raises `TransactionRefused`."""
        return self.submit(_sign(sender, self.account(sender).nonce, to, value, data))

    def rewind(self, height: int) -> None:
        """Drop all blocks above this height."""
        for block in self._blocks[height + 1 :]:
            if block.receipt is not None:
                del self._by_transaction[block.receipt.transaction.hash]
            del self._by_hash[block.hash]
        del self._blocks[height + 1 :]
        self._journal.rewind(height)
        self._evm = _load(self.id, self._states[self.head.hash])

    def _accept(self, block: Block, changes: Changes) -> None:
        state = self._states[self.head.hash]
        super()._accept(block, changes)
        if changes.accounts or changes.slots:
            state = (state[0] | changes.accounts, state[1] | changes.slots)
        self._states[block.hash] = state


def _load(chain_id: int, state: State) -> Evm:
    loaded = Evm.__new__(Evm)
    loaded._chain_id = chain_id
    loaded._accounts, loaded._slots = dict(state[0]), dict(state[1])
    loaded._engine = loaded._start_engine()
    return loaded


_SIGNED: dict[bytes, Transaction] = {}
"""All transactions, by their raw bytes."""


def _sign(sender: str, nonce: int, to: str, value: int, data: bytes) -> bytes:
    """Make a transaction whose raw bytes stand for it."""
    raw = f"{sender} {nonce} {to} {value} ".encode() + data
    if raw not in _SIGNED:
        _SIGNED[raw] = Transaction(
            kind=DYNAMIC_FEE,
            hash=keccak256(raw),
            raw=raw,
            sender=sender,
            chain_id=development.CHAIN_ID,
            nonce=nonce,
            to=to,
            value=value,
            data=data,
            gas=GAS,
            max_fee=0,
            max_priority_fee=0,
            access_list=(),
            v=0,
            r=1,
            s=1,
        )
    return raw


def _build_block(
    parent: Block | None, timestamp: int, receipt: Receipt | None, changes: Changes
) -> Block:
    """Build a block whose hash depends on its parent, its time and its transaction."""
    assert parent is not None
    raw = b"" if receipt is None else receipt.transaction.raw
    number = parent.number + 1
    return Block(
        number=number,
        hash=sha256(parent.hash + timestamp.to_bytes(8) + raw).digest(),
        parent_hash=parent.hash,
        timestamp=timestamp,
        state_root=EMPTY_ROOT,
        transactions_root=EMPTY_ROOT,
        receipts_root=EMPTY_ROOT,
        bloom=bytes(256) if receipt is None else receipt.bloom,
        randomness=parent.hash,
        gas_used=0 if receipt is None else receipt.gas_used,
        size=1000,
        receipt=receipt,
    )


_keccak256 = lru_cache(4096)(keccak256)
"""The code of contracts is hashed for every transaction."""


@contextmanager
def simple_blocks() -> Iterator[None]:
    """Build blocks without tries, and accept transactions without signatures."""
    _SIGNED.clear()
    with (
        patch.object(evm, "keccak256", _keccak256),
        patch.object(blocks, "keccak256", _keccak256),
        patch.object(development, "build_block", _build_block),
        patch.object(development, "decode_transaction", _SIGNED.__getitem__),
    ):
        yield


@cache
def selector(signature: str) -> bytes:
    """Return the first four bytes of the call data of a function."""
    return keccak256(signature.encode())[:4]
