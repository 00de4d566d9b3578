"""Nonces, spent with the effect that they sign, and the intents that go before it."""

from datetime import datetime

from imprint.adapters.catalog import statements as sql
from imprint.adapters.catalog.holding import hold_write
from imprint.adapters.catalog.rows import file_of, intent_values, key_text, micros
from imprint.adapters.catalog.steps import Query, Steps, Value
from imprint.domain.addresses import Address
from imprint.domain.cids import Cid
from imprint.domain.errors import NonceUsed, Unavailable
from imprint.domain.files import File, Intent, Network, Write


def refuse_spent(signer: Address, nonce: str) -> Steps[None]:
    """Raise `NonceUsed` if the signer has spent this nonce, with the file if that still lives."""
    spent = yield Query(sql.SPENT_NONCE, {"signer": signer, "nonce": key_text(nonce)})
    if not spent:
        return
    rows = yield Query(sql.FILE_BY_ID, {"id": spent[0][0]})
    raise NonceUsed(file_of(rows[0]) if rows else None)


def spend(write: Write, file: File | None) -> Steps[None]:
    """Spend the nonce of a write that takes effect in this transaction; `file` is what it made."""
    values: dict[str, Value] = {
        "signer": write.signer,
        "nonce": key_text(write.nonce),
        "action": write.action.value,
        "file_id": None if file is None else file.id,
        "spent_at": micros(write.at),
    }
    yield Query(sql.SPEND_NONCE, values)


def spend_login(address: Address, nonce: str, at: datetime) -> Steps[bool]:
    """Spend the nonce of a login; False if it was spent before."""
    values: dict[str, Value] = {
        "address": address,
        "nonce": key_text(nonce),
        "spent_at": micros(at),
    }
    rows = yield Query(sql.SPEND_LOGIN_NONCE, values)
    return bool(rows)


def begin(intent: Intent) -> Steps[int | None]:
    """Note an intent and reserve its number, or reserve and return the next one of its owner.

    Refuses a spent nonce, and a document that is being destroyed.
    """
    yield hold_write(intent.write, intent)
    yield from refuse_spent(intent.write.signer, intent.write.nonce)
    yield from refuse_condemned(intent.cid, intent.network)
    if intent.number is not None:
        owner = intent.write.signer
        reserved = yield Query(sql.RESERVE_NUMBER, {"owner": owner, "number": intent.number})
        if not reserved:
            rows = yield Query(sql.NEXT_NUMBER, {"owner": owner})
            return int(rows[0][0])
    yield Query(sql.ADD_INTENT, intent_values(intent))
    return None


def end(intent: Intent) -> Steps[None]:
    """End an intent whose document has a holder from now on.

    Refuses an intent that is gone: it ran out and its document may be destroyed by now.
    """
    ended = yield Query(sql.END_INTENT, {"id": intent.id})
    if not ended:
        raise Unavailable.storage()
    yield from refuse_condemned(intent.cid, intent.network)


def refuse_condemned(cid: Cid, network: Network) -> Steps[None]:
    """Refuses a document that is being destroyed: nothing may refer to it any more."""
    if (yield Query(sql.CONDEMNED, {"cid": cid, "network": network.value})):
        raise Unavailable.storage()
