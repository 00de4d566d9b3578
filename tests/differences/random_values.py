"""Random values with many boundary cases: texts, numbers, addresses, keys and signatures."""

from random import Random

from coincurve import PrivateKey
from tests.anvil.signature_questions import compact, encode_der, flip_bit, raise_s
from tests.differences.comparison import Refused

from imprint.auth.signatures import CURVE_ORDER, parse_signature, recover_signer
from imprint.domain.errors import Refusal
from imprint.domain.formats.addresses import Address, checksum_address

HOSTILE = (
    *("<", ">", "&", '"', "'", "]]>", "&amp;", "&#0;", "<!--", "\\", "\t", "\r", "\r\n", "\n"),
    *("\0", "\x01", "\x0b", "\x1f", "\x7f", "\x85", "\xa0", "\u00ad", "\u200b", "\u2028", "\u202e"),
    *("\u0130", "\u03c2", "\ufeff", "\ufffd", "\ufffe", "\ud7ff", "\ue000", "\U0001f600"),
    *("\U0010ffff", "e\u0301", "é", "ﬁ", "中", "ا", "%", "%00", "://", "  "),
)
WORDS = ("a", "B", "ink", "press", "Imprint", "7", "0", "-", "_", ".", " ", "https", "word ")


def random_text(rng: Random, longest: int = 12) -> str:
    """Return a text of up to this many words and hostile characters."""
    words = HOSTILE if rng.random() < 0.3 else WORDS
    return "".join(rng.choice(words) for _ in range(rng.randrange(longest + 1)))


def random_number(rng: Random, bits: int = 256) -> int:
    """Return a number of up to this many bits, often at a boundary."""
    if rng.random() < 0.5:
        return rng.getrandbits(rng.randint(1, bits))
    at = 1 << rng.choice([0, 1, 7, 8, 31, 32, 53, 63, 64, 128, 160, 255, 256])
    return max(0, min(at + rng.randint(-1, 1), (1 << bits) - 1))


def random_address(rng: Random) -> Address:
    """Return an address."""
    digits = rng.choice([rng.randbytes(20), bytes(20), b"\xff" * 20, bytes(19) + b"\1"])
    return Address("0x" + (digits if rng.random() < 0.1 else rng.randbytes(20)).hex())


def spell_address(rng: Random, address: Address) -> str:
    """Return an address with its checksum, without one, or with a wrong one."""
    spelled = checksum_address(address)
    others = [address, "0x" + address[2:].upper(), "0x" + spelled[2:].swapcase()]
    return rng.choice([spelled, spelled, spelled, *others])


def mutate(rng: Random, text: str) -> str:
    """Return a text with one character changed, inserted, removed, doubled, or moved."""
    if not text:
        return rng.choice(HOSTILE)
    at = rng.randrange(len(text))
    before, character, after = text[:at], text[at], text[at + 1 :]
    return rng.choice(
        [
            before + rng.choice(HOSTILE) + after,
            before + rng.choice(WORDS) + after,
            before + chr(rng.randrange(33, 127)) + after,
            before + character.swapcase() + after,
            before + rng.choice(HOSTILE) + character + after,
            before + character * 2 + after,
            before + after,
            after + before,
            text[:at],
            text[at:],
            text + rng.choice(HOSTILE),
            rng.choice([" ", "\n", "\t"]) + text,
        ]
    )


def random_signature(rng: Random, digest: bytes) -> str:
    """Return a signature of a digest as hex: valid, in another form, or damaged."""
    made = PrivateKey(_random_key(rng)).sign_recoverable(digest, hasher=None)
    signed = made[:64] + bytes([made[64] + 27])
    numbers = [0, 1, 2**256 - 1, *(CURVE_ORDER + by for by in (-1, 0, 1))]
    numbers += [CURVE_ORDER // 2 + by for by in (-1, 0, 1, 2)]
    number = rng.choice(numbers).to_bytes(32)
    changed = rng.choice(
        [
            signed,
            signed,
            made,
            signed[:64] + bytes([55 - signed[64]]),
            signed[:64] + rng.randbytes(1),
            signed[:64] + bytes([made[64] + rng.choice([2, 29, 31, 35, 36, 37])]),
            raise_s(signed),
            compact(signed),
            compact(raise_s(signed)),
            flip_bit(signed, rng),
            number + signed[32:],
            signed[:32] + number + signed[64:],
            rng.randbytes(32) + signed[32:],
            signed + b"\0",
            signed[: rng.randrange(len(signed))],
            encode_der(signed),
            rng.randbytes(65),
        ]
    )
    text = "0x" + changed.hex()
    return mutate(rng, text) if rng.random() < 0.1 else text


def random_digest_and_signature(rng: Random) -> tuple[str, str]:
    digest = rng.randbytes(32)
    return f"0x{digest.hex()}", random_signature(rng, digest)


def recover(case: tuple[str, str]) -> str | Refused:
    """Return the address that Imprint recovers from a digest and a signature."""
    try:
        return recover_signer(bytes.fromhex(case[0][2:]), parse_signature(case[1]))
    except Refusal as refusal:
        return Refused(refusal.detail)


def _random_key(rng: Random) -> bytes:
    return rng.randrange(1, CURVE_ORDER).to_bytes(32)
