"""Contract wallets on a real node: their signatures and their transactions."""

import base64
import hashlib
import json
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Protocol

from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.hazmat.primitives.asymmetric.utils import decode_dss_signature
from eth_abi.abi import encode
from eth_account.messages import SignableMessage, encode_defunct, encode_typed_data
from eth_account.signers.local import LocalAccount
from eth_utils.address import to_checksum_address
from tests.anvil.node import CHAIN_ID, GAS_PRICE, Anvil, Receipt, encode_call, open_account

from imprint.domain.formats.addresses import ZERO_ADDRESS, keccak256

HERE = Path(__file__).parent
OWN = HERE.parent / "contracts"
SAFE = HERE / "node_modules/@safe-global/safe-smart-account/build/artifacts/contracts"
ERC4337 = HERE / "node_modules/@account-abstraction/contracts/artifacts"

MARK = bytes.fromhex("6492" * 16)
"""The suffix of a signature by a wallet that is not deployed yet (ERC-6492)."""

P256_ORDER = 0xFFFFFFFF00000000FFFFFFFFFFFFFFFFBCE6FAADA7179E84F3B9CAC2FC632551

CALL = ["address", "uint256", "bytes"]
"""The ABI types of a wallet's call: receiver, value and data."""

BATCH_MODE = bytes.fromhex("01".ljust(64, "0"))
"""Execution mode for several calls that all succeed or all fail (ERC-7821)."""

OPERATION = "(address,uint256,bytes,bytes,bytes32,uint256,bytes32,bytes,bytes)"


def read_artifact(path: Path) -> dict[str, Any]:
    """Read the artifact of a compiled contract."""
    return dict(json.loads(path.read_text(encoding="utf-8")))


def digest_of(message: SignableMessage) -> bytes:
    """Return the 32-byte digest that is signed for a message."""
    return keccak256(b"\x19" + message.version + message.header + message.body)


def sign_digest(account: LocalAccount, digest: bytes) -> bytes:
    """Sign a 32-byte digest with a key, and return r, s and v."""
    return bytes(account.unsafe_sign_hash(digest).signature)


def wrap(factory: str, prepare: bytes, signature: bytes) -> bytes:
    """Wrap the signature of a wallet that its factory has not deployed yet (ERC-6492)."""
    return encode(["address", "bytes", "bytes"], [factory, prepare, signature]) + MARK


class ContractWallet(Protocol):
    """An account with code."""

    @property
    def anvil(self) -> Anvil: ...

    @property
    def address(self) -> str: ...

    def sign(self, message: SignableMessage, declaration: str = "") -> bytes:
        """Sign a text, or typed data whose type is given in EIP-712 notation."""

    def send(self, to: str, data: bytes, value: int = 0) -> Receipt:
        """Send a call from the wallet."""


@dataclass(frozen=True, slots=True)
class Creation:
    """The creation of a wallet by this project's factory, with constructor arguments."""

    anvil: Anvil
    factory: str
    artifact: str
    arguments: bytes

    @property
    def call(self) -> bytes:
        """The call data for the factory."""
        code = read_artifact(OWN / f"{self.artifact}.json")["bytecode"]
        given = [bytes.fromhex(code[2:]) + self.arguments, bytes(32)]
        return encode_call("deploy", ["bytes", "bytes32"], given)

    def find_address(self) -> str:
        """Return the current or future address of the wallet."""
        return str(to_checksum_address(self.anvil.call(self.factory, self.call)[12:]))


