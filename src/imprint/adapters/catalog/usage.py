"""The rule that measures how much the catalog and the content store hold."""

from imprint.adapters.catalog.transaction import Transaction
from imprint.ports.catalog import Usage

MEASURE = """
SELECT (SELECT count(*) FROM files WHERE state = 'pending') AS drafts,
       (SELECT count(*) FROM files WHERE state = 'onchain') AS posts,
       (SELECT CAST(coalesce(sum(size), 0) AS BIGINT) FROM files
        WHERE state IN ('pending', 'onchain'))
       + (SELECT CAST(coalesce(sum(thumbnail_size), 0) AS BIGINT) FROM file_groups
          WHERE thumbnail_cid IS NOT NULL) AS stored_bytes,
       (SELECT CAST(coalesce(sum(size), 0) AS BIGINT) FROM detached) AS detached_bytes"""
"""Counts walk the indexes of drafts and of posts; the sums read every live file once."""


async def measure_usage(tx: Transaction) -> Usage:
    """How many files there are, and how many bytes their documents have."""
    row = await tx.fetchone(MEASURE)
    if row is None:
        return Usage(0, 0, 0, 0)
    return Usage(row["drafts"], row["posts"], row["stored_bytes"], row["detached_bytes"])
