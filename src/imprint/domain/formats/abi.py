"""ABI codec for the types that the marketplace uses: addresses, uint256 and strings.

The bytes to decode are untrusted. Offsets and lengths are checked against the available bytes
before anything is sliced, so that no response takes more memory than its own size.
"""

from dataclasses import dataclass

from imprint.domain.formats.addresses import Address

WORD = 32
"""Size in bytes of a word, the unit of the ABI."""

UINT256_LIMIT = 2**256
"""The smallest nonnegative integer that does not fit in a word."""

_ADDRESS_PADDING = bytes(12)
"""The zero bytes that pad an address to a word."""


class NotAbi(ValueError):
    """The bytes are not an encoding of the expected types."""


@dataclass(frozen=True, slots=True)
class Tuple:
    """An encoded tuple of `size` members, each read by its index. Methods raise `NotAbi`.

    Strings are returned as bytes, because they need not be UTF-8. Only members that are read are
    checked, so a malformed member does not affect the others.
    """

    data: bytes
    size: int

    def __post_init__(self) -> None:
        if len(self.data) < self.size * WORD:
            raise NotAbi("The data is too short for its members.")

    def uint256(self, index: int) -> int:
        """Return the number at an index."""
        return int.from_bytes(self._word(index))

    def address(self, index: int) -> Address:
        """Return the address at an index."""
        return decode_address(self._word(index))

    def string(self, index: int) -> bytes:
        """Return the bytes of the string at an index."""
        start = self.uint256(index)
        if not self.size * WORD <= start <= len(self.data) - WORD:
            raise NotAbi("A string starts outside the data.")
        begin = start + WORD
        length = int.from_bytes(self.data[start:begin])
        padded = -(-length // WORD) * WORD
        if padded > len(self.data) - begin:
            raise NotAbi("A string extends past the end of the data.")
        if any(self.data[begin + length : begin + padded]):
            raise NotAbi("A string is not padded with zeros.")
        return self.data[begin : begin + length]

    def _word(self, index: int) -> bytes:
        return self.data[index * WORD : (index + 1) * WORD]


def decode_uint256(word: bytes) -> int:
    """Decode a number from a single word. Raises `NotAbi` for any other length, including zero."""
    if len(word) != WORD:
        raise NotAbi("A number must be one 32-byte word.")
    return int.from_bytes(word)


def decode_address(word: bytes) -> Address:
    """Decode an address from a single word. Raises `NotAbi`."""
    if len(word) != WORD or not word.startswith(_ADDRESS_PADDING):
        raise NotAbi("An address must be a 32-byte word with 20 significant bytes.")
    return Address("0x" + word[len(_ADDRESS_PADDING) :].hex())


def encode_call(selector: bytes, *arguments: int | Address | bytes) -> bytes:
    """Encode call data. An int becomes a uint256, an `Address` an address, and bytes a string.

    Raises ValueError for a number that does not fit in 256 bits.
    """
    head, tail = b"", b""
    for argument in arguments:
        if isinstance(argument, bytes):
            head += _encode_uint256(len(arguments) * WORD + len(tail))
            tail += _encode_string(argument)
        elif isinstance(argument, str):
            head += _ADDRESS_PADDING + bytes.fromhex(argument[2:])
        else:
            head += _encode_uint256(argument)
    return selector + head + tail


def _encode_uint256(number: int) -> bytes:
    if not 0 <= number < UINT256_LIMIT:
        raise ValueError("The number does not fit in 256 bits.")
    return number.to_bytes(WORD)


def _encode_string(string: bytes) -> bytes:
    return _encode_uint256(len(string)) + string + bytes(-len(string) % WORD)
