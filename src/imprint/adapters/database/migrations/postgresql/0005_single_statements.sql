-- Drafts that were deleted with this document and still count for its owner, until a quota is exact
-- about them: on PostgreSQL a delete does not change the row of its owner, for which other writes of
-- the same owner would have to wait.
ALTER TABLE detached ADD COLUMN drafts BIGINT NOT NULL DEFAULT 0;
CREATE INDEX detached_with_drafts ON detached (owner) WHERE drafts > 0;

-- Whether an event that names this document was stored before its draft. A volatile function reads
-- what is committed when it is called, not when the statement around it began: a write that waited
-- for the lock of its owner in the same statement sees the events that were applied meanwhile.
CREATE FUNCTION has_kept_event(TEXT, TEXT) RETURNS BOOLEAN VOLATILE LANGUAGE plpgsql AS $$
BEGIN
    RETURN EXISTS (SELECT 1 FROM events WHERE cid = $1 AND author = $2 AND canonical = 1);
END
$$;
