"""Port for leases, which let one process at a time do a task."""

from dataclasses import dataclass
from datetime import timedelta
from typing import Protocol


@dataclass(frozen=True, slots=True)
class Lease:
    """The holder of a lease, and how long it lasts unless it is renewed."""

    holder: str
    left: timedelta
    """Negative if it has ended: the time since then."""


class LeaseStore(Protocol):
    """The leases of all processes."""

    async def take_lease(self, name: str, holder: str, length: timedelta) -> bool:
        """Take or renew a lease for this long; False while another holder has it.

        No caller's wall clock matters: time comes from the database server, or from the time since
        this machine booted. A lease that ends later than its length from now was taken with a wrong
        clock, and counts as ended.
        """

    async def release_lease(self, name: str, holder: str) -> None:
        """End a lease now, if this holder still has it."""

    async def find_lease(self, name: str) -> Lease | None:
        """The current or last holder of a lease; None if there was none, or a wrong clock hides
        when."""

    async def lease_age(self, name: str) -> timedelta | None:
        """How long a lease has been free; zero while it is held; None as in `find_lease`."""
