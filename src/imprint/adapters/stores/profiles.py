"""Profile rows and their checksums."""

from imprint.adapters.database.transaction import (
    Row,
    Transaction,
    micros,
    moment_of,
    profile_checksum,
)
from imprint.domain.errors import Damaged
from imprint.domain.formats.addresses import Address
from imprint.domain.profiles import Profile, ProfileTexts

FIND_PROFILE = """
SELECT address, name, bio, links, avatar_cid, updated_at, avatar_size, checksum FROM profiles
WHERE address = :address"""
WALK_PROFILES = """
SELECT address, name, bio, links, avatar_cid, updated_at, avatar_size, checksum FROM profiles
WHERE address > :after ORDER BY address LIMIT :limit"""
SAVE_PROFILE = """
INSERT INTO profiles (address, name, bio, links, avatar_cid, updated_at, avatar_size, checksum)
VALUES (:address, :name, :bio, :links, :avatar_cid, :updated_at, :avatar_size, :checksum)
ON CONFLICT (address) DO UPDATE
SET name = excluded.name, bio = excluded.bio, links = excluded.links,
    avatar_cid = excluded.avatar_cid, updated_at = excluded.updated_at,
    avatar_size = excluded.avatar_size, checksum = excluded.checksum"""


async def find_profile(tx: Transaction, address: Address) -> Profile | None:
    """The profile of an author, if they have one. Raises `Damaged`."""
    row = await tx.fetchone(FIND_PROFILE, address=address)
    return None if row is None else profile_of(row)


async def walk_profiles(tx: Transaction, after: str, limit: int) -> list[Row]:
    """The rows of profiles whose addresses are above an address."""
    return await tx.fetchall(WALK_PROFILES, after=after, limit=limit)


async def store_profile(tx: Transaction, profile: Profile, avatar_size: int) -> None:
    """Add a profile, or replace the author's existing profile."""
    texts = profile.texts
    links, updated_at = "\n".join(texts.links), micros(profile.updated_at)
    columns = (profile.address, texts.name, texts.bio, links, profile.avatar_cid, updated_at)
    await tx.execute(
        SAVE_PROFILE,
        address=profile.address,
        name=texts.name,
        bio=texts.bio,
        links=links,
        avatar_cid=profile.avatar_cid,
        updated_at=updated_at,
        avatar_size=avatar_size,
        checksum=profile_checksum(*columns),
    )


def profile_of(row: Row) -> Profile:
    """The profile of a row. Raises `Damaged` if its checksum does not match."""
    if is_damaged_profile(row):
        raise Damaged.record(f"the profile of {row['address']!a}")
    links = tuple(row["links"].split("\n")) if row["links"] else ()
    return Profile(
        Address(row["address"]),
        ProfileTexts(row["name"], row["bio"], links),
        row["avatar_cid"],
        moment_of(row["updated_at"]),
    )


def is_damaged_profile(row: Row) -> bool:
    """Whether the checksum of a row does not match."""
    return row["checksum"] not in (profile_checksum(*row[:6]), None)
