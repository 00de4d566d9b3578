-- What lists show about the texts of posts, by document: how many words, and whether everybody may
-- read an opening. Part of the index.
CREATE TABLE text_facts (
    cid TEXT COLLATE "C" PRIMARY KEY,
    words BIGINT NOT NULL,
    has_opening INTEGER NOT NULL
);

-- Whether the text that a search looks at is only the opening; it is the whole text of free posts.
ALTER TABLE post_texts ADD COLUMN is_opening INTEGER NOT NULL DEFAULT 0;

INSERT INTO pending_texts (place)
SELECT p.place FROM posts p
WHERE EXISTS (SELECT 1 FROM files f WHERE f.post_id = p.post_id AND f.state = 'onchain')
ON CONFLICT (place) DO NOTHING;
