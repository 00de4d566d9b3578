-- The installation: one row. id is also in the content store, once claimed = 1. A shared store may
-- hold documents without an id; they are of this installation if owns_unnamed = 1.
CREATE TABLE installation (
    only_row BIGINT PRIMARY KEY CHECK (only_row = 1),
    id TEXT COLLATE "C" NOT NULL,
    claimed BIGINT NOT NULL DEFAULT 0,
    owns_unnamed BIGINT NOT NULL DEFAULT 0
);

-- Rises with every transaction that condemns documents. A store destroys a document only if it was
-- stored before that, so a late removal cannot destroy what was stored again.
INSERT INTO counters (name, value) VALUES ('fence', 0);
ALTER TABLE detached ADD COLUMN fence BIGINT NOT NULL DEFAULT 0;
DROP INDEX detached_by_time;
CREATE INDEX detached_by_time ON detached (detached_at, cid, network) WHERE condemned = 0;
CREATE INDEX detached_by_fence ON detached (fence, cid, network) WHERE condemned = 1;

-- For how long a lease is taken: one that ends later than that from now was taken by a wrong clock.
ALTER TABLE leases ADD COLUMN length BIGINT NOT NULL DEFAULT 600000000;

-- Checksums of records. Whoever changes what they cover without the checksum leaves none.
ALTER TABLE files ADD COLUMN checksum BIGINT;
ALTER TABLE file_groups ADD COLUMN checksum BIGINT;

CREATE FUNCTION drop_stale_checksum() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    new.checksum := NULL;
    RETURN new;
END
$$;

CREATE TRIGGER files_without_checksum BEFORE UPDATE ON files
FOR EACH ROW
WHEN (new.checksum = old.checksum
  AND (new.position, new.id, new.group_id, new.owner, new.name, new.cid, new.size, new.created_at,
       new.state, new.post_id, new.published_at, new.tx_hash)
      IS DISTINCT FROM
      (old.position, old.id, old.group_id, old.owner, old.name, old.cid, old.size, old.created_at,
       old.state, old.post_id, old.published_at, old.tx_hash))
EXECUTE FUNCTION drop_stale_checksum();

CREATE TRIGGER file_groups_without_checksum BEFORE UPDATE ON file_groups
FOR EACH ROW
WHEN (new.checksum = old.checksum
  AND (new.id, new.hashtags, new.thumbnail_cid)
      IS DISTINCT FROM (old.id, old.hashtags, old.thumbnail_cid))
EXECUTE FUNCTION drop_stale_checksum();
