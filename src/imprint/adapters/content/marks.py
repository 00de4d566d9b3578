"""Marks: what makes a document of a Kubo node one of this service, in one network."""

from hashlib import sha256

from imprint.domain.cids import Cid, Codec, cid_bytes, cid_of
from imprint.domain.files import Network

_DIRECTORY = b"\x0a\x02\x08\x01"
"""The data of a UnixFS directory, as the field of a dag-pb node."""


def write_mark(cid: Cid, network: Network) -> tuple[Cid, bytes]:
    """The mark of a document in a network, with its cid: a directory with this one entry.

    It depends on nothing but the two, so that anybody can tell which mark to look for. The size
    of the entry is left at 0: whoever looks for a mark does not know it.
    """
    binary, name = cid_bytes(cid), f"imprint-{network}".encode()
    link = b"\x0a" + bytes([len(binary)]) + binary
    link += b"\x12" + bytes([len(name)]) + name + b"\x18\x00"
    block = b"\x12" + bytes([len(link)]) + link + _DIRECTORY
    return cid_of(Codec.DAG_PB, sha256(block).digest()), block
