-- The installation: one row. id is also in the content store, once claimed = 1. A shared store may
-- hold documents without an id; they are of this installation if owns_unnamed = 1.
CREATE TABLE installation (
    only_row INTEGER PRIMARY KEY CHECK (only_row = 1),
    id TEXT NOT NULL,
    claimed INTEGER NOT NULL DEFAULT 0,
    owns_unnamed INTEGER NOT NULL DEFAULT 0
) STRICT;

-- Rises with every transaction that condemns documents. A store destroys a document only if it was
-- stored before that, so a late removal cannot destroy what was stored again.
INSERT INTO counters (name, value) VALUES ('fence', 0);
ALTER TABLE detached ADD COLUMN fence INTEGER NOT NULL DEFAULT 0;
DROP INDEX detached_by_time;
CREATE INDEX detached_by_time ON detached (detached_at, cid, network) WHERE condemned = 0;
CREATE INDEX detached_by_fence ON detached (fence, cid, network) WHERE condemned = 1;

-- For how long a lease is taken: one that ends later than that from now was taken by a wrong clock.
ALTER TABLE leases ADD COLUMN length INTEGER NOT NULL DEFAULT 600000000;

-- Checksums of records. Whoever changes what they cover without the checksum leaves none.
ALTER TABLE files ADD COLUMN checksum INTEGER;
ALTER TABLE file_groups ADD COLUMN checksum INTEGER;

CREATE TRIGGER files_without_checksum AFTER UPDATE ON files
WHEN new.checksum = old.checksum
 AND (new.position, new.id, new.group_id, new.owner, new.name, new.cid, new.size, new.created_at,
      new.state, new.post_id, new.published_at, new.tx_hash)
     IS NOT
     (old.position, old.id, old.group_id, old.owner, old.name, old.cid, old.size, old.created_at,
      old.state, old.post_id, old.published_at, old.tx_hash)
BEGIN
    UPDATE files SET checksum = NULL WHERE position = new.position;
END;

CREATE TRIGGER file_groups_without_checksum AFTER UPDATE ON file_groups
WHEN new.checksum = old.checksum
 AND (new.id, new.hashtags, new.thumbnail_cid) IS NOT (old.id, old.hashtags, old.thumbnail_cid)
BEGIN
    UPDATE file_groups SET checksum = NULL WHERE id = new.id;
END;
