"""Documents that nothing holds any more: condemned first, forgotten when they are destroyed."""

from collections.abc import Sequence
from datetime import datetime

from imprint.adapters.catalog import statements as sql
from imprint.adapters.catalog.holding import SWEEP, hold_document
from imprint.adapters.catalog.rows import micros
from imprint.adapters.catalog.steps import Query, Row, Steps, Value
from imprint.domain.cids import Cid
from imprint.domain.files import Network

_NEVER_HELD = 0
"""When the document of an intent that ran out was detached: earlier than any that was held."""


def prune_replays(before: datetime) -> Steps[None]:
    """Forget what nobody can replay any more: its own time would give it away."""
    yield Query(sql.FORGET_DELIVERIES, {"before": micros(before)})
    yield Query(sql.FORGET_LOGINS, {"before": micros(before)})
    yield Query(sql.FORGET_PACES, {"before": micros(before)})


def condemn(
    now: datetime, detached_before: datetime, limit: int
) -> Steps[list[tuple[Cid, Network]]]:
    """Up to `limit` documents to be destroyed, those left over from before first.

    A document that something holds again is no longer detached. With a document goes its version,
    so that nothing can restore it, and its place as thumbnail of groups without a live file.
    """
    yield SWEEP
    expired = yield Query(sql.EXPIRED_INTENTS, {"now": micros(now), "limit": limit})
    for intent_id, cid, network in expired:
        yield Query(sql.END_INTENT, {"id": intent_id})
        values = {"cid": cid, "network": network, "detached_at": _NEVER_HELD}
        yield Query(sql.DETACH_UNLESS_KNOWN, values)
    left = yield Query(sql.ALL_CONDEMNED, {"limit": limit})
    room: dict[str, Value] = {"before": micros(detached_before), "limit": limit - len(left)}
    candidates = yield Query(sql.DETACHED_BEFORE, room)
    condemned = list(left)
    for row in candidates:
        free = yield from _condemn_one(row, now, detached_before)
        condemned += [row] if free else []
    return [(Cid(cid), Network(network)) for cid, network in condemned]


def detach_strays(cids: Sequence[Cid], network: Network, at: datetime) -> Steps[int]:
    """Detach the documents that nothing is known of; how many there were. In any doubt, none."""
    found = 0
    for cid in cids:
        values = {"cid": cid, "network": network.value, "detached_at": micros(at)}
        rows = yield Query(sql.DETACH_STRAY, values)
        found += len(rows)
    return found


def _condemn_one(row: Row, now: datetime, detached_before: datetime) -> Steps[bool]:
    cid, network = row
    yield hold_document(cid, network)
    document: dict[str, Value] = {"cid": cid, "network": network}
    holder = sql.LIVE_DOCUMENT if network == Network.PRIVATE else sql.THUMBNAIL_OF_LIVE
    held = yield Query(holder, {"cid": cid})
    running = yield Query(sql.RUNNING_INTENT, document | {"now": micros(now)})
    if held or running:
        yield Query(sql.REATTACH, document)
        return False
    # It may have been taken up and let go of again since the row was read.
    still = yield Query(sql.CONDEMN, document | {"before": micros(detached_before)})
    if not still:
        return False
    # An intent that ran out must not be able to end well later, with its document destroyed.
    yield Query(sql.END_INTENTS_FOR, document)
    if network == Network.PUBLIC:
        yield Query(sql.FORGET_THUMBNAIL, {"cid": cid})
    else:
        groups = yield Query(sql.FORGET_VERSION, {"cid": cid})
        for group in groups:
            yield Query(sql.FORGET_EMPTY_GROUP, {"id": group[0]})
    return True
