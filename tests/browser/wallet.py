"""A browser wallet, announced by EIP-6963, that signs with the keys of test accounts.

The test plays the user of the wallet, who unlocks the wallet, rejects requests, or chooses
another account or network.
"""

import json
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import httpx2
from tests.browser.accounts import Account, Chain, NodeRefusal

PROMPTS = (
    "eth_requestAccounts",
    "personal_sign",
    "eth_signTypedData_v4",
    "eth_sendTransaction",
    "wallet_sendCalls",
    "wallet_switchEthereumChain",
    "wallet_addEthereumChain",
)
"""Methods whose requests the user must confirm."""

BALANCE_OF = "0x00fdd58e"
"""The selector of ERC-6909's `balanceOf`."""

BATCH_METHODS = ("wallet_getCapabilities", "wallet_sendCalls", "wallet_getCallsStatus")

UNKNOWN_BATCH = 5730
"""The error code of EIP-5792 for a batch that the wallet does not know."""

SCRIPT = (Path(__file__).parent / "wallet.js").read_text(encoding="utf-8")


class WalletError(Exception):
    """An error in the format of EIP-1193."""

    def __init__(self, code: int, message: str, data: object = None) -> None:
        super().__init__(message)
        self.code = code
        self.data = data


@dataclass(slots=True)
class BrowserWallet:
    """A wallet connected to a node. `accounts` are those exposed to pages."""

    chain: Chain
    accounts: list[Account]
    chain_id: int = field(init=False)
    """The network chosen by the user."""
    connected: bool = False
    locked: bool = False
    knows_chain: bool = True
    refuses: set[str] = field(default_factory=set)
    """Methods that the user rejects, until the test removes them from this set."""
    unreachable: bool = False
    """Whether the wallet's node does not respond."""
    undecided: set[str] = field(default_factory=set)
    """Methods whose requests wait for the user, until the test removes the method from this set."""
    waits_for_blocks: bool = False
    """Whether the wallet's node appears to have mined no new blocks."""
    withholds: set[str] = field(default_factory=set)
    """Methods for which the node returns null, as if it had not seen a transaction yet."""
    misreports: set[str] = field(default_factory=set)
    """Methods that are executed but reported to the page as failed."""
    batches: dict[str, list[dict[str, str]]] | None = None
    """The calls of each batch by its id; None for a wallet without batches (EIP-5792)."""
    delays_batches: bool = False
    """Whether the wallet leaves batches pending instead of sending their calls."""
    prompts: list[str] = field(default_factory=list)
    """The methods for which the user was prompted, in order."""
    asked: set[str] = field(default_factory=set)
    """Methods called by pages."""
    handled: set[str] = field(default_factory=set)
    """Methods whose responses have reached a page."""
    sent: list[str] = field(default_factory=list)
    """The hashes of the transactions sent."""
    pages: list[Any] = field(default_factory=list)
    last: tuple[str, str] = ("", "")
    """The last prompt: a method and its parameters as JSON."""
    keys: dict[str, Account] = field(default_factory=dict)
    """All accounts ever exposed to pages, by lower-case address."""

    def __post_init__(self) -> None:
        self.chain_id = self.chain.id
        self._keep_keys()

    @property
    def account(self) -> Account:
        """The account that pages see first."""
        return self.accounts[0]

    @property
    def addresses(self) -> list[str]:
        return [each.address for each in self.accounts]

    def attach(self, context: Any) -> None:
        """Announce the wallet to every page of a browser context."""

        # Not the bound method: Playwright sets attributes on its object, which has slots.
        def respond(source: Any, method: str, parameters: str, looks: int) -> dict[str, Any]:
            return self._receive(source, method, parameters, looks)

        context.expose_binding("__walletRequest", respond)
        context.add_init_script(SCRIPT)

    def choose(self, *accounts: Account) -> None:
        """Choose other accounts, as a user does in the wallet, and notify pages."""
        self.accounts = list(accounts)
        self._keep_keys()
        self.emit("accountsChanged", self.addresses if self.connected else [])

    def _keep_keys(self) -> None:
        self.keys.update({each.address.lower(): each for each in self.accounts})

    def choose_chain(self, chain_id: int) -> None:
        """Choose another network and notify pages."""
        self.chain_id = chain_id
        self.emit("chainChanged", hex(chain_id))

    def confirm_last(self) -> None:
        """Confirm the last prompt, even if its page has been closed."""
        method, parameters = self.last
        self._respond(method, json.loads(parameters))

    def emit(self, event: str, value: object) -> None:
        """Send an event to all pages."""
        for page in self.pages:
            if not page.is_closed():
                page.evaluate(
                    "([event, value]) => window.__walletEmit(event, value)", [event, value]
                )

    def _receive(self, source: Any, method: str, parameters: str, looks: int) -> dict[str, Any]:
        if method in PROMPTS and looks == 0:
            self.prompts.append(method)
            self.last = method, parameters
        self.asked.add(method)
        if method in self.undecided:
            return {"undecided": True}
        self.handled.add(method)
        try:
            result = self._respond(method, json.loads(parameters))
            if method in self.misreports:
                raise WalletError(-32603, "Internal JSON-RPC error.")
            return {"result": result}
        except WalletError as error:
            return {"error": {"code": error.code, "message": str(error), "data": error.data}}

    def _respond(self, method: str, parameters: Any) -> Any:
        if method in self.refuses:
            raise WalletError(4001, "User rejected the request.")
        match method:
            case "eth_accounts":
                return self.addresses if self.connected and not self.locked else []
            case "eth_requestAccounts":
                if self.locked:
                    raise WalletError(-32002, "Request already pending. Please wait.")
                self.connected = True
                return self.addresses
            case "eth_chainId":
                return hex(self.chain_id)
            case "wallet_switchEthereumChain":
                return self._switch(int(parameters[0]["chainId"], 16))
            case "wallet_addEthereumChain":
                self.knows_chain = True
                return self._switch(int(parameters[0]["chainId"], 16))
        if self.unreachable:
            raise WalletError(-32603, "Failed to fetch")
        if method in self.withholds:
            return None
        if method in PROMPTS and (self.locked or not self.connected):
            raise WalletError(4100, "The requested account has not been authorized by the user.")
        if self.batches is not None and method in BATCH_METHODS:
            return self._respond_with_batches(self.batches, method, parameters)
        result = self._call(method, parameters)
        if method == "eth_sendTransaction":
            self.sent.append(result)
        return self._without_blocks(method, parameters, result) if self.waits_for_blocks else result

    def _respond_with_batches(
        self, batches: dict[str, list[dict[str, str]]], method: str, parameters: Any
    ) -> Any:
        """Respond like a wallet that supports EIP-5792, and send the calls of a batch in turn."""
        match method:
            case "wallet_getCapabilities":
                return {hex(self.chain.id): {"atomic": {"status": "supported"}}}
            case "wallet_sendCalls":
                (batch,) = parameters
                assert (batch["atomicRequired"], batch["chainId"]) == (True, hex(self.chain.id))
                name = hex(len(batches) + 1)
                batches[name] = [{"from": batch["from"], **call} for call in batch["calls"]]
                return {"id": name}
        (name,) = parameters
        if name not in batches:
            raise WalletError(UNKNOWN_BATCH, "Unknown bundle id.")
        if self.delays_batches:
            return {"status": 100}
        while batches[name]:
            self.sent.append(self._call("eth_sendTransaction", [batches[name].pop(0)]))
        return {"status": 200, "receipts": [{"transactionHash": self.sent[-1]}]}

    @staticmethod
    def _without_blocks(method: str, parameters: Any, result: Any) -> Any:
        if method == "eth_getTransactionReceipt":
            return None
        if method == "eth_call" and parameters[0]["data"].startswith(BALANCE_OF):
            return f"0x{0:064x}"
        return result

    def _switch(self, chain_id: int) -> None:
        if not self.knows_chain:
            raise WalletError(4902, "Unrecognized chain ID.")
        self.chain_id = chain_id

    def _call(self, method: str, parameters: Any) -> Any:
        if method in PROMPTS and self.chain_id != self.chain.id:
            raise WalletError(-32000, "Another network is chosen.")
        try:
            match method:
                case "personal_sign":
                    return self._key(parameters[1]).sign_message(bytes.fromhex(parameters[0][2:]))
                case "eth_signTypedData_v4":
                    given = parameters[1]
                    data = json.loads(given) if isinstance(given, str) else given
                    return self._key(parameters[0]).sign_typed_data(data)
                case "eth_sendTransaction":
                    return self._key(parameters[0]["from"]).send(self.chain, parameters[0])
            return self.chain.ask(method, *(parameters or []))
        except NodeRefusal as error:
            raise WalletError(error.code, str(error), error.data) from error
        except httpx2.TransportError as error:
            raise WalletError(-32603, "Failed to fetch") from error

    def _key(self, address: str) -> Account:
        return self.keys[address.lower()]


NewWallet = Callable[..., BrowserWallet]


def wait_until(page: Any, is_so: Callable[[], bool]) -> None:
    """Let the page run until a condition holds that no locator can express."""
    for _ in range(600):
        if is_so():
            return
        page.wait_for_timeout(50)
    raise AssertionError("It has not come to that in half a minute.")
