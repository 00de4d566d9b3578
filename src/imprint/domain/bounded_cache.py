"""Bounded cache: a dictionary that evicts its oldest entries (docs/decisions/bounded-cache.md)."""

from collections import OrderedDict
from collections.abc import Callable, Hashable, Iterator, Sequence
from typing import Generic, TypeVar

K = TypeVar("K", bound=Hashable)
V = TypeVar("V")


def _one(_: object) -> int:
    return 1


class BoundedCache(Generic[K, V]):
    """Entries up to a capacity, in the order in which they were last put or touched.

    The oldest entries are evicted. Each entry counts as one, or has the weight that `weigh` returns
    for its value. This weight must not change. A value that weighs more than the capacity is not
    cached. Not thread-safe.
    """

    __slots__ = ("_capacity", "_entries", "_weigh", "_weight", "get", "touch")

    def __init__(self, capacity: int, weigh: Callable[[V], int] = _one) -> None:
        self._capacity = capacity
        self._weigh = weigh
        self._weight = 0
        self._entries: OrderedDict[K, V] = OrderedDict()
        # The methods of the dictionary itself, so that a hit costs no extra call.
        self.get = self._entries.get
        """Function that returns a key's value or the default. It does not reorder the entries."""
        self.touch: Callable[[K], None] = self._entries.move_to_end
        """Function that moves a key's entry to the newest position. Raises `KeyError`."""

    @property
    def weight(self) -> int:
        """The total weight of all entries."""
        return self._weight

    def __len__(self) -> int:
        return len(self._entries)

    def __contains__(self, key: object) -> bool:
        return key in self._entries

    def __iter__(self) -> Iterator[K]:
        """The keys in the cache, oldest first."""
        return iter(self._entries)

    def put(self, key: K, value: V) -> Sequence[K]:
        """Add an entry as the newest, replacing any earlier entry for its key.

        Returns the keys of the evicted entries.
        """
        if key in self._entries:
            self._weight -= self._weigh(self._entries.pop(key))
        weight = self._weigh(value)
        if weight > self._capacity:
            return ()
        self._entries[key] = value
        self._weight += weight
        if self._weight <= self._capacity:
            return ()
        evicted = []
        while self._weight > self._capacity:
            oldest, dropped = self._entries.popitem(last=False)
            self._weight -= self._weigh(dropped)
            evicted.append(oldest)
        return evicted

    def pop(self, key: K) -> V | None:
        """Remove an entry and return its value, if there is one."""
        if key not in self._entries:
            return None
        value = self._entries.pop(key)
        self._weight -= self._weigh(value)
        return value

    def clear(self) -> None:
        """Remove all entries."""
        self._entries.clear()
        self._weight = 0
