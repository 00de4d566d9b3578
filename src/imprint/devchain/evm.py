"""The virtual machine: holds the chain's accounts and storage, and runs messages on them."""

import re
from collections.abc import Sequence
from dataclasses import dataclass, field

import pyrevm
import tiny_keccak

BLOCK_GAS_LIMIT = 30_000_000
"""Gas limit of a block, and therefore of a transaction. Mainnet had this limit for years."""

COINBASE = "0x" + "00" * 20
"""The recipient of transaction fees. Nobody has a key for this address."""

_CODE_PADDING = 33
"""Number of zero bytes that pyrevm appends to analysed code."""

_STORAGE_ENTRY = re.compile(r"StorageChange \{ address: (0x[0-9a-f]{40}), key: (\d+)")
_DESTROYED_ENTRY = re.compile(r"AccountDestroyed \{ address: (0x[0-9a-f]{40})")
_REVERT_OUTPUT = re.compile(r"^Revert \{.* output: 0x([0-9a-f]*) \}$")

_REFUSALS = {
    "CallGasCostMoreThanGasLimit": "intrinsic gas too low",
    "LackOfFundForMaxFee": "insufficient funds for gas * price + value",
    "CreateInitCodeSizeLimit": "max initcode size exceeded",
    "RejectCallerWithCode": "sender not an eoa",
}


class MessageRefused(Exception):
    """The message cannot be run."""


@dataclass(frozen=True, slots=True)
class Account:
    """An account without its storage."""

    nonce: int = 0
    balance: int = 0
    code: bytes = b""


@dataclass(frozen=True, slots=True)
class Log:
    """A log emitted by a contract."""

    address: str
    topics: tuple[bytes, ...]
    data: bytes


@dataclass(frozen=True, slots=True)
class Message:
    """The input for a run. A run without a recipient creates a contract."""

    sender: str
    to: str | None
    data: bytes = b""
    value: int = 0
    gas: int = BLOCK_GAS_LIMIT
    gas_price: int = 0
    access_list: tuple[tuple[str, tuple[int, ...]], ...] = ()


@dataclass(frozen=True, slots=True)
class BlockContext:
    """The block context visible to running code."""

    number: int
    timestamp: int
    randomness: bytes


@dataclass(frozen=True, slots=True)
class Changes:
    """The accounts and storage slots changed by a run."""

    accounts: dict[str, Account] = field(default_factory=dict)
    slots: dict[tuple[str, int], int] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Outcome:
    """The result of a run. The changes exclude the fee and the sender's nonce.

    `halted` is the reason if the code neither returned nor reverted.
    """

    success: bool
    output: bytes
    halted: str | None
    gas_used: int
    created: str | None
    logs: tuple[Log, ...]
    changes: Changes


def keccak256(data: bytes) -> bytes:
    """Return the Keccak-256 digest of `data`."""
    return tiny_keccak.keccak256(data)


