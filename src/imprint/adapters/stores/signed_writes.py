"""A signed write in the database: its nonce is spent once, and its intent ends when it commits."""

from datetime import datetime

from imprint.adapters.database.transaction import Transaction, key_text, micros
from imprint.adapters.stores.files import VERSION_BY_ID, live_file_of
from imprint.domain.drafts.files import Intent
from imprint.domain.errors import NonceUsed, Unavailable
from imprint.domain.formats.addresses import Address

_SPENT_NONCE = "SELECT action, file_id FROM nonces WHERE signer = :signer AND nonce = :nonce"
_SPEND_NONCE = """
INSERT INTO nonces (signer, nonce, action, file_id, spent_at)
VALUES (:signer, :nonce, :action, :file_id, :spent_at)"""
END_INTENT = "DELETE FROM intents WHERE id = :id RETURNING 1"
CONDEMNED = "SELECT fence FROM detached WHERE cid = :cid AND network = :network AND condemned = 1"


async def refuse_spent(tx: Transaction, signer: Address, nonce: str) -> None:
    """Raise `NonceUsed`, with the written file if it exists, if the signer has spent this nonce."""
    spent = await tx.fetchone(_SPENT_NONCE, signer=signer, nonce=key_text(nonce))
    if spent is not None:
        row = await tx.fetchone(VERSION_BY_ID, id=spent["file_id"])
        raise NonceUsed(spent["action"], live_file_of(row))


async def spend_nonce(
    tx: Transaction, signer: Address, nonce: str, at: datetime, *, action: str, file_id: str | None
) -> None:
    """Spend a nonce in the transaction of the write that it belongs to."""
    await tx.execute(
        _SPEND_NONCE,
        signer=signer,
        nonce=key_text(nonce),
        action=action,
        file_id=file_id,
        spent_at=micros(at),
    )


async def end_intent(tx: Transaction, intent: Intent) -> None:
    """End an intent whose document is now referenced.

    Refuses a missing intent, because it has expired and its document may have been deleted.
    """
    if await tx.fetchone(END_INTENT, id=intent.id) is None:
        raise Unavailable.storage()
    if await tx.fetchone(CONDEMNED, cid=intent.cid, network=intent.network.value) is not None:
        # A process of an earlier release has marked the document for deletion since.
        raise Unavailable.storage()
