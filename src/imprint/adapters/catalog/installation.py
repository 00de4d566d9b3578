"""Rules for the identity of the installation that a catalog belongs to."""

from collections.abc import Collection, Sequence

from imprint.adapters.catalog import sql
from imprint.adapters.catalog.transaction import Transaction
from imprint.domain.formats.cids import Cid
from imprint.domain.installation import Identity

MASTER_KEYS_LOCK = "master keys"
"""The lock under which the ids of master keys are changed."""


async def identify(tx: Transaction, new_id: str) -> Identity:
    """The identity of this catalog; one that has none gets `new_id`.

    Processes that open a new catalog at the same time agree on one id.
    """
    row = await tx.fetchone(sql.INSTALLATION)
    if row is None:
        await tx.execute(sql.ADD_INSTALLATION, id=new_id)
        row = await tx.fetchone(sql.INSTALLATION)
    if row is None:
        raise LookupError("The catalog does not keep the id of its installation.")
    return Identity(row["id"], bool(row["claimed"]), bool(row["owns_unnamed"]))


async def note_claim(tx: Transaction) -> None:
    """Record that the content store has been marked."""
    await tx.execute(sql.NOTE_CLAIM)


async def rename_installation(tx: Transaction, new_id: str) -> None:
    """Make this catalog another installation, which has not marked a store."""
    await tx.execute(sql.RENAME_INSTALLATION, id=new_id)


async def find_master_keys(tx: Transaction) -> frozenset[bytes] | None:
    """The ids of the master keys that documents may be encrypted by; None if nobody has looked."""
    row = await tx.fetchone(sql.MASTER_KEYS)
    if row is None or row["master_keys"] is None:
        return None
    return frozenset(bytes.fromhex(each) for each in row["master_keys"].split())


async def note_master_keys(
    tx: Transaction, added: Collection[bytes], dropped: Collection[bytes]
) -> None:
    """Add and drop ids of master keys."""
    known = await find_master_keys(tx) or frozenset()
    ids = " ".join(sorted(each.hex() for each in (known - {*dropped}) | {*added}))
    await tx.execute(sql.SET_MASTER_KEYS, ids=ids)


async def has_wrapped_key(tx: Transaction, prefix: bytes) -> bool:
    """Whether a version has a wrapped key that begins like this; may read all of them."""
    row = await tx.fetchone(sql.HAS_WRAPPED_KEY, prefix=prefix, length=len(prefix))
    return row is not None


async def count_known(tx: Transaction, cids: Sequence[Cid]) -> int:
    """How many of these documents something in the catalog refers to."""
    known = 0
    for cid in cids:
        known += await tx.fetchone(sql.KNOWN_DOCUMENT, cid=cid) is not None
    return known
