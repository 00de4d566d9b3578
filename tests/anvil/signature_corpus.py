"""Valid and invalid signatures of every type, with viem's verdicts.

Keys, addresses and messages are derived from the seed of a `Random`, so a corpus is always
the same on a new chain.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from random import Random

from eth_abi.abi import encode
from eth_account import Account
from eth_account.messages import encode_defunct
from eth_account.signers.local import LocalAccount
from eth_utils.address import to_checksum_address
from tests.anvil.node import encode_call
from tests.anvil.signature_questions import Question, compact, encode_der, flip_bit, raise_s
from tests.anvil.wallets import (
    MARK,
    P256_ORDER,
    KeyedDelegation,
    OwnedWallet,
    Passkey,
    SafeWallet,
    WalletContracts,
    delegate,
    digest_of,
    sign_digest,
    wrap,
)

from imprint.auth.signatures import CURVE_ORDER, MAX_SIGNATURE_BYTES
from imprint.domain.formats.addresses import ZERO_ADDRESS, keccak256

MAGIC = bytes.fromhex("1626ba7e")

HIGH_S = "A key signs with the lower of two values of s, so that a signature has one form (EIP-2)."
COMPACT = "The 64 bytes of EIP-2098 are a signature of a key; viem takes 65 alone."
ONE_WORD = "A wallet returns exactly one word; viem takes more."
GAS = "A wallet is asked with four million gas; viem sets no limit."
LENGTH = "A signature has 16 KiB at most; viem sets no limit."
ZERO = "The zero address is nobody; viem takes what recovers to no key for its signature."
SHORT = "A signature may be empty, as that of a Safe that signed on the chain; viem's has 32 bytes."

DIFFERENCES = (HIGH_S, COMPACT, ONE_WORD, GAS, LENGTH, ZERO, SHORT)
"""The reasons why the service deliberately differs from viem."""


Sign = Callable[[Question, Random], bytes]


@dataclass(frozen=True, slots=True)
class Kind:
    """A way to sign for an address. `valid` is viem's verdict.

    The service agrees unless `difference` gives a reason not to.
    """

    name: str
    address: str
    sign: Sign
    valid: bool
    difference: str = ""

    @property
    def accepted(self) -> bool:
        """The verdict that the service is expected to reach."""
        return self.valid is not bool(self.difference)


OTHER = encode_defunct(text="Something else.")
"""A message other than the one to be signed."""


def build_kinds(contracts: WalletContracts, rng: Random) -> list[Kind]:
    """Build signatures of every type, with newly deployed wallets."""
    return [
        *_plain_kinds(rng),
        *_owned_kinds(contracts, rng),
        *_undeployed_kinds(contracts, rng),
        *_malformed_kinds(contracts),
        *_safe_kinds(contracts, rng),
        *_mixed_safe_kinds(contracts, rng),
        *_passkey_kinds(contracts),
        *_delegated_kinds(contracts, rng),
        *_constant_kinds(contracts),
    ]


def open_key(rng: Random) -> LocalAccount:
    """Create a new private key."""
    account: LocalAccount = Account.from_key(rng.randbytes(32))
    return account


def _plain_kinds(rng: Random) -> Iterator[Kind]:
    key, stranger = open_key(rng), open_key(rng)
    address, somebody = str(key.address), "0x" + rng.randbytes(20).hex()

    def signed(question: Question) -> bytes:
        return sign_digest(key, question.digest)

    def number(place: int, value: int) -> Sign:
        def replace_number(question: Question, rng: Random) -> bytes:
            at = 32 * place
            return signed(question)[:at] + value.to_bytes(32) + signed(question)[at + 32 :]

        return replace_number

    def parity(question: Question, rng: Random) -> bytes:
        return signed(question)[:64] + bytes([signed(question)[64] - 27])

    def wrong_parity(question: Question, rng: Random) -> bytes:
        return signed(question)[:64] + bytes([55 - signed(question)[64]])

    for name, sign, valid in (
        ("a key", lambda q, r: signed(q), True),
        ("a key with parity 0 or 1", parity, True),
        ("a key with the other parity", wrong_parity, False),
        ("a key for another digest", lambda q, r: sign_digest(key, digest_of(OTHER)), False),
        ("another key", lambda q, r: sign_digest(stranger, q.digest), False),
        ("a key with a bit changed", lambda q, r: flip_bit(signed(q), r), False),
        ("a key with v 35", lambda q, r: signed(q)[:64] + b"\x23", False),
        ("a key with a byte too many", lambda q, r: signed(q) + b"\0", False),
        ("a key with two bytes too few", lambda q, r: signed(q)[:63], False),
        ("a key in DER", lambda q, r: encode_der(signed(q)), False),
        ("a key with r 0", number(0, 0), False),
        ("a key with s 0", number(1, 0), False),
        ("a key with r of the order", number(0, CURVE_ORDER), False),
        ("a key with s of the order", number(1, CURVE_ORDER), False),
        ("a key, wrapped", lambda q, r: wrap(somebody, b"", signed(q)), False),
        ("no bytes for a key", lambda q, r: b"", False),
        ("65 random bytes for a key", lambda q, r: r.randbytes(65), False),
        ("random bytes for a key", lambda q, r: r.randbytes(r.randrange(1, 300)), False),
    ):
        yield Kind(name, address, sign, valid)
    yield Kind("a key with high s", address, lambda q, r: raise_s(signed(q)), True, HIGH_S)
    yield Kind("a key, compact", address, lambda q, r: compact(signed(q)), False, COMPACT)
    yield Kind(
        "a key with high s, wrapped",
        address,
        lambda q, r: wrap(somebody, b"", raise_s(signed(q))),
        False,
    )
    nothing = bytes(64) + b"\x1b"
    yield Kind("the zero address", ZERO_ADDRESS, lambda q, r: nothing, True, ZERO)


def _owned_kinds(contracts: WalletContracts, rng: Random) -> Iterator[Kind]:
    wallet, stranger = contracts.open_owned(1), open_key(rng)
    owner, factory = wallet.owner, wallet.factory

    def signed(question: Question) -> bytes:
        return sign_digest(owner, question.digest)

    for name, sign, valid in (
        ("a wallet", lambda q, r: signed(q), True),
        ("a wallet for another digest", lambda q, r: sign_digest(owner, digest_of(OTHER)), False),
        ("a stranger for a wallet", lambda q, r: sign_digest(stranger, q.digest), False),
        ("a wallet with a bit changed", lambda q, r: flip_bit(signed(q), r), False),
        ("a wallet with high s", lambda q, r: raise_s(signed(q)), True),
        ("a wallet, compact", lambda q, r: compact(signed(q)), False),
        ("no bytes for a wallet", lambda q, r: b"", False),
        ("random bytes for a wallet", lambda q, r: r.randbytes(r.randrange(1, 300)), False),
        ("a wallet, wrapped", lambda q, r: wrap(factory, wallet.prepare, signed(q)), True),
        ("a wallet, wrapped for nobody", lambda q, r: wrap(ZERO_ADDRESS, b"", signed(q)), True),
        (
            "a wallet, wrapped with a factory that reverts",
            lambda q, r: wrap(factory, r.randbytes(4), signed(q)),
            True,
        ),
        (
            "a stranger for a wallet, wrapped",
            lambda q, r: wrap(factory, wallet.prepare, sign_digest(stranger, q.digest)),
            False,
        ),
    ):
        yield Kind(name, wallet.address, sign, valid)


def _undeployed_kinds(contracts: WalletContracts, rng: Random) -> Iterator[Kind]:
    wallet, stranger = contracts.open_owned(2, deploy=False), open_key(rng)
    elsewhere = OwnedWallet.open(contracts.anvil, wallet.factory, stranger, deploy=False).prepare
    factory, nobody = wallet.factory, to_checksum_address(rng.randbytes(20))

    def signed(question: Question) -> bytes:
        return sign_digest(wallet.owner, question.digest)

    def wrapped(inner: bytes, to: str = factory, prepare: bytes = wallet.prepare) -> bytes:
        return wrap(to, prepare, inner)

    for name, sign, valid in (
        ("a new wallet", lambda q, r: wrapped(signed(q)), True),
        ("a new wallet, not wrapped", lambda q, r: signed(q), False),
        ("a new wallet, wrapped twice", lambda q, r: wrapped(wrapped(signed(q))), False),
        (
            "a stranger for a new wallet",
            lambda q, r: wrapped(sign_digest(stranger, q.digest)),
            False,
        ),
        (
            "a new wallet for another digest",
            lambda q, r: wrapped(sign_digest(wallet.owner, digest_of(OTHER))),
            False,
        ),
        ("no bytes for a new wallet", lambda q, r: wrapped(b""), False),
        ("a factory that reverts", lambda q, r: wrapped(signed(q), prepare=r.randbytes(4)), False),
        ("a factory without code", lambda q, r: wrapped(signed(q), to=nobody), False),
        (
            "a factory of another wallet",
            lambda q, r: wrapped(sign_digest(stranger, q.digest), prepare=elsewhere),
            False,
        ),
    ):
        yield Kind(name, wallet.address, sign, valid)


def _malformed_kinds(contracts: WalletContracts) -> Iterator[Kind]:
    wallet = contracts.open_owned(2, deploy=False)
    spaces = bytes(64)

    def values(question: Question) -> bytes:
        inner = sign_digest(wallet.owner, question.digest)
        kinds = ["address", "bytes", "bytes"]
        return encode(kinds, [wallet.factory, wallet.prepare, inner])

    def with_word(question: Question, place: int, word: bytes) -> bytes:
        found = values(question)
        return found[: 32 * place] + word + found[32 * place + 32 :] + MARK

    for name, sign, valid in (
        ("a wrapper with words behind", lambda q, r: values(q) + spaces + MARK, True),
        ("a wrapper that is cut", lambda q, r: values(q)[: -r.randrange(32, 1000)] + MARK, False),
        ("a wrapper without its last zeros", lambda q, r: values(q)[:-31] + MARK, True),
        ("a wrapper of random bytes", lambda q, r: r.randbytes(r.randrange(1, 400)) + MARK, False),
        ("a wrapper of nothing", lambda q, r: MARK, False),
        ("a wrapper of zeros", lambda q, r: bytes(96) + MARK, False),
        ("a wrapper with half a mark", lambda q, r: values(q) + MARK[:16], False),
        (
            "a wrapper whose factory is no address",
            lambda q, r: b"\1" + (values(q) + MARK)[1:],
            False,
        ),
        (
            "a wrapper with an offset outside",
            lambda q, r: with_word(q, r.choice([1, 2]), (1 << 20).to_bytes(32)),
            False,
        ),
        (
            "a wrapper with an immense offset",
            lambda q, r: with_word(q, r.choice([1, 2]), b"\xff" * 32),
            False,
        ),
        (
            "a wrapper with an immense length",
            lambda q, r: with_word(q, 3, b"\xff" * 32),
            False,
        ),
    ):
        yield Kind(name, wallet.address, sign, valid)


def _safe_kinds(contracts: WalletContracts, rng: Random) -> Iterator[Kind]:
    safe, new = contracts.open_safe(0), contracts.open_safe(1, deploy=False)
    stranger, owners = open_key(rng), sorted(safe.signers, key=lambda one: int(one.address, 16))

    def parts(question: Question) -> list[bytes]:
        digest = digest_of(safe.message(question.digest))
        return [sign_digest(owner, digest) for owner in owners]

    def with_stranger(question: Question, rng: Random) -> bytes:
        outsiders = replace(safe, signers=[safe.signers[0], stranger])
        return outsiders.combine(safe.message(question.digest))

    def approved(question: Question, rng: Random) -> bytes:
        digest = digest_of(safe.message(question.digest))
        approval = encode_call("approveHash", ["bytes32"], [digest])
        safe.anvil.transact(owners[0], safe.address, approval)
        approver = bytes(12) + bytes.fromhex(owners[0].address[2:])
        return approver + bytes(32) + b"\1" + parts(question)[1]

    def claimed(question: Question, rng: Random) -> bytes:
        approver = bytes(12) + bytes.fromhex(owners[0].address[2:])
        return approver + bytes(32) + b"\1" + parts(question)[1]

    def on_chain(question: Question, rng: Random) -> bytes:
        call = encode_call("signMessage", ["bytes"], [question.digest])
        safe.send(contracts.safe.library, call, delegated=True)
        return b""

    def changed(question: Question, rng: Random) -> bytes:
        first, second = parts(question)
        return flip_bit(first[:64], rng) + first[64:] + second

    def raw(question: Question, rng: Random) -> bytes:
        return b"".join(sign_digest(owner, question.digest) for owner in owners)

    for name, sign, valid in (
        ("a Safe", lambda q, r: safe.sign(q.signable), True),
        ("a Safe with two typed signatures", lambda q, r: b"".join(parts(q)), True),
        ("a Safe with bytes behind", lambda q, r: b"".join(parts(q)) + r.randbytes(65), True),
        ("a Safe with an approval on the chain", approved, True),
        ("a Safe without the approval", claimed, False),
        ("a Safe with too few owners", lambda q, r: parts(q)[0], False),
        ("a Safe in the wrong order", lambda q, r: b"".join(reversed(parts(q))), False),
        ("a Safe with one owner twice", lambda q, r: parts(q)[0] * 2, False),
        ("a Safe with a stranger", with_stranger, False),
        ("a Safe whose owners signed the digest itself", raw, False),
        ("a Safe for another digest", lambda q, r: safe.sign(OTHER), False),
        ("no bytes for a Safe", lambda q, r: b"", False),
        ("random bytes for a Safe", lambda q, r: r.randbytes(130), False),
        ("a Safe with a bit changed", changed, False),
    ):
        yield Kind(name, safe.address, sign, valid)
    yield Kind("a Safe that signed on the chain", safe.address, on_chain, False, SHORT)
    few = replace(new, signers=new.signers[:1])
    yield Kind("a new Safe", new.address, lambda q, r: new.sign(q.signable), True)
    yield Kind(
        "a new Safe with too few owners", new.address, lambda q, r: few.sign(q.signable), False
    )


def _mixed_safe_kinds(contracts: WalletContracts, rng: Random) -> Iterator[Kind]:
    """Signatures of a Safe that has a contract wallet among its owners."""
    key, owner, stranger = open_key(rng), contracts.open_owned(1), open_key(rng)
    creation = contracts.safe.encode_creation([key.address, owner.address], 2, salt=9)
    address = to_checksum_address(contracts.anvil.call(contracts.safe.factory, creation)[12:])
    contracts.anvil.transact(owner.owner, contracts.safe.factory, creation)
    safe = SafeWallet(contracts.anvil, contracts.safe, creation, address, ())

    def signed(question: Question, by: LocalAccount) -> bytes:
        digest = digest_of(safe.message(question.digest))
        inner = sign_digest(by, digest)
        named = bytes(12) + bytes.fromhex(owner.address[2:]) + (130).to_bytes(32) + b"\0"
        parts = {key.address: sign_digest(key, digest), owner.address: named}
        ordered = sorted(parts, key=lambda one: int(one, 16))
        return b"".join(parts[one] for one in ordered) + len(inner).to_bytes(32) + inner

    yield Kind("a Safe of a wallet", address, lambda q, r: signed(q, owner.owner), True)
    yield Kind("a Safe of a wallet, a stranger", address, lambda q, r: signed(q, stranger), False)


def _passkey_kinds(contracts: WalletContracts) -> Iterator[Kind]:
    new, wallet = contracts.open_passkey(1), contracts.open_passkey(2)
    contracts.anvil.give(wallet.address)
    wallet.send(wallet.address, b"")  # which deploys it
    passkey, other = wallet.passkey, Passkey(4337)

    def with_high_s(question: Question, rng: Random) -> bytes:
        signature = passkey.respond(question.digest)
        s = P256_ORDER - int.from_bytes(signature[32:64])
        return signature[:32] + s.to_bytes(32) + signature[64:]

    for name, sign, valid in (
        ("a passkey", lambda q, r: wallet.sign(q.signable), True),
        ("a synced passkey", lambda q, r: passkey.respond(q.digest, flags=0x1D), True),
        ("a passkey for another digest", lambda q, r: wallet.sign(OTHER), False),
        ("another passkey", lambda q, r: other.respond(q.digest), False),
        ("a passkey with high s", with_high_s, False),
        ("a passkey that verified nobody", lambda q, r: passkey.respond(q.digest, flags=1), False),
        (
            "a passkey that was being made",
            lambda q, r: passkey.respond(q.digest, kind="webauthn.create"),
            False,
        ),
        ("a passkey that is cut", lambda q, r: passkey.respond(q.digest)[:-32], False),
    ):
        yield Kind(name, wallet.address, sign, valid)
    yield Kind("a new passkey", new.address, lambda q, r: new.sign(q.signable), True)
    yield Kind("a new passkey, another digest", new.address, lambda q, r: new.sign(OTHER), False)


def _delegated_kinds(contracts: WalletContracts, rng: Random) -> Iterator[Kind]:
    anvil, wallet, stranger = contracts.anvil, contracts.open_nested(0), open_key(rng)
    simple = KeyedDelegation(anvil, open_key(rng), contracts.simple_7702)
    delegate(anvil, simple.key, simple.code)

    def nested(question: Question, declaration: str | None = None) -> bytes:
        declared = question.declaration if declaration is None else declaration
        return wallet.sign(question.signable, declared)

    def stolen(question: Question, rng: Random) -> bytes:
        thief = replace(wallet, key=stranger)
        return thief.sign(question.signable, question.declaration)

    def lied(question: Question, rng: Random) -> bytes:
        said = nested(question)
        if question.envelope is None:
            return said[:-1]
        return said.replace(b"string nonce", b"string other")

    for name, sign, valid in (
        ("a delegation, nested", lambda q, r: nested(q), True),
        ("a delegation by a stranger", stolen, False),
        ("a delegation with another type", lied, False),
        ("a delegation by its key", lambda q, r: sign_digest(wallet.key, q.digest), True),
        ("no bytes for a delegation", lambda q, r: b"", False),
    ):
        yield Kind(name, wallet.address, sign, valid)

    def signed(question: Question) -> bytes:
        return sign_digest(simple.key, question.digest)

    for name, sign, valid, difference in (
        ("a simple delegation", lambda q, r: signed(q), True, ""),
        (
            "a simple delegation, wrapped",
            lambda q, r: wrap(simple.address, b"", signed(q)),
            True,
            "",
        ),
        ("a simple delegation with high s", lambda q, r: raise_s(signed(q)), True, HIGH_S),
        ("no bytes for a simple delegation", lambda q, r: b"", False, ""),
    ):
        yield Kind(name, simple.address, sign, valid, difference)


def _constant_kinds(contracts: WalletContracts) -> Iterator[Kind]:
    """Create wallets that always return the same value."""
    word = MAGIC + bytes(28)
    # Counts down from 200 000, which takes five million gas.
    loop = bytes.fromhex("62030d405b60019003806004575b50")
    some, long = bytes(65), bytes(MAX_SIGNATURE_BYTES + 1)
    for name, code, signature, valid, difference in (
        ("a yes", _returning(word, 32), some, True, ""),
        ("a yes to nothing", _returning(word, 32), b"", False, SHORT),
        ("a yes to 31 bytes", _returning(word, 32), bytes(31), False, SHORT),
        ("a yes to the longest signature", _returning(word, 32), long[1:], True, ""),
        ("a yes to a longer signature", _returning(word, 32), long, True, LENGTH),
        ("a yes of two words", _returning(word, 64), some, True, ONE_WORD),
        ("a yes after much gas", loop + _returning(word, 32), some, True, GAS),
        ("a yes with other bytes", _returning(MAGIC + b"\1" * 28, 32), some, False, ""),
        ("a yes of four bytes", _returning(word, 4), some, False, ""),
        ("a yes at the end of a word", _returning(bytes(28) + MAGIC, 32), some, False, ""),
        ("a yes in a revert", _returning(word, 32)[:-1] + b"\xfd", some, False, ""),
        ("a no", _returning(b"\xff" * 4 + bytes(28), 32), some, False, ""),
        ("a number one", _returning((1).to_bytes(32), 32), some, False, ""),
        ("nothing", b"\0", some, False, ""),
        ("an invalid instruction", b"\xfe", some, False, ""),
    ):
        address = to_checksum_address(keccak256(name.encode())[12:])
        contracts.anvil.rpc("anvil_setCode", address, f"0x{code.hex()}")
        yield Kind(f"a wallet that returns {name}", address, _always(signature), valid, difference)


def _always(signature: bytes) -> Sign:
    return lambda question, rng: signature


def _returning(word: bytes, length: int) -> bytes:
    """Return code that returns `length` bytes, starting with `word`."""
    return b"\x7f" + word + bytes.fromhex(f"60005261{length:04x}6000f3")
