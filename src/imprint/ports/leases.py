"""Port for leases: what one process at a time does."""

from dataclasses import dataclass
from datetime import timedelta
from typing import Protocol


@dataclass(frozen=True, slots=True)
class Lease:
    """The holder of a lease, and how much longer it lasts unless it is prolonged."""

    holder: str
    left: timedelta
    """Negative if it has ended: then it was held last that long ago."""


class LeaseStore(Protocol):
    """The leases of all processes."""

    async def take_lease(self, name: str, holder: str, length: timedelta) -> bool:
        """Take or prolong a lease for so long from now; False while another holder has it.

        No wall clock of a caller matters: the database's server, or the time since the machine was
        started, says what is now. A lease that ends later than its length from now was taken by a
        wrong clock, and counts as ended.
        """

    async def release_lease(self, name: str, holder: str) -> None:
        """End a lease now, if this holder still has it."""

    async def find_lease(self, name: str) -> Lease | None:
        """Who has a lease or had it last; None if nobody had it, or a wrong clock hides when."""

    async def lease_age(self, name: str) -> timedelta | None:
        """How long nobody has held a lease, zero while somebody does; None as in `find_lease`."""
