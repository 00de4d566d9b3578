-- Drafts that were deleted with this document and still count for its owner, until a quota is exact
-- about them: on PostgreSQL a delete does not change the row of its owner, for which other writes of
-- the same owner would have to wait.
ALTER TABLE detached ADD COLUMN drafts INTEGER NOT NULL DEFAULT 0;
CREATE INDEX detached_with_drafts ON detached (owner) WHERE drafts > 0;
