-- What counts for each owner, so that a quota is checked without reading its files: used_bytes of
-- drafts, their thumbnails, detached documents and intents; drafts, with those being created. Posts
-- do not count.

ALTER TABLE owners ADD COLUMN used_bytes INTEGER NOT NULL DEFAULT 0;
ALTER TABLE owners ADD COLUMN drafts INTEGER NOT NULL DEFAULT 0;

-- How much a document counts and for whom. The sizes of thumbnails and of running writes were not
-- recorded before; they count as nothing.
ALTER TABLE intents ADD COLUMN size INTEGER NOT NULL DEFAULT 0;
ALTER TABLE file_groups ADD COLUMN thumbnail_size INTEGER NOT NULL DEFAULT 0;
ALTER TABLE detached ADD COLUMN owner TEXT;
ALTER TABLE detached ADD COLUMN size INTEGER NOT NULL DEFAULT 0;

-- Where a post stood as a draft, and stands again if its block leaves the chain. Earlier posts do
-- not know it and stay where they are.
ALTER TABLE files ADD COLUMN draft_position INTEGER;

UPDATE detached SET owner = f.owner, size = f.size FROM files f
WHERE f.cid = detached.cid AND detached.network = 'private'
  AND f.state IN ('superseded', 'deleted');

UPDATE owners SET used_bytes = found.bytes, drafts = found.drafts
FROM (
    SELECT owner, sum(size) AS bytes, sum(draft) AS drafts
    FROM (
        SELECT owner, size, 1 AS draft FROM files WHERE state = 'pending'
        UNION ALL SELECT owner, size, 0 FROM detached WHERE owner IS NOT NULL
        UNION ALL SELECT signer, 0, 1 FROM intents WHERE action = 'create'
    ) AS counted GROUP BY owner
) AS found
WHERE found.owner = owners.owner;
