"""Who may read a post: one decision, for every route."""

from enum import Enum, auto

from imprint.domain.addresses import ZERO_ADDRESS, Address
from imprint.domain.posts import PostFacts


class Access(Enum):
    """Why a post may be read, or that it may not."""

    FREE = auto()
    AUTHOR = auto()
    HOLDER = auto()
    DENIED = auto()


def decide_access(facts: PostFacts, reader: Address | None) -> Access:
    """Whether `reader` (None: nobody in particular) may read the post these facts are about.

    A post that does not exist is never free: the contract answers zero for its price too.
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
