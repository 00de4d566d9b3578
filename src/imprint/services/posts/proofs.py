"""Verification of a post's proof against a node of the chain."""

from dataclasses import dataclass
from datetime import datetime

from imprint.domain.formats.addresses import Address
from imprint.domain.posts.marketplace import POST_CREATED, Undecodable, decode_post_created
from imprint.domain.posts.posts import BlockRef, PostCreated
from imprint.ports.chain import ChainReader


class NotProved(Exception):
    """The chain does not confirm a proof. The message gives the reason."""


@dataclass(frozen=True, slots=True)
class Claim:
    """The contents of a proof: contract, event, topics of the log, and time of the block."""

    contract: Address
    event: PostCreated
    topics: tuple[bytes, ...]
    created_at: datetime


async def verify_claim(chain: ChainReader, claim: Claim) -> int:
    """Return the number of blocks after the claimed block, if the chain confirms the claim.

    Raises `NotProved`, and `Unavailable` if the node cannot tell.
    """
    head = await chain.head()
    claimed = claim.event
    log = await chain.find_log(claimed.place, POST_CREATED, head)
    if log is None:
        raise NotProved("The chain has no such log in that block.")
    try:
        event = decode_post_created(log)
    except Undecodable as error:
        raise NotProved(f"The log on the chain is malformed. {error}") from error
    if log.topics != claim.topics or event.place != claimed.place:
        raise NotProved("The log on the chain has other topics, or is of another transaction.")
    if (event.post_id, event.author, event.cid) != (claimed.post_id, claimed.author, claimed.cid):
        raise NotProved("The log on the chain names another post, author or document.")
    number = log.place.block_number or 0
    block = BlockRef(number, log.place.block_hash)
    if (await chain.block_times([block], head))[block] != claim.created_at:
        raise NotProved("The block on the chain has another time.")
    return head.number - number