@dataclass(frozen=True, slots=True)
class OwnedWallet:
    """A custom wallet that accepts signatures by its owner's key."""

    anvil: Anvil
    owner: LocalAccount
    factory: str
    prepare: bytes
    address: str

    @classmethod
    def open(cls, anvil: Anvil, factory: str, owner: LocalAccount, deploy: bool) -> "OwnedWallet":
        """Open a wallet that its factory deploys now or on demand."""
        creation = Creation(anvil, factory, "OwnedWallet", encode(["address"], [owner.address]))
        if deploy:
            anvil.transact(open_account(0), factory, creation.call)
        return cls(anvil, owner, factory, creation.call, creation.find_address())

    def sign(self, message: SignableMessage, declaration: str = "") -> bytes:
        signature = sign_digest(self.owner, digest_of(message))
        if self.anvil.has_code(self.address):
            return signature
        return wrap(self.factory, self.prepare, signature)

    def send(self, to: str, data: bytes, value: int = 0) -> Receipt:
        call = encode_call("execute", CALL, [to, value, data])
        return self.anvil.transact(self.owner, self.address, call)


@dataclass(frozen=True, slots=True)
class SafeContracts:
    """The contracts shared by all Safes on a chain."""

    singleton: str
    factory: str
    handler: str
    library: str
    """A library that signs messages on the chain when a Safe delegates a call to it."""

    @classmethod
    def deploy(cls, anvil: Anvil) -> "SafeContracts":
        names = (
            "Safe.sol/Safe",
            "proxies/SafeProxyFactory.sol/SafeProxyFactory",
            "handler/CompatibilityFallbackHandler.sol/CompatibilityFallbackHandler",
            "libraries/SignMessageLib.sol/SignMessageLib",
        )
        return cls(*(anvil.create(read_artifact(SAFE / f"{name}.json")) for name in names))

    def encode_creation(self, owners: Sequence[str], threshold: int, salt: int) -> bytes:
        """Encode the call that creates a Safe."""
        kinds = ["address[]", "uint256", "address", "bytes", "address", "address"]
        nobody = ZERO_ADDRESS
        values = [owners, threshold, nobody, b"", self.handler, nobody, 0, nobody]
        setup = encode_call("setup", [*kinds, "uint256", "address"], values)
        kinds = ["address", "bytes", "uint256"]
        return encode_call("createProxyWithNonce", kinds, [self.singleton, setup, salt])


@dataclass(frozen=True, slots=True)
class SafeWallet:
    """A Safe with several owners, of whom `signers` sign."""

    anvil: Anvil
    contracts: SafeContracts
    prepare: bytes
    address: str
    signers: Sequence[LocalAccount]

    @classmethod
    def open(
        cls,
        anvil: Anvil,
        contracts: SafeContracts,
        owners: Sequence[LocalAccount],
        threshold: int,
        deploy: bool,
    ) -> "SafeWallet":
        """Open a Safe that its factory deploys now or on demand."""
        addresses = [owner.address for owner in owners]
        creation = contracts.encode_creation(addresses, threshold, salt=7)
        address = to_checksum_address(anvil.call(contracts.factory, creation)[12:])
        if deploy:
            anvil.transact(open_account(0), contracts.factory, creation)
        return cls(anvil, contracts, creation, address, owners[:threshold])

    def message(self, digest: bytes) -> SignableMessage:
        """Return the message that the owners sign when the Safe signs a 32-byte digest."""
        types = {"SafeMessage": [{"name": "message", "type": "bytes"}]}
        return encode_typed_data(self._domain, types, {"message": digest})

    def combine(self, message: SignableMessage) -> bytes:
        """Return the owners' signatures in the order of their addresses, the last by `eth_sign`."""
        digest = digest_of(message)
        ordered = sorted(self.signers, key=lambda owner: int(owner.address, 16))
        parts = [sign_digest(owner, digest) for owner in ordered[:-1]]
        return b"".join(parts) + sign_as_text(ordered[-1], digest)

    def sign(self, message: SignableMessage, declaration: str = "") -> bytes:
        signature = self.combine(self.message(digest_of(message)))
        if self.anvil.has_code(self.address):
            return signature
        return wrap(self.contracts.factory, self.prepare, signature)

    def send(self, to: str, data: bytes, value: int = 0, delegated: bool = False) -> Receipt:
        relayer = open_account(0)
        if not self.anvil.has_code(self.address):
            self.anvil.transact(relayer, self.contracts.factory, self.prepare)
        names = ["safeTxGas", "baseGas", "gasPrice"]
        members = [("to", "address"), ("value", "uint256"), ("data", "bytes")]
        members += [("operation", "uint8"), *((name, "uint256") for name in names)]
        members += [("gasToken", "address"), ("refundReceiver", "address"), ("nonce", "uint256")]
        nonce = int.from_bytes(self.anvil.call(self.address, encode_call("nonce", [], [])))
        values = [to, value, data, int(delegated), 0, 0, 0, ZERO_ADDRESS, ZERO_ADDRESS, nonce]
        types = {"SafeTx": [{"name": name, "type": kind} for name, kind in members]}
        message = {name: value for (name, _), value in zip(members, values, strict=True)}
        signatures = self.combine(encode_typed_data(self._domain, types, message))
        kinds = [kind for _, kind in members[:-1]]
        call = encode_call("execTransaction", [*kinds, "bytes"], [*values[:-1], signatures])
        return self.anvil.transact(relayer, self.address, call)

    @property
    def _domain(self) -> dict[str, Any]:
        return {"chainId": CHAIN_ID, "verifyingContract": self.address}


