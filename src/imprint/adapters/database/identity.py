"""The installation that a database belongs to, identified when it is opened."""

from imprint.adapters.database.transaction import Transaction
from imprint.domain.installation import Identity

INSTALLATION = "SELECT id, claimed, owns_unnamed FROM installation WHERE only_row = 1"
ADD_INSTALLATION = """
INSERT INTO installation (only_row, id, owns_unnamed)
SELECT 1, CAST(:id AS TEXT), CASE WHEN EXISTS (SELECT 1 FROM files) THEN 1
       WHEN EXISTS (SELECT 1 FROM detached) THEN 1 ELSE 0 END
WHERE true ON CONFLICT DO NOTHING"""


async def identify(tx: Transaction, new_id: str) -> Identity:
    """The identity of this database; one that has none gets `new_id`.

    Processes that open a new database at the same time agree on one id.
    """
    row = await tx.fetchone(INSTALLATION)
    if row is None:
        await tx.execute(ADD_INSTALLATION, id=new_id)
        row = await tx.fetchone(INSTALLATION)
    if row is None:
        raise LookupError("The database does not keep the id of its installation.")
    return Identity(row["id"], bool(row["claimed"]), bool(row["owns_unnamed"]))
