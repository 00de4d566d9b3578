"""Misspellings: whether a name that is no setting was meant to be one."""

from collections.abc import Iterable

_LONG = 8
"""From how many characters on a name is long enough for two slips."""


def find_meant(name: str, known: Iterable[str]) -> str | None:
    """The known name that this one is a slip or two away from; None if there is none.

    A slip is a character too many, missing, wrong, or swapped with its neighbour.
    """
    allowed = 2 if len(name) >= _LONG else 1
    near = {each: count_slips(name, each) for each in known if abs(len(each) - len(name)) <= 2}
    best = min(near, key=lambda each: near[each], default=None)
    return best if best is not None and near[best] <= allowed else None


def count_slips(first: str, second: str) -> int:
    """How many slips lead from one text to the other."""
    before, row = [0] * (len(second) + 1), list(range(len(second) + 1))
    for i, one in enumerate(first, start=1):
        twice, before, row = before, row, [i]
        for j, other in enumerate(second, start=1):
            row.append(min(before[j] + 1, row[j - 1] + 1, before[j - 1] + (one != other)))
            if i > 1 and j > 1 and (one, first[i - 2]) == (second[j - 2], other):
                row[j] = min(row[j], twice[j - 2] + 1)
    return row[-1]