def sign_as_text(owner: LocalAccount, digest: bytes) -> bytes:
    """Sign for an owner whose wallet signs only texts. A Safe recognizes this by a higher v."""
    signed = bytes(owner.sign_message(encode_defunct(primitive=digest)).signature)
    return signed[:64] + bytes([signed[64] + 4])


@dataclass(frozen=True, slots=True)
class Passkey:
    """A passkey: a P-256 key whose authenticator signs challenges from web pages."""

    secret: int
    origin: str = "https://app.example"
    key: ec.EllipticCurvePrivateKey = field(init=False, repr=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "key", ec.derive_private_key(self.secret, ec.SECP256R1()))

    @property
    def point(self) -> tuple[bytes, bytes]:
        numbers = self.key.public_key().public_numbers()
        return numbers.x.to_bytes(32), numbers.y.to_bytes(32)

    def respond(self, challenge: bytes, flags: int = 0x05, kind: str = "webauthn.get") -> bytes:
        """Return the assertion for a challenge, in the format of the wallet contract.

        The flags state that the user was present and verified.
        """
        text = base64.urlsafe_b64encode(challenge).rstrip(b"=").decode()
        said = {"type": kind, "challenge": text, "origin": self.origin, "crossOrigin": False}
        client_data = json.dumps(said, separators=(",", ":"))
        host = self.origin.removeprefix("https://")
        authenticator = hashlib.sha256(host.encode()).digest() + bytes([flags]) + (1).to_bytes(4)
        signed = authenticator + hashlib.sha256(client_data.encode()).digest()
        algorithm = ec.ECDSA(hashes.SHA256(), deterministic_signing=True)
        r, s = decode_dss_signature(self.key.sign(signed, algorithm))
        kinds = ["bytes32", "bytes32", "uint256", "uint256", "bytes", "string"]
        # Contracts accept only the lower of the two valid values of s. Authenticators return
        # either.
        lower = min(s, P256_ORDER - s)
        places = [client_data.index(f'"{name}"') for name in ("challenge", "type")]
        return encode(
            kinds, [r.to_bytes(32), lower.to_bytes(32), *places, authenticator, client_data]
        )


