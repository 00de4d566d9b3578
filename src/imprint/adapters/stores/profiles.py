"""Profiles in the database: rows with checksums, and the pictures that they refer to."""

from imprint.adapters.database.transaction import Row, Transaction, moment_of, profile_checksum
from imprint.domain.errors import Damaged
from imprint.domain.formats.addresses import Address
from imprint.domain.formats.cids import Cid
from imprint.domain.profiles import Profile, ProfileTexts

FIND_PROFILE = """
SELECT address, name, bio, links, avatar_cid, updated_at, avatar_size, checksum FROM profiles
WHERE address = :address"""


async def find_profile(tx: Transaction, address: Address) -> Profile | None:
    """The profile of an author, if they have one. Raises `Damaged`."""
    row = await tx.fetchone(FIND_PROFILE, address=address)
    return None if row is None else profile_of(row)


def profile_of(row: Row) -> Profile:
    """The profile of a row. Raises `Damaged` if its checksum does not match."""
    if row["checksum"] not in (profile_checksum(*row[:6]), None):
        raise Damaged.record(f"the profile of {row['address']!a}")
    links = tuple(row["links"].split("\n")) if row["links"] else ()
    avatar = row["avatar_cid"]
    return Profile(
        Address(row["address"]),
        ProfileTexts(row["name"], row["bio"], links),
        None if avatar is None else Cid(avatar),
        moment_of(row["updated_at"]),
    )
