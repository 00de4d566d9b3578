-- Whether the hashtags of a group are those of its post on the chain, because the publish request
-- named none. They are cleared when the post is undone.
ALTER TABLE file_groups ADD COLUMN hashtags_of_chain INTEGER NOT NULL DEFAULT 0;

UPDATE file_groups SET hashtags_of_chain = 1, checksum = NULL, hashtags = (
    SELECT p.hashtags FROM files f JOIN posts p ON p.post_id = f.post_id
    WHERE f.group_id = file_groups.id AND f.state = 'onchain'
)
WHERE hashtags = '[]' AND EXISTS (
    SELECT 1 FROM files f JOIN posts p ON p.post_id = f.post_id
    JOIN events e ON e.file_id = f.id AND e.block_hash = p.block_hash
    WHERE f.group_id = file_groups.id AND f.state = 'onchain' AND p.cid = f.cid
      AND p.author = f.owner AND p.hashtags <> '[]'
);

INSERT INTO file_tags (tag, position, state)
SELECT t.value, f.position, f.state FROM file_groups g JOIN files f ON f.group_id = g.id,
     jsonb_array_elements_text(CAST(g.hashtags AS jsonb)) AS t (value)
WHERE g.hashtags_of_chain = 1 AND f.state = 'onchain';