@dataclass(frozen=True, slots=True)
class PasskeyWallet:
    """An ERC-4337 account whose operations and messages are signed by a passkey."""

    anvil: Anvil
    passkey: Passkey
    entry_point: str
    factory: str
    prepare: bytes
    address: str

    @classmethod
    def open(
        cls, anvil: Anvil, entry_point: str, factory: str, passkey: Passkey
    ) -> "PasskeyWallet":
        """Open the account of a passkey. The account's first operation deploys it."""
        given = encode(["address", "bytes32", "bytes32"], [entry_point, *passkey.point])
        creation = Creation(anvil, factory, "PasskeyWallet", given)
        return cls(anvil, passkey, entry_point, factory, creation.call, creation.find_address())

    def sign(self, message: SignableMessage, declaration: str = "") -> bytes:
        signature = self.passkey.respond(digest_of(message))
        if self.anvil.has_code(self.address):
            return signature
        return wrap(self.factory, self.prepare, signature)

    def send(self, to: str, data: bytes, value: int = 0) -> Receipt:
        bundler = open_account(0)
        asked = encode_call("getNonce", ["address", "uint192"], [self.address, 0])
        nonce = int.from_bytes(self.anvil.call(self.entry_point, asked))
        deployed = self.anvil.has_code(self.address)
        creation = b"" if deployed else bytes.fromhex(self.factory[2:]) + self.prepare
        call = encode_call("execute", CALL, [to, value, data])
        limits = (2_000_000).to_bytes(16) + (1_000_000).to_bytes(16)
        fees = GAS_PRICE.to_bytes(16) + GAS_PRICE.to_bytes(16)
        operation = (self.address, nonce, creation, call, limits, 100_000, fees, b"")
        asked = encode_call("getUserOpHash", [OPERATION], [(*operation, b"")])
        signature = self.passkey.respond(self.anvil.call(self.entry_point, asked))
        values = [[(*operation, signature)], bundler.address]
        run = encode_call("handleOps", [f"{OPERATION}[]", "address"], values)
        return self.anvil.transact(bundler, self.entry_point, run)


@dataclass(frozen=True, slots=True)
class Delegation:
    """An account that has a key and delegates to the contract at `code`."""

    anvil: Anvil
    key: LocalAccount
    code: str

    @property
    def address(self) -> str:
        return str(self.key.address)


class KeyedDelegation(Delegation):
    """An EIP-7702 account that delegates to the contract at `code` but signs with its own key.

    Its first transaction sets up the delegation and is also its first call.
    """

    def sign(self, message: SignableMessage, declaration: str = "") -> bytes:
        return sign_digest(self.key, digest_of(message))

    def send(self, to: str, data: bytes, value: int = 0) -> Receipt:
        call = encode_call("execute", CALL, [to, value, data])
        return send_delegated(self.anvil, self.key, self.code, call)


class NestedDelegation(Delegation):
    """An account whose delegated code accepts nested signatures by its key (ERC-7739)."""

    def sign(self, message: SignableMessage, declaration: str = "") -> bytes:
        domain = {
            "name": "DelegatedWallet",
            "version": "1",
            "chainId": CHAIN_ID,
            "verifyingContract": self.address,
        }
        if message.version == b"E":
            types = {"PersonalSign": [{"name": "prefixed", "type": "bytes"}]}
            prefixed = b"\x19" + message.version + message.header + message.body
            nested = encode_typed_data(domain, types, {"prefixed": prefixed})
            return sign_digest(self.key, digest_of(nested))
        return self._sign_nested(message, declaration, encode_domain(domain))

    def _sign_nested(self, message: SignableMessage, declaration: str, domain: bytes) -> bytes:
        name = declaration[: declaration.index("(")]
        members = "string name,string version,uint256 chainId,address verifyingContract"
        whole = f"TypedDataSign({name} contents,{members},bytes32 salt){declaration}"
        contents = keccak256(keccak256(whole.encode()) + message.body + domain)
        digest = keccak256(b"\x19\x01" + message.header + contents)
        described = message.header + message.body + declaration.encode()
        return sign_digest(self.key, digest) + described + len(declaration).to_bytes(2)

    def send(self, to: str, data: bytes, value: int = 0) -> Receipt:
        calls = encode([f"({','.join(CALL)})[]"], [[(to, value, data)]])
        call = encode_call("execute", ["bytes32", "bytes"], [BATCH_MODE, calls])
        return send_delegated(self.anvil, self.key, self.code, call)


