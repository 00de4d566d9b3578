"""Access to posts: the single function, used by every route, that decides who may read a post."""

from enum import Enum, auto

from imprint.domain.formats.addresses import ZERO_ADDRESS, Address
from imprint.domain.posts.posts import PostFacts


class Access(Enum):
    """The reason why a post may be read, or `DENIED`."""

    FREE = auto()
    AUTHOR = auto()
    HOLDER = auto()
    DENIED = auto()


def decide_access(facts: PostFacts, reader: Address | None) -> Access:
    """Decide whether `reader` may read the post. None stands for an anonymous reader.

    A nonexistent post is never free, although the contract returns a price of zero for it.
    """
    entry = facts.entry
    if entry.author == ZERO_ADDRESS:
        return Access.DENIED
    if entry.price == 0:
        return Access.FREE
    if reader is None:
        return Access.DENIED
    if reader == entry.author:
        return Access.AUTHOR
    return Access.HOLDER if facts.balance > 0 else Access.DENIED