class Evm:
    """Accounts and storage, with pyrevm under the Cancun rules to run messages on them.

    pyrevm keeps everything that a run touched warm, as if all runs were one transaction.
    `run` therefore reads the changes and reverts them at once, and `apply` writes them into
    pyrevm's base state. Every run then starts cold, so that its gas costs are correct.
    """

    def __init__(self, chain_id: int, accounts: dict[str, Account]) -> None:
        self._chain_id = chain_id
        self._accounts = dict(accounts)
        self._slots: dict[tuple[str, int], int] = {}
        self._engine = self._start_engine()

    def account(self, address: str) -> Account:
        """Return an account. An unused account is empty."""
        return self._accounts.get(address, Account())

    def slot(self, address: str, index: int) -> int:
        """Return the value of a storage slot."""
        return self._slots.get((address, index), 0)

    def run(self, message: Message, block: BlockContext) -> Outcome:
        """Run a message and revert its changes. Raises `MessageRefused` if it cannot be run."""
        engine = self._engine
        engine.set_block_env(
            pyrevm.BlockEnv(
                number=block.number,
                timestamp=block.timestamp,
                prevrandao=block.randomness,
                coinbase=COINBASE,
                basefee=0,
                gas_limit=BLOCK_GAS_LIMIT,
                excess_blob_gas=0,
            )
        )
        listed = [(address, list(slots)) for address, slots in message.access_list]
        engine.set_tx_env(pyrevm.TxEnv(access_list=listed))
        checkpoint = engine.snapshot()
        try:
            return self._execute(message)
        finally:
            if message.access_list:
                # pyrevm keeps entries of an access list warm, even after a revert.
                self._engine = self._start_engine()
            else:
                engine.revert(checkpoint)
                engine.reset_transient_storage()

    def apply(self, changes: Changes) -> None:
        """Apply the changes of a run to the accounts and storage."""
        self._accounts.update(changes.accounts)
        self._slots.update(changes.slots)
        _write(self._engine, changes)

    def _start_engine(self) -> pyrevm.EVM:
        environment = pyrevm.Env(cfg=pyrevm.CfgEnv(chain_id=self._chain_id))
        engine = pyrevm.EVM(environment, gas_limit=BLOCK_GAS_LIMIT, spec_id="CANCUN")
        _write(engine, Changes(self._accounts, self._slots))
        return engine

    def _execute(self, message: Message) -> Outcome:
        engine = self._engine
        created = None
        try:
            if message.to is None:
                created = engine.deploy(
                    message.sender, message.data, message.value, message.gas, message.gas_price
                ).lower()
                output = self._read_code(created)
            else:
                output = engine.message_call(
                    message.sender,
                    message.to,
                    message.data,
                    message.value,
                    message.gas,
                    message.gas_price,
                )
        except RuntimeError as error:
            return self._translate(error)
        result = engine.result
        if result is None:
            raise RuntimeError("pyrevm ended a run without a result")
        return Outcome(
            success=True,
            output=bytes(output),
            halted=None,
            gas_used=result.gas_used,
            created=created,
            logs=_read_logs(result.logs),
            changes=self._read_changes(),
        )

    def _translate(self, error: RuntimeError) -> Outcome:
        text = str(error)
        result = self._engine.result
        if result is None:
            known = next((reason for name, reason in _REFUSALS.items() if name in text), text)
            raise MessageRefused(known) from error
        reverted = _REVERT_OUTPUT.match(text)
        return Outcome(
            success=False,
            output=bytes.fromhex(reverted[1]) if reverted else b"",
            halted=None if reverted else result.reason,
            gas_used=result.gas_used,
            created=None,
            logs=(),
            changes=Changes(),
        )

    def _read_changes(self) -> Changes:
        journal = self._engine.journal_str
        destroyed = set(_DESTROYED_ENTRY.findall(journal))
        accounts: dict[str, Account] = {}
        for mixed_case, info in self._engine.journal_state.items():
            address = mixed_case.lower()
            if address in destroyed:
                continue
            before = self.account(address)
            now = Account(info.nonce, info.balance, before.code or self._read_code(address))
            if now != before:
                accounts[address] = now
        slots: dict[tuple[str, int], int] = {}
        for address, key in _STORAGE_ENTRY.findall(journal):
            value = self._engine.storage(address, int(key))
            if address not in destroyed and value != self.slot(address, int(key)):
                slots[address, int(key)] = value
        return Changes(accounts, slots)

    def _read_code(self, address: str) -> bytes:
        info = self._engine.basic(address)
        code = bytes(info.code or b"")[:-_CODE_PADDING]
        if keccak256(code) != info.code_hash:
            raise RuntimeError("pyrevm returned code that does not match its hash")
        return code


def _read_logs(logs: Sequence[pyrevm.Log]) -> tuple[Log, ...]:
    return tuple(
        Log(log.address.lower(), tuple(bytes(topic) for topic in log.data[0]), bytes(log.data[1]))
        for log in logs
    )


def _write(engine: pyrevm.EVM, changes: Changes) -> None:
    for address, account in changes.accounts.items():
        info = pyrevm.AccountInfo(  # type: ignore[call-arg] # its stub lacks the balance
            balance=account.balance,
            nonce=account.nonce,
            code=account.code or None,
            code_hash=keccak256(account.code),
        )
        engine.insert_account_info(address, info)
    for (address, index), value in changes.slots.items():
        # Inserting also loads the account into the current run. Reverting keeps it cold.
        checkpoint = engine.snapshot()
        engine.insert_account_storage(address, index, value)
        engine.revert(checkpoint)