def encode_domain(domain: dict[str, Any]) -> bytes:
    """Encode the members of a wallet's domain as hashed in its nested signatures."""
    name, version = (keccak256(domain[member].encode()) for member in ("name", "version"))
    kinds = ["bytes32", "bytes32", "uint256", "address", "bytes32"]
    return encode(kinds, [name, version, domain["chainId"], domain["verifyingContract"], bytes(32)])


def delegate(anvil: Anvil, key: LocalAccount, code: str) -> None:
    """Delegate an account to a contract in a transaction sent by another account (EIP-7702)."""
    authorization = authorize(key, code, anvil.count_transactions(key.address))
    relayer = open_account(0)
    anvil.transact(relayer, relayer.address, b"", **_set_code(authorization))


def send_delegated(anvil: Anvil, key: LocalAccount, code: str, call: bytes) -> Receipt:
    """Call an account's delegated code, setting up the delegation in the same transaction."""
    if anvil.has_code(key.address):
        return anvil.transact(key, key.address, call)
    # The transaction itself takes a nonce before the delegation does.
    authorization = authorize(key, code, anvil.count_transactions(key.address) + 1)
    return anvil.transact(key, key.address, call, **_set_code(authorization))


def authorize(key: LocalAccount, code: str, nonce: int) -> Any:
    """Sign an account's authorization to run the code of a contract as its own."""
    return key.sign_authorization({"chainId": CHAIN_ID, "address": code, "nonce": nonce})


def _set_code(authorization: Any) -> dict[str, Any]:
    return {
        "type": 4,
        "maxFeePerGas": GAS_PRICE,
        "maxPriorityFeePerGas": GAS_PRICE,
        "authorizationList": [authorization],
    }


@dataclass(frozen=True, slots=True)
class WalletContracts:
    """The contracts on a chain that the various types of wallets need."""

    anvil: Anvil
    safe: SafeContracts
    entry_point: str
    factory: str
    delegated: str
    simple_7702: str

    @classmethod
    def deploy(cls, anvil: Anvil) -> "WalletContracts":
        return cls(
            anvil,
            SafeContracts.deploy(anvil),
            anvil.create(read_artifact(ERC4337 / "EntryPoint.json")),
            anvil.create(read_artifact(OWN / "WalletFactory.json")),
            anvil.create(read_artifact(OWN / "DelegatedWallet.json")),
            anvil.create(read_artifact(ERC4337 / "Simple7702Account.json")),
        )

    def open(self, kind: str, index: int = 0) -> ContractWallet:
        """Open a funded wallet of the given type. Each index stands for a different wallet."""
        wallet = self._open(kind, index)
        self.anvil.give(wallet.address)
        return wallet

    def open_safe(self, index: int = 0, deploy: bool = True) -> SafeWallet:
        """Open a Safe with three owners, two of whom sign."""
        return SafeWallet.open(self.anvil, self.safe, _accounts(index), 2, deploy)

    def open_passkey(self, index: int = 0) -> PasskeyWallet:
        passkey = Passkey(int.from_bytes(keccak256(f"passkey {index}".encode())))
        return PasskeyWallet.open(self.anvil, self.entry_point, self.factory, passkey)

    def open_owned(self, index: int = 0, deploy: bool = True) -> OwnedWallet:
        return OwnedWallet.open(self.anvil, self.factory, _accounts(index)[0], deploy)

    def open_nested(self, index: int = 0) -> NestedDelegation:
        """Open an account that has already delegated."""
        key = _accounts(index)[0]
        delegate(self.anvil, key, self.delegated)
        return NestedDelegation(self.anvil, key, self.delegated)

    def _open(self, kind: str, index: int) -> ContractWallet:
        if kind == "passkey":
            return self.open_passkey(index)
        if kind == "owned":
            return self.open_owned(index)
        if kind == "delegated-key":
            return KeyedDelegation(self.anvil, _accounts(index)[0], self.simple_7702)
        if kind == "delegated-code":
            return self.open_nested(index)
        return self.open_safe(index, deploy=kind == "safe")


def _accounts(index: int) -> list[LocalAccount]:
    return [open_account(4 * index + place) for place in range(1, 4)]
