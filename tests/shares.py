"""Shares of a suite: with SHARE=1/4, a quarter of the cases that are marked `rotates` run.

CI chooses the share by the number of commits, so that every case runs every few commits.
Without SHARE, all cases run.
"""

from collections.abc import Sequence

import pytest


def cases_of_other_shares(items: Sequence[pytest.Item], share: str) -> list[pytest.Item]:
    """The cases to skip: those that rotate and are not in this share, such as `1/4`.

    Cases are distributed in the order of collection. Cases with a common expensive setup
    stay together: with `rotates("module")` those of a module, with `rotates("proxy")` those
    with the same value of the parameter `proxy`.
    """
    number, _, shares = share.partition("/")
    turns: dict[str, int] = {}
    others = []
    for item in items:
        marker = item.get_closest_marker("rotates")
        if marker is not None:
            turn = turns.setdefault(_unit_of(item, *marker.args), len(turns))
            if turn % int(shares) != int(number):
                others.append(item)
    return others


def _unit_of(item: pytest.Item, together: str | None = None) -> str:
    """Return a key shared by the cases that stay in one share: of the case, module or parameter."""
    parameters = getattr(getattr(item, "callspec", None), "params", {})
    if together in parameters:
        return f"{together} {parameters[together]}"
    return item.path.name if together == "module" else item.nodeid
