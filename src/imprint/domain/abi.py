"""The contract ABI, as much of it as the marketplace needs: addresses, numbers and strings.

What is decoded here was chosen by strangers. Offsets and lengths are compared with the bytes that
are there before anything is cut out, so that no answer costs more memory than its own size.
"""

from dataclasses import dataclass

from imprint.domain.addresses import Address

WORD = 32
"""Everything in the ABI is laid out in words of this many bytes."""

UINT256_LIMIT = 2**256
"""The first number that is too large for a word."""

_ADDRESS_PADDING = bytes(12)
"""What stands before the 20 bytes of an address in its word."""


class NotAbi(ValueError):
    """The bytes are not an encoding of the expected types."""


@dataclass(frozen=True, slots=True)
class Tuple:
    """An encoded tuple of `size` members, each read by its place.

    Strings come back as bytes: whether they are text is for the caller to decide. Only what is
    read is checked, so a stranger's oddity in one member does not hide the others.
    """

    data: bytes
    size: int

    def __post_init__(self) -> None:
        if len(self.data) < self.size * WORD:
            raise NotAbi("The bytes are shorter than the members' words.")

    def uint256(self, place: int) -> int:
        """The number at this place."""
        return int.from_bytes(self._word(place))

    def address(self, place: int) -> Address:
        """The address at this place; refuses a word with anything above its 20 bytes."""
        return decode_address(self._word(place))

    def string(self, place: int) -> bytes:
        """The bytes of the string at this place; refuses what points or reaches outside."""
        start = self.uint256(place)
        if not self.size * WORD <= start <= len(self.data) - WORD:
            raise NotAbi("A string begins outside the bytes.")
        begin = start + WORD
        length = int.from_bytes(self.data[start:begin])
        padded = -(-length // WORD) * WORD
        if padded > len(self.data) - begin:
            raise NotAbi("A string reaches beyond the bytes.")
        if any(self.data[begin + length : begin + padded]):
            raise NotAbi("A string is followed by something other than zeros.")
        return self.data[begin : begin + length]

    def _word(self, place: int) -> bytes:
        return self.data[place * WORD : (place + 1) * WORD]


def decode_uint256(word: bytes) -> int:
    """The number that is this one word; refuses any other length, so that nothing is not zero."""
    if len(word) != WORD:
        raise NotAbi("A number is one word.")
    return int.from_bytes(word)


def decode_address(word: bytes) -> Address:
    """The address that is this one word; refuses any other length, and anything above 20 bytes."""
    if len(word) != WORD or not word.startswith(_ADDRESS_PADDING):
        raise NotAbi("An address is one word with 20 bytes in it.")
    return Address("0x" + word[len(_ADDRESS_PADDING) :].hex())


def encode_call(selector: bytes, *arguments: int | Address | bytes) -> bytes:
    """The data of a call: a number stands for uint256, an address for itself, bytes for a string.

    Raises ValueError for a number outside of 256 bits.
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
        raise ValueError("The number does not fit into 256 bits.")
    return number.to_bytes(WORD)


def _encode_string(string: bytes) -> bytes:
    return _encode_uint256(len(string)) + string + bytes(-len(string) % WORD)
