"""Rules for leases."""

from collections.abc import Callable
from datetime import timedelta

from imprint.adapters.catalog import sql
from imprint.adapters.catalog.transaction import Transaction
from imprint.ports.catalog import Lease

_MICROSECOND = timedelta(microseconds=1)

LeaseClock = Callable[[], int | None]
"""Returns what leases take for now, in microseconds; None is the time of the database's server."""


async def take(
    tx: Transaction, clock: LeaseClock, name: str, holder: str, length: timedelta
) -> bool:
    """Take or prolong a lease; False while another holder has it."""
    # The clock is read inside: a transaction that waited for another one must not take the lease
    # that was taken meanwhile for one of a wrong clock.
    row = await tx.fetchone(
        sql.TAKE_LEASE, name=name, holder=holder, length=length // _MICROSECOND, now=clock()
    )
    return row is not None


async def release(tx: Transaction, clock: LeaseClock, name: str, holder: str) -> None:
    """End a lease now, if this holder still has it."""
    await tx.execute(sql.RELEASE_LEASE, name=name, holder=holder, now=clock())


async def find(tx: Transaction, clock: LeaseClock, name: str) -> Lease | None:
    """Who has a lease or had it last; None also if a wrong clock hides when."""
    row = await tx.fetchone(sql.FIND_LEASE, name=name, now=clock())
    return None if row is None else Lease(row["holder"], row["microseconds"] * _MICROSECOND)
