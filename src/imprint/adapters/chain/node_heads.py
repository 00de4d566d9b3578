"""The newest block that each node has shown, and how old or how far behind it may be.

A node that is behind still grants access to somebody who has given their token away, so it is not
believed. Its block is compared with the clock, and with the blocks that the other nodes show.
"""

from dataclasses import dataclass, field
from typing import NamedTuple

from imprint.adapters.chain.http_client import NodeFailure

MAX_HEAD_AGES = {
    **dict.fromkeys((1, 17000, 560048, 11155111), 180.0),
    **dict.fromkeys((100, 137, 10200, 43113, 43114, 80002, 421614), 120.0),
    **dict.fromkeys((10, 56, 97, 130, 324, 480, 1301, 5000, 8453, 42161, 42220), 60.0),
    **dict.fromkeys((59144, 81457, 84532, 534352, 7777777, 11155420), 60.0),
}
"""Seconds after which the newest block of a public chain is too old, by chain id: ten and more
times its block time. Chains that make blocks on demand, like those for development, have none."""

MAX_LAG_BLOCKS = 16
"""Blocks that a node may be behind another one."""

MAX_LAG_SECONDS = 60
"""Seconds that its newest block may be older than a later block that another node has shown."""

HEAD_VALIDITY = 60.0
"""Seconds for which a block that a node has shown is compared with those of others."""

REFRESH_SECONDS = 10.0
"""Seconds after which the heads of several nodes are asked for anew, if nothing else has."""


class Head(NamedTuple):
    """The newest block of a node; its time is in seconds."""

    number: int
    timestamp: int
    hash: str


@dataclass(slots=True)
class NodeHeads:
    """The heads of the nodes of one chain, by the node's index, and when they were shown."""

    shown: dict[int, tuple[Head, float]] = field(default_factory=dict)
    highest: dict[int, int] = field(default_factory=dict)
    complete_until: float = 0.0

    def check(self, node: int, head: Head, now: float) -> None:
        """Remember the head of a node; raises `NodeFailure` if it is too far behind another's."""
        self.shown[node] = head, now
        if head.number > self.highest.get(node, -1):
            self.highest[node] = head.number
        if len(self.shown) == 1:
            return
        for other, seen_at in self.shown.values():
            blocks = other.number - head.number
            late = blocks > 0 and other.timestamp - head.timestamp > MAX_LAG_SECONDS
            if (blocks > MAX_LAG_BLOCKS or late) and now - seen_at < HEAD_VALIDITY:
                raise NodeFailure(f"the newest block is {blocks} blocks behind another node's")
