"""`LeaseStore` in the database."""

from dataclasses import dataclass
from datetime import timedelta

from imprint.adapters.database.database import Database
from imprint.adapters.database.transaction import Transaction, by_server_time
from imprint.ports.leases import Lease

TAKE_LEASE = by_server_time(
    """
INSERT INTO leases (name, holder, length, held_until)
VALUES (:name, :holder, :length, :now + :length)
ON CONFLICT (name) DO UPDATE
SET holder = excluded.holder, length = excluded.length, held_until = excluded.held_until
WHERE leases.holder = excluded.holder
    OR leases.held_until <= :now OR leases.held_until > :now + leases.length
RETURNING 1"""
)
RELEASE_LEASE = by_server_time(
    """
UPDATE leases SET held_until = :now
WHERE name = :name AND holder = :holder AND held_until > :now"""
)
FIND_LEASE = by_server_time(
    """
SELECT holder, held_until - :now AS microseconds FROM leases
WHERE name = :name AND held_until <= :now + length"""
)

_MICROSECOND = timedelta(microseconds=1)


@dataclass(frozen=True, slots=True)
class SqlLeaseStore:
    """The leases of all processes that share the database."""

    database: Database

    async def take_lease(self, name: str, holder: str, length: timedelta) -> bool:
        async def take(tx: Transaction) -> bool:
            # The clock is read inside: otherwise a transaction that waited would take a lease taken
            # meanwhile for one with a wrong clock.
            now, microseconds = self.database.lease_now(), length // _MICROSECOND
            row = await tx.fetchone(
                TAKE_LEASE, name=name, holder=holder, length=microseconds, now=now
            )
            return row is not None

        return await self.database.transact((), take)

    async def release_lease(self, name: str, holder: str) -> None:
        async def release(tx: Transaction) -> None:
            now = self.database.lease_now()
            await tx.execute(RELEASE_LEASE, name=name, holder=holder, now=now)

        await self.database.transact((), release)

    async def find_lease(self, name: str) -> Lease | None:
        async def find(tx: Transaction) -> Lease | None:
            row = await tx.fetchone(FIND_LEASE, name=name, now=self.database.lease_now())
            return None if row is None else Lease(row["holder"], row["microseconds"] * _MICROSECOND)

        return await self.database.read(find)

    async def lease_age(self, name: str) -> timedelta | None:
        found = await self.find_lease(name)
        return None if found is None else max(-found.left, timedelta(0))
